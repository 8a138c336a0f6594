"""A box blur of any radius at one cost: an integral image from two scans, then four slices of it.

python examples/box_blur.py [FOLDER]        saves box_blur.png there
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import dmlgpu as dml


def pattern(size: int = 384) -> np.ndarray:
    """Rings that get finer outwards, and a checkerboard: something to lose in a blur."""
    y, x = np.mgrid[0:size, 0:size]
    rings = 127.5 + 127.5 * np.cos(((x - size / 2) ** 2 + (y - size / 2) ** 2) / 420)
    squares = np.where((x // 24 + y // 24) % 2, 235, 20)
    inside = np.hypot(x - size / 2, y - size / 2) < 0.42 * size
    return np.where(inside, rings, squares).astype(np.uint32)


def blur(integral: dml.Tensor, radius: int) -> np.ndarray:
    """Means over squares of 2 * radius + 1 pixels, where the whole square is inside."""
    side = 2 * radius + 1
    low, high = slice(None, -side), slice(side, None)
    corners = [integral[rows, columns] for rows in (low, high) for columns in (low, high)]
    top_left, top_right, bottom_left, bottom_right = (corner.numpy() for corner in corners)
    return (bottom_right - bottom_left - top_right + top_left) / side**2


def main(folder: Path) -> None:
    """The sums are integers, so the means are exactly NumPy's."""
    image = pattern()
    x = dml.default_device().tensor(np.pad(image, ((1, 0), (1, 0))))
    integral = dml.cumulative_summation(dml.cumulative_summation(x, axis=0), axis=1)
    assert (integral.numpy()[1:, 1:] == image.cumsum(0).cumsum(1)).all()

    figure, axes = plt.subplots(1, 4, figsize=(12, 3.3), layout="constrained")
    axes[0].imshow(image, cmap="gray", vmin=0, vmax=255)
    axes[0].set_title("image")
    for axis, radius in zip(axes[1:], (2, 6, 18), strict=True):
        blurred = blur(integral, radius)
        side = 2 * radius + 1
        windows = np.lib.stride_tricks.sliding_window_view(image, (side, side))
        assert (blurred == windows.sum((2, 3)) / side**2).all()
        print(f"radius {radius:>2}: {blurred.shape[0]} x {blurred.shape[1]}, equal to NumPy")
        axis.imshow(blurred, cmap="gray", vmin=0, vmax=255)
        axis.set_title(f"box of {side} x {side}")
    for axis in axes:
        axis.axis("off")
    figure.savefig(folder / "box_blur.png", dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

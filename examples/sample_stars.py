"""Draw stars from a picture of a galaxy: an exclusive sum is the table that a draw is looked up in.

python examples/sample_stars.py [FOLDER]        saves sample_stars.png there
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import dmlgpu as dml


def galaxy(size: int = 256) -> np.ndarray:
    """Brightness of a spiral galaxy in whole numbers; 0 outside."""
    y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    radius, angle = np.hypot(x, 1.25 * y), np.arctan2(1.25 * y, x)
    arms = np.cos(2 * angle - 11 * np.log(radius + 0.08)) ** 6
    light = np.exp(-(radius**2) / 0.01) + (0.05 + arms) * np.exp(-3.2 * radius) * (radius < 0.95)
    return (200 * light).astype(np.uint32)


def main(folder: Path) -> None:
    """Pixel i owns the whole numbers from below[i] up to below[i] + density[i]."""
    density = galaxy()
    x = dml.default_device().tensor(density.ravel())
    below = dml.cumulative_summation(x, axis=0, exclusive=True).numpy()
    assert (below == density.cumsum() - density.ravel()).all()

    total = int(below[-1] + density.flat[-1])
    draws = np.random.default_rng(7).integers(0, total, 6000)
    pixels = np.searchsorted(below, draws, side="right") - 1
    light = dml.gather_nd(x, pixels[:, None]).numpy()  # the brightness where each star landed
    assert (light == density.ravel()[pixels]).all()
    assert light.all(), "no star lies where there is no light"

    rows, columns = np.divmod(pixels, len(density))
    bright = np.median(density[density > 0])
    share = (light > bright).mean()
    expected = density[density > bright].sum() / total
    assert abs(share - expected) < 0.02
    print(f"{len(pixels)} stars of {total} units of light, none in the dark")
    print(f"bright half of the pixels: {expected:.0%} of the light, {share:.0%} of the stars")

    figure, axes = plt.subplots(1, 2, figsize=(9, 4.7), layout="constrained", facecolor="black")
    axes[0].imshow(np.sqrt(density), cmap="inferno")
    axes[0].set_title("density", color="white")
    axes[1].scatter(columns, rows, s=0.8, c=np.sqrt(light), cmap="inferno", vmin=-3)
    axes[1].set(xlim=(0, 256), ylim=(256, 0), aspect="equal")
    axes[1].set_title(f"{len(pixels)} stars", color="white")
    for axis in axes:
        axis.axis("off")
    figure.savefig(folder / "sample_stars.png", dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

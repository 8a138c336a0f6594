"""Mirror, crop and downsample an image with SLICE1.

python examples/image_slices.py [FOLDER]        saves image_slices.png there
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import dmlgpu as dml


def landscape(height: int = 360, width: int = 540) -> np.ndarray:
    """A sun, two ridges and a lake, as height x width x 3 bytes."""
    y, x = np.mgrid[0 : 1 : height * 1j, 0 : 1.5 : width * 1j][..., None]
    image = (1 - y) * [60, 110, 190] + y * [255, 190, 140]
    glow = np.exp(-((x - 0.4) ** 2 + (y - 0.3) ** 2) / 0.02)
    image += glow * ([255, 240, 190] - image)
    for top, bumps, colour in ((0.48, 9, [92, 84, 128]), (0.60, 14, [46, 52, 84])):
        ridge = top - 0.09 * np.sin(bumps * x + top) * np.sin(4 * x) - 0.02 * np.sin(41 * x)
        image = np.where(y > ridge, colour, image)
    shore = int(0.7 * height)
    mirrored = image[shore - 1 : 2 * shore - height - 1 : -1]
    image[shore:] = 0.65 * mirrored + 12 * np.sin(900 * y[shore:] ** 2)
    return image.clip(0, 255).astype(np.uint8)


def main(folder: Path) -> None:
    """Each result is compared with NumPy's, byte for byte."""
    image = landscape()
    x = dml.default_device().tensor(image)
    height, width, _ = image.shape

    mirror = dml.slice1(x, (0, 0, 0), (height, width, 3), (1, -1, 1))
    crop = dml.slice1(x, (40, 60, 0), (150, 225, 3), (1, 1, 1))
    small = x[::6, ::6]  # basic indexing is SLICE1 too

    assert (mirror.numpy() == image[:, ::-1]).all()
    assert (crop.numpy() == image[40:190, 60:285]).all()
    assert (small.numpy() == image[::6, ::6]).all()

    shown = {"image": x, "mirror": mirror, "crop": crop, "every 6th pixel": small}
    figure, axes = plt.subplots(2, 2, figsize=(9, 6.6), layout="constrained")
    for axis, (name, tensor) in zip(axes.flat, shown.items(), strict=True):
        axis.imshow(tensor.numpy())
        axis.set_title(f"{name}: {tensor.shape[1]} x {tensor.shape[0]}")
        axis.axis("off")
        print(f"{name:16}{tensor.shape[1]:>4} x {tensor.shape[0]:<4} equal to NumPy")
    figure.savefig(folder / "image_slices.png", dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

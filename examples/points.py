"""Make a map of heights from the points of a laser scan: compact, sort into layers, bin.

python examples/points.py [FOLDER]        saves points.png there
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import dmlgpu as dml
import dmlgpu.numpy as dnp

CELLS, LAYERS = 128, 28  # of half a metre


def scan(count: int) -> np.ndarray:
    """Points (x, y, z) of a garden with a house, and echoes of birds and from under the ground."""
    rng = np.random.default_rng(5)
    x, y = rng.random((2, count)) * CELLS / 2
    z = 2.5 + 1.2 * np.sin(x / 9) * np.cos(y / 7) + rng.normal(0, 0.05, count)
    for tree_x, tree_y, width in rng.random((30, 3)) * (64, 64, 2) + (0, 0, 2):
        z = np.maximum(z, 9.5 - 6 / width * np.hypot(x - tree_x, y - tree_y))
    z = np.where((abs(x - 41) < 7) & (abs(y - 24) < 10), 11.5 - 0.6 * abs(x - 41), z)
    z[::40], z[5::40] = rng.uniform(14, 18, (count + 39) // 40), rng.uniform(-4, 0, count // 40)
    return np.stack([x, y, z], 1).astype(np.float32)


def main(folder: Path) -> None:
    """Each step on the GPU, compared with NumPy's."""
    points = scan(60000)
    x, kept = (p[(p[:, 2] > 0) & (p[:, 2] < 14)] for p in (dml.tensor(points), points))
    print(f"{len(kept)} of {len(points)} points kept, as NumPy does: {bool((x == kept).all())}")
    order = (layer := (x[:, 2] * 2).astype(np.int32)).argsort()  # equal ones stay in order
    x, layer, kept = x[order], layer[order], kept[np.argsort((kept[:, 2] * 2) // 1, kind="stable")]
    counts = dnp.diff(dnp.searchsorted(layer, dnp.arange(LAYERS + 1, dtype=np.int32)))
    print(f"sorted into {LAYERS} layers, as NumPy does: {bool((x == kept).all())}")
    heights = dnp.full((CELLS, CELLS), np.nan)
    column, row = (x[:, :2] * 2).astype(np.int32).T
    heights[row, column] = x[:, 2]  # of several points in a cell the last, in the top layer, stays
    found, highest = heights.numpy(), np.full((CELLS, CELLS), np.nan, np.float32)
    np.fmax.at(highest, (row.numpy(), column.numpy()), kept[:, 2])
    below = np.nanmax(highest - found)
    print(f"{np.isfinite(found).sum()} cells, each less than {below:.1f} m below its highest point")
    figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained", width_ratios=(5, 2, 5))
    axes[0].scatter(*points[:, ::2].T, s=0.3, c="silver")
    axes[0].scatter(*x[:, ::2].numpy().T, s=0.3, c=layer.numpy(), vmin=0, vmax=LAYERS)
    axes[0].set(title="the scan from the side", xlabel="x in m", ylabel="height in m")
    colours = plt.get_cmap()(np.arange(LAYERS) / LAYERS)
    axes[1].barh(np.arange(0.25, 14, 0.5), counts.numpy(), 0.5, color=colours)
    axes[1].set(title="points per layer", xscale="log", ylim=axes[0].get_ylim())
    figure.colorbar(axes[2].imshow(found, vmin=0, vmax=14, origin="lower", extent=(0, 64, 0, 64)))
    axes[2].set(title="the highest from above", xlabel="x in m", ylabel="y in m")
    figure.savefig(folder / "points.png", dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

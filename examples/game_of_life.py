"""Conway's game of life on a torus: a whole simulation on the GPU; saves game_of_life.png."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import dmlgpu as dml

SIZE, SHOWN = 96, (0, 20, 80, 200)


def step(board: dml.Tensor, before: dml.Tensor, after: dml.Tensor) -> dml.Tensor:
    """One generation. A cell lives with 3 in its box of 3 x 3, or with 4 if it lives already."""
    count = board
    for axis in (0, 1):
        sides = dml.element_wise_add(count.take(before, axis), count.take(after, axis))
        count = dml.element_wise_add(count, sides)
    born = dml.element_wise_logical_equals(count, np.array([[3]], np.uint8))
    four = dml.element_wise_logical_equals(count, np.array([[4]], np.uint8))
    return dml.element_wise_logical_or(born, dml.element_wise_logical_and(four, board))


def step_numpy(board: np.ndarray) -> np.ndarray:
    """The same with NumPy."""
    moves = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    count = sum(np.roll(board, move, (0, 1)) for move in moves)
    return ((count == 3) | ((count == 4) & (board == 1))).astype(np.uint8)


def main(folder: Path) -> None:
    """Generations follow each other on the GPU; only those that are shown are read."""
    start = (np.random.default_rng(4).random((SIZE, SIZE)) < 0.3).astype(np.uint8)
    places = np.arange(SIZE, dtype=np.int32)
    before, after = dml.tensor((places - 1) % SIZE), dml.tensor((places + 1) % SIZE)
    board, expected = dml.tensor(start), start
    figure, panels = plt.subplots(1, len(SHOWN), figsize=(12, 3.3), layout="constrained")
    for generation in range(SHOWN[-1] + 1):
        if generation in SHOWN:
            assert (board.numpy() == expected).all()
            living = dml.reduce(dml.cast(board, np.uint32), dml.ReduceFunction.SUM, axes=(0, 1))
            print(f"generation {generation:>3}: {living.item():>4} cells live, equal to NumPy")
            panel = panels[SHOWN.index(generation)]
            panel.imshow(board.numpy(), cmap="viridis", interpolation="nearest")
            panel.set_title(f"generation {generation}")
            panel.axis("off")
        board, expected = step(board, before, after), step_numpy(expected)
    figure.savefig(folder / "game_of_life.png", dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

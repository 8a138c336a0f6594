"""`python tools/pictures.py`: the small pictures of the operator pages, in docs/pictures.

They are drawn from the worked examples in tests/examples.jsonl.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "examples.jsonl"
CELL = 28
TITLE = 26  # height of the line above a grid
MARGIN = 10
GAP = 84  # between grids, for an arrow
PLAIN, INK, SOFT = "#ffffff", "#1f2933", "#5f6c7b"
TINTS = ("#ffd166", "#8ecae6", "#b5e48c", "#f4a5ae", "#cdb4db", "#ffb38a")
STEPS = ("#e3f2fd", "#bbdefb", "#90caf9", "#64b5f6")  # one more element in a running value

Place = tuple[int, ...]


class Canvas:
    """Shapes on a white card that grows with what is put on it."""

    def __init__(self) -> None:
        self._shapes: list[str] = []
        self._width = self._height = 0.0

    def text(
        self, x: float, y: float, words: str, *, size: int = 14, anchor: str = "middle", **more: str
    ) -> None:
        """Words around, or from, a point on their base line."""
        extra = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
        ink = "" if "fill" in more else f' fill="{INK}"'
        self._shapes.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"{ink}{extra}>'
            f"{escape(words)}</text>"
        )
        ends = {"middle": 0.5, "start": 1.0, "end": 0.0}
        self._reach(x + ends[anchor] * 0.6 * size * len(words), y)

    def cell(self, x: float, y: float, words: str, fill: str = PLAIN, width: float = CELL) -> None:
        """A box with words in its middle."""
        self._shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{CELL}" fill="{fill}" '
            f'stroke="{INK}" stroke-width="1"/>'
        )
        self.text(x + width / 2, y + CELL / 2 + 5, words)
        self._reach(x + width, y + CELL)

    def grid(
        self, x: float, y: float, values: Any, title: str, fills: Mapping[Place, str] | None = None
    ) -> float:
        """A table of numbers under a title; returns where its right edge is."""
        rows = np.atleast_2d(values)
        self.text(x + rows.shape[1] * CELL / 2, y + 14, title, size=13, fill=SOFT)
        for (i, j), value in np.ndenumerate(rows):
            fill = (fills or {}).get((i, j), PLAIN)
            self.cell(x + j * CELL, y + TITLE + i * CELL, f"{value:g}", fill)
        return x + rows.shape[1] * CELL

    def arrow(self, x: float, y: float, to_x: float, to_y: float, words: str = "") -> None:
        """A line with a head, and words above its middle."""
        self._shapes.append(
            f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}" stroke="{SOFT}" '
            'stroke-width="2" marker-end="url(#head)"/>'
        )
        if words:
            self.text((x + to_x) / 2, min(y, to_y) - 8, words, size=12, fill=SOFT)
        self._reach(max(x, to_x), max(y, to_y))

    def frame(self, x: float, y: float, columns: int, rows: int) -> None:
        """A dashed outline around cells."""
        self._shapes.append(
            f'<rect x="{x - 2:g}" y="{y - 2:g}" width="{columns * CELL + 4}" '
            f'height="{rows * CELL + 4}" rx="6" fill="none" stroke="#d1495b" stroke-width="2.5" '
            'stroke-dasharray="7 5"/>'
        )

    def _reach(self, x: float, y: float) -> None:
        self._width, self._height = max(self._width, x), max(self._height, y)

    def svg(self, title: str) -> str:
        """The whole file; `title` is read to those who cannot see it."""
        width, height = self._width + MARGIN, self._height + MARGIN
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
                f'width="{width:g}" height="{height:g}" role="img" '
                'font-family="system-ui, Segoe UI, Roboto, Helvetica, Arial, sans-serif">',
                f"<title>{escape(title)}</title>",
                '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
                f'markerHeight="6" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{SOFT}"/>'
                "</marker></defs>",
                f'<rect width="{width:g}" height="{height:g}" rx="10" fill="#f7f9fb"/>',
                *self._shapes,
                "</svg>\n",
            ]
        )


def case(name: str) -> dict[str, Any]:
    """One worked example, its arrays without leading dimensions of size 1."""
    lines = CASES.read_text(encoding="utf-8").splitlines()
    found = next(c for c in map(json.loads, lines) if c["id"] == name)
    for key in ("input", "expect", "indices"):
        if key in found:
            found[key] = np.array(found[key]).squeeze()
    return found


def drawn() -> dict[str, str]:
    """The picture of each operator, by its name in lower case."""
    return {
        "slice": window("slice.2", "SLICE takes every n-th element of a box"),
        "slice1": window("slice1.2", "SLICE1 steps through a window, rows from its far end"),
        "gather_nd": gather(),
        "gather_nd1": batched(),
        "cumulative_summation": scan("cumsum.1", "cumsum.2", "sum"),
        "cumulative_product": scan("cumprod.1", "cumprod.2", "product"),
    }


def window(name: str, title: str) -> str:
    """The elements a slice takes, each in a colour that it keeps in the output."""
    example, canvas = case(name), Canvas()
    source, made = example["input"], example["expect"]
    taken, placed = {}, {}
    for n, ((i, j), value) in enumerate(np.ndenumerate(made)):
        (row,), (column,) = np.nonzero(source == value)
        taken[int(row), int(column)] = placed[i, j] = TINTS[n]
    top = MARGIN + TITLE
    right = canvas.grid(MARGIN, MARGIN, source, "input", taken)
    if "output_sizes" in example:  # SLICE1: the window is a field of its own
        first, second = example["offsets"][-2:]
        rows, columns = example["sizes"][-2:]
        canvas.frame(MARGIN + second * CELL, top + first * CELL, columns, rows)
    middle = top + len(source) * CELL / 2
    steps = ", ".join(map(str, example["strides"][-2:]))
    canvas.arrow(right + 14, middle, right + GAP + 10, middle, f"strides {steps}")
    rows_above = (len(source) - len(made)) * CELL / 2
    canvas.grid(right + GAP + 24, MARGIN + rows_above, made, "output", placed)
    return canvas.svg(title)


def gather() -> str:
    """Two index tuples and the rows they pick."""
    example, canvas = case("gather_nd.2"), Canvas()
    source, tuples, made = example["input"], example["indices"], example["expect"]
    colours = {tuple(t): TINTS[n] for n, t in enumerate(tuples.tolist())}
    x = float(MARGIN)
    for k, block in enumerate(source):
        fills = {(i, j): colours.get((k, i), PLAIN) for i, j in np.ndindex(block.shape)}
        x = canvas.grid(x, MARGIN, block, f"input[{k}]", fills) + 18
    middle = MARGIN + TITLE + CELL
    canvas.text(x + 6, middle + 6, "+", size=22, fill=SOFT)
    rows = {(i, j): TINTS[i] for i, j in np.ndindex(tuples.shape)}
    x = canvas.grid(x + 26, MARGIN, tuples, "indices", rows)
    canvas.arrow(x + 14, middle, x + GAP - 14, middle)
    canvas.grid(x + GAP, MARGIN, made, "output", rows)
    return canvas.svg("GATHER_ND: each index tuple picks a row")


def batched() -> str:
    """The same within each of three batches."""
    example, canvas = case("gather_nd1.2"), Canvas()
    height = TITLE + 2 * CELL + 14
    for b, (block, tuples, made) in enumerate(
        zip(example["input"], example["indices"], example["expect"], strict=True)
    ):
        y = MARGIN + b * height
        picked = {tuple(t): TINTS[n] for n, t in enumerate(tuples.tolist())}
        rows = {(i, j): TINTS[i] for i, j in np.ndindex(tuples.shape)}
        middle = y + TITLE + CELL
        x = canvas.grid(MARGIN, y, block, f"input[{b}]", picked)
        canvas.text(x + 24, middle + 6, "+", size=22, fill=SOFT)
        x = canvas.grid(x + 48, y, tuples, f"indices[{b}]", rows)
        canvas.arrow(x + 14, middle, x + GAP - 14, middle)
        canvas.grid(
            x + GAP, y + CELL / 2, made, f"output[{b}]", {(0, j): TINTS[j] for j in range(2)}
        )
    return canvas.svg("GATHER_ND1: each batch has its own index tuples")


def scan(inclusive: str, exclusive: str, noun: str) -> str:
    """Running values of each row, darker with every element that has gone in."""
    first, second, canvas = case(inclusive), case(exclusive), Canvas()
    source = first["input"]
    shape = np.ndindex(source.shape)
    deep = {(i, j): STEPS[j] for i, j in shape}
    late = {(i, j): STEPS[j - 1] if j else PLAIN for i, j in deep}
    x = canvas.grid(MARGIN, MARGIN, source, "input")
    below = MARGIN + TITLE + len(source) * CELL + 16
    canvas.arrow(MARGIN, below, x, below)
    canvas.text((MARGIN + x) / 2, below + 20, "axis", size=12, fill=SOFT)
    middle = MARGIN + TITLE + len(source) * CELL / 2
    canvas.arrow(x + 10, middle, x + 42, middle)
    x = canvas.grid(x + 52, MARGIN, first["expect"], f"running {noun}", deep)
    canvas.grid(x + 26, MARGIN, second["expect"], "exclusive", late)
    return canvas.svg(f"Each row of the input and its running {noun}")


if __name__ == "__main__":
    for name, svg in drawn().items():
        (ROOT / "docs" / "pictures" / f"{name}.svg").write_text(svg, encoding="utf-8")

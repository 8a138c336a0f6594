"""The examples in the docstrings of descriptions, and a picture of each.

An example is a few lines of doctest: values, one call of the operator's function, and what is
printed. A picture is drawn from these lines alone, so that the site is built without an adapter.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

import numpy as np
from pictures import CELL, MARGIN, PLAIN, SOFT, TITLE, Canvas

import dmlgpu as dml
from dmlgpu.plan.operator import Operator

SPACE = 9  # between grids
WIDEST = 342  # a phone shows it whole


@dataclass(frozen=True)
class Example:
    """The program, what it prints, and the arrays of both by name."""

    name: str
    program: str
    printed: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]


def example(operator: Operator[Any]) -> Example | None:
    """The example of an operator, if its description has one."""
    text = inspect.cleandoc(operator.desc.__doc__ or "").partition("\nExample:\n")[2]
    if not text:
        return None
    parts = doctest.DocTestParser().get_examples(dedent(text))
    program = "".join(part.source for part in parts)
    printed = "".join(part.want for part in parts)
    commas = re.sub(r"(?<=[\d.\]])\s+(?=[-\d\[])", ", ", printed)
    made = ast.literal_eval(f"[{commas}]")
    names = [f.name.removesuffix("s").removesuffix("_tensor") for f in operator.outputs]
    titles = [name.removeprefix("output_") for name in names]
    if operator.outputs[0].is_array:
        titles = [f"{titles[0]}[{i}]" for i in range(len(made))]
    outputs = dict(zip(titles, made, strict=True))
    return Example(operator.name, program, printed, _inputs(operator, program), outputs)


def _inputs(operator: Operator[Any], program: str) -> dict[str, Any]:
    """The arrays that the call is given, by the names of its arguments."""
    tree = ast.parse(program)
    known: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            pairs = zip(target.elts, value.elts, strict=True) if several else [(target, value)]
            known |= {ast.unparse(to): given for to, given in pairs}

    def array(node: ast.expr) -> Any:
        if isinstance(node, ast.Call):  # np.int32([...])
            return array(node.args[0])
        return array(known[node.id]) if isinstance(node, ast.Name) else ast.literal_eval(node)

    name = operator.name.lower()
    called = f"dml.{name}"
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    call = next(node for node in calls if ast.unparse(node.func) == called)
    keywords = {str(keyword.arg): keyword.value for keyword in call.keywords}
    given = inspect.signature(getattr(dml, name)).bind(*call.args, **keywords).arguments
    found: dict[str, Any] = {}
    for field, (argument, node) in zip(operator.inputs, given.items(), strict=False):
        several = array(node) if field.is_array else []
        found |= {f"{argument}[{i}]": one for i, one in enumerate(several)}
        found |= {} if field.is_array else {argument: array(node)}
    return found


def picture(shown: Example) -> str:
    """Inputs, an arrow and outputs; a value that is moved keeps its colour on the way."""
    before, after = _grids(shown.inputs), _grids(shown.outputs)
    made = {value for _, grid in after for value in grid.flat}
    moved = dict.fromkeys(v for _, grid in before for v in grid.flat if v and v in made)
    # Neighbours lie far from each other on the wheel of colours.
    tints = {v: f"hsl({i * 137.5 % 360:g}, 75%, {86 - i % 3 * 5}%)" for i, v in enumerate(moved)}
    canvas, length = Canvas(), 7 * len(shown.name) + 12
    if sum(map(_width, before + after)) + length + SPACE <= WIDEST:
        rows = max(len(grid) for _, grid in before + after)
        x, _ = _draw(canvas, MARGIN, MARGIN, before, tints, rows)
        middle = MARGIN + TITLE + rows * CELL / 2
        canvas.arrow(x, middle, x + length, middle, shown.name)
        _draw(canvas, x + length + SPACE, MARGIN, after, tints, rows)
    else:
        y = float(MARGIN)
        for line in _lines(before):
            _, y = _draw(canvas, MARGIN, y, line, tints)
        canvas.arrow(2 * MARGIN, y, 2 * MARGIN, y + CELL)
        canvas.text(3 * MARGIN, y + CELL / 2 + 4, shown.name, size=12, anchor="start", fill=SOFT)
        y += CELL + SPACE
        for line in _lines(after):
            _, y = _draw(canvas, MARGIN, y, line, tints)
    return canvas.svg(f"{shown.name}: the input and the output of the example")


def _width(titled: tuple[str, Any]) -> float:
    title, grid = titled
    return max(grid.shape[1] * CELL, 7 * len(title)) + SPACE


def _lines(grids: list[tuple[str, Any]]) -> Iterator[list[tuple[str, Any]]]:
    """Grids beside each other as far as there is room."""
    line: list[tuple[str, Any]] = []
    for titled in grids:
        if line and sum(map(_width, [*line, titled])) > WIDEST:
            yield line
            line = []
        line.append(titled)
    yield line


def _draw(
    canvas: Canvas,
    x: float,
    y: float,
    grids: list[tuple[str, Any]],
    tints: dict[Any, str],
    rows: int = 0,
) -> tuple[float, float]:
    """Grids beside each other, in the middle of so many rows; returns where they end."""
    rows = rows or max(len(grid) for _, grid in grids)
    for title, grid in grids:
        fills = {at: tints.get(value, PLAIN) for at, value in np.ndenumerate(grid)}
        width = _width((title, grid))
        left = x + (width - SPACE - grid.shape[1] * CELL) / 2
        canvas.grid(left, y + (rows - len(grid)) * CELL / 2, grid, title, fills)
        x += width
    return x, y + TITLE + rows * CELL + SPACE


def _grids(arrays: dict[str, Any]) -> list[tuple[str, Any]]:
    """Arrays as matrices with titles; more dimensions make several, of which the first is named."""
    found = []
    for title, values in arrays.items():
        array = np.atleast_2d(values)
        for place in np.ndindex(array.shape[:-2]):
            at = f"[{', '.join(map(str, place))}]" if place else ""
            found.append((at if any(place) else title + at, array[place]))
    return found

"""The examples in the docstrings of descriptions, and a picture of each.

An example is a few lines of doctest: values, one call of the operator's function, and what is
printed. A picture is drawn from these lines alone, so that the site is built without an adapter.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

import numpy as np
from pictures import CELL, MARGIN, PLAIN, TITLE, Canvas

import dmlgpu as dml
from dmlgpu.plan.operator import Operator

SPACE = 9  # between grids


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
    sides = [_grids(shown.inputs), _grids(shown.outputs)]
    before, after = ([v for _, g in side for v in g.flat] for side in sides)
    moved = [value for value in dict.fromkeys(before) if value and value in after]
    # Neighbours lie far from each other on the wheel of colours.
    tints = {v: f"hsl({i * 137.5 % 360:g}, 75%, {86 - i % 3 * 5}%)" for i, v in enumerate(moved)}
    canvas, x = Canvas(), float(MARGIN)
    rows = max(len(grid) for side in sides for _, grid in side)
    for k, side in enumerate(sides):
        if k:
            length = 7 * len(shown.name) + 12
            middle = MARGIN + TITLE + rows * CELL / 2
            canvas.arrow(x, middle, x + length, middle, shown.name)
            x += length + SPACE
        for title, grid in side:
            fills = {at: tints.get(value, PLAIN) for at, value in np.ndenumerate(grid)}
            width = max(grid.shape[1] * CELL, 7 * len(title))
            left = x + (width - grid.shape[1] * CELL) / 2
            canvas.grid(left, MARGIN + (rows - len(grid)) * CELL / 2, grid, title, fills)
            x += width + SPACE
    return canvas.svg(f"{shown.name}: the input and the output of the example")


def _grids(arrays: dict[str, Any]) -> list[tuple[str, Any]]:
    """Arrays as matrices with titles; more dimensions make several, of which the first is named."""
    found = []
    for title, values in arrays.items():
        array = np.atleast_2d(values)
        for place in np.ndindex(array.shape[:-2]):
            at = f"[{', '.join(map(str, place))}]" if place else ""
            found.append((at if any(place) else title + at, array[place]))
    return found

"""Random statements about arrays: views, copies, functions, writes, mistakes.

Each function here draws one line of Python for a `Writer`, which knows the variables and what NumPy
makes of them. It may draw what does not suit: the writer tries the line and refuses it then. A
line that takes a view, copies or calls a function is an expression, whose value gets a new name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from .array_values import (
    KINDS_OF_VALUES,
    NAMED,
    SAME_WIDTH,
    Array,
    Random,
    fits,
    is_plain,
    number,
)

# Sums of narrow types and positions are held to NumPy's int64; False asks for it in so many words.
DEFAULT_INTEGER_IS_INT64 = True


class Writer(Protocol):
    """What a statement is drawn for."""

    random: Random

    def names(self, wanted: Callable[[Array], bool] = ...) -> list[str]:
        """The variables whose arrays are as wanted."""

    def __getitem__(self, name: str) -> Array:
        """What NumPy has under a name."""


Draw = Callable[[Writer], str | None]


def has_dimensions(array: Array) -> bool:
    return array.ndim > 0


def is_matrix(array: Array) -> bool:
    return array.ndim >= 2


def is_plain_with_dimensions(array: Array) -> bool:
    return array.ndim > 0 and is_plain(array)


def is_number(array: Array) -> bool:
    return array.dtype != bool and is_plain(array)


def one(w: Writer, wanted: Callable[[Array], bool] = lambda array: True) -> str | None:
    """A variable, of late ones rather than of early ones, and seldom one without elements."""
    names = w.names(wanted)
    if w.random.random() < 0.9:
        names = [name for name in names if w[name].size] or names
    if not names:
        return None
    return max(w.random.choice(names), w.random.choice(names))


def axis_of(w: Writer, array: Array) -> int:
    return w.random.randrange(-array.ndim, array.ndim)


# --- indices ---------------------------------------------------------------------------------


def slice_text(w: Writer, size: int) -> str:
    """Any slice of an axis; its ends may lie outside."""
    ends = [w.random.choice(["", str(w.random.randint(-size - 2, size + 2))]) for _ in range(2)]
    step = w.random.choice(["", "", "", "1", "2", "3", "-1", "-1", "-2", "-3", "7"])
    return ":".join(ends) + (f":{step}" if step else "")


def index_text(w: Writer, array: Array, *, new_axes: bool = True) -> str:
    """A basic index that gives a view and never a number."""
    if array.ndim == 0:
        return w.random.choice(["...", "None", "..., None"])
    count = w.random.randint(1, array.ndim)
    first = w.random.randint(0, array.ndim - count)
    parts = []
    for axis in range(first, first + count):
        size = array.shape[axis]
        if size and w.random.random() < 0.3:
            parts.append(str(w.random.randrange(-size, size)))
        else:
            parts.append(slice_text(w, size))
    if first:
        if w.random.random() < 0.5 and first + count == array.ndim:
            parts.insert(0, "...")
        else:
            parts[:0] = [":"] * first
    elif w.random.random() < 0.2:
        parts.append("...")
    if new_axes and w.random.random() < 0.12:
        parts.insert(w.random.randint(0, len(parts)), "None")
    if all(part.lstrip("-").isdigit() for part in parts) and count == array.ndim:
        parts.append("...")
    return ", ".join(parts)


def two_slices(w: Writer, size: int) -> tuple[str, str]:
    """Two slices of one axis with as many elements, which may overlap."""
    if size == 0:
        return ":", "::-1"
    count = w.random.randint(1, size)
    texts = []
    for _ in range(2):
        step = w.random.choice([1, 1, 1, 2, 3, -1, -1, -2])
        while (count - 1) * abs(step) >= size:
            step = 1 if step > 0 else -1
        start = w.random.randint(0, size - 1 - (count - 1) * abs(step))
        if step < 0:
            last, start = start, start + (count - 1) * -step
            texts.append(f"{start}:{last - 1 if last else ''}:{step}")
        else:
            stop = start + (count - 1) * step + 1
            texts.append(f"{start}:{stop}" + (f":{step}" if step > 1 else ""))
    return texts[0], texts[1]


def positions(w: Writer, size: int) -> str:
    """A list of places on an axis; some come twice."""
    if size == 0:
        return "[]"
    return str([w.random.randrange(-size, size) for _ in range(w.random.randint(1, 4))])


# --- views -----------------------------------------------------------------------------------


def basic_index(w: Writer) -> str | None:
    name = one(w)
    return name and f"{name}[{index_text(w, w[name])}]"


def deep_index(w: Writer) -> str | None:
    name = one(w, has_dimensions)
    if not name:
        return None
    first = index_text(w, w[name])
    second = index_text(w, eval(f"{name}[{first}]", {name: w[name]}))
    return f"{name}[{first}][{second}]"


def turned(w: Writer) -> str | None:
    name = one(w)
    return name and f"{name}.T"


def transposed(w: Writer) -> str | None:
    name = one(w, is_matrix)
    if not name:
        return None
    axes = list(range(w[name].ndim))
    w.random.shuffle(axes)
    return w.random.choice([f"np.transpose({name}, {axes})", f"{name}.transpose({axes})"])


def reshaped(w: Writer) -> str | None:
    name = one(w)
    if not name:
        return None
    left, sizes = w[name].size, []
    while left > 1 and len(sizes) < 3:
        sizes.append(w.random.choice([n for n in range(1, left + 1) if left % n == 0]))
        left //= sizes[-1]
    sizes.append(w.random.choice([left, -1 if w[name].size else left]))
    shape = tuple(sizes)
    return w.random.choice([f"np.reshape({name}, {shape})", f"{name}.reshape({shape})"])


def flat(w: Writer) -> str | None:
    name = one(w)
    return name and w.random.choice([f"np.ravel({name})", f"{name}.ravel()", f"{name}.reshape(-1)"])


def swapped(w: Writer) -> str | None:
    name = one(w, has_dimensions)
    if not name:
        return None
    first, second = axis_of(w, w[name]), axis_of(w, w[name])
    return w.random.choice(
        [f"np.swapaxes({name}, {first}, {second})", f"{name}.swapaxes({first}, {second})"]
    )


def moved(w: Writer) -> str | None:
    name = one(w, has_dimensions)
    return name and f"np.moveaxis({name}, {axis_of(w, w[name])}, {axis_of(w, w[name])})"


def squeezed(w: Writer) -> str | None:
    name = one(w, lambda array: 1 in array.shape) or one(w)
    if not name:
        return None
    ones = [axis for axis, size in enumerate(w[name].shape) if size == 1]
    if ones and w.random.random() < 0.5:
        return f"np.squeeze({name}, {w.random.choice(ones)})"
    return w.random.choice([f"np.squeeze({name})", f"{name}.squeeze()"])


def expanded(w: Writer) -> str | None:
    name = one(w)
    if not name:
        return None
    rank = w[name].ndim
    return f"np.expand_dims({name}, {w.random.randint(-rank - 1, rank)})"


def flipped(w: Writer) -> str | None:
    name = one(w, has_dimensions)
    if not name:
        return None
    return w.random.choice([f"np.flip({name})", f"np.flip({name}, {axis_of(w, w[name])})"])


def rotated(w: Writer) -> str | None:
    name = one(w, is_matrix)
    return name and f"np.rot90({name}, {w.random.randint(-1, 3)})"


def piece(w: Writer) -> str | None:
    """One of the pieces that a split gives."""
    name = one(w, has_dimensions)
    if not name:
        return None
    axis = axis_of(w, w[name])
    size = w[name].shape[axis]
    if w.random.random() < 0.5:
        count = w.random.randint(1, 4)
        return f"np.array_split({name}, {count}, axis={axis})[{w.random.randrange(count)}]"
    ends = sorted(w.random.randint(0, size) for _ in range(2))
    return f"np.split({name}, {ends}, axis={axis})[{w.random.randrange(3)}]"


def diagonal(w: Writer) -> str | None:
    name = one(w, is_matrix)
    return name and f"np.diagonal({name}, {w.random.randint(-1, 1)})"


def broadcast(w: Writer) -> str | None:
    name = one(w, lambda array: array.size <= 60)
    if not name:
        return None
    wide = tuple(w.random.randint(1, 3) if size == 1 else size for size in w[name].shape)
    front = (w.random.randint(1, 3),) if w.random.random() < 0.5 else ()
    return f"np.broadcast_to({name}, {front + wide})"


def other_type(w: Writer) -> str | None:
    name = one(w, lambda array: array.dtype.name in SAME_WIDTH)
    if not name:
        return None
    return f"{name}.view({NAMED[w.random.choice(SAME_WIDTH[w[name].dtype.name])]})"


def element_of_iteration(w: Writer) -> str | None:
    name = one(w, lambda array: array.ndim >= 2 and 0 < len(array) <= 40)
    return name and f"list({name})[{w.random.randrange(len(w[name]))}]"


def real_part(w: Writer) -> str | None:
    name = one(w)
    return name and w.random.choice([f"np.real({name})", f"{name}.real"])


VIEWS: dict[str, tuple[int, Draw]] = {
    "an index": (12, basic_index),
    "an index of an index": (2, deep_index),
    "T": (2, turned),
    "transpose": (2, transposed),
    "reshape": (3, reshaped),
    "ravel": (2, flat),
    "swapaxes": (1, swapped),
    "moveaxis": (1, moved),
    "squeeze": (1, squeezed),
    "expand_dims": (1, expanded),
    "flip": (2, flipped),
    "rot90": (1, rotated),
    "split": (2, piece),
    "diagonal": (1, diagonal),
    "broadcast_to": (1, broadcast),
    "view of another type": (2, other_type),
    "iteration": (1, element_of_iteration),
    "real": (1, real_part),
}


# --- copies and functions --------------------------------------------------------------------


def copied(w: Writer) -> str | None:
    name = one(w)
    return name and w.random.choice([f"{name}.copy()", f"{name}.flatten()", f"np.copy({name})"])


def operand(w: Writer, name: str) -> str:
    """Something beside a variable: another one of the same type, itself, a view, or a number."""
    array = w[name]
    choice = w.random.random()
    if choice < 0.3 and array.dtype != bool:
        return number(w.random, array.dtype)
    if choice < 0.5:
        return f"{name}[{index_text(w, array, new_axes=False)}]"
    alike = w.names(lambda other: other.dtype == array.dtype and is_plain(other))
    if choice < 0.8:
        fitting = [other for other in alike if broadcasts(w[other].shape, array.shape)]
        return w.random.choice(fitting or [name])
    return w.random.choice(w.names(is_plain))


def broadcasts(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(first, second)
    except ValueError:
        return False
    return True


OPERATORS = ("+", "-", "*")
LOGICAL = ("&", "|", "^")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def arithmetic(w: Writer) -> str | None:
    name = one(w, is_number)
    if not name:
        return None
    other = operand(w, name)
    called = w.random.choice(["add", "subtract", "multiply", "minimum", "maximum"])
    return w.random.choice(
        [f"{name} {w.random.choice(OPERATORS)} {other}", f"np.{called}({name}, {other})"]
    )


def logical(w: Writer) -> str | None:
    name = one(w, lambda array: array.dtype.kind in "iub" and is_plain(array))
    if not name:
        return None
    same = w.names(lambda other: other.dtype == w[name].dtype)
    return f"{name} {w.random.choice(LOGICAL)} {w.random.choice(same)}"


def comparison(w: Writer) -> str | None:
    name = one(w, is_plain)
    return name and f"{name} {w.random.choice(COMPARISONS)} {operand(w, name)}"


def negated(w: Writer) -> str | None:
    name = one(w, is_number)
    return name and w.random.choice([f"-{name}", f"np.negative({name})", f"np.abs({name})"])


def chosen(w: Writer) -> str | None:
    name = one(w, is_number)
    if not name:
        return None
    condition = w.random.choice(
        [f"{name} > {number(w.random, w[name].dtype)}", *w.names(lambda a: a.dtype == bool)]
    )
    return f"np.where({condition}, {name}, {operand(w, name)})"


def cast(w: Writer) -> str | None:
    name = one(w, is_plain)
    if not name:
        return None
    dtypes = [each for each in KINDS_OF_VALUES if fits(w[name], np.dtype(each))]
    return f"{name}.astype({NAMED[w.random.choice(dtypes)]})"


def extreme(w: Writer) -> str | None:
    name = one(w, lambda array: array.ndim > 0 and is_number(array))
    called = w.random.choice(["min", "max"])
    return name and f"np.{called}({name}, axis={axis_or_none(w, w[name])})"


def axis_or_none(w: Writer, array: Array) -> int | None:
    return w.random.choice([None, *[axis_of(w, array)] * 3])


def added_up(w: Writer) -> str | None:
    name = one(w, is_plain_with_dimensions)
    if not name:
        return None
    array = w[name]
    return f"np.sum({name}, axis={axis_or_none(w, array)}{sum_type(array)})"


def sum_type(array: Array) -> str:
    """The argument dtype of a sum of such an array."""
    widens = array.dtype.kind in "iub" and array.dtype.itemsize < 8
    return ", dtype=np.int64" if widens and not DEFAULT_INTEGER_IS_INT64 else ""


def position_type() -> str:
    """What makes int64 of positions."""
    return "" if DEFAULT_INTEGER_IS_INT64 else ".astype(np.int64)"


def any_or_all(w: Writer) -> str | None:
    name = one(w, is_plain_with_dimensions)
    called = w.random.choice(["any", "all"])
    return name and f"np.{called}({name}, axis={axis_or_none(w, w[name])})"


def position(w: Writer) -> str | None:
    name = one(w, is_plain_with_dimensions)
    called = w.random.choice(["argmax", "argmin"])
    return name and f"np.{called}({name}, axis={axis_of(w, w[name])}){position_type()}"


def running_sum(w: Writer) -> str | None:
    name = one(w, is_plain_with_dimensions)
    if not name:
        return None
    return f"np.cumsum({name}, axis={axis_of(w, w[name])}{sum_type(w[name])})"


def in_order(w: Writer) -> str | None:
    name = one(w, is_plain_with_dimensions)
    return name and f"np.sort({name}, axis={axis_of(w, w[name])})"


def joined(w: Writer) -> str | None:
    name = one(w, has_dimensions)
    if not name:
        return None
    array = w[name]
    alike = w.names(lambda other: other.dtype == array.dtype and other.ndim == array.ndim)
    views = [f"{name}[{slice_text(w, len(array))}]", f"{name}[::-1]"]
    pieces = [name, w.random.choice([*alike, *views])]
    w.random.shuffle(pieces)
    return f"np.concatenate([{', '.join(pieces)}])"


def stacked(w: Writer) -> str | None:
    name = one(w)
    if not name:
        return None
    array = w[name]
    alike = w.names(lambda other: other.dtype == array.dtype and other.shape == array.shape)
    axis = w.random.randint(-array.ndim - 1, array.ndim)
    return f"np.stack([{name}, {w.random.choice(alike)}], axis={axis})"


def taken(w: Writer) -> str | None:
    name = one(w, has_dimensions)
    if not name:
        return None
    axis = axis_of(w, w[name])
    return f"np.take({name}, {positions(w, w[name].shape[axis])}, axis={axis})"


def picked(w: Writer) -> str | None:
    name = one(w, has_dimensions)
    return name and f"{name}[{positions(w, len(w[name]))}]"


def masked(w: Writer) -> str | None:
    name = one(w, is_number)
    return name and f"{name}[{name} > {number(w.random, w[name].dtype)}]"


def rolled(w: Writer) -> str | None:
    name = one(w, has_dimensions)
    return name and f"np.roll({name}, {w.random.randint(-3, 3)}, axis={axis_of(w, w[name])})"


def repeated(w: Writer) -> str | None:
    name = one(w, lambda array: array.ndim > 0 and array.size < 500)
    return name and f"np.repeat({name}, {w.random.randint(0, 3)}, axis={axis_of(w, w[name])})"


def tiled(w: Writer) -> str | None:
    name = one(w, lambda array: array.size < 500)
    return name and f"np.tile({name}, {w.random.randint(1, 3)})"


def clipped(w: Writer) -> str | None:
    name = one(w, is_number)
    if not name:
        return None
    low, high = sorted((number(w.random, w[name].dtype) for _ in range(2)), key=float)
    return f"np.clip({name}, {low}, {high})"


FUNCTIONS: dict[str, tuple[int, Draw]] = {
    "copy": (4, copied),
    "arithmetic": (5, arithmetic),
    "logical": (1, logical),
    "comparison": (2, comparison),
    "negative": (1, negated),
    "where": (1, chosen),
    "astype": (2, cast),
    "min or max": (1, extreme),
    "sum": (1, added_up),
    "any or all": (1, any_or_all),
    "argmax": (1, position),
    "cumsum": (1, running_sum),
    "sort": (1, in_order),
    "concatenate": (1, joined),
    "stack": (1, stacked),
    "take": (1, taken),
    "an array in brackets": (1, picked),
    "a mask in brackets": (1, masked),
    "roll": (1, rolled),
    "repeat": (1, repeated),
    "tile": (1, tiled),
    "clip": (1, clipped),
}

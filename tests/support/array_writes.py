"""Random statements that write into arrays, and statements that NumPy refuses.

They are drawn as those of `array_statements` are. Each is a whole line.
"""

from __future__ import annotations

from .array_statements import (
    Draw,
    Writer,
    axis_of,
    broadcasts,
    has_dimensions,
    index_text,
    is_matrix,
    is_number,
    number,
    one,
    positions,
    slice_text,
    two_slices,
)
from .array_values import fits, is_plain


def value_for(w: Writer, name: str) -> str:
    """What is written: a number, or an array that is not of more dimensions."""
    array = w[name]
    if w.random.random() < 0.5:
        return number(w.random, array.dtype)
    fitting = w.names(
        lambda other: (
            is_plain(other)
            and other.ndim <= array.ndim
            and fits(other, array.dtype)
            and broadcasts(other.shape, array.shape)
        )
    )
    return w.random.choice(fitting) if fitting else number(w.random, array.dtype)


def assigned(w: Writer) -> str | None:
    """A number, or a variable where its shape allows; it may see the same memory."""
    name = one(w)
    if not name:
        return None
    return f"{name}[{index_text(w, w[name])}] = {value_for(w, name)}"


def assigned_everywhere(w: Writer) -> str | None:
    name = one(w)
    return name and f"{name}[...] = {value_for(w, name)}"


def assigned_an_element(w: Writer) -> str | None:
    name = one(w, lambda array: array.size > 0)
    if not name:
        return None
    at = ", ".join(str(w.random.randrange(-size, size)) for size in w[name].shape)
    return f"{name}[{at or '()'}] = {number(w.random, w[name].dtype)}"


def assigned_within(w: Writer) -> str | None:
    """A part of an array into another part of it, which overlaps."""
    name = one(w, has_dimensions)
    if not name:
        return None
    array = w[name]
    axis = w.random.randrange(array.ndim)
    to, source = two_slices(w, array.shape[axis])
    before = ":, " * axis
    other_way = w.random.choice(["", "", ", ::-1"]) if axis + 1 < array.ndim else ""
    return f"{name}[{before}{to}] = {name}[{before}{source}{other_way}]"


def assigned_turned(w: Writer) -> str | None:
    """A matrix becomes its own transpose, or runs backward."""
    name = one(w, lambda array: array.ndim > 0 and array.shape == array.shape[::-1])
    if not name:
        return None
    return f"{name}[...] = {w.random.choice([f'{name}.T', f'{name}[::-1]', f'np.flip({name})'])}"


def in_place(w: Writer) -> str | None:
    name = one(w, is_number)
    operator = w.random.choice(["+=", "-=", "*="])
    return name and f"{name} {operator} {value_for(w, name)}"


def in_place_through_an_index(w: Writer) -> str | None:
    name = one(w, is_number)
    if not name:
        return None
    operator = w.random.choice(["+=", "-=", "*="])
    return f"{name}[{index_text(w, w[name])}] {operator} {value_for(w, name)}"


def in_place_within(w: Writer) -> str | None:
    name = one(w, lambda array: array.ndim > 0 and is_number(array))
    if not name:
        return None
    to, source = two_slices(w, len(w[name]))
    return f"{name}[{to}] {w.random.choice(['+=', '-='])} {name}[{source}]"


def output(w: Writer) -> str | None:
    """A function writes its result into a view, which its arguments may overlap."""
    name = one(w, is_number)
    if not name:
        return None
    called = w.random.choice(["add", "subtract", "minimum", "maximum"])
    if w[name].ndim and w.random.random() < 0.6:
        to, source = two_slices(w, len(w[name]))
        values = f"{name}[{source}]"
        return f"np.{called}({values}, {number(w.random, w[name].dtype)}, out={name}[{to}])"
    shape, dtype = w[name].shape, w[name].dtype
    outs = w.names(lambda other: other.shape == shape and other.dtype == dtype)
    inputs = w.names(lambda other: other.dtype == dtype and broadcasts(other.shape, shape))
    return f"np.{called}({name}, {w.random.choice(inputs)}, out={w.random.choice(outs)})"


def output_of_one(w: Writer) -> str | None:
    name = one(w, lambda array: array.ndim > 0 and is_number(array))
    if not name:
        return None
    to, source = two_slices(w, len(w[name]))
    called = w.random.choice(["negative", "abs", "square"])
    return f"np.{called}({name}[{source}], out={name}[{to}])"


def where_masked(w: Writer) -> str | None:
    name = one(w, is_number)
    if not name:
        return None
    values = number(w.random, w[name].dtype)
    mask = w.random.choice([f"{name} > {values}", f"{name} == {values}"])
    change = w.random.choice(["=", "=", "+="])
    return f"{name}[{mask}] {change} {number(w.random, w[name].dtype)}"


def where_listed(w: Writer) -> str | None:
    """Places are a list, or an array beside slices."""
    name = one(w, has_dimensions)
    if not name:
        return None
    axis = w.random.randrange(w[name].ndim)
    before = w.random.choice([":, " * axis, f"{slice_text(w, len(w[name]))}, " * axis])
    places = positions(w, w[name].shape[axis])
    if w.random.random() < 0.3:
        places = f"np.asarray({places}, dtype=np.int64)"
    return f"{name}[{before}{places}] = {number(w.random, w[name].dtype)}"


def exchanged(w: Writer) -> str | None:
    """Rows take each other's place."""
    name = one(w, lambda array: array.ndim > 0 and len(array) >= 2)
    return name and f"{name}[[0, -1]] = {name}[[-1, 0]]"


def filled(w: Writer) -> str | None:
    name = one(w)
    if not name:
        return None
    view = w.random.choice(["", f"[{index_text(w, w[name])}]"])
    return f"{name}{view}.fill({number(w.random, w[name].dtype)})"


def ordered(w: Writer) -> str | None:
    name = one(w, lambda array: array.ndim > 0 and is_plain(array))
    if not name:
        return None
    view = w.random.choice(["", "[...]", "[::-1]", f"[{slice_text(w, len(w[name]))}]"])
    return f"{name}{view}.sort(axis={axis_of(w, w[name])})"


def copied_to(w: Writer) -> str | None:
    """Not to what is read-only, which NumPy copies onto itself without a word."""
    name = one(w, lambda array: array.flags.writeable)
    if not name:
        return None
    view = w.random.choice(["", f"[{index_text(w, w[name], new_axes=False)}]"])
    return f"np.copyto({name}{view}, {value_for(w, name)})"


def put(w: Writer) -> str | None:
    name = one(w, lambda array: array.size > 0)
    if not name:
        return None
    places, value = positions(w, w[name].size), number(w.random, w[name].dtype)
    return w.random.choice([f"np.put({name}, {places}, {value})", f"{name}.put({places}, {value})"])


def rows_changed(w: Writer) -> str | None:
    """A loop over rows, each of which is a view."""
    name = one(w, lambda array: array.ndim >= 2 and len(array) <= 12 and is_number(array))
    if not name:
        return None
    value = number(w.random, w[name].dtype)
    change = w.random.choice([f"row += {value}", f"row[:1] = {value}", "row[...] = row[::-1]"])
    return f"for row in {name}: {change}"


def at_places(w: Writer) -> str | None:
    """Numbers are added where a list says, as often as it says so; NumPy forgets read-only ones."""
    name = one(w, lambda x: x.ndim > 0 and x.size > 0 and is_number(x) and x.flags.writeable)
    if not name:
        return None
    places, value = positions(w, len(w[name])), number(w.random, w[name].dtype)
    return f"np.add.at({name}, {places}, {value})"


WRITES: dict[str, tuple[int, Draw]] = {
    "x[basic] = value": (8, assigned),
    "x[...] = value": (3, assigned_everywhere),
    "x[integers] = number": (2, assigned_an_element),
    "x[part] = x[other part]": (4, assigned_within),
    "x[...] = x turned": (1, assigned_turned),
    "x += value": (3, in_place),
    "x[basic] += value": (3, in_place_through_an_index),
    "x[part] += x[other part]": (2, in_place_within),
    "out=": (3, output),
    "out= of one operand": (1, output_of_one),
    "x[mask] = number": (2, where_masked),
    "x[list] = number": (2, where_listed),
    "x[list] = x[list]": (1, exchanged),
    "fill": (2, filled),
    "sort in place": (1, ordered),
    "copyto": (1, copied_to),
    "put": (1, put),
    "a loop over rows": (1, rows_changed),
    "ufunc.at": (1, at_places),
}


# --- what NumPy refuses ----------------------------------------------------------------------


def out_of_range(w: Writer) -> str | None:
    name = one(w, has_dimensions)
    if not name:
        return None
    far = w.random.choice([len(w[name]), -len(w[name]) - 1, 1000])
    return w.random.choice([f"{name}[{far}]", f"{name}[{far}] = 0", f"{name}[{far}] += 1"])


def too_many_indices(w: Writer) -> str | None:
    name = one(w)
    return name and f"{name}[{', '.join([':'] * (w[name].ndim + 1))}]"


def no_index(w: Writer) -> str | None:
    name = one(w, has_dimensions)
    return name and f"{name}[{w.random.choice(['1.5', '::0', '..., ...', repr('rows')])}]"


def wrong_shape(w: Writer) -> str | None:
    name = one(w)
    return name and f"{name}[...] = np.zeros((3, 7, 11), dtype=np.uint8)"


def wrong_mask(w: Writer) -> str | None:
    name = one(w, has_dimensions)
    return name and f"{name}[np.zeros({len(w[name]) + 1}, dtype=np.bool_)] = 0"


def wrong_reshape(w: Writer) -> str | None:
    name = one(w)
    return name and w.random.choice([f"{name}.reshape(7, 911)", f"{name}.reshape(-1, -1)"])


def wrong_axis(w: Writer) -> str | None:
    name = one(w)
    if not name:
        return None
    far = w[name].ndim + 1
    return w.random.choice(
        [
            f"np.swapaxes({name}, {far}, 0)",
            f"np.flip({name}, {far})",
            f"np.sum({name}, axis={far}, dtype=np.float32)",
            f"np.squeeze({name}, {far})",
            f"{name}.sort(axis={far})",
        ]
    )


def wrong_transpose(w: Writer) -> str | None:
    name = one(w, is_matrix)
    return name and f"{name}.transpose({[0] * w[name].ndim})"


def uneven_split(w: Writer) -> str | None:
    name = one(w, has_dimensions)
    return name and f"np.split({name}, {len(w[name]) + 1 if len(w[name]) else 0})"


def read_only(w: Writer) -> str | None:
    """What is broadcast, and a diagonal, cannot be written."""
    name = one(w)
    if not name:
        return None
    views = [f"np.broadcast_to({name}, {(2, *w[name].shape)})"]
    views += [f"np.diagonal({name})"] * is_matrix(w[name])
    return f"{w.random.choice(views)}[...] = 1"


def not_of_that_kind(w: Writer) -> str | None:
    """Floats do not go into integers by themselves."""
    name = one(w, lambda array: array.dtype.kind in "iu")
    if not name:
        return None
    half = "np.asarray(0.5, dtype=np.float32)"
    return w.random.choice([f"{name} += {half}", f"np.add({name}, {half}, out={name})"])


def not_of_bool(w: Writer) -> str | None:
    name = one(w, lambda array: array.dtype == bool)
    return name and w.random.choice([f"-{name}", f"{name} - {name}", f"{name} -= {name}"])


def output_of_another_shape(w: Writer) -> str | None:
    name = one(w, has_dimensions)
    return name and f"np.add({name}, {name}, out={name}[..., None, :0])"


def not_to_be_joined(w: Writer) -> str | None:
    name = one(w)
    return name and f"np.concatenate([{name}, {name}[None, None]])"


MISTAKES: dict[str, tuple[int, Draw]] = {
    "an index out of range": (3, out_of_range),
    "too many indices": (1, too_many_indices),
    "no index at all": (1, no_index),
    "a value of a wrong shape": (1, wrong_shape),
    "a mask of a wrong shape": (1, wrong_mask),
    "a reshape to another size": (1, wrong_reshape),
    "an axis out of range": (2, wrong_axis),
    "a transpose of one axis twice": (1, wrong_transpose),
    "an uneven split": (1, uneven_split),
    "a write into what is read-only": (2, read_only),
    "floats into integers in place": (1, not_of_that_kind),
    "arithmetic of bool": (1, not_of_bool),
    "an output of another shape": (1, output_of_another_shape),
    "parts that cannot be joined": (1, not_to_be_joined),
}

"""The reference page: the public names with their arguments and docstrings.

`text()` gives what docs/reference.md shows on the site. Members of classes are all that they have
but for names with an underscore and those that other rooms of the library use, which `INTERNAL`
lists; a test holds that every name is on one side.
"""

from __future__ import annotations

import enum
import inspect
from typing import Any

import dmlgpu as dml
from dmlgpu.desc.enumerations import ENUMERATIONS
from dmlgpu.gpu.memory import Memory
from dmlgpu.ops import FAMILIES
from dmlgpu.runtime.profile import Profile, ProfiledCall, ProfiledOperator

CLASSES = (
    dml.Device,
    dml.Tensor,
    dml.CompiledOperator,
    dml.Kernel,
    dml.TensorDesc,
    dml.AdapterInfo,
    Memory,
    Profile,
    ProfiledCall,
    ProfiledOperator,
)
INTERNAL = {
    dml.Device: (
        "argsort assign cast elementwise full internal is_observed keep kept nonzero operator put "
        "read read_async reduce remember run select sort take"
    ),
    dml.Tensor: (
        "begin context described elements forward is_traced key layout lease marked namespace "
        "relaid storage traced_ending traced_step whole window without_elements"
    ),
    dml.CompiledOperator: "drop_calls operator plan",
    dml.TensorDesc: "alignment extent overlaps_itself steps",
    Profile: "add",
}
# What instances have besides, as Python keeps no docstring of it.
ATTRIBUTES = {
    dml.Device: {
        "adapter": "The `AdapterInfo` of the adapter that was opened.",
        "feature_level": "The level that descriptions are validated against.",
        "debug": "Whether index values on the GPU are checked.",
        "implicit": "`raise` where implicit reads are refused, else `allow`.",
    },
    dml.Tensor: {
        "desc": "The `TensorDesc` that says how the bytes are to be read.",
        "base": "The tensor that it is a view of, or None where it has memory of its own.",
        "device": "The `Device` it belongs to.",
        "offset": "Where its first element in memory lies in `buffer`, in bytes.",
    },
    dml.CompiledOperator: {
        "desc": "The description that it runs.",
        "device": "The `Device` it was compiled on.",
    },
    Profile: {"clock": "Whose clock it is: `gpu`, or `host` where there are no timestamps."},
}
FUNCTIONS = sorted(
    {"slice", *(name for name in dml.__all__ if inspect.isfunction(getattr(dml, name)))}
)
ENUMS = (dml.FeatureLevel, dml.DataType, dml.TensorFlags, *ENUMERATIONS.values())
RECORDS = (dml.ScaleBias, dml.Size2D)


def text() -> str:
    """The whole reference."""
    parts = [
        "## Functions",
        table("function", [entry(getattr(dml, name)) for name in FUNCTIONS]),
        "Every operator has a function of its own name: [Operators](operators/index.md) has "
        "them all, and `help(dml.element_wise_add)` says the same.",
    ]
    for kind in CLASSES:
        parts += [f"## {kind.__name__}", described(kind)]
    rows = []
    for family in FAMILIES:
        stem = family.__name__.rpartition(".")[2].replace("_", "-")
        names = ", ".join(f"`{operator.desc.__name__}`" for operator in family.OPERATORS)
        rows.append((f"[{stem}](operators/{stem}-family.md)", names))
    parts += [
        "## Descriptions",
        f"{paragraph(dml.Description)} `Description` is the base of all. They are frozen, take "
        "keywords only, and have None for what is left out.",
        table("family", rows).replace("meaning", "descriptions", 1),
        "DirectML's other operators have descriptions too, such as `dml.ConvolutionDesc`: "
        "`validate` holds them against feature levels and equal sizes, but nothing runs them yet.",
    ]
    rows = [(f"`{kind.__name__}{arguments(kind)}`", paragraph(kind)) for kind in RECORDS]
    parts.append(table("value", rows))
    rows = [(f"`{kind.__name__}`", values(kind)) for kind in ENUMS]
    parts += ["## Enumerations", table("enumeration", rows).replace("meaning", "members", 1)]
    to_numpy = (dml.DataType.from_numpy, dml.DataType.numpy, dml.DataType.bits)
    named = zip(("from_numpy", "numpy", "bits"), to_numpy, strict=True)
    parts.append(table("of a data type", [entry(value, name) for name, value in named]))
    return "\n\n".join(parts)


def members(kind: type[Any]) -> dict[str, Any]:
    """The public names of a class that are not the library's own affair, in order."""
    found = {
        name: value for base in reversed(kind.__mro__[:-1]) for name, value in vars(base).items()
    }
    own = list(vars(kind))
    hidden = {*INTERNAL.get(kind, "").split(), *getattr(kind, "__dataclass_fields__", {})}
    return {
        name: getattr(kind, name)
        for name in sorted(found, key=lambda name: own.index(name) if name in own else -1)
        if not name.startswith("_") and name not in hidden and name not in ATTRIBUTES.get(kind, {})
    }


def described(kind: type[Any]) -> str:
    """A class: what it is, how it is made where users make it, and its members."""
    parts = [paragraph(kind)]
    if kind in (dml.Device, dml.TensorDesc):
        parts.append(f"`{kind.__name__}{arguments(kind)}`")
    fields = getattr(kind, "__dataclass_fields__", {})
    named = [name for name in fields if not name.startswith("_") and kind is not dml.TensorDesc]
    if named:
        parts.append("Fields: " + ", ".join(f"`{name}`" for name in named) + ".")
    rows = [(f"`{name}`", told) for name, told in ATTRIBUTES.get(kind, {}).items()]
    if "__call__" in vars(kind):
        rows.append(entry(kind.__call__, "__call__"))
    rows += [entry(value, name) for name, value in members(kind).items()]
    if rows:
        parts.append(table("member", rows))
    return "\n\n".join(parts)


def entry(value: Any, name: str = "") -> tuple[str, str]:
    """A function, method or property with its arguments, and the first paragraph about it."""
    name = name or value.__name__
    if name == "__call__":
        return f"`op{arguments(value)}`", "Records one call and returns the output tensor."
    if callable(value):
        shown = f"{'await ' * inspect.iscoroutinefunction(value)}{name}{arguments(value)}"
        return f"`{shown}`", paragraph(value)
    return f"`{name}`", paragraph(value)


def arguments(value: Any) -> str:
    """Names and defaults, without types."""
    shown = []
    starred = False
    for parameter in inspect.signature(value).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
            starred = True
        if parameter.kind is parameter.VAR_POSITIONAL:
            starred = True
        default = "" if parameter.default is parameter.empty else f"={plain(parameter.default)}"
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        shown.append(f"{star}{parameter.name}{default}")
    return f"({', '.join(shown)})"


def plain(value: Any) -> str:
    """A default as a caller would write it."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value)


def paragraph(value: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())


def values(kind: type[enum.Enum]) -> str:
    """The members of an enumeration; of levels, which are many, the first and the last."""
    names = [f"`{name}`" for name in kind.__members__]
    if kind is dml.FeatureLevel:
        return f"{names[0]} to {names[-1]}, with DirectML's values"
    return ", ".join(names)


def table(what: str, rows: list[tuple[str, str]]) -> str:
    """Rows of two cells."""
    lines = [f"| {what} | meaning |", "|---|---|"]
    lines += [f"| {left} | {right.replace('|', chr(92) + '|')} |" for left, right in rows]
    return "\n".join(lines)

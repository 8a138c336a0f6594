"""The reference page: the public names with their arguments and docstrings.

`text()` gives what stands between the markers of docs/reference.md; pages.py writes it.
"""

from __future__ import annotations

import enum
import inspect
from typing import Any

import dmlgpu as dml
from dmlgpu.desc.enumerations import ENUMERATIONS
from dmlgpu.gpu.memory import Memory
from dmlgpu.ops import OPERATORS
from dmlgpu.runtime.profile import Profile, ProfiledCall, ProfiledOperator

# What is promised of each class, in the order of use; other names are the library's own affair.
MEMBERS: dict[type[Any], str] = {
    dml.Device: (
        "from_wgpu tensor upload empty wrap from_dlpack compile flush wait profile memory close "
        "wgpu_device"
    ),
    dml.Tensor: (
        "shape dtype ndim size nbytes itemsize strides numpy numpy_async tolist item tobytes copy "
        "reshape ravel flatten transpose T swapaxes squeeze expand_dims broadcast_to flip take "
        "gather_nd cumsum cumprod view buffer"
    ),
    dml.CompiledOperator: "__call__",
    dml.TensorDesc: "rank element_count effective_strides minimum_size_in_bytes is_packed",
    dml.AdapterInfo: "",
    Memory: "",
    Profile: "calls operators save",
    ProfiledCall: "seconds gb_per_s",
    ProfiledOperator: "gb_per_s",
}
FUNCTIONS = sorted(
    {"slice", *(name for name in dml.__all__ if inspect.isfunction(getattr(dml, name)))}
)
ENUMS = (dml.FeatureLevel, dml.DataType, dml.TensorFlags, *ENUMERATIONS.values())
RECORDS = (dml.ScaleBias, dml.Size2D)


def text() -> str:
    """The whole reference."""
    parts = ["## Functions", table("function", [entry(getattr(dml, name)) for name in FUNCTIONS])]
    for kind, members in MEMBERS.items():
        parts += [f"## {kind.__name__}", described(kind, members.split())]
    rows = [
        (f"`{operator.desc.__name__}`", f"[{operator.name}](operators/{operator.name.lower()}.md)")
        for operator in OPERATORS
    ]
    parts += [
        "## Descriptions",
        "Frozen, with keywords only; None stands for what is left out.",
        table(
            "description",
            [("`Description`", f"{paragraph(dml.Description)} The base of all."), *rows],
        ),
        "DirectML's other operators have descriptions too, such as `dml.ConvolutionDesc`: "
        "`validate` holds them against feature levels and equal sizes, but nothing runs them yet.",
    ]
    rows = [(f"`{kind.__name__}{arguments(kind)}`", paragraph(kind)) for kind in RECORDS]
    parts.append(table("value", rows))
    rows = [(f"`{kind.__name__}`", values(kind)) for kind in ENUMS]
    parts += ["## Enumerations", table("enumeration", rows)]
    to_numpy = (dml.DataType.from_numpy, dml.DataType.numpy, dml.DataType.bits)
    named = zip(("from_numpy", "numpy", "bits"), to_numpy, strict=True)
    parts.append(table("of a data type", [entry(value, name) for name, value in named]))
    return "\n\n".join(parts)


def described(kind: type[Any], members: list[str]) -> str:
    """A class: what it is, how it is made where users make it, and its members."""
    parts = [paragraph(kind)]
    if kind in (dml.Device, dml.TensorDesc):
        parts.append(f"`{kind.__name__}{arguments(kind)}`")
    fields = getattr(kind, "__dataclass_fields__", {})
    named = [name for name in fields if not name.startswith("_") and kind is not dml.TensorDesc]
    if named:
        parts.append("Fields: " + ", ".join(f"`{name}`" for name in named) + ".")
    if members:
        parts.append(table("member", [entry(getattr(kind, name), name) for name in members]))
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
    lines = [f"| {what} | |", "|---|---|"]
    lines += [f"| {left} | {right.replace('|', chr(92) + '|')} |" for left, right in rows]
    return "\n".join(lines)

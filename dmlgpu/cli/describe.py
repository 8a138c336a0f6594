"""Descriptions from words: `--input float32:1x1x4x4 --axis 1`, one option for each field.

Options carry the field's name in kebab case, with a short name where one is clear. What is left
out gets the value it has in most programs: a packed output of the sizes that the rest gives.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import InvalidDescError
from dmlgpu.ops.cumulative import (
    AxisDirection,
    CumulativeProductDesc,
    CumulativeSummationDesc,
)
from dmlgpu.ops.gather_nd import GatherNd1Desc, GatherNdDesc, output_sizes
from dmlgpu.ops.slice import Slice1Desc, SliceDesc, reachable
from dmlgpu.plan.operator import Operator

Fields = dict[str, Any]
TENSOR = "TYPE:SIZES[:STRIDES]"


def tensor(text: str) -> TensorDesc:
    """`float32:1x1x4x4`, or with strides in elements `float32:4x4:8x1`."""
    kind, *rest = text.split(":")
    if len(rest) not in (1, 2):
        raise argparse.ArgumentTypeError(f"it is {text!r}; it must be {TENSOR}")
    data_type = DataType.__members__.get(kind.upper())
    if data_type is None or data_type.bits < 8:
        known = ", ".join(t.name.lower() for t in sorted(DataType) if t.bits >= 8)
        raise argparse.ArgumentTypeError(f"the type is {kind!r}; it must be one of {known}")
    try:
        return TensorDesc(data_type, *map(numbers, rest))
    except InvalidDescError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("TensorDesc: ")) from None


def numbers(text: str) -> tuple[int, ...]:
    """`1,1,-2,2`, or `1x1x4x4`."""
    parts = re.split("[,x]", text)
    if not all(re.fullmatch(r"-?\d+", part) for part in parts):
        raise argparse.ArgumentTypeError(
            f"it is {text!r}; it must be whole numbers with commas or x between them"
        )
    return tuple(map(int, parts))


def direction(text: str) -> AxisDirection:
    """`increasing` or `decreasing`."""
    found = AxisDirection.__members__.get(text.upper())
    if found is None:
        raise argparse.ArgumentTypeError(f"it is {text!r}; it must be increasing or decreasing")
    return found


@dataclass(frozen=True, slots=True)
class Option:
    """How one field is given."""

    field: str
    kind: Callable[[str], Any] | None  # None: a switch
    help: str
    short: str = ""
    metavar: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The short name first: it is the one that messages use."""
        full = "--" + self.field.replace("_", "-")
        return (f"--{self.short}", full) if self.short else (full,)


INPUT = Option("input_tensor", tensor, "what is read", "input", TENSOR)
INDICES = Option("indices_tensor", tensor, "the index tuples", "indices", TENSOR)
OUTPUT = Option("output_tensor", tensor, "what is written (default: packed)", "output", TENSOR)
LIST = "N,N,..."


def _counts(*fields: str) -> tuple[Option, ...]:
    texts = {
        "input_dimension_count": "dimensions of the input that count (default: all)",
        "indices_dimension_count": "dimensions of the indices that count (default: all)",
        "batch_dimension_count": "leading dimensions that input and indices share (default: 0)",
    }
    return tuple(Option(field, int, texts[field], metavar="N") for field in fields)


def _scan(flag: str) -> tuple[Option, ...]:
    return (
        INPUT,
        OUTPUT,
        Option("axis", int, "the axis; a negative one counts from the end", metavar="N"),
        Option("axis_direction", direction, "increasing (default) or decreasing", "direction"),
        Option(flag, None, "leave each element out of its own result", "exclusive"),
    )


def _windows(prefix: str, defaults: tuple[str, str, str]) -> tuple[Option, ...]:
    names = ("offsets", "sizes", "strides")
    return tuple(
        Option(f"{prefix}{name}", numbers, text, name if prefix else "", LIST)
        for name, text in zip(names, defaults, strict=True)
    )


OPTIONS: Mapping[type[Any], tuple[Option, ...]] = {
    SliceDesc: (
        INPUT,
        OUTPUT,
        *_windows(
            "",
            (
                "where the window begins (default: 0)",
                "elements taken (default: all that can be)",
                "every n-th element (default: 1)",
            ),
        ),
    ),
    Slice1Desc: (
        INPUT,
        OUTPUT,
        *_windows(
            "input_window_",
            (
                "where the window begins (default: 0)",
                "elements in the window (default: to the end)",
                "every n-th element, from the far end where negative (default: 1)",
            ),
        ),
    ),
    GatherNdDesc: (
        INPUT,
        INDICES,
        OUTPUT,
        *_counts("input_dimension_count", "indices_dimension_count"),
    ),
    GatherNd1Desc: (
        INPUT,
        INDICES,
        OUTPUT,
        *_counts("input_dimension_count", "indices_dimension_count", "batch_dimension_count"),
    ),
    CumulativeSummationDesc: _scan("has_exclusive_sum"),
    CumulativeProductDesc: _scan("has_exclusive_product"),
}
REQUIRED = {"input_tensor", "indices_tensor", "axis"}


def add_options(parser: Any, operator: Operator[Any]) -> None:
    """The options of one operator's description."""
    group = parser.add_argument_group("description")
    for option in OPTIONS[operator.desc]:
        facts: Fields = {"dest": option.field, "help": option.help, "default": None}
        if option.kind is None:
            facts["action"] = "store_true"
        else:
            facts |= {"type": option.kind, "required": option.field in REQUIRED}
            facts["metavar"] = option.metavar or "WORD"
        group.add_argument(*option.names, **facts)


def describe(operator: Operator[Any], args: argparse.Namespace) -> Any:
    """The description that the options give, completed."""
    given = {o.field: getattr(args, o.field) for o in OPTIONS[operator.desc]}
    fields = {name: value for name, value in given.items() if value is not None}
    try:
        return operator.desc(**_COMPLETE[operator.desc](fields))
    except InvalidDescError as error:
        message = str(error).replace("TensorDesc:", f"{operator.name}: output_tensor:")
        raise InvalidDescError(message) from None


def _packed(like: TensorDesc, sizes: Sequence[int]) -> TensorDesc:
    return TensorDesc(like.data_type, sizes)


def _columns(source: TensorDesc, *lists: tuple[int, ...]) -> list[tuple[int, ...]]:
    """(size, and one entry of each list) per dimension; the rules name lists of another length."""
    padded = [(*values, *(1,) * source.rank)[: source.rank] for values in lists]
    return list(zip(source.sizes, *padded, strict=True))


def _reached(window: int, stride: int) -> int:
    """Elements of the output; what the rules refuse counts as one."""
    return reachable(window, stride) if window > 0 and stride else 1


def _complete_slice(fields: Fields) -> Fields:
    source: TensorDesc = fields["input_tensor"]
    offsets = fields.setdefault("offsets", (0,) * source.rank)
    strides = fields.setdefault("strides", (1,) * source.rank)
    most = tuple(_reached(n - o, k) for n, o, k in _columns(source, offsets, strides))
    sizes = fields.setdefault("sizes", most)
    made = [max(1, size) for _, size in _columns(source, sizes)]
    return {"output_tensor": _packed(source, made)} | fields


def _complete_slice1(fields: Fields) -> Fields:
    source: TensorDesc = fields["input_tensor"]
    offsets = fields.setdefault("input_window_offsets", (0,) * source.rank)
    strides = fields.setdefault("input_window_strides", (1,) * source.rank)
    most = tuple(max(1, n - o) for n, o in _columns(source, offsets))
    sizes = fields.setdefault("input_window_sizes", most)
    made = [_reached(window, k) for _, window, k in _columns(source, sizes, strides)]
    return {"output_tensor": _packed(source, made)} | fields


def _complete_scan(fields: Fields) -> Fields:
    source: TensorDesc = fields["input_tensor"]
    if -source.rank <= fields["axis"] < 0:
        fields["axis"] += source.rank
    return {"output_tensor": _packed(source, source.sizes)} | fields


def _complete_gather(fields: Fields) -> Fields:
    """As the functions do: tensors of unequal rank are padded with leading 1s."""
    source, index = fields["input_tensor"], fields["indices_tensor"]
    real = fields.setdefault("input_dimension_count", source.rank)
    real_index = fields.setdefault("indices_dimension_count", index.rank)
    batch = fields.get("batch_dimension_count", 0)
    if "output_tensor" in fields:
        return fields
    rank = max(source.rank, index.rank)
    kept = real - batch - index.sizes[-1]
    natural: tuple[int, ...] = (1,)
    if kept >= 0 and batch >= 0 and 1 <= real <= rank and 1 <= real_index <= rank:
        padded = (_padded(source, rank).sizes, _padded(index, rank).sizes)
        natural = output_sizes(*padded, real, real_index, batch) or (1,)
        rank = max(rank, len(natural))
    fields["input_tensor"], fields["indices_tensor"] = _padded(source, rank), _padded(index, rank)
    return fields | {"output_tensor": _padded(_packed(source, natural), rank)}


def _complete_gather1(fields: Fields) -> Fields:
    fields.setdefault("batch_dimension_count", 0)
    return _complete_gather(fields)


def _padded(desc: TensorDesc, rank: int) -> TensorDesc:
    missing = rank - desc.rank
    strides = None if desc.strides is None else (0,) * missing + desc.strides
    return TensorDesc(desc.data_type, (1,) * missing + desc.sizes, strides)


_COMPLETE: Mapping[type[Any], Callable[[Fields], Fields]] = {
    SliceDesc: _complete_slice,
    Slice1Desc: _complete_slice1,
    GatherNdDesc: _complete_gather,
    GatherNd1Desc: _complete_gather1,
    CumulativeSummationDesc: _complete_scan,
    CumulativeProductDesc: _complete_scan,
}

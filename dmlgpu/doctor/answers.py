"""Each operator against known answers: the documents' examples, and sizes that reach each kernel.

All values are integers that every step keeps exact, so an answer is right or wrong, bit for bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dmlgpu.desc.description import Description, Field
from dmlgpu.desc.levels import FeatureLevel, row_at
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.device import Device
from dmlgpu.errors import DmlError
from dmlgpu.ops import OPERATORS, operator_of
from dmlgpu.ops.cumulative import CumulativeProductDesc, CumulativeSummationDesc
from dmlgpu.ops.gather_nd import GatherNd1Desc, GatherNdDesc
from dmlgpu.ops.slice import Slice1Desc, SliceDesc
from dmlgpu.plan.dispatch import Plan
from dmlgpu.plan.move.packed import READ_AGAIN
from dmlgpu.plan.operator import Operator

Array = npt.NDArray[Any]

# Of the operators' pages.
GRID = np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)
BLOCKS = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2)
TABLE = np.array([[[[2, 1, 3, 5], [3, 8, 7, 3], [9, 6, 2, 4]]]], np.float32)


@dataclass(frozen=True)
class Case:
    """A description, its inputs, and what the output must hold."""

    what: str
    desc: Any
    inputs: tuple[Array, ...]
    expected: Array

    @property
    def operator(self) -> str:
        """Its name."""
        return str(operator_of(self.desc).name)


@dataclass(frozen=True)
class Outcome:
    """How a case ended: `fault` is empty when the answer was right."""

    operator: str
    what: str
    kernels: frozenset[str]
    fault: str = ""


def _desc(array: Array, strides: tuple[int, ...] | None = None) -> TensorDesc:
    return TensorDesc(DataType.from_numpy(array.dtype), array.shape, strides)


def _slice(what: str, x: Array, key: tuple[slice, ...]) -> Case:
    expected = x[key]
    steps = tuple(k.step or 1 for k in key)
    return Case(
        what,
        SliceDesc(
            input_tensor=_desc(x),
            output_tensor=_desc(expected),
            offsets=tuple(k.start or 0 for k in key),
            sizes=expected.shape,
            strides=steps,
        ),
        (x,),
        expected,
    )


def _slice1(
    what: str,
    x: Array,
    window: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
    expected: Array,
    strides: tuple[int, ...] | None = None,
) -> Case:
    offsets, sizes, steps = window
    desc = Slice1Desc(
        input_tensor=_desc(x),
        output_tensor=_desc(expected, strides),
        input_window_offsets=offsets,
        input_window_sizes=sizes,
        input_window_strides=steps,
    )
    return Case(what, desc, (x,), expected)


def _gather(
    what: str,
    x: Array,
    indices: Array,
    expected: Array,
    counts: tuple[int, int],
    batch: int | None = None,
    strides: tuple[int, ...] | None = None,
) -> Case:
    fields: dict[str, Any] = {
        "input_tensor": _desc(x),
        "indices_tensor": _desc(indices),
        "output_tensor": _desc(expected, strides),
        "input_dimension_count": counts[0],
        "indices_dimension_count": counts[1],
    }
    if batch is None:
        return Case(what, GatherNdDesc(**fields), (x, indices), expected)
    desc = GatherNd1Desc(**fields, batch_dimension_count=batch)
    return Case(what, desc, (x, indices), expected)


def _scan(
    what: str, x: Array, axis: int, *, product: bool = False, backward: int = 0, exclusive: int = 0
) -> Case:
    """The oracle is NumPy's own function, along a flipped axis and shifted by one as asked for."""
    values = np.flip(x, axis) if backward else x
    with np.errstate(over="ignore"):
        run = (np.cumprod if product else np.cumsum)(values, axis, dtype=x.dtype)
    if exclusive:
        first = np.full_like(np.take(run, [0], axis), int(product))
        run = np.concatenate([first, np.delete(run, -1, axis)], axis)
    expected = np.ascontiguousarray(np.flip(run, axis) if backward else run)
    fields: dict[str, Any] = {
        "input_tensor": _desc(x),
        "output_tensor": _desc(expected),
        "axis": axis,
        "axis_direction": backward,
    }
    if product:
        desc: Any = CumulativeProductDesc(**fields, has_exclusive_product=bool(exclusive))
    else:
        desc = CumulativeSummationDesc(**fields, has_exclusive_sum=bool(exclusive))
    return Case(what, desc, (x,), expected)


def slices() -> Iterator[Case]:
    """Windows that move as whole units, as single elements, and into gaps."""
    yield _slice("document 1", GRID, np.index_exp[:, :, 1:4, 2:4])
    yield _slice("document 2", GRID, np.index_exp[:, :, 1:4:2, 0:4:3])
    odd = ((0, 0, 0, 1), (1, 1, 4, 3), (1, 1, 2, 2))
    yield _slice1("document 1", GRID, odd, GRID[:, :, ::2, 1::2])
    back = ((0, 0, 0, 1), (1, 1, 4, 3), (1, 1, -2, 2))
    yield _slice1("document 2", GRID, back, GRID[:, :, ::-2, 1::2])
    long = np.arange(64 * 1024, dtype=np.float32).reshape(64, 1024)
    yield _slice("whole rows", long, np.index_exp[3:60, 0:1024])
    planes = np.arange(4 * 9 * 40, dtype=np.int32).reshape(4, 9, 40)
    yield _slice("planes of units", planes, np.index_exp[0:4:2, 0:9:2, 0:32])
    rng = np.random.default_rng(1)
    for dtype in (np.uint8, np.float16, np.int32, np.float64):
        x = rng.integers(0, 100, (37, 208)).astype(dtype)
        name = np.dtype(dtype).name
        yield _slice(f"units of {name}", x, np.index_exp[0:36:5, 16:192])
        yield _slice(f"odd offset of {name}", x, np.index_exp[1:30, 3:190])
        full = ((0, 0), x.shape, (1, -1))
        yield _slice1(f"reversed {name}", x, full, np.ascontiguousarray(x[:, ::-1]))
        third = ((0, 1), (37, 205), (-1, 3))
        yield _slice1(f"every third {name}", x, third, np.ascontiguousarray(x[::-1, 1:206:3]))
        rows = ((0, 16), (37, 192), (-2, 1))
        yield _slice1(f"rows of {name}", x, rows, np.ascontiguousarray(x[::-2, 16:]))
        second = ((0, 0), x.shape, (1, 2))
        yield _slice1(f"every second {name}", x, second, np.ascontiguousarray(x[:, ::2]))
        few = ((0, 0), (7, 9), (1, 1))
        yield _slice1(f"gaps of {name}", x, few, np.ascontiguousarray(x[:7, :9]), (31, 3))


def gathers() -> Iterator[Case]:
    """Blocks, single elements, every index type, batches, and values out of range."""
    two = np.array([[0, 1], [2, 3]], np.float32)
    yield _gather("document 1", two, np.array([[1], [0]], np.uint32), two[::-1].copy(), (2, 2))
    block = BLOCKS[:, :2]
    pick = np.array([[[[0, 1], [1, 0]]]], np.uint32)
    taken = np.array([[[[2, 3], [4, 5]]]], np.float32)
    yield _gather("document 2", block, pick, taken, (3, 2))
    tuples = np.array([[[[0, 0], [1, 1]], [[1, 1], [0, 0]], [[0, 1], [1, 0]]]], np.int64)
    each = np.array([[[[0, 3], [7, 4], [9, 10]]]], np.float32)
    yield _gather("document 2", BLOCKS, tuples, each, (3, 3), batch=1)
    rng = np.random.default_rng(2)
    for dtype, index in zip(
        (np.uint8, np.float16, np.int32, np.uint64),
        (np.int64, np.uint32, np.int32, np.uint64),
        strict=True,
    ):
        name = f"{np.dtype(dtype).name} by {np.dtype(index).name}"
        x = rng.integers(0, 100, (50, 6, 32)).astype(dtype)
        rows = rng.integers(0, 50, (1, 33, 1)).astype(index)
        found = x[rows[0, :, 0]]
        yield _gather(f"blocks of {name}", x, rows, found, (3, 2))
        odd = x[:, 0, :31].copy()
        yield _gather(f"odd rows of {name}", odd, rows[0], odd[rows[0, :, 0]], (2, 2))
        places = rng.integers(0, 6, (1, 400, 3)).astype(index)
        single = x[tuple(np.moveaxis(places[0], -1, 0))]
        yield _gather(f"elements of {name}", x, places, single.reshape(1, 1, 400), (3, 2))
        gaps = (6 * 99, 99, 3)
        yield _gather(
            f"gaps of {name}", x[:, :, :9].copy(), rows, found[:, :, :9], (3, 2), None, gaps
        )
        inner = rng.integers(0, 6, (50, 5, 1)).astype(index)
        picked = np.take_along_axis(x, inner.astype(np.int64), 1)
        yield _gather(f"batches of {name}", x, inner, picked, (3, 3), batch=1)
    # More than caches hold.
    large = np.resize(np.arange(251, dtype=np.uint8), (READ_AGAIN // 3 + 1, 3))
    spread = rng.integers(0, len(large), (300, 1)).astype(np.uint32)
    yield _gather("pixels of 16 MiB", large, spread, large[spread[:, 0]], (2, 2))
    x = np.arange(9, dtype=np.float32).reshape(9, 1)
    far = np.array([[-1], [-9], [-10], [8], [9], [2**62], [-(2**62)]], np.int64)
    yield _gather("out of range", x, far, x[[8, 0, 0, 8, 8, 8, 0]], (2, 2))


def scans() -> Iterator[Case]:
    """Lines of every length that has a kernel of its own, down columns and along rows."""
    for product in (False, True):
        yield _scan("document 1", TABLE, 3, product=product)
        yield _scan("document 2", TABLE, 3, product=product, exclusive=1)
        yield _scan("document 3", TABLE, 3, product=product, backward=1)
        yield _scan("document 4", TABLE, 2, product=product)
    rng = np.random.default_rng(3)
    shapes = (
        ("short lines", (333, 3), 1),
        ("lines of 100", (5, 100), 1),
        ("lines of 600", (5, 600), 1),
        ("lines of 9,000", (2, 9000), 1),
        ("one line of 300,000", (1, 300_000), 1),
        ("columns", (70, 128), 0),
        ("long columns", (1500, 128), 0),
        ("columns of halves of words", (20, 1031), 0),
        ("lines of 40", (5, 40), 1),
        ("lines of 2,001", (3, 2001), 1),
        ("lines of 4,096", (3, 4096), 1),
        ("columns of words", (20, 1030), 0),
        ("lines of 5, apart", (300, 5, 3), 1),
        ("lines of 2,001, apart", (3, 2001, 2), 1),
    )
    types = (np.int32, np.uint64, np.float16, np.float32, np.uint16)
    for n, (what, shape, axis) in enumerate(shapes):
        for product in (False, True):
            dtype = types[(n + 2 * product) % len(types)]
            exact = not np.issubdtype(dtype, np.floating)
            if product:  # ones and minus ones, or numbers whose products wrap
                x = rng.integers(1, 9, shape) if exact else rng.choice([-1, 1], shape)
            else:  # sums of up to 2,048 are exact in FLOAT16
                x = rng.integers(0, 99, shape) if exact else rng.integers(0, 200, shape) // 199
            flags = {"backward": n % 2, "exclusive": n // 2 % 2}
            name = f"{what}, {np.dtype(dtype).name}"
            yield _scan(name, x.astype(dtype), axis, product=product, **flags)
    long = rng.integers(1, 9, (1, 8_400_000), np.int32)
    for product in (False, True):
        sides = long.reshape(4_200_000, 2)
        yield _scan("two lines of 4,200,000 side by side, int32", sides, 0, product=product)
        yield _scan("one line of 8,400,000, int32", long, 1, product=product)


def cases() -> Iterator[Case]:
    """Every case, operator by operator."""
    yield from slices()
    yield from gathers()
    yield from scans()


VALUES: dict[str, Any] = {
    **{"bool": False, "float": 1.0, "uint": 1, "int": 1, "scalar union": 1, "size 2d": (1, 1)},
    **{"uint array": 0, "int array": 0, "float array": 1.0},  # of each entry
}
AT_LEAST_ONE = ("repeats", "sizes", "strides", "dilations")  # ends of names of such arrays


def smallest(operator: Operator[Any]) -> Description | None:
    """A description with one element in each tensor, by the record alone; None: it needs more.

    Attributes have the first value of their kind; sizes that only a caller can say are 1, and
    arrays have an entry for each dimension, or one.
    """
    row = row_at(operator.entry.support, max(FeatureLevel)) or {}
    rank = max((min(cell.ranks) for cell in row.values()), default=1)
    for length, more in itertools.product((rank, 1), ({}, {"output_sizes": (1,) * rank})):
        given: dict[str, Any] = {}
        for field in operator.fields:
            if field.direction == "in" and not field.optional:
                one = TensorDesc(min(row[field.name].data_types), (1,) * rank)
                given[field.name] = (one,) if field.is_array else one
            elif not field.is_tensor and field.required and not field.optional:
                given[field.name] = _least(field, length)
        try:
            desc: Description = operator.complete(given | more)
            operator.validate(desc, max(FeatureLevel))
        except DmlError:
            continue
        return desc
    return None


def _least(field: Field, length: int) -> Any:
    """The first value of an attribute's kind."""
    if field.name == "axis":
        return 0
    if field.kind.startswith("enum "):
        return 0 if "DATA_TYPE" not in field.kind else DataType.FLOAT32
    value = VALUES[field.kind]
    if not field.kind.endswith(" array"):
        return value
    if field.name in ("axes", "bias"):
        return (value,)
    return (1 if field.name.endswith(AT_LEAST_ONE) else value,) * length


def runs(device: Device, operator: Operator[Any], desc: Description) -> Outcome:
    """Whether the driver compiles an operator's shaders, and runs them twice to the same bits."""
    reached: frozenset[str] = frozenset()
    what = "one element"
    try:
        op = device.compile(desc)
        reached = kernels(op.plan)
        ones = [np.ones(t.sizes, t.data_type.numpy) for t in desc.inputs().values()]
        inputs: list[Any] = [device.tensor(x) for x in ones]
        if any(field.is_array for field in operator.inputs):
            inputs = [inputs]
        found = [op(*inputs) for _ in range(2)]
        first, second = (t if isinstance(t, tuple) else (t,) for t in found)
        if [t.tobytes() for t in first] != [t.tobytes() for t in second]:
            return Outcome(operator.name, what, reached, "two runs gave different bits")
    except DmlError as error:
        return Outcome(operator.name, what, reached, str(error))
    return Outcome(operator.name, what, reached)


def others(device: Device) -> Iterator[Outcome]:
    """Every operator that has no known answers here, run once by its record."""
    answered = {case.operator for case in (*slices(), *gathers(), *scans())}
    for operator in OPERATORS:
        desc = None if operator.name in answered else smallest(operator)
        if desc is not None:
            yield runs(device, operator, desc)


def kernels(plan: Plan) -> frozenset[str]:
    """The kernels of a plan, by the names that the documentation of plans uses."""
    found = set()
    for dispatch in plan.dispatches:
        move = dispatch.slots.get("move", "")
        found.add(move or dispatch.shader.rpartition("/")[2])
    return frozenset({"copies"} if plan.copies else found)


def run(device: Device, case: Case) -> Outcome:
    """Runs a case twice: the second run reuses what the first one made."""
    reached: frozenset[str] = frozenset()
    try:
        op = device.compile(case.desc)
        reached = kernels(op.plan)
        inputs = [device.tensor(x) for x in case.inputs]
        for _ in range(2):
            found = op(*inputs).numpy()
            if found.tobytes() != case.expected.tobytes():
                wrong = np.argwhere(found != case.expected)
                at = tuple(int(i) for i in wrong[0])
                fault = f"{found[at]} instead of {case.expected[at]} at {list(at)}"
                return Outcome(case.operator, case.what, reached, fault)
    except DmlError as error:
        return Outcome(case.operator, case.what, reached, str(error))
    return Outcome(case.operator, case.what, reached)

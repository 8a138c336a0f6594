"""Random valid descriptions, and single faults to put into them.

TABLES is a transcription of the specification's feature-level tables, made for the tests alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import oracle
from hypothesis import strategies as st

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import FeatureLevel as L

Draw = Callable[[st.SearchStrategy[Any]], Any]
Kwargs = dict[str, Any]
Row = dict[str, tuple[range, frozenset[T]]]

T6 = frozenset({T.FLOAT32, T.FLOAT16, T.INT32, T.INT16, T.UINT32, T.UINT16})
T8 = T6 | {T.INT8, T.UINT8}
T11 = T8 | {T.FLOAT64, T.INT64, T.UINT64}
IDX1 = frozenset({T.UINT32})
IDX4 = frozenset({T.INT64, T.INT32, T.UINT64, T.UINT32})
SCAN5 = frozenset({T.FLOAT32, T.FLOAT16, T.INT32, T.UINT32, T.UINT16})
SCAN7 = SCAN5 | {T.INT64, T.UINT64}
D4, D45, D18 = range(4, 5), range(4, 6), range(1, 9)


def _two(ranks: range, types: frozenset[T]) -> Row:
    return {"input_tensor": (ranks, types), "output_tensor": (ranks, types)}


def _gather(ranks: range, types: frozenset[T], index: frozenset[T]) -> Row:
    return {**_two(ranks, types), "indices_tensor": (ranks, index)}


TABLES: dict[str, dict[L, Row]] = {
    "SLICE": {
        L.FL_1_0: _two(D45, T6),
        L.FL_2_1: _two(D45, T8),
        L.FL_3_0: _two(D18, T8),
        L.FL_4_1: _two(D18, T11),
    },
    "SLICE1": {
        L.FL_2_1: _two(D45, T8),
        L.FL_3_0: _two(D18, T8),
        L.FL_4_1: _two(D18, T11),
    },
    "GATHER_ND": {
        L.FL_2_1: _gather(D4, T8, IDX1),
        L.FL_3_0: _gather(D18, T8, IDX4),
        L.FL_4_1: _gather(D18, T11, IDX4),
    },
    "GATHER_ND1": {
        L.FL_3_0: _gather(D18, T8, IDX4),
        L.FL_4_1: _gather(D18, T11, IDX4),
    },
    "CUMULATIVE_SUMMATION": {
        L.FL_2_1: _two(D4, SCAN5),
        L.FL_4_0: _two(D18, SCAN5),
        L.FL_5_0: _two(D18, SCAN7),
    },
    "CUMULATIVE_PRODUCT": {
        L.FL_3_1: _two(D4, SCAN5),
        L.FL_4_0: _two(D18, SCAN5),
        L.FL_5_0: _two(D18, SCAN7),
    },
}
DESCS: dict[str, Any] = {
    "SLICE": dml.SliceDesc,
    "SLICE1": dml.Slice1Desc,
    "GATHER_ND": dml.GatherNdDesc,
    "GATHER_ND1": dml.GatherNd1Desc,
    "CUMULATIVE_SUMMATION": dml.CumulativeSummationDesc,
    "CUMULATIVE_PRODUCT": dml.CumulativeProductDesc,
}
EXCLUSIVE = {
    "CUMULATIVE_SUMMATION": "has_exclusive_sum",
    "CUMULATIVE_PRODUCT": "has_exclusive_product",
}


def row_at(operator: str, level: L) -> Row | None:
    """The effective row: that of the greatest level not above the one asked for."""
    known = [at for at in TABLES[operator] if at <= level]
    return TABLES[operator][max(known)] if known else None


def allowed_at(operator: str, kwargs: Kwargs, level: L) -> bool:
    row = row_at(operator, level)
    return row is not None and all(
        kwargs[field].rank in ranks and kwargs[field].data_type in types
        for field, (ranks, types) in row.items()
    )


@dataclass(frozen=True)
class Case:
    """One description with what a run of it needs."""

    operator: str
    kwargs: Kwargs
    seed: int = 0
    gaps: tuple[int, ...] = (64, 64, 64)
    one_buffer: bool = False
    in_place: bool = False
    mode: str = ""

    @property
    def desc(self) -> Any:
        return DESCS[self.operator](**self.kwargs)

    @property
    def tensors(self) -> list[dml.TensorDesc]:
        return [value for field, value in self.kwargs.items() if field.endswith("_tensor")]


@st.composite
def sizes_of_rank(draw: Draw, rank: int, most: int = 4000) -> tuple[int, ...]:
    budget = draw(st.sampled_from([n for n in (24, 300, most) if n <= most]))
    limit = draw(st.sampled_from((5, 40, budget)))
    sizes = []
    for _ in range(rank):
        sizes.append(draw(st.integers(1, max(1, min(budget, limit)))))
        budget //= sizes[-1]
    if draw(st.booleans()):  # one long dimension
        sizes[-1] *= max(1, budget // draw(st.integers(1, 3)))
    return tuple(draw(st.permutations(sizes)))


def sizes(most: int = 4000) -> st.SearchStrategy[tuple[int, ...]]:
    ranks = st.sampled_from((1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8))
    return ranks.flatmap(lambda rank: sizes_of_rank(rank, most))


@st.composite
def nested_strides(draw: Draw, sizes: Sequence[int], pad: int) -> tuple[int, ...]:
    """Any order of dimensions, each with up to pad elements of padding inside it."""
    strides = [0] * len(sizes)
    step = 1
    for d in draw(st.permutations(range(len(sizes)))):
        step += draw(st.integers(0, pad)) if pad else 0
        strides[d] = step
        step *= sizes[d]
    return tuple(strides)


@st.composite
def input_strides(draw: Draw, sizes: Sequence[int]) -> tuple[int, ...] | None:
    kind = draw(st.sampled_from(("none", "none", "permuted", "padded", "broadcast", "any")))
    if kind == "none":
        return None
    if kind == "any":
        return tuple(draw(st.integers(0, 7)) for _ in sizes)
    strides = draw(nested_strides(sizes, 3 if kind == "padded" else 0))
    if kind == "broadcast":
        strides = tuple(s * draw(st.booleans()) for s in strides)
    return strides


@st.composite
def output_strides(draw: Draw, sizes: Sequence[int]) -> tuple[int, ...] | None:
    """No two elements share an address; the strides of size-1 dimensions are anything."""
    kind = draw(st.sampled_from(("none", "none", "permuted", "padded", "row", "loose")))
    if kind == "none":
        return None
    if kind == "row":  # packed but for an odd pitch of the rows
        return oracle.strides_of((*sizes[:-1], sizes[-1] + draw(st.integers(1, 5))), None)
    if kind == "loose":  # interleaved without nesting, such as sizes (2, 2) with strides (3, 2)
        tries = [tuple(draw(st.integers(1, 9)) for _ in sizes) for _ in range(4)]
        for strides in tries:
            places = oracle.addresses(sizes, strides)
            if np.unique(places).size == places.size:
                return strides
    strides = draw(nested_strides(sizes, 3 if kind == "padded" else 0))
    anything = st.sampled_from((0, 1, 7, 2**32 - 1))
    return tuple(
        draw(anything) if n == 1 and kind == "permuted" else s
        for n, s in zip(sizes, strides, strict=True)
    )


@st.composite
def tensor(
    draw: Draw, data_type: T, sizes: Sequence[int], *, output: bool = False
) -> dml.TensorDesc:
    strides = draw((output_strides if output else input_strides)(sizes))
    total = oracle.minimum_size(data_type, sizes, strides) + 4 * draw(st.sampled_from((0, 0, 1, 6)))
    return dml.TensorDesc(
        data_type,
        tuple(sizes),
        strides,
        total_tensor_size_in_bytes=total,
        guaranteed_base_offset_alignment=draw(st.sampled_from((0, 0, 0, 8, 16, 64))),
    )


@st.composite
def placed(draw: Draw, operator: str, kwargs: Kwargs) -> Case:
    gap = st.integers(0, 40).map(lambda n: 16 * n)
    return Case(
        operator,
        kwargs,
        seed=draw(st.integers(0, 2**32 - 1)),
        gaps=(draw(gap), draw(gap), draw(gap)),
        one_buffer=draw(st.booleans()),
    )


def types(operator: str, field: str = "input_tensor") -> st.SearchStrategy[T]:
    return st.sampled_from(sorted(TABLES[operator][max(TABLES[operator])][field][1]))


@st.composite
def slice_cases(draw: Draw) -> Case:
    data_type, source = draw(types("SLICE")), draw(sizes())
    offsets, counts, strides = [], [], []
    for n in source:
        step = draw(st.integers(1, min(n, 4)))
        most = 1 + (n - 1) // step
        count = draw(st.sampled_from((most, most, max(1, most - 1), draw(st.integers(1, most)))))
        offsets.append(draw(st.integers(0, n - 1 - (count - 1) * step)))
        counts.append(count)
        strides.append(draw(st.sampled_from((step, 1, 2**32 - 1))) if count == 1 else step)
    kwargs = {
        "input_tensor": draw(tensor(data_type, source)),
        "output_tensor": draw(tensor(data_type, counts, output=True)),
        "offsets": tuple(offsets),
        "sizes": tuple(counts),
        "strides": tuple(strides),
    }
    return draw(placed("SLICE", kwargs))


@st.composite
def slice1_cases(draw: Draw) -> Case:
    data_type, source = draw(types("SLICE1")), draw(sizes())
    offsets, windows, strides, counts = [], [], [], []
    for n in source:
        windows.append(draw(st.sampled_from((n, n, max(1, n - 1), draw(st.integers(1, n))))))
        offsets.append(draw(st.integers(0, n - windows[-1])))
        far = (-(2**31), 2**31 - 1) if n < 4 else ()
        step = draw(st.sampled_from((1, 1, 1, -1, -1, 2, -2, 3, -3, *far)))
        strides.append(step)
        most = 1 + (windows[-1] - 1) // abs(step)
        counts.append(draw(st.sampled_from((most, most, most, draw(st.integers(1, most))))))
    kwargs = {
        "input_tensor": draw(tensor(data_type, source)),
        "output_tensor": draw(tensor(data_type, counts, output=True)),
        "input_window_offsets": tuple(offsets),
        "input_window_sizes": tuple(windows),
        "input_window_strides": tuple(strides),
    }
    return draw(placed("SLICE1", kwargs))


@st.composite
def gather_cases(draw: Draw, operator: str = "GATHER_ND") -> Case:
    data_type, index_type = draw(types(operator)), draw(types(operator, "indices_tensor"))
    batch = draw(st.integers(0, 3)) if operator == "GATHER_ND1" else 0
    per_tuple = draw(st.integers(1, 8 - batch) | st.integers(1, 3))
    kept = draw(st.integers(0, 8 - batch - per_tuple) | st.just(0)) if batch + per_tuple < 8 else 0
    more = draw(st.integers(0, min(7 - batch, 8 - batch - kept)) | st.just(0))
    real_x, real_indices = batch + per_tuple + kept, batch + more + 1
    rank = draw(st.integers(max(real_x, real_indices, batch + more + kept), 8))
    batches = draw(sizes_of_rank(batch, 24)) if batch else ()
    x_real = batches + draw(sizes_of_rank(real_x - batch, 300))
    positions = batches + (draw(sizes_of_rank(more, 100)) if more else ())
    x_sizes = (1,) * (rank - real_x) + x_real
    index_sizes = (1,) * (rank - real_indices) + (*positions, per_tuple)
    out_sizes = oracle.gather_nd_sizes(x_sizes, index_sizes, real_x, real_indices, batch)
    kwargs: Kwargs = {
        "input_tensor": draw(tensor(data_type, x_sizes)),
        "indices_tensor": draw(tensor(index_type, index_sizes)),
        "output_tensor": draw(tensor(data_type, out_sizes, output=True)),
        "input_dimension_count": real_x,
        "indices_dimension_count": real_indices,
    }
    if operator == "GATHER_ND1":
        kwargs["batch_dimension_count"] = batch
    modes = st.sampled_from(("valid", "valid", "edges", "wild"))
    return replace(draw(placed(operator, kwargs)), mode=draw(modes))


def index_bytes(case: Case) -> bytes:
    """Index values for a gather: in range, around the edges, or anything the type can hold."""
    desc, rng = case.kwargs["indices_tensor"], np.random.default_rng(case.seed)
    dtype = oracle.NUMPY_TYPES[desc.data_type]
    info = np.iinfo(dtype)
    batch = case.kwargs.get("batch_dimension_count", 0)
    first = case.kwargs["input_tensor"].rank - case.kwargs["input_dimension_count"] + batch
    values = np.zeros(desc.sizes, dtype)
    for m in range(desc.sizes[-1]):
        n = case.kwargs["input_tensor"].sizes[first + m]
        near = {"valid": 0, "edges": 2, "wild": 2}[case.mode]
        choice = [v for v in range(-n - near, n + near) if info.min <= v <= info.max]
        if case.mode == "wild":
            far = (2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**63 - 1, 2**63, 2**64 - 1)
            choice += [v for v in (*far, *(-v for v in far)) if info.min <= v <= info.max]
        values[..., m] = rng.choice(np.array(choice, dtype), desc.sizes[:-1])
    image = bytearray(oracle.random_bytes(desc.total_tensor_size_in_bytes, case.seed))
    oracle.write(image, desc, values)
    return bytes(image)


@st.composite
def scan_cases(draw: Draw, operator: str) -> Case:
    data_type, source = draw(types(operator)), draw(sizes(6000))
    in_place = draw(st.booleans())
    target = draw(tensor(data_type, source, output=True))
    kwargs = {
        "input_tensor": target if in_place else draw(tensor(data_type, source)),
        "output_tensor": target,
        "axis": draw(st.integers(0, len(source) - 1) | st.just(int(np.argmax(source)))),
        "axis_direction": draw(st.sampled_from(dml.AxisDirection)),
        EXCLUSIVE[operator]: draw(st.booleans()),
    }
    case = draw(placed(operator, kwargs))
    return replace(case, in_place=in_place, mode=draw(st.sampled_from(("exact", "close"))))


@dataclass(frozen=True)
class Fault:
    """A description that breaks one rule; a tensor may be a callable that makes the TensorDesc."""

    operator: str
    kwargs: Kwargs
    error: type[dml.DmlError] = dml.InvalidDescError
    level: L = L.FL_6_4

    def validate(self) -> None:
        made = {k: v() if callable(v) else v for k, v in self.kwargs.items()}
        dml.validate(DESCS[self.operator](**made), self.level)


def change(desc: dml.TensorDesc, **changes: Any) -> Callable[[], dml.TensorDesc]:
    """The same tensor with other fields, made when called; size and alignment start afresh."""
    fields = {"data_type": desc.data_type, "sizes": desc.sizes, "strides": desc.strides}
    return partial(dml.TensorDesc, **(fields | changes))


@st.composite
def tensor_fault(draw: Draw, desc: dml.TensorDesc, output: bool) -> Callable[[], dml.TensorDesc]:
    least = oracle.minimum_size(desc.data_type, desc.sizes, desc.strides)
    strides = oracle.strides_of(desc.sizes, desc.strides)
    d = draw(st.integers(0, desc.rank - 1))

    def swap(values: Sequence[int], value: int) -> tuple[int, ...]:
        return (*values[:d], value, *values[d + 1 :])

    changes: list[Kwargs] = [
        {"sizes": swap(desc.sizes, draw(st.sampled_from((0, -1, 2**32)))), "strides": None},
        {"strides": swap(strides, draw(st.sampled_from((-1, 2**32))))},
        {"strides": draw(st.sampled_from(((*strides, 1), strides[:-1])))},
        {"total_tensor_size_in_bytes": least - 4},
        {"total_tensor_size_in_bytes": least + draw(st.integers(1, 3))},
        {"guaranteed_base_offset_alignment": draw(st.sampled_from((24, 48, -16, 2**32)))},
        {"data_type": T.UNKNOWN},
    ]
    if oracle.item_size(desc) > 1:
        changes.append({"guaranteed_base_offset_alignment": oracle.item_size(desc) // 2})
    if desc.sizes[d] > 1:
        changes.append({"strides": swap(strides, 2**32 - 1)})
        changes += [{"strides": swap(strides, 0)}] * output
    if output:
        changes.append({"flags": dml.TensorFlags.OWNED_BY_DML})
    return change(desc, **draw(st.sampled_from(changes)))


@st.composite
def faults(
    draw: Draw, cases: st.SearchStrategy[Case], own: Callable[[Draw, Kwargs], list[Kwargs]]
) -> Fault:
    """Breaks one rule of a valid description: the operator's own, a tensor's, or the level's."""
    case = draw(cases)
    low = [level for level in L if not allowed_at(case.operator, case.kwargs, level)]
    kind = draw(st.sampled_from(("own", "own", "tensor", "type", "level" if low else "own")))
    if kind == "level":
        return Fault(case.operator, case.kwargs, dml.UnsupportedError, draw(st.sampled_from(low)))
    if kind == "type":
        listed = TABLES[case.operator][max(TABLES[case.operator])]["input_tensor"][1]
        wrong = draw(st.sampled_from(sorted(set(T) - listed - {T.UNKNOWN})))
        data = ("input_tensor", "output_tensor")
        changes = {f: change(case.kwargs[f], data_type=wrong, strides=None) for f in data}
    elif kind == "tensor":
        field = draw(st.sampled_from([f for f in case.kwargs if f.endswith("_tensor")]))
        changes = {field: draw(tensor_fault(case.kwargs[field], field == "output_tensor"))}
    else:
        changes = draw(st.sampled_from(own(draw, case.kwargs)))
    return Fault(case.operator, case.kwargs | changes)

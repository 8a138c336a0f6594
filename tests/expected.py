"""What each operator must give, in NumPy: the only part of the tests that knows operators by name.

An entry of EXPECTED says an operator's value and, where its tensors are not all of equal sizes or
its attributes need more than their kind to be valid, how these are drawn. All else about random
descriptions is derived from the operator's record: see support/generate.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from support import oracle
from support.draws import Draw, Kwargs, sizes, sizes_of_rank
from support.oracle import Array

import dmlgpu as dml
from dmlgpu.ops import BY_NAME

# Draws attributes, and the sizes of each tensor: of these ranks, of about so many elements.
Own = Callable[[Draw, Sequence[int], int], tuple[Kwargs, dict[str, tuple[int, ...]]]]
Fill = Callable[[np.random.Generator, "Case", dml.TensorDesc], Array | None]
Outputs = Mapping[str, bytes]


@dataclass(frozen=True)
class Case:
    """One description with what a run of it needs."""

    operator: str
    kwargs: Kwargs
    seed: int = 0
    gaps: tuple[int, ...] = ()  # bytes before each tensor
    one_buffer: bool = False
    in_place: str = ""  # the input that the output lies on
    mode: str = ""

    @property
    def desc(self) -> Any:
        return BY_NAME[self.operator].desc(**self.kwargs)


@dataclass(frozen=True)
class Expected:
    """How an operator is tested."""

    value: Callable[..., Array]  # of a description and of its inputs, in order
    draw: Own | None = None
    fill: Mapping[str, Fill] = field(default_factory=dict)  # by field; else random bits
    bits: bool = False  # inputs that nothing fills are only moved: their bits are the value
    compare: Callable[..., None] | None = None  # case, inputs, output; else bit for bit
    modes: tuple[str, ...] = ("",)  # of filling and comparing
    elements: int = 4000  # about the most of a random tensor
    least: Kwargs = field(default_factory=dict)  # attributes that tensors of one element need

    def content(self, case: Case, name: str, tensor: dml.TensorDesc) -> bytes:
        """The bytes of an input: values where there is a rule for them, random bits elsewhere."""
        image = bytearray(oracle.random_bytes(tensor.total_tensor_size_in_bytes, case.seed))
        fill = self.fill.get(name.partition("[")[0], _nothing)
        values = fill(np.random.default_rng(case.seed), case, tensor)
        if values is not None:
            oracle.write(image, tensor, values.astype(oracle.NUMPY_TYPES[tensor.data_type]))
        return bytes(image)

    def arrays(self, desc: Any, data: Mapping[str, bytes]) -> list[Array]:
        """The inputs as NumPy sees them."""
        tensors = desc.inputs()
        return [
            oracle.read(
                raw,
                tensors[name],
                oracle.bits_of(tensors[name].data_type)
                if self.bits and name.partition("[")[0] not in self.fill
                else None,
            )
            for name, raw in data.items()
        ]

    def agree(self, case: Case, inputs: list[Array], out: Outputs) -> None:
        """Fails unless the outputs are what NumPy gives."""
        desc = case.desc
        if self.compare is not None:
            (name,) = out
            self.compare(case, inputs, oracle.read(out[name], desc.outputs()[name]))
            return
        values = self.value(desc, *inputs)
        several = values if isinstance(values, tuple) else (values,)
        for (name, tensor), want in zip(desc.outputs().items(), several, strict=True):
            oracle.assert_same_elements(out[name], tensor, want)


def _nothing(rng: np.random.Generator, case: Case, tensor: dml.TensorDesc) -> None:
    """Random bits."""


def sized(name: str, shape: Sequence[int], out: Sequence[int]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(shape), "output_tensor": tuple(out)}


# Moves: elements keep their bits.


def slice_windows(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    source = draw(sizes(most, ranks))
    offsets, counts, strides = [], [], []
    for n in source:
        step = draw(st.integers(1, min(n, 4)))
        all_of = 1 + (n - 1) // step
        count = draw(
            st.sampled_from((all_of, all_of, max(1, all_of - 1), draw(st.integers(1, all_of))))
        )
        offsets.append(draw(st.integers(0, n - 1 - (count - 1) * step)))
        counts.append(count)
        strides.append(draw(st.sampled_from((step, 1, 2**32 - 1))) if count == 1 else step)
    attributes = {"offsets": tuple(offsets), "sizes": tuple(counts), "strides": tuple(strides)}
    return attributes, sized("input_tensor", source, counts)


def slice1_windows(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    source = draw(sizes(most, ranks))
    offsets, windows, strides, counts = [], [], [], []
    for n in source:
        windows.append(draw(st.sampled_from((n, n, max(1, n - 1), draw(st.integers(1, n))))))
        offsets.append(draw(st.integers(0, n - windows[-1])))
        far = (-(2**31), 2**31 - 1) if n < 4 else ()
        step = draw(st.sampled_from((1, 1, 1, -1, -1, 2, -2, 3, -3, *far)))
        strides.append(step)
        reached = 1 + (windows[-1] - 1) // abs(step)
        counts.append(
            draw(st.sampled_from((reached, reached, reached, draw(st.integers(1, reached)))))
        )
    attributes = {
        "input_window_offsets": tuple(offsets),
        "input_window_sizes": tuple(windows),
        "input_window_strides": tuple(strides),
    }
    return attributes, sized("input_tensor", source, counts)


def slice1_value(d: dml.Slice1Desc, x: Array) -> Array:
    windows = (d.input_window_offsets, d.input_window_sizes, d.input_window_strides)
    return oracle.slice1(x, *windows, d.output_tensor.sizes)


def gathers(batches: int, draw: Draw, ranks: Sequence[int], most: int) -> Any:
    """Tuples of any length, with up to `batches` batch dimensions."""
    batch = draw(st.integers(0, batches))
    per_tuple = draw(st.integers(1, 8 - batch) | st.integers(1, 3))
    kept = draw(st.integers(0, 8 - batch - per_tuple) | st.just(0)) if batch + per_tuple < 8 else 0
    more = draw(st.integers(0, min(7 - batch, 8 - batch - kept)) | st.just(0))
    real_x, real_indices = batch + per_tuple + kept, batch + more + 1
    rank = draw(st.integers(max(real_x, real_indices, batch + more + kept), 8))
    shared = draw(sizes_of_rank(batch, min(most, 24))) if batch else ()
    x_real = shared + draw(sizes_of_rank(real_x - batch, min(most, 300)))
    positions = shared + (draw(sizes_of_rank(more, min(most, 100))) if more else ())
    x_sizes = (1,) * (rank - real_x) + x_real
    index_sizes = (1,) * (rank - real_indices) + (*positions, per_tuple)
    attributes = {"input_dimension_count": real_x, "indices_dimension_count": real_indices}
    if batches:
        attributes["batch_dimension_count"] = batch
    shapes = {
        "input_tensor": x_sizes,
        "indices_tensor": index_sizes,
        "output_tensor": oracle.gather_nd_sizes(x_sizes, index_sizes, real_x, real_indices, batch),
    }
    return attributes, shapes


def tuples(rng: np.random.Generator, case: Case, tensor: dml.TensorDesc) -> Array:
    """Index values: in range, around the edges, or anything the type can hold."""
    dtype = oracle.NUMPY_TYPES[tensor.data_type]
    info = np.iinfo(dtype)
    source, batch = case.kwargs["input_tensor"], case.kwargs.get("batch_dimension_count", 0)
    first = source.rank - case.kwargs["input_dimension_count"] + batch
    values = np.zeros(tensor.sizes, dtype)
    for m in range(tensor.sizes[-1]):
        n = source.sizes[first + m]
        near = 0 if case.mode == "valid" else 2
        choice = [v for v in range(-n - near, n + near) if info.min <= v <= info.max]
        if case.mode == "wild":
            far = (2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**63 - 1, 2**63, 2**64 - 1)
            choice += [v for v in (*far, *(-v for v in far)) if info.min <= v <= info.max]
        values[..., m] = rng.choice(np.array(choice, dtype), tensor.sizes[:-1])
    return values


def gathered(d: Any, x: Array, indices: Array) -> Array:
    counts = (d.input_dimension_count, d.indices_dimension_count)
    return oracle.gather_nd(x, indices, *counts, getattr(d, "batch_dimension_count", 0))


def gather(batches: int) -> Expected:
    return Expected(
        gathered,
        partial(gathers, batches),
        fill={"indices_tensor": tuples},
        bits=True,
        modes=("valid", "valid", "edges", "wild"),
        least={"batch_dimension_count": 0} if batches else {},
    )


# Scans: integers wrap, floats are exact or within what rounding allows.


def scanned(d: Any) -> dict[str, Any]:
    """What a description asks of oracle.scan."""
    (flag,) = (name for name in vars(d) if name.startswith("has_exclusive"))
    return {
        "axis": d.axis,
        "decreasing": d.axis_direction == dml.AxisDirection.DECREASING,
        "exclusive": bool(getattr(d, flag)),
        "product": flag.endswith("product"),
    }


def summands(rng: np.random.Generator, case: Case, tensor: dml.TensorDesc) -> Array | None:
    """Values whose sums are exact in FLOAT32, or ordinary ones that round; integers: any bits."""
    if tensor.data_type not in oracle.FLOATS:
        return None
    if case.mode == "exact":
        return rng.integers(-1000, 1001, tensor.sizes)
    return rng.normal(size=tensor.sizes) * 10.0 ** rng.uniform(-3, 4, tensor.sizes)


def factors(rng: np.random.Generator, case: Case, tensor: dml.TensorDesc) -> Array | None:
    """Values whose products are exact in FLOAT32, or ordinary ones that round."""
    if tensor.data_type not in oracle.FLOATS:
        return None
    count = int(np.prod(tensor.sizes))
    values = rng.choice([1.0, -1.0], count)
    if case.mode == "exact":
        values[rng.integers(0, count, 12)] = rng.choice([2.0, 0.5, -4.0], 12)
    else:
        values *= np.exp(rng.uniform(-1, 1, count) * min(1.0, 8 / count**0.5))
    return values.reshape(tensor.sizes)


def scan_value(d: Any, x: Array) -> Array:
    """In the widest type for floats, not rounded; in the type itself for integers, which wrap."""
    how = scanned(d)
    return oracle.scan(x, accumulator=np.float64 if x.dtype.kind == "f" else x.dtype, **how)


def scan_agrees(case: Case, inputs: list[Array], out: Array) -> None:
    (x,) = inputs
    want = scan_value(case.desc, x)
    if x.dtype.kind != "f":
        np.testing.assert_array_equal(out, want)
    elif case.mode == "exact":
        oracle.assert_same_values(out, want)
    else:
        oracle.assert_scan_close(out, x, **scanned(case.desc))


def scan(fill: Fill) -> Expected:
    return Expected(
        scan_value,
        fill={"input_tensor": fill},
        compare=scan_agrees,
        modes=("exact", "close"),
        elements=6000,
    )


# Element-wise: all sizes are equal, so that the value is all there is to say.


def elementwise(
    function: Callable[..., Any], *, ulps: float = 0, low: float = -8, high: float = 8
) -> Expected:
    """A function of values: integers of any bits exactly, floats in [low, high] within `ulps`.

    Floats are computed in float64. The first of several attributes that scale is `scale_bias`.
    """

    def numbers(rng: np.random.Generator, case: Case, tensor: dml.TensorDesc) -> Array | None:
        if not tensor.data_type.name.startswith("FLOAT"):
            return None
        return rng.uniform(low, high, tensor.sizes)

    def value(d: Any, *inputs: Array) -> Array:
        wide = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in inputs]
        scale = getattr(d, "scale_bias", None)
        if scale is not None:
            wide[0] = wide[0] * scale.scale + scale.bias
        with np.errstate(all="ignore"):
            return np.asarray(function(*wide))

    def compare(case: Case, inputs: list[Array], out: Array) -> None:
        want = value(case.desc, *inputs)
        if out.dtype.kind != "f":
            np.testing.assert_array_equal(out, want.astype(out.dtype))
            return
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = want.astype(out.dtype)
            slack = ulps * np.spacing(np.abs(rounded))
        bad = ~((np.abs(out - want) <= slack + np.abs(rounded - want)) | (out == rounded))
        bad &= ~(np.isnan(out) & np.isnan(rounded))
        assert not bad.any(), (out[bad][0], want[bad][0], int(bad.sum()))

    fields = ("input_tensor", "a_tensor", "b_tensor", "exponent_tensor")
    return Expected(value, fill=dict.fromkeys(fields, numbers), compare=compare)


EXPECTED: dict[str, Expected] = {
    "SLICE": Expected(
        lambda d, x: oracle.slice_(x, d.offsets, d.sizes, d.strides), slice_windows, bits=True
    ),
    "SLICE1": Expected(slice1_value, slice1_windows, bits=True),
    "GATHER_ND": gather(batches=0),
    "GATHER_ND1": gather(batches=3),
    "CUMULATIVE_SUMMATION": scan(summands),
    "CUMULATIVE_PRODUCT": scan(factors),
}

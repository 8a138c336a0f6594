"""What the operators that move elements must give, in NumPy; a part of tests/expected.py.

The loops themselves are in support/moves.py. Elements keep their bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from support import moves, oracle
from support.cases import Case, Expected, Fill, Own
from support.draws import Draw, Kwargs, sized, sizes, sizes_of_rank
from support.oracle import Array, assert_close, converted

import dmlgpu as dml

INDEX_MODES = ("valid", "valid", "edges", "wild")


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


def choices(mode: str, data_type: dml.DataType, n: int) -> Array:
    """Index values for a dimension: in range, around the edges, or anything the type can hold."""
    dtype = oracle.NUMPY_TYPES[data_type]
    info = np.iinfo(dtype)
    near = 0 if mode == "valid" else 2
    found = [v for v in range(-n - near, n + near) if info.min <= v <= info.max]
    if mode == "wild":
        far = (2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**63 - 1, 2**63, 2**64 - 1)
        found += [v for v in (*far, *(-v for v in far)) if info.min <= v <= info.max]
    return np.array(found, dtype)


def tuples(rng: np.random.Generator, case: Case, tensor: dml.TensorDesc) -> Array:
    """Index values for as many dimensions as a tuple has."""
    source, batch = case.kwargs["input_tensor"], case.kwargs.get("batch_dimension_count", 0)
    first = source.rank - case.kwargs["input_dimension_count"] + batch
    values = np.zeros(tensor.sizes, oracle.NUMPY_TYPES[tensor.data_type])
    for m in range(tensor.sizes[-1]):
        some = choices(case.mode, tensor.data_type, source.sizes[first + m])
        values[..., m] = rng.choice(some, tensor.sizes[:-1])
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
        modes=INDEX_MODES,
        least={"batch_dimension_count": 0} if batches else {},
    )


def gather_slices(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    """Any number of index dimensions, and leading 1s so that all tensors have one rank."""
    real, meant = draw(st.sampled_from([(r, m) for r in range(1, 9) for m in range(9 - r)]))
    natural = real - 1 + meant
    rank = draw(st.integers(max(real, meant, natural), 8))
    axis = draw(st.integers(0, real - 1))
    x = draw(sizes_of_rank(real, min(most, 300)))
    indices = draw(sizes_of_rank(meant, min(most, 40))) if meant else ()
    out = (*x[:axis], *indices, *x[axis + 1 :])
    attributes = {"axis": axis + rank - real, "index_dimensions": meant}
    shapes = {"input_tensor": x, "indices_tensor": indices, "output_tensor": out}
    return attributes, {name: (1,) * (rank - len(s)) + s for name, s in shapes.items()}


def put(shape: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
    """Sizes with another one along an axis."""
    return (*shape[:axis], size, *shape[axis + 1 :])


def lines(draw: Draw, ranks: Sequence[int], most: int) -> tuple[int, tuple[int, ...]]:
    """Sizes, and an axis."""
    shape = draw(sizes(most, ranks))
    return draw(st.integers(0, len(shape) - 1)), shape


def picks(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    """Indices that are more or fewer than there are elements along the axis."""
    axis, shape = lines(draw, ranks, most)
    count = draw(st.integers(1, 2 * shape[axis] + 2))
    taken = put(shape, axis, count)
    return {"axis": axis}, sized("input_tensor", shape, taken) | {"indices_tensor": taken}


def scatters(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    attributes, shapes = picks(draw, ranks, most)
    return attributes, updating(shapes)


def scatters_nd(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    attributes, shapes = gathers(0, draw, ranks, most)
    return attributes, updating(shapes)


def updating(shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The sizes of a scatter: updates are what a gather with the same indices would give."""
    new = {"updates_tensor": shapes["output_tensor"], "output_tensor": shapes["input_tensor"]}
    return shapes | new


def along_axis(whole: str) -> Fill:
    """Index values for the axis of a tensor."""

    def fill(rng: np.random.Generator, case: Case, tensor: dml.TensorDesc) -> Array:
        n = case.kwargs[whole].sizes[case.kwargs["axis"]]
        return rng.choice(choices(case.mode, tensor.data_type, n), tensor.sizes)

    return fill


def indexed(value: Any, draw: Own, fill: Fill, **more: Any) -> Expected:
    """By index values, with loops that take their time."""
    fills = {"indices_tensor": fill}
    return Expected(value, draw, fills, bits=True, modes=INDEX_MODES, elements=1000, **more)


def hot_lines(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    axis, shape = lines(draw, ranks, most)
    values = put((1,) * len(shape), draw(st.integers(0, len(shape) - 1)), draw(st.integers(2, 3)))
    shapes = {"indices_tensor": put(shape, axis, 1), "values_tensor": values}
    return {"axis": axis}, shapes | {"output_tensor": shape}


def found(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    """Rows of all coordinates, or without those of leading dimensions of size 1."""
    shape = draw(sizes(min(most, 1000)))
    least = next((len(shape) - i for i, n in enumerate(shape) if n > 1), 1)
    rows = (int(np.prod(shape)), draw(st.integers(least, len(shape))))
    return {}, {
        "input_tensor": shape,
        "output_count_tensor": (1,) * draw(st.integers(1, 8)),
        "output_coordinates_tensor": (1,) * draw(st.integers(0, 6)) + rows,
    }


def some_zeros(rng: np.random.Generator, case: Case, tensor: dml.TensorDesc) -> Array:
    floats = tensor.data_type in oracle.FLOATS
    return rng.choice([0.0, -0.0, 0.0, 2.5, np.nan, np.inf] if floats else [0, 0, 1], tensor.sizes)


def coordinates_agree(case: Case, inputs: list[Array], count: Array, rows: Array) -> None:
    """Rows behind the last one found are not looked at."""
    want = np.argwhere(inputs[0] != 0)
    assert count.reshape(-1).tolist() == [len(want)]
    rows = rows.reshape(rows.shape[-2:])
    np.testing.assert_array_equal(rows[: len(want)], want[:, inputs[0].ndim - rows.shape[1] :])


def tops(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    """Some of each line, or all of it; now and then a line that does not fit workgroup memory."""
    axis, shape = lines(draw, ranks, most)
    if draw(st.integers(0, 9)) == 0:
        shape = put((1,) * len(shape), axis, draw(st.integers(2000, 9000)))
    k = draw(st.sampled_from((1, shape[axis], draw(st.integers(1, shape[axis])))))
    taken = put(shape, axis, k)
    shapes = {"output_value_tensor": taken, "output_index_tensor": taken}
    return {"axis": axis, "k": k}, {"input_tensor": shape, **shapes}


def sortable(rng: np.random.Generator, case: Case, tensor: dml.TensorDesc) -> Array | None:
    """Any bits, or so few values that many are equal."""
    if case.mode == "bits":
        return None
    special = [0.0, -0.0, 1.5, -1.5, np.nan, np.inf, -np.inf]
    return rng.choice(special if tensor.data_type in oracle.FLOATS else [0, 1, 2], tensor.sizes)


def top_k(d: Any, x: Array) -> Any:
    direction = getattr(d, "axis_direction", dml.AxisDirection.DECREASING)
    descending = direction is dml.AxisDirection.DECREASING
    values, places = moves.top_k(x, d.axis, d.k, descending)
    return values, places.astype(oracle.NUMPY_TYPES[d.output_index_tensor.data_type])


SORTED = Expected(
    top_k,
    tops,
    {"input_tensor": sortable},
    modes=("bits", "few"),
    examples=60,
    least={"k": 1},
)


def pieces(field: str, whole: str, draw: Draw, ranks: Sequence[int], most: int) -> Any:
    """Up to four tensors that are one along an axis."""
    axis, shape = lines(draw, ranks, max(1, most // 4))
    cuts = draw(st.lists(st.integers(1, shape[axis] + 1), min_size=1, max_size=4))
    shapes = {field: [put(shape, axis, n) for n in cuts], whole: put(shape, axis, sum(cuts))}
    return {"axis": axis}, shapes


def split(d: dml.SplitDesc, x: Array) -> Any:
    cuts = np.cumsum([t.sizes[d.axis] for t in d.output_tensors])
    return tuple(np.split(x, cuts[:-1], d.axis))


def repeats(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    shape = draw(sizes(max(1, most // 8), ranks))
    room = most // int(np.prod(shape))
    times = []
    for _ in shape:
        times.append(draw(st.integers(1, max(1, min(4, room)))))
        room //= times[-1]
    out = [n * r for n, r in zip(shape, times, strict=True)]
    return {"repeats": tuple(times)}, sized("input_tensor", shape, out)


def pads(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    """Paddings of some dimensions, longer than these or shorter."""
    shape = draw(sizes(max(1, most // 8), ranks))
    room = most // int(np.prod(shape))
    start, end = [], []
    for n in shape:
        total = draw(st.integers(0, min(3 * n + 2, max(0, n * (room - 1)))))
        start.append(draw(st.integers(0, total)))
        end.append(total - start[-1])
        room //= -(-(n + total) // n)
    out = [sum(each) for each in zip(shape, start, end, strict=True)]
    attributes = {"start_padding": tuple(start), "end_padding": tuple(end)}
    return attributes, sized("input_tensor", shape, out)


def in_bits(value: float, tensor: dml.TensorDesc) -> Array:
    """The bits of a number that an attribute holds, in a tensor's type."""
    made = converted(np.array(value), oracle.NUMPY_TYPES[tensor.data_type])
    return made.view(oracle.bits_of(tensor.data_type))


def padded(d: Any, x: Array) -> Array:
    value = in_bits(d.padding_value, d.output_tensor)
    return moves.padded(x, d.start_padding, d.end_padding, d.padding_mode, value)


def blocks(names: Sequence[str], draw: Draw, ranks: Sequence[int], most: int) -> Any:
    """The tensor of channels and the one of pixels, by name."""
    block, (n, c, h, w) = draw(st.integers(1, 4)), draw(sizes_of_rank(4, max(1, most // 16)))
    shapes = ((n, c * block**2, h, w), (n, c, h * block, w * block))
    return {"block_size": block}, dict(zip(names, shapes, strict=True))


def to_space(d: Any, x: Array) -> Array:
    return moves.depth_to_space(x, d.block_size, getattr(d, "order", 0))


def to_depth(d: Any, x: Array) -> Array:
    return moves.space_to_depth(x, d.block_size, getattr(d, "order", 0))


TO_SPACE = partial(blocks, ("input_tensor", "output_tensor"))
TO_DEPTH = partial(blocks, ("output_tensor", "input_tensor"))
GRADIENTS = {"input_tensor": "output_gradient_tensor", "output_tensor": "input_gradient_tensor"}


def slice_gradients(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    """SLICE1 backwards."""
    attributes, shapes = slice1_windows(draw, ranks, most)
    return attributes, {GRADIENTS[name]: shape for name, shape in shapes.items()}


def slice_grad(d: dml.SliceGradDesc, x: Array) -> Array:
    windows = (d.input_window_offsets, d.input_window_sizes, d.input_window_strides)
    return moves.slice_grad(x, d.output_gradient_tensor.sizes, *windows)


def sequences(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    axis, shape = lines(draw, ranks, most)
    shapes = sized("input_tensor", shape, shape)
    return {"axis": axis}, shapes | {"sequence_lengths_tensor": put(shape, axis, 1)}


def lengths(rng: np.random.Generator, case: Case, tensor: dml.TensorDesc) -> Array:
    """None, all, or more than there are."""
    n = case.kwargs["input_tensor"].sizes[case.kwargs["axis"]]
    far = (2**31, 2**32 - 1, *((2**32, 2**63) if tensor.data_type.bits == 64 else ()))
    values = np.array([*range(n + 3), *far], oracle.NUMPY_TYPES[tensor.data_type])
    return rng.choice(values, tensor.sizes)


def diagonal(d: dml.DiagonalMatrixDesc) -> Array:
    use = moves.diagonals(d.output_tensor.sizes, d.offset, d.offset + 1)
    value = in_bits(d.value, d.output_tensor)
    return np.where(use, value, value.dtype.type(0))


def diagonals(d: dml.DiagonalMatrix1Desc, *x: Array) -> Array:
    use = moves.diagonals(d.output_tensor.sizes, d.diagonal_fill_begin, d.diagonal_fill_end)
    value = in_bits(d.value, d.output_tensor)
    return np.where(use, value, x[0] if x else value.dtype.type(0))


def constant(d: dml.FillValueConstantDesc) -> Array:
    return np.full(d.output_tensor.sizes, in_bits(d.value, d.output_tensor))


def sequence(d: dml.FillValueSequenceDesc) -> Array:
    dtype = oracle.NUMPY_TYPES[d.output_tensor.data_type]
    return moves.sequence(d.output_tensor.sizes, d.value_start, d.value_delta, dtype)


WINDOWS = ("window_sizes", "strides", "dilations", "start_padding", "end_padding")


def windows(names: Sequence[str], draw: Draw, ranks: Sequence[int], most: int) -> Any:
    """The tensor of the image and the one of its columns, by name, with leading 1s."""
    spatial = draw(st.sampled_from((1, 1, 2, 2, 2, 3, 4, 5, 6)))
    many = 3 if spatial < 3 else 2 if spatial < 5 else 1

    def some(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(spatial))

    arrays = (some(1, min(3, many + 1)), some(1, 3), some(1, many), some(0, many), some(0, many))
    image, columns = [draw(st.integers(1, 3)), draw(st.integers(1, 3))], 1
    for window, stride, dilation, start, end in zip(*arrays, strict=True):
        extent = 1 + (window - 1) * dilation
        image.append(max(1, extent - start - end) + draw(st.integers(0, 2 * many - 1)))
        columns *= 1 + (image[-1] + start + end - extent) // stride
    batch, channels = image[:2]
    shapes = (tuple(image), (batch, channels * int(np.prod(arrays[0])), columns))
    led = [(1,) * draw(st.integers(0, 8 - len(s)) | st.just(0)) + s for s in shapes]
    return dict(zip(WINDOWS, arrays, strict=True)), dict(zip(names, led, strict=True))


def windows_of(d: Any) -> dict[str, tuple[int, ...]]:
    return {name: getattr(d, name) for name in WINDOWS}


def image_of(d: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """An image's sizes without leading 1s that mean nothing."""
    return shape[-len(d.window_sizes) - 2 :]


def unfold(d: dml.UnfoldDesc, x: Array) -> Array:
    return moves.unfold(x.reshape(image_of(d, x.shape)), windows_of(d))


def fold(d: dml.FoldDesc, x: Array) -> Array:
    return moves.fold(x.reshape(x.shape[-3:]), image_of(d, d.output_tensor.sizes), windows_of(d))


def whole_numbers(rng: np.random.Generator, case: Case, tensor: dml.TensorDesc) -> Array | None:
    """Floats whose sums are exact; integers of any bits."""
    floats = tensor.data_type in oracle.FLOATS
    return rng.integers(0, 50, tensor.sizes) if floats else None


def scales(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    shape = draw(sizes(max(1, most // 16), ranks))
    width, height = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    out = (*shape[:-2], shape[-2] * height, shape[-1] * width)
    return {"scale_size": (width, height)}, sized("input_tensor", shape, out)


def upsample(d: dml.Upsample2dDesc, x: Array) -> Array:
    linear = d.interpolation_mode is dml.InterpolationMode.LINEAR
    return moves.upsample(x, d.scale_size.width, d.scale_size.height, linear=linear)


def upsample_agrees(case: Case, inputs: list[Array], out: Array) -> None:
    assert_close(out, upsample(case.desc, inputs[0].astype(np.float64)), ulps=4, least=1e-5)


def pixels(rng: np.random.Generator, case: Case, tensor: dml.TensorDesc) -> Array:
    return rng.uniform(-8, 8, tensor.sizes)


def output_sizes(d: Any) -> Kwargs:
    """What inference is told where nothing else says the sizes of the output."""
    (output,) = d.outputs().values()
    return {"output_sizes": output.sizes}


def one_element(rank: int) -> Kwargs:
    return {"output_tensor": (1,) * rank}


MOVES: dict[str, Expected] = {
    "SLICE": Expected(
        lambda d, x: oracle.slice_(x, d.offsets, d.sizes, d.strides), slice_windows, bits=True
    ),
    "SLICE1": Expected(slice1_value, slice1_windows, bits=True),
    "GATHER_ND": gather(batches=0),
    "GATHER_ND1": gather(batches=3),
    "SLICE_GRAD": Expected(
        slice_grad,
        slice_gradients,
        bits=True,
        asked=output_sizes,
        least=lambda rank: {
            "output_gradient_tensor": (1,) * rank,
            "input_window_offsets": (0,) * rank,
            "input_window_sizes": (1,) * rank,
            "input_window_strides": (1,) * rank,
        },
    ),
    "JOIN": Expected(
        lambda d, *x: np.concatenate(x, d.axis),
        partial(pieces, "input_tensors", "output_tensor"),
        bits=True,
    ),
    "SPLIT": Expected(
        split,
        partial(pieces, "output_tensors", "input_tensor"),
        bits=True,
        asked=lambda d: {"output_sizes": [t.sizes[d.axis] for t in d.output_tensors]},
        least=lambda rank: {"output_tensors": [(1,) * rank]},
    ),
    "TILE": Expected(
        lambda d, x: np.tile(x, d.repeats),
        repeats,
        bits=True,
        least=lambda rank: {"repeats": (1,) * rank},
    ),
    "PADDING": Expected(padded, pads, bits=True, elements=2000),
    "PADDING1": Expected(padded, pads, bits=True, elements=2000),
    "DEPTH_TO_SPACE": Expected(to_space, TO_SPACE, bits=True),
    "DEPTH_TO_SPACE1": Expected(to_space, TO_SPACE, bits=True),
    "SPACE_TO_DEPTH": Expected(to_depth, TO_DEPTH, bits=True),
    "SPACE_TO_DEPTH1": Expected(to_depth, TO_DEPTH, bits=True),
    "REVERSE_SUBSEQUENCES": Expected(
        lambda d, x, n: moves.reverse_subsequences(x, n, d.axis),
        sequences,
        {"sequence_lengths_tensor": lengths},
        bits=True,
        elements=1000,
    ),
    "DIAGONAL_MATRIX": Expected(
        diagonal,
        bits=True,
        asked=lambda d: output_sizes(d) | {"output_data_type": d.output_tensor.data_type},
        least=one_element,
    ),
    "DIAGONAL_MATRIX1": Expected(diagonals, bits=True, asked=output_sizes, least=one_element),
    "FILL_VALUE_CONSTANT": Expected(constant, bits=True, asked=output_sizes, least=one_element),
    "FILL_VALUE_SEQUENCE": Expected(sequence, asked=output_sizes, least=one_element),
    "UNFOLD": Expected(
        unfold,
        partial(windows, ("input_tensor", "output_tensor")),
        bits=True,
        examples=60,
        least={"window_sizes": (1,)},
    ),
    "FOLD": Expected(
        fold,
        partial(windows, ("output_tensor", "input_tensor")),
        {"input_tensor": whole_numbers},
        examples=60,
        asked=output_sizes,
        least=lambda rank: {
            **dict.fromkeys(WINDOWS[:3], (1,)),
            **dict.fromkeys(WINDOWS[3:], (0,)),
            **one_element(rank),
        },
    ),
    "UPSAMPLE_2D": Expected(
        upsample,
        scales,
        {"input_tensor": pixels},
        compare=upsample_agrees,
        examples=60,
        least={"scale_size": (1, 1)},
    ),
    "GATHER": indexed(
        lambda d, x, i: moves.gather(x, i, d.axis, d.index_dimensions),
        gather_slices,
        along_axis("input_tensor"),
    ),
    "GATHER_ELEMENTS": indexed(
        lambda d, x, i: moves.gather_elements(x, i, d.axis), picks, along_axis("input_tensor")
    ),
    "SCATTER_ELEMENTS": indexed(
        lambda d, x, i, u: moves.scatter_elements(x, i, u, d.axis),
        scatters,
        along_axis("input_tensor"),
    ),
    "SCATTER_ND": indexed(
        lambda d, x, i, u: moves.scatter_nd(
            x, i, u, d.input_dimension_count, d.indices_dimension_count
        ),
        scatters_nd,
        tuples,
    ),
    "ONE_HOT": indexed(
        lambda d, i, v: moves.one_hot(i, v, d.axis, d.output_tensor.sizes[d.axis]),
        hot_lines,
        along_axis("output_tensor"),
        asked=output_sizes,
        least=lambda rank: {"values_tensor": (1,) * (rank - 1) + (2,), **one_element(rank)},
    ),
    "NONZERO_COORDINATES": Expected(
        lambda d, x: x,
        found,
        {"input_tensor": some_zeros},
        compare=coordinates_agree,
        elements=1000,
        examples=60,
    ),
    "TOP_K": replace(SORTED, examples=20),
    "TOP_K1": SORTED,
}

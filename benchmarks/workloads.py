"""What is measured, as one table: every family of operators, in its data types, at its sizes.

A size says what bounds the time: `launch` is so small that starting the work is all there is,
`cache` stays in a cache, `bandwidth` streams from memory. `bandwidth` shapes are meant for 1 GiB
of input; leading axes shrink for adapters that get less, and for types that would need more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatch
from math import inf
from typing import Any

import numpy as np

import dmlgpu as dml
from benchmarks.workload import SIZES, Case, Operand, Shape, Workload, Written, X, Y, id_of
from dmlgpu.desc.indexing import Window, read
from dmlgpu.desc.levels import FeatureLevel, row_at
from dmlgpu.ops import BY_NAME, OPERATORS
from dmlgpu.plan.operator import Operator

Shapes = Mapping[str, Shape]

F32, U8, U32, FLOATS = ("float32",), ("uint8",), ("uint32",), ("float32", "float16")
MOVED = ("float32", "float16", "uint8", "int64")
SUMMED = ("float32", "float16", "int32", "int64")
PIXELS = ("uint8", "float32")


def sizes(launch: Shape, cache: Shape, bandwidth: Shape) -> Shapes:
    """The sizes of a workload by what bounds it."""
    return dict(zip(SIZES, (launch, cache, bandwidth), strict=True))


BLOCK = sizes((4, 16, 64), (16, 64, 1024), (64, 1024, 4096))
ROWS = sizes((16, 256), (256, 4096), (65536, 4096))
QUARTER = sizes((4, 256), (64, 4096), (16384, 4096))
LINE = sizes((4096,), (1 << 20,), (1 << 28,))
SHORT = sizes((64, 64), (1 << 14, 64), (1 << 22, 64))
RAGGED = sizes((4, 1001), (1024, 1001), (1 << 18, 1001))
ODD = sizes((4, 1024), (256, 16384), (65536, 16384))
SQUARE = sizes((64, 64), (1024, 1024), (8192, 8192))
LARGE = sizes((64, 64), (1024, 1024), (16384, 16384))
WIDE = sizes((4, 1024), (1024, 1024), (1 << 18, 1024))
NARROW = sizes((256, 16), (1 << 16, 16), (1 << 23, 16))
BATCHES = sizes((4, 16, 64), (16, 256, 256), (64, 4096, 1024))
IMAGES = sizes((1, 8, 16, 16), (4, 16, 128, 128), (64, 64, 256, 256))
SMALL = sizes((1, 2, 16, 16), (4, 4, 128, 128), (64, 16, 256, 256))
RGB = sizes((1, 3, 16, 16), (4, 3, 256, 256), (256, 3, 1024, 1024))
RGBA = sizes((1, 4, 16, 16), (4, 4, 256, 256), (256, 4, 1024, 1024))
RGB_LAST = sizes((1, 16, 16, 3), (4, 256, 256, 3), (256, 1024, 1024, 3))
RGBA_LAST = sizes((1, 16, 16, 4), (4, 256, 256, 4), (256, 1024, 1024, 4))
CLASSES = sizes((16, 128), (8192, 128), (1 << 20, 128))
SORTED = sizes((16, 256), (256, 4096), (8192, 4096))
KEYS = sizes((4096,), (1 << 18,), (1 << 26,))
STREAM = {"bandwidth": ROWS["bandwidth"]}
STREAM_SQUARE = {"bandwidth": SQUARE["bandwidth"]}
STREAM_IMAGES = {"bandwidth": IMAGES["bandwidth"]}

UNIT, POSITIVE = Operand("x", values="unit"), Operand("x", values="positive")
EXPONENT, SLOPE = Operand("y", values="positive"), Operand("y", values="unit")
FACTORS, SORTABLE = Operand("x", values="factors"), Operand("x", values="keys")
MASK, OTHER = (Operand(n, dtype="uint8", values="mask") for n in "xy")
CONDITION = Operand("c", dtype="uint8", values="mask")
SHIFTS = Operand("y", values="filled", below=lambda s: 3)
ROW = Operand("y", lambda s: (1, s[1]), seen="np.broadcast_to(a, s)")
TURNED = Operand("y", lambda s: s[::-1], seen="a.T")
PLANES = Operand("y", lambda s: (s[0], s[3], *s[1:3]), seen="a.transpose(0, 2, 3, 1)")
ACROSS = Operand("x", lambda s: s[::-1], seen="a.T")
CROPPED = Operand("x", lambda s: (s[0], s[1] + 3), seen="a[:, :-3]")
PALETTE = Operand("x", lambda s: (256, 3))
STATE = Operand("x", lambda s: (6,), "uint32", "range")
OFF_ON = Operand("y", lambda s: (1, 2), values="range")
LENGTHS = Operand("y", lambda s: (s[0], 1), "uint32", "filled", below=lambda s: s[1])


def order(dtype: str, shape: Callable[[Shape], Shape]) -> Operand:
    """Indices that name every position once, in any order."""
    return Operand("i", shape, dtype, "order")


def places(dtype: str, shape: Callable[[Shape], Shape], below: Callable[[Shape], Any]) -> Operand:
    """Indices that name any positions."""
    return Operand("i", shape, dtype, "places", below)


def quarter(shape: Shape) -> Shape:
    """Tuples of two coordinates for a quarter of the elements."""
    return (shape[0] * shape[1] // 4, 2)


ALONG, ALONG_32 = (Operand("i", dtype=t, values="turned") for t in ("int64", "uint32"))
EVERY_ROW = order("uint32", lambda s: (s[0], 1))
BATCHED = places("int32", lambda s: (s[0], s[1], 1), lambda s: s[1])
COLOURS = places("uint32", lambda s: s[:1], lambda s: 256)
FEW = order("uint32", lambda s: (s[0] // 64, 1))
LABELS = places("int64", lambda s: (s[0], 1), lambda s: s[1])


def windowed(*index: Any, more: Callable[[Shape], Mapping[str, Any]] = lambda s: {}) -> Any:
    """The window of SLICE1 and its gradient for what stands in NumPy's brackets."""

    def attributes(shape: Shape) -> dict[str, Any]:
        at = read(shape, index, np.ndarray)
        assert isinstance(at, Window)
        names = ("input_window_offsets", "input_window_sizes", "input_window_strides")
        return dict(zip(names, (at.offsets, at.sizes, at.strides), strict=True)) | dict(more(shape))

    return attributes


def sliced(name: str, shapes: Shapes, dtypes: tuple[str, ...], taken: str, torch: str) -> Workload:
    """A slice, written as in NumPy's brackets."""
    index = eval(f"np.s_[{taken}]", {"np": np})
    index = index if isinstance(index, tuple) else (index,)
    asked = windowed(*index)
    return Workload(name, "SLICE1", shapes, dtypes, f"x[{taken}].copy()", torch, attributes=asked)


def turned(name: str, shapes: Shapes, dtypes: tuple[str, ...], *axes: int) -> Workload:
    """A packed copy of a permuted view, which is what `x.transpose(...).copy()` runs."""
    asked = lambda s: windowed(...)(tuple(s[a] for a in axes))  # noqa: E731
    view = (Operand("x", seen=f"a.transpose{axes}"),)
    how = ("x.copy()", "x.contiguous()")
    return Workload(name, "SLICE1", shapes, dtypes, *how, inputs=view, attributes=asked)


def reduced(name: str, shapes: Shapes, function: str, axes: tuple[int, ...], how: str) -> Workload:
    """A reduction; `how` is what NumPy and PyTorch call it."""
    typed = "" if function in ("MAX", "AVERAGE") else ", dtype=t"
    numpy = f"np.{how}(x, {axes}, keepdims=True{typed})"
    torch = f"torch.{'amax' if how == 'max' else how}(x, {axes}, keepdim=True{typed})"
    types = FLOATS if function == "AVERAGE" else MOVED if function == "MAX" else SUMMED
    asked = {"function": dml.ReduceFunction[function], "axes": axes}
    return Workload(name, "REDUCE", shapes, types, numpy, torch, attributes=asked, within=4)


def scanned(
    name: str,
    shapes: Shapes,
    axis: int,
    x: Operand = X,
    dtypes: tuple[str, ...] = SUMMED,
    *,
    product: bool = False,
) -> Workload:
    """A running sum or product."""
    operator = "CUMULATIVE_PRODUCT" if product else "CUMULATIVE_SUMMATION"
    how = f"cum{'prod' if product else 'sum'}(x, {axis}, dtype=t)"
    inputs = (FACTORS,) if product else (x,)
    asked = {"axis": axis}
    return Workload(name, operator, shapes, dtypes, f"np.{how}", inputs=inputs, attributes=asked)


def cast(to: str, *dtypes: str) -> Workload:
    """A conversion."""
    asked = {"output_data_type": dml.DataType.from_numpy(to)}
    how = (f"x.astype(np.{to})", f"x.to(torch.{to})")
    return Workload(f"cast to {to}", "CAST", ROWS, dtypes, *how, attributes=asked)


def one(operator: str, numpy: str, torch: Written = None, **more: Any) -> Workload:
    """A row under the operator's own name: bandwidth-bound, of one operand, unless said otherwise.

    What is no field of a workload is an attribute of the operator.
    """
    name = operator.lower().removeprefix("element_wise_").removeprefix("activation_")
    name = more.pop("name", name.replace("_", " "))
    known = {k: more.pop(k) for k in tuple(more) if k in Workload.__slots__}
    given: dict[str, Any] = {"inputs": (UNIT,), "within": 8, "shapes": STREAM, "dtypes": F32}
    given |= {"attributes": more} | known
    return Workload(name, operator, numpy=numpy, torch=torch, **given)


def two(operator: str, numpy: str, torch: Written = None, **more: Any) -> Workload:
    """The same of two operands, with equal bits."""
    return one(operator, numpy, torch, **{"inputs": (X, Y), "within": 0} | more)


FN = "torch.nn.functional"
BLOCKS = "x.reshape(s[0], s[1], s[2] // 2, 2, s[3] // 2, 2)"
DEEP = "reshape(s[0], s[1] * 4, s[2] // 2, s[3] // 2)"
SHALLOW = "reshape(s[0], s[1] // 4, s[2] * 2, s[3] * 2)"
DEPTH_LAST = {"order": dml.DepthSpaceOrder.COLUMN_ROW_DEPTH, "block_size": 2}
COLUMNS = "reshape(s[0], s[1] * 4, s[2] * s[3] // 4)"
WINDOWS = dict.fromkeys(("window_sizes", "strides"), (2, 2))
SOFTMAX = "(e := np.exp(x - x.max(-1, keepdims=True)), e / e.sum(-1, keepdims=True))[1]"
LOG_SOFTMAX = "(y := x - x.max(-1, keepdims=True), y - np.log(np.exp(y).sum(-1, keepdims=True)))[1]"
HARDMAX = "(np.arange(s[1]) == x.argmax(-1)[:, None]).astype(t)"
LARGEST = "(i := np.argsort(-x, -1, kind='stable')[..., :{0}], np.take_along_axis(x, i, -1), i)[1:]"
SMALLEST = "(i := np.argsort(x, -1, kind='stable'), np.take_along_axis(x, i, -1), i)[1:]"
UP = dml.AxisDirection.INCREASING
NEAREST = dml.InterpolationMode.NEAREST_NEIGHBOR
ONE_PIXEL = {"start_padding": (1, 1), "end_padding": (1, 1)}
NOWHERE: tuple[str, ...] = ()  # a library that lacks the operation

# Laid out by hand: a row in as few lines as it needs.
# fmt: off
FAMILIES: dict[str, tuple[Workload, ...]] = {
    "slices and transposes": (
        sliced("slice window", BLOCK, MOVED, ":, 1:, 2:-2", "x[:, 1:, 2:-2].contiguous()"),
        sliced("slice stride 2, last axis", BLOCK, MOVED, "..., ::2", "x[..., ::2].contiguous()"),
        Workload("slice stride 2, last two axes", "SLICE", BLOCK, MOVED,
                 "x[:, ::2, ::2].copy()", "x[:, ::2, ::2].contiguous()",
                 attributes=lambda s: {"offsets": (0, 0, 0), "strides": (1, 2, 2),
                                       "sizes": (s[0], s[1] // 2, s[2] // 2)}),
        sliced("reverse last axis", BLOCK, MOVED, "..., ::-1", "torch.flip(x, [-1])"),
        sliced("slice rows, odd offset", ODD, U8, ":, 3:-4", "x[:, 3:-4].contiguous()"),
        sliced("one channel of 4", RGBA_LAST, MOVED, "..., 3:", "x[..., 3:].contiguous()"),
        sliced("crop 32 of 64 channels", {"bandwidth": (64, 256, 256, 64)}, F32,
               ":, 1:-1, 1:-1, 16:48", "x[:, 1:-1, 1:-1, 16:48].contiguous()"),
        sliced("reverse rows of pixels", RGB_LAST, U8, ":, :, ::-1", "torch.flip(x, [2])"),
        turned("transpose", SQUARE, MOVED, 1, 0),
        turned("transpose of 500 columns", {"bandwidth": (134216, 500)}, MOVED, 1, 0),
        turned("transposes of 255 x 1027", {"bandwidth": (256, 255, 1027)}, MOVED, 0, 2, 1),
        turned("NCHW to NHWC, 3 channels", RGB, PIXELS, 0, 2, 3, 1),
        turned("NCHW to NHWC, 4 channels", RGBA, PIXELS, 0, 2, 3, 1),
        turned("NHWC to NCHW, 3 channels", RGB_LAST, PIXELS, 0, 3, 1, 2),
        turned("NHWC to NCHW, 4 channels", RGBA_LAST, PIXELS, 0, 3, 1, 2),
    ),
    "moves": (
        Workload("join along axis 0", "JOIN", ROWS, MOVED, "np.concatenate([x, y])",
                 inputs=(X, Y), attributes={"axis": 0}),
        Workload("join along the last axis", "JOIN", ROWS, MOVED, "np.concatenate([x, y], 1)",
                 inputs=(X, Y), attributes={"axis": 1}),
        Workload("join rows of 1001", "JOIN", RAGGED, MOVED, "np.concatenate([x, y], 1)",
                 inputs=(X, Y), attributes={"axis": 1}),
        Workload("split the last axis", "SPLIT", ROWS, F32,
                 "[a.copy() for a in np.split(x, 2, 1)]", "[a.contiguous() for a in x.chunk(2, 1)]",
                 attributes=lambda s: {"axis": 1, "output_sizes": (s[1] // 2,) * 2}),
        Workload("pad by 1", "PADDING", ROWS, MOVED, "np.pad(x, 1)", f"{FN}.pad(x, (1, 1, 1, 1))",
                 attributes={"padding_mode": dml.PaddingMode.CONSTANT} | ONE_PIXEL),
        Workload("pad by 1, mirrored", "PADDING1", ROWS, F32, "np.pad(x, 1, 'reflect')",
                 f"{FN}.pad(x[None], (1, 1, 1, 1), 'reflect')[0]",
                 attributes={"padding_mode": dml.PaddingMode.REFLECTION} | ONE_PIXEL),
        Workload("tile 2 x 2", "TILE", QUARTER, MOVED, "np.tile(x, (2, 2))",
                 attributes={"repeats": (2, 2)}),
        Workload("space to depth", "SPACE_TO_DEPTH", IMAGES, PIXELS,
                 f"{BLOCKS}.transpose(0, 3, 5, 1, 2, 4).{DEEP}",
                 f"{BLOCKS}.permute(0, 3, 5, 1, 2, 4).{DEEP}", attributes={"block_size": 2}),
        Workload("space to depth, depth last", "SPACE_TO_DEPTH1", STREAM_IMAGES, F32,
                 f"{BLOCKS}.transpose(0, 1, 3, 5, 2, 4).{DEEP}", f"{FN}.pixel_unshuffle(x, 2)",
                 attributes=DEPTH_LAST),
        Workload("depth to space", "DEPTH_TO_SPACE", IMAGES, PIXELS,
                 f"x.reshape(s[0], 2, 2, s[1] // 4, *s[2:]).transpose(0, 3, 4, 1, 5, 2).{SHALLOW}",
                 f"x.reshape(s[0], 2, 2, s[1] // 4, *s[2:]).permute(0, 3, 4, 1, 5, 2).{SHALLOW}",
                 attributes={"block_size": 2}),
        Workload("depth to space, depth last", "DEPTH_TO_SPACE1", STREAM_IMAGES, F32,
                 f"x.reshape(s[0], s[1] // 4, 2, 2, *s[2:]).transpose(0, 1, 4, 2, 5, 3).{SHALLOW}",
                 f"{FN}.pixel_shuffle(x, 2)", attributes=DEPTH_LAST),
        Workload("enlarge 2 x 2", "UPSAMPLE_2D", SMALL, FLOATS,
                 "np.repeat(np.repeat(x, 2, 2), 2, 3)", f"{FN}.interpolate(x, scale_factor=2)",
                 attributes={"scale_size": (2, 2), "interpolation_mode": NEAREST}),
        one("SLICE_GRAD", "(r := np.zeros(s, t), r.__setitem__(np.s_[:, 1:-1], x))[0]",
            "(r := torch.zeros(s, dtype=t, device=d), r[:, 1:-1].copy_(x))[0]", within=0,
            inputs=(Operand("x", lambda s: (s[0], s[1] - 2)),),
            attributes=windowed(np.s_[:], np.s_[1:-1], more=lambda s: {"output_sizes": s})),
        one("REVERSE_SUBSEQUENCES", "x[:, ::-1].copy()", "torch.flip(x, [1])", within=0,
            inputs=(X, LENGTHS), axis=1),
        one("UNFOLD", f"{BLOCKS}.transpose(0, 1, 3, 5, 2, 4).{COLUMNS}",
            f"{FN}.unfold(x, 2, stride=2)", within=0, inputs=(X,), shapes=STREAM_IMAGES, **WINDOWS),
        one("FOLD", "x.reshape(s[0], s[1], 2, 2, s[2] // 2, s[3] // 2)"
            ".transpose(0, 1, 4, 2, 5, 3).reshape(s)",
            f"{FN}.fold(x, s[2:], 2, stride=2)", within=0, shapes=STREAM_IMAGES,
            inputs=(Operand("x", lambda s: (s[0], s[1] * 4, s[2] * s[3] // 4)),),
            attributes=lambda s: {**WINDOWS, "output_sizes": s}),
        one("ELEMENT_WISE_IDENTITY", "x.copy()", "x.clone()", within=0, inputs=(X,)),
        one("ACTIVATION_IDENTITY", "x.copy()", "x.clone()", within=0, inputs=(X,),
            name="identity activation"),
    ),
    "scans": (
        scanned("cumsum last axis", ROWS, 1),
        scanned("cumsum axis 0", ROWS, 0),
        scanned("cumsum middle axis", BLOCK, 1),
        scanned("cumsum rows of 64", SHORT, 1),
        scanned("cumsum rows of 1001", RAGGED, 1),
        scanned("cumsum rows of 257", {"bandwidth": (1 << 20, 257)}, 1),
        scanned("cumsum one line", LINE, 0),
        scanned("cumsum of a transpose", {"bandwidth": LARGE["bandwidth"]}, 1, ACROSS, FLOATS),
        scanned("cumsum of 19 columns", {"bandwidth": (1 << 23, 19)}, 0, X, F32),
        scanned("cumsum of 4095 columns", {"bandwidth": (1 << 16, 4095)}, 0, X, FLOATS),
        scanned("cumsum of a crop", {"bandwidth": (1 << 18, 1000)}, 1, CROPPED, FLOATS),
        scanned("cumprod last axis", ROWS, 1, product=True),
        scanned("cumprod axis 0", ROWS, 0, product=True),
        scanned("cumprod one line", LINE, 0, product=True),
    ),
    "element-wise": (
        Workload("add", "ELEMENT_WISE_ADD", ROWS, MOVED, "x + y", inputs=(X, Y)),
        Workload("add a broadcast row", "ELEMENT_WISE_ADD", ROWS, MOVED, "x + y", inputs=(X, ROW)),
        Workload("add a transposed operand", "ELEMENT_WISE_ADD", LARGE, MOVED, "x + y",
                 inputs=(X, TURNED)),
        Workload("add planes to pixels", "ELEMENT_WISE_ADD", RGB_LAST, (*PIXELS, "float16"),
                 "x + y", inputs=(X, PLANES)),
        Workload("clip", "ELEMENT_WISE_CLIP", ROWS, MOVED, "np.clip(x, 1, 50)",
                 attributes={"min": 1.0, "max": 50.0}),
        Workload("exp", "ELEMENT_WISE_EXP", ROWS, FLOATS, "np.exp(x)", inputs=(UNIT,), within=4),
        Workload("greater than", "ELEMENT_WISE_LOGICAL_GREATER_THAN", ROWS, MOVED, "x > y",
                 inputs=(X, Y)),
        Workload("where", "ELEMENT_WISE_IF", ROWS, MOVED, "np.where(c, x, y)",
                 inputs=(CONDITION, X, Y)),
        cast("float16", "float32"),
        cast("float32", "float16", "uint8"),
        cast("int32", "int64"),
        Workload("relu(x * 2 + y) in one kernel", "", ROWS, FLOATS, "np.maximum(x * 2 + y, 0)",
                 "torch.relu(x * 2 + y)", inputs=(X, Y),
                 program="dml.fuse(lambda x, y: dnp.maximum(x * 2 + y, 0))"),
        Workload("differences of neighbours", "", ROWS, MOVED, "x[:, 1:] - x[:, :-1]",
                 program="lambda x: x[:, 1:] - x[:, :-1]"),
        one("ELEMENT_WISE_ABS", "np.abs(x)", within=0),
        one("ELEMENT_WISE_ACOS", "np.arccos(x)"),
        one("ELEMENT_WISE_ASIN", "np.arcsin(x)"),
        one("ELEMENT_WISE_ATAN", "np.arctan(x)"),
        one("ELEMENT_WISE_CEIL", "np.ceil(x)", within=0),
        one("ELEMENT_WISE_FLOOR", "np.floor(x)", within=0),
        one("ELEMENT_WISE_COS", "np.cos(x)"),
        one("ELEMENT_WISE_SIN", "np.sin(x)"),
        one("ELEMENT_WISE_TAN", "np.tan(x)"),
        one("ELEMENT_WISE_LOG", "np.log(x)", inputs=(POSITIVE,)),
        one("ELEMENT_WISE_CONSTANT_POW", "x ** 2.5", inputs=(POSITIVE,), exponent=2.5),
        one("ELEMENT_WISE_RECIP", "1 / x", inputs=(POSITIVE,)),
        one("ELEMENT_WISE_SQRT", "np.sqrt(x)", inputs=(POSITIVE,)),
        one("ELEMENT_WISE_SIGN", "np.sign(x)", within=0),
        one("ELEMENT_WISE_ERF", "", "torch.erf(x)", cupy=NOWHERE),
        one("ELEMENT_WISE_SINH", "np.sinh(x)"),
        one("ELEMENT_WISE_COSH", "np.cosh(x)"),
        one("ELEMENT_WISE_TANH", "np.tanh(x)"),
        one("ELEMENT_WISE_ASINH", "np.arcsinh(x)"),
        one("ELEMENT_WISE_ACOSH", "np.arccosh(x + 1)", inputs=(POSITIVE,),
            scale_bias=dml.ScaleBias(1.0, 1.0)),
        one("ELEMENT_WISE_ATANH", "np.arctanh(x * 0.5)", scale_bias=dml.ScaleBias(0.5, 0.0)),
        one("ELEMENT_WISE_ROUND", "np.round(x)", within=0,
            rounding_mode=dml.RoundingMode.HALVES_TO_NEAREST_EVEN),
        one("ELEMENT_WISE_NEGATE", "-x", within=0),
        one("ELEMENT_WISE_CLIP1", "np.clip(x, -0.5, 0.5)", within=0, min=-0.5, max=0.5),
        one("ELEMENT_WISE_THRESHOLD", "np.clip(x, 0.25, None)", within=0, min=0.25),
        two("ELEMENT_WISE_ADD1", "x + y"),
        two("ELEMENT_WISE_SUBTRACT", "x - y"),
        two("ELEMENT_WISE_MULTIPLY", "x * y"),
        two("ELEMENT_WISE_DIVIDE", "x / y", inputs=(X, EXPONENT), within=4),
        two("ELEMENT_WISE_MAX", "np.maximum(x, y)"),
        two("ELEMENT_WISE_MIN", "np.minimum(x, y)"),
        two("ELEMENT_WISE_MEAN", "(x + y) / 2"),
        two("ELEMENT_WISE_POW", "x ** y", inputs=(POSITIVE, EXPONENT), within=8),
        two("ELEMENT_WISE_MODULUS_TRUNCATE", "np.fmod(x, y)", inputs=(X, EXPONENT), within=8),
        two("ELEMENT_WISE_MODULUS_FLOOR", "np.remainder(x, y)", inputs=(X, EXPONENT), within=8),
        two("ELEMENT_WISE_ATAN_YX", "np.arctan2(x, y)", within=8),
        two("ELEMENT_WISE_DIFFERENCE_SQUARE", "(x - y) ** 2"),
        two("ELEMENT_WISE_LOGICAL_AND", "np.logical_and(x, y)", inputs=(MASK, OTHER), dtypes=U8),
        two("ELEMENT_WISE_LOGICAL_OR", "np.logical_or(x, y)", inputs=(MASK, OTHER), dtypes=U8),
        two("ELEMENT_WISE_LOGICAL_XOR", "np.logical_xor(x, y)", inputs=(MASK, OTHER), dtypes=U8),
        one("ELEMENT_WISE_LOGICAL_NOT", "np.logical_not(x)", inputs=(MASK,), dtypes=U8, within=0),
        two("ELEMENT_WISE_LOGICAL_EQUALS", "x == y"),
        two("ELEMENT_WISE_LOGICAL_LESS_THAN", "x < y"),
        two("ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL", "x >= y"),
        two("ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL", "x <= y"),
        one("ELEMENT_WISE_IS_NAN", "np.isnan(x)", within=0),
        one("ELEMENT_WISE_IS_INFINITY", "np.isinf(x)", within=0,
            infinity_mode=dml.IsInfinityMode.EITHER),
        two("ELEMENT_WISE_BIT_AND", "x & y", dtypes=("int32",)),
        two("ELEMENT_WISE_BIT_OR", "x | y", dtypes=("int32",)),
        two("ELEMENT_WISE_BIT_XOR", "x ^ y", dtypes=("int32",)),
        one("ELEMENT_WISE_BIT_NOT", "~x", inputs=(X,), dtypes=("int32",), within=0),
        two("ELEMENT_WISE_BIT_SHIFT_LEFT", "x << y", inputs=(X, SHIFTS), dtypes=U8),
        two("ELEMENT_WISE_BIT_SHIFT_RIGHT", "x >> y", inputs=(X, SHIFTS), dtypes=U8),
        one("ELEMENT_WISE_BIT_COUNT", "np.bitwise_count(x)", inputs=(X,), dtypes=U32, within=0,
            torch=NOWHERE, cupy=NOWHERE),
        one("VALUE_SCALE_2D", "x * np.float32(0.5) + np.array([1, 2, 3], t).reshape(1, 3, 1, 1)",
            "x * 0.5 + torch.tensor([1.0, 2.0, 3.0], device=d).reshape(1, 3, 1, 1)",
            shapes={"bandwidth": RGB["bandwidth"]}, inputs=(X,), scale=0.5, bias=(1.0, 2.0, 3.0)),
    ),
    "activations": (
        Workload("relu", "ACTIVATION_RELU", ROWS, FLOATS, "np.maximum(x, 0)", "torch.relu(x)"),
        Workload("gelu", "ACTIVATION_GELU", ROWS, FLOATS, "", f"{FN}.gelu(x)", NOWHERE,
                 inputs=(UNIT,), within=16),
        one("ACTIVATION_CELU", "np.where(x >= 0, x, np.expm1(x))", f"{FN}.celu(x)", alpha=1.0),
        one("ACTIVATION_ELU", "np.where(x >= 0, x, np.expm1(x))", f"{FN}.elu(x)", alpha=1.0),
        one("ACTIVATION_SCALED_ELU", "np.float32(1.05070102) * "
            "np.where(x >= 0, x, np.float32(1.67326319) * np.expm1(x))", f"{FN}.selu(x)",
            alpha=1.67326319, gamma=1.05070102),
        one("ACTIVATION_SIGMOID", "1 / (1 + np.exp(-x))", "torch.sigmoid(x)"),
        one("ACTIVATION_HARD_SIGMOID", "np.clip(x / 6 + 0.5, 0, 1)", f"{FN}.hardsigmoid(x)",
            alpha=1 / 6, beta=0.5),
        one("ACTIVATION_SWISH", "x / (1 + np.exp(-x))", f"{FN}.silu(x)", sigmoid_input_scale=1.0),
        one("ACTIVATION_HARD_SWISH", "x * np.clip(x / 6 + 0.5, 0, 1)", f"{FN}.hardswish(x)",
            alpha=1 / 6, beta=0.5),
        one("ACTIVATION_LINEAR", "x * 2 + 1", alpha=2.0, beta=1.0),
        one("ACTIVATION_LEAKY_RELU", "np.where(x >= 0, x, x * np.float32(0.1))",
            f"{FN}.leaky_relu(x, 0.1)", alpha=0.1),
        two("ACTIVATION_PARAMETERIZED_RELU", "np.where(x >= 0, x, x * y)", inputs=(UNIT, SLOPE)),
        one("ACTIVATION_THRESHOLDED_RELU", "np.where(x > 0.25, x, 0)",
            f"{FN}.threshold(x, 0.25, 0.0)", alpha=0.25),
        one("ACTIVATION_SHRINK", "np.where(np.abs(x) > 0.25, x - np.copysign(0.25, x), 0)"
            ".astype(t)", f"{FN}.softshrink(x, 0.25)", bias=0.25, threshold=0.25),
        one("ACTIVATION_SOFTPLUS", "np.log1p(np.exp(x))", f"{FN}.softplus(x)", steepness=1.0),
        one("ACTIVATION_PARAMETRIC_SOFTPLUS", "2 * np.log1p(np.exp(x))", f"2 * {FN}.softplus(x)",
            alpha=2.0, beta=1.0),
        one("ACTIVATION_SOFTSIGN", "x / (1 + np.abs(x))", f"{FN}.softsign(x)"),
        one("ACTIVATION_TANH", "np.tanh(x)", name="tanh activation"),
        one("ACTIVATION_SCALED_TANH", "2 * np.tanh(x * 0.5)", alpha=2.0, beta=0.5),
    ),
    "softmax": (
        Workload("softmax of 4096", "ACTIVATION_SOFTMAX1", ROWS, FLOATS, SOFTMAX,
                 "torch.softmax(x, -1)", inputs=(UNIT,), attributes={"axes": (1,)}, within=8),
        Workload("softmax of 257", "ACTIVATION_SOFTMAX1", {"bandwidth": (1 << 20, 257)}, FLOATS,
                 SOFTMAX, "torch.softmax(x, -1)", inputs=(UNIT,), attributes={"axes": (1,)},
                 within=8),
        Workload("log softmax of 3", "ACTIVATION_LOG_SOFTMAX1", {"bandwidth": (1 << 25, 3)},
                 FLOATS, LOG_SOFTMAX, "torch.log_softmax(x, -1)", inputs=(UNIT,),
                 attributes={"axes": (1,)}, within=8),
        Workload("log softmax of 4096", "ACTIVATION_LOG_SOFTMAX1", ROWS, FLOATS, LOG_SOFTMAX,
                 "torch.log_softmax(x, -1)", inputs=(UNIT,), attributes={"axes": (1,)}, within=8),
        Workload("hardmax of 4096", "ACTIVATION_HARDMAX1", ROWS, FLOATS, HARDMAX,
                 "torch.zeros_like(x).scatter_(-1, x.argmax(-1, keepdim=True), 1)",
                 attributes={"axes": (1,)}),
        one("ACTIVATION_SOFTMAX", SOFTMAX, "torch.softmax(x, -1)"),
        one("ACTIVATION_LOG_SOFTMAX", LOG_SOFTMAX, "torch.log_softmax(x, -1)"),
        one("ACTIVATION_HARDMAX", HARDMAX, inputs=(X,), within=0,
            torch="torch.zeros_like(x).scatter_(-1, x.argmax(-1, keepdim=True), 1)"),
    ),
    "reductions": (
        reduced("sum of all", ROWS, "SUM", (0, 1), "sum"),
        reduced("sum last axis", ROWS, "SUM", (1,), "sum"),
        reduced("sum axis 0", ROWS, "SUM", (0,), "sum"),
        reduced("sum middle axis", BLOCK, "SUM", (1,), "sum"),
        reduced("max last axis", ROWS, "MAX", (1,), "max"),
        reduced("mean last axis", ROWS, "AVERAGE", (1,), "mean"),
        Workload("argmax last axis", "ARGMAX", ROWS, MOVED, "np.argmax(x, 1)[:, None]",
                 "torch.argmax(x, 1, keepdim=True)", attributes={"axes": (1,)}),
        Workload("argmax of 3", "ARGMAX", {"bandwidth": (1 << 25, 3)}, MOVED,
                 "np.argmax(x, 1)[:, None]", "torch.argmax(x, 1, keepdim=True)",
                 attributes={"axes": (1,)}),
        one("ARGMIN", "np.argmin(x, 1)[:, None]", "torch.argmin(x, 1, keepdim=True)",
            name="argmin last axis", inputs=(X,), within=0, axes=(1,)),
    ),
    "gathers and scatters": (
        Workload("gather rows of 1024", "GATHER_ND", WIDE, MOVED, "np.take(x, i[:, 0], 0)",
                 ("torch.index_select(x, 0, i[:, 0])", "x[i[:, 0]]"),
                 inputs=(X, EVERY_ROW), piece=1024),
        Workload("gather rows of 16", "GATHER_ND", NARROW, MOVED, "np.take(x, i[:, 0], 0)",
                 ("torch.index_select(x, 0, i[:, 0])", "x[i[:, 0]]"),
                 inputs=(X, EVERY_ROW), piece=16),
        Workload("gather scalars", "GATHER_ND", LARGE, MOVED, "x[columns]",
                 inputs=(X, places("uint32", quarter, lambda s: s)), piece=1),
        Workload("gather scalars, int64 indices", "GATHER_ND", LARGE, F32, "x[columns]",
                 inputs=(X, places("int64", quarter, lambda s: s)), piece=1),
        Workload("gather rows in batches", "GATHER_ND1", BATCHES, MOVED,
                 "x[np.arange(len(x))[:, None], i[..., 0]]",
                 ("torch.gather(x, 1, i.expand(s))",
                  "x[torch.arange(len(x), device=d)[:, None], i[..., 0]]"),
                 inputs=(X, BATCHED), attributes={"batch_dimension_count": 1}),
        Workload("take rows by int64", "GATHER", WIDE, MOVED, "np.take(x, i, 0)",
                 ("torch.index_select(x, 0, i)", "x[i]"),
                 inputs=(X, order("int64", lambda s: s[:1])), attributes={"axis": 0}, piece=1024),
        Workload("take along the last axis", "GATHER", WIDE, F32, "np.take(x, i, 1)",
                 ("torch.index_select(x, 1, i)", "x[:, i]"),
                 inputs=(X, order("int64", lambda s: s[1:])), attributes={"axis": 1}),
        Workload("gather pixels of 3 bytes", "GATHER_ND", {"bandwidth": (89478400, 3)}, U8,
                 "np.take(x, i[:, 0], 0)", ("torch.index_select(x, 0, i[:, 0])", "x[i[:, 0]]"),
                 inputs=(X, places("uint32", lambda s: (s[0] // 4, 1), lambda s: s[0]))),
        Workload("look up colours of 3 bytes", "GATHER", {"bandwidth": (1 << 27, 3)}, U8,
                 "np.take(x, i, 0)", ("torch.index_select(x, 0, i)", "x[i]"),
                 inputs=(PALETTE, COLOURS), attributes={"axis": 0}),
        Workload("gather elements of rows", "GATHER_ELEMENTS", WIDE, MOVED,
                 "np.take_along_axis(x, i, 1)", "torch.gather(x, 1, i)",
                 inputs=(X, ALONG), attributes={"axis": 1}, piece=1),
        Workload("gather elements by uint32", "GATHER_ELEMENTS", WIDE, MOVED,
                 "np.take_along_axis(x, i, 1)", "torch.gather(x, 1, i)",
                 inputs=(X, ALONG_32), attributes={"axis": 1}, piece=1),
        Workload("scatter rows of 1024", "SCATTER_ND", WIDE, MOVED,
                 "(r := x.copy(), r.__setitem__(columns, u))[0]",
                 ("x.index_copy(0, i[:, 0], u)", "(r := x.clone(), r.__setitem__(columns, u))[0]"),
                 inputs=(X, EVERY_ROW, Operand("u"))),
        Workload("scatter a few elements", "SCATTER_ND", {"bandwidth": LINE["bandwidth"]}, F32,
                 "(r := x.copy(), r.__setitem__(columns, u))[0]",
                 "(r := x.clone(), r.__setitem__(columns, u))[0]",
                 inputs=(X, FEW, Operand("u", lambda s: (s[0] // 64,)))),
        Workload("scatter elements of rows", "SCATTER_ELEMENTS", WIDE, F32,
                 "(r := x.copy(), np.put_along_axis(r, i, u, 1))[0]", "x.scatter(1, i, u)", NOWHERE,
                 inputs=(X, ALONG, Operand("u")), attributes={"axis": 1}),
        Workload("one-hot of 128", "ONE_HOT", CLASSES, F32,
                 "(i == np.arange(s[1])).astype(t)",
                 "torch.zeros(s, dtype=t, device=d).scatter_(1, i, 1)",
                 inputs=(LABELS, OFF_ON), attributes=lambda s: {"axis": 1, "output_sizes": s}),
    ),
    "sorting and searching": (
        Workload("coordinates that are not zero", "NONZERO_COORDINATES", LINE, U8,
                 "(np.count_nonzero(x), np.argwhere(x))",
                 ("(torch.count_nonzero(x), torch.nonzero(x))", "torch.nonzero(x)"),
                 inputs=(MASK,)),
        Workload("elements under a mask", "", LINE, F32, "x[c]", inputs=(X, CONDITION),
                 program="lambda x, c: x[c]"),
        Workload("counts of bytes", "", LINE, U8, "np.bincount(x)", "torch.bincount(x)",
                 program="lambda x: np.bincount(x)"),
        Workload("top 16 of 4096", "TOP_K", ROWS, F32, LARGEST.format(16),
                 ("[a[:, :16] for a in x.sort(descending=True, stable=True)]", "torch.topk(x, 16)"),
                 NOWHERE, (SORTABLE,), {"axis": 1, "k": 16}, is_slow=True),
        Workload("sort rows of 4096", "TOP_K1", SORTED, ("float32", "int32"), SMALLEST,
                 "torch.sort(x, stable=True)", "np.sort(x)", (SORTABLE,), is_slow=True,
                 attributes=lambda s: {"axis": 1, "k": s[1], "axis_direction": UP}),
        Workload("sort one line", "TOP_K1", KEYS, ("float32", "int32"), SMALLEST,
                 "torch.sort(x, stable=True)", "np.sort(x)", (SORTABLE,), is_slow=True,
                 attributes=lambda s: {"axis": 0, "k": s[0], "axis_direction": UP}),
    ),
    "values from nothing": (
        Workload("fill", "FILL_VALUE_CONSTANT", ROWS, MOVED, "np.full(s, 3, t)",
                 "torch.full(s, 3, dtype=t, device=d)", inputs=(),
                 attributes=lambda s: {"value": 3, "output_sizes": s}),
        Workload("arange", "FILL_VALUE_SEQUENCE", LINE, ("int32",), "np.arange(0, 2 * s[0], 2, t)",
                 "torch.arange(0, 2 * s[0], 2, dtype=t, device=d)", inputs=(),
                 attributes=lambda s: {"value_start": 0, "value_delta": 2, "output_sizes": s}),
        one("DIAGONAL_MATRIX", "np.eye(s[0], s[1], dtype=t)",
            "torch.eye(s[0], s[1], dtype=t, device=d)", inputs=(), shapes=STREAM_SQUARE, within=0,
            attributes=lambda s: {"offset": 0, "value": 1.0, "output_sizes": s}),
        one("DIAGONAL_MATRIX1", "np.tril(x, -1)", within=0, inputs=(X,), shapes=STREAM_SQUARE,
            attributes=lambda s: {"value": 0, "diagonal_fill_begin": 0,
                                  "diagonal_fill_end": s[1]}),
        one("RANDOM_GENERATOR", "", "torch.randint(2**31, s, dtype=torch.int32, device=d)",
            cupy="np.random.randint(0, 2**31, s, np.int32)", within=inf, dtypes=U32,
            inputs=(STATE,), attributes=lambda s: {"output_sizes": s}),
    ),
}
# fmt: on


def by_record(operator: Operator[Any]) -> Workload | None:
    """A row by the record alone, for an operator that the table does not name; None: it cannot be.

    Inputs are of equal sizes and of the first type that they may have; FLOAT32 comes first.
    """
    row = row_at(operator.entry.support, max(FeatureLevel)) or {}
    first = operator.inputs[0].name if operator.inputs else ""
    if first not in row or any(field.is_array for field in operator.inputs):
        return None
    types = sorted(row[first].data_types, key=lambda t: (t is not dml.DataType.FLOAT32, t))
    rank = min(max(2, min(row[first].ranks)), max(row[first].ranks))
    shape = (*STREAM["bandwidth"][:1], *(1,) * (rank - 2), *STREAM["bandwidth"][1:])[:rank]
    kinds = {"bool": False, "float": 1.0, "uint": 1, "int": 1, "scalar union": 1}
    given = {f.name: kinds[f.kind] for f in operator.fields if f.kind in kinds and f.required}
    return one(
        operator.name,
        "",
        inputs=tuple(Operand(f"x{n}") for n, f in enumerate(operator.inputs) if not f.optional),
        dtypes=(types[0].numpy.name,),
        shapes={"bandwidth": shape},
        attributes=given,
    )


def _table() -> dict[str, tuple[Workload, ...]]:
    """The families, less what is not built, and the operators that none of them names."""
    named = {w.operator for rows in FAMILIES.values() for w in rows}
    found = {
        family: tuple(w for w in rows if not w.operator or w.operator in BY_NAME)
        for family, rows in FAMILIES.items()
    }
    others = [by_record(operator) for operator in OPERATORS if operator.name not in named]
    return found | {"others": tuple(w for w in others if w is not None)}


TABLE = _table()
WORKLOADS = tuple(workload for rows in TABLE.values() for workload in rows)
FAMILY_OF = {workload.name: family for family, rows in TABLE.items() for workload in rows}


def cases(
    family: str = "*", sizes: Iterable[str] = SIZES, only: Iterable[str] = ("*",)
) -> list[Case]:
    """Cases of a family; `only` holds patterns of ids, of which one must match."""
    patterns = [id_of(p) if any(c in p for c in "*?[") else f"*{id_of(p)}*" for p in only]
    found = [
        Case(workload, dtype, size)
        for size in sizes
        for workload in WORKLOADS
        for dtype in workload.dtypes
        if size in workload.shapes and fnmatch(FAMILY_OF[workload.name], family)
    ]
    return [case for case in found if any(fnmatch(str(case), p) for p in patterns)]

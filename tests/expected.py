"""What each operator must give, in NumPy: the only part of the tests that knows operators by name.

An entry of EXPECTED says an operator's value and, where its tensors are not all of equal sizes or
its attributes need more than their kind to be valid, how these are drawn. All else about random
descriptions is derived from the operator's record: see support/generate.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from expected_moves import MOVES
from hypothesis import strategies as st
from support import oracle
from support.arithmetic import (
    bound,
    clipped,
    divided,
    modulus,
    power,
    remainder,
    rounded,
    shrunk,
    sigmoid,
    softplus,
)
from support.cases import Case, Expected, Fill, Own
from support.draws import Draw, sized, sizes, sizes_of_rank
from support.oracle import Array, assert_close, converted

import dmlgpu as dml


def bits_of(x: Array) -> Any:
    """The width of an array's elements, as one of them."""
    return x.dtype.type(8 * x.dtype.itemsize)


def ones(d: Any) -> np.dtype[Any]:
    """The type of an output that is 0 or 1, or a count."""
    return oracle.NUMPY_TYPES[d.output_tensor.data_type]


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


def numbers(low: float, high: float) -> Fill:
    """Floats between two ends; integers of any bits."""

    def fill(rng: np.random.Generator, case: Case, tensor: dml.TensorDesc) -> Array | None:
        if tensor.data_type not in oracle.FLOATS:
            return None
        return rng.uniform(low, high, tensor.sizes)

    return fill


def scaled(d: Any, x: Array) -> Array:
    """x * scale + bias in FLOAT32; integers truncate toward zero and saturate."""
    by = getattr(d, "scale_bias", None)
    if by is None:
        return x
    made = x.astype(np.float32) * np.float32(by.scale) + np.float32(by.bias)
    return made.astype(np.float64) if x.dtype.kind == "f" else converted(made, x.dtype)


def elementwise(
    function: Callable[..., Any],
    *,
    ulps: float = 0,
    least: float = 0,
    low: float = -8,
    high: float = 8,
    draw: Own | None = None,
    **needed: Any,
) -> Expected:
    """A function of a description and its inputs: floats in float64, integers in their own type."""

    def value(d: Any, *inputs: Array) -> Array:
        wide = [x.astype(np.float64) if x.dtype in (np.float16, np.float32) else x for x in inputs]
        with np.errstate(all="ignore"):
            return np.asarray(function(d, scaled(d, wide[0]), *wide[1:]))

    def compare(case: Case, inputs: list[Array], out: Array) -> None:
        assert_close(out, value(case.desc, *inputs), ulps, least)

    names = ("input_tensor", "a_tensor", "b_tensor", "exponent_tensor", "slope_tensor")
    return Expected(
        value,
        draw,
        fill=dict.fromkeys(names, numbers(low, high)),
        compare=compare,
        examples=20,
        elements=600,
        least=needed,
    )


def unary(function: Callable[..., Any], ulps: float = 4, **how: Any) -> Expected:
    """A function of one array."""
    return elementwise(lambda d, x: function(x), ulps=ulps, **how)


def binary(function: Callable[..., Any], ulps: float = 0, **how: Any) -> Expected:
    """A function of two arrays of one type."""
    return elementwise(lambda d, a, b: function(a, b), ulps=ulps, **how)


def bitwise(function: Callable[..., Any]) -> Expected:
    """A function of raw bits."""
    return Expected(lambda d, *x: np.asarray(function(d, *x)), bits=True, examples=20, elements=600)


def along(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    """A tensor, and some of its axes; the other one keeps all sizes."""
    shape = draw(sizes(most, ranks))
    axes = draw(st.sets(st.integers(0, len(shape) - 1), min_size=1).map(lambda s: tuple(sorted(s))))
    return {"axes": axes}, sized("input_tensor", shape, shape)


def reduced(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    """A tensor, and some of its axes, along which the output has size 1."""
    attributes, shapes = along(draw, ranks, most)
    shape, axes = shapes["input_tensor"], attributes["axes"]
    return attributes, sized(
        "input_tensor", shape, [1 if d in axes else n for d, n in enumerate(shape)]
    )


def last_two(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    """Sizes of which only the last two are not 1."""
    rank = draw(st.sampled_from(list(ranks)))
    shape = (1,) * max(0, rank - 2) + draw(sizes_of_rank(min(rank, 2), most))
    return {}, sized("input_tensor", shape, shape)


def reduction_of(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    attributes, shapes = reduced(draw, ranks, min(most, 3000))
    return attributes | {"function": draw(st.sampled_from(list(dml.ReduceFunction)))}, shapes


def axes_of(d: Any) -> tuple[int, ...]:
    return getattr(d, "axes", (d.input_tensor.rank - 1,))


def extreme(d: Any, x: Array, largest: bool, last: bool = False) -> Array:
    """The place among the elements along the axes, row by row."""
    axes = axes_of(d)
    kept = [a for a in range(x.ndim) if a not in axes]
    lines = x.transpose(*kept, *sorted(axes)).reshape(*(x.shape[a] for a in kept), -1)
    find = np.argmax if largest else np.argmin
    places = find(lines[..., ::-1], -1) if last else find(lines, -1)
    places = lines.shape[-1] - 1 - places if last else places
    return places.reshape([1 if a in axes else n for a, n in enumerate(x.shape)])


def reduce_agrees(case: Case, inputs: list[Array], out: Array) -> None:
    d, (x,) = case.desc, inputs
    f, how = d.function, {"axis": d.axes, "keepdims": True}
    if f.name.startswith("ARG"):
        np.testing.assert_array_equal(out, extreme(d, x, f.name == "ARGMAX"))
        return
    if x.dtype.kind != "f":
        wide = np.abs(x) if f.name == "L1" else x * x if f.name == "SUM_SQUARE" else x
        functions = {"MIN": np.min, "MAX": np.max, "MULTIPLY": np.prod}
        extra = {} if f.name in ("MIN", "MAX") else {"dtype": x.dtype}
        with np.errstate(all="ignore"):
            want = functions.get(f.name, np.sum)(wide, **how, **extra)
        np.testing.assert_array_equal(out, want)
        return
    x = x.astype(np.float64)
    count = np.prod([x.shape[a] for a in d.axes])
    with np.errstate(all="ignore"):
        want = {
            "SUM": lambda: x.sum(**how),
            "AVERAGE": lambda: x.mean(**how),
            "L1": lambda: np.abs(x).sum(**how),
            "L2": lambda: np.sqrt((x * x).sum(**how)),
            "SUM_SQUARE": lambda: (x * x).sum(**how),
            "LOG_SUM": lambda: np.log(x.sum(**how)),
            "LOG_SUM_EXP": lambda: np.log(np.exp(x).sum(**how)),
            "MIN": lambda: x.min(**how),
            "MAX": lambda: x.max(**how),
            "MULTIPLY": lambda: x.prod(**how),
        }[f.name]()
        # Pairwise: the error grows with the logarithm of the length, not with the length.
        scale = np.abs(x * x if f.name == "SUM_SQUARE" else x).sum(**how)
        eps = float(np.finfo(np.float32).eps)
        least = eps * (8 + 2 * np.log2(count + 1)) * scale
    if f.name == "LOG_SUM":  # only the sum itself is known so well
        sums = x.sum(**how)
        least = np.where(np.abs(sums) > 2 * least, 2 * least / np.abs(sums), np.inf)
    if f.name == "MULTIPLY":
        least = np.abs(want) * eps * count
    if f.name == "LOG_SUM_EXP":
        least = 1e-5
    least = np.broadcast_to(np.nan_to_num(least, nan=np.inf), out.shape)
    with np.errstate(all="ignore"):
        half = np.abs(want.astype(out.dtype).astype(np.float64) - want)
        bad = np.abs(out.astype(np.float64) - want) > 4 * np.spacing(np.abs(out)) + least + half
    assert not (bad & ~np.isnan(want)).any(), (f.name, out[bad][0], want[bad][0])


def softmax_agrees(log: bool, case: Case, inputs: list[Array], out: Array) -> None:
    x = inputs[0].astype(np.float64)
    how = {"axis": axes_of(case.desc), "keepdims": True}
    e = np.exp(x - x.max(**how))
    want = (x - x.max(**how) - np.log(e.sum(**how))) if log else e / e.sum(**how)
    assert_close(out, want, 4, 1e-5 if log else 1e-6)


def hardmax(d: Any, x: Array) -> Array:
    axes = tuple(sorted(axes_of(d)))
    place = extreme(d, x, True)
    sizes_ = [x.shape[a] for a in axes]
    index = np.arange(int(np.prod(sizes_))).reshape(
        [x.shape[a] if a in axes else 1 for a in range(x.ndim)]
    )
    return (index == place).astype(x.dtype)


def line_wise(
    draw: Own, value: Callable[..., Array], compare: Callable[..., None] | None = None
) -> Expected:
    fill = {"input_tensor": numbers(-8, 8)}
    return Expected(value, draw, fill, compare=compare, examples=25, elements=2000)


def place_agrees(largest: bool, case: Case, inputs: list[Array], out: Array) -> None:
    d = case.desc
    last = d.axis_direction == dml.AxisDirection.DECREASING
    np.testing.assert_array_equal(out, extreme(d, inputs[0], largest, last))


def few_values(rng: np.random.Generator, case: Case, tensor: dml.TensorDesc) -> Array:
    """So few that many are equal."""
    return rng.integers(0, 5, tensor.sizes)


def philox(d: Any, state: Array) -> Array | tuple[Array, ...]:
    """The documented generator, with Python's integers."""
    words = [int(w) for w in state.reshape(-1)]
    start = sum(w << 32 * i for i, w in enumerate(words[:4]))
    count = d.output_tensor.element_count
    found: list[int] = []
    for block in range(-(-count // 4)):
        number = (start + block) % 2**128
        c, k = [number >> 32 * i & 0xFFFFFFFF for i in range(4)], words[4:]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
            k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
        found += c
    values = np.array(found[:count], np.uint32).reshape(d.output_tensor.sizes)
    if d.output_state_tensor is None:
        return values
    after = (start + -(-count // 4)) % 2**128
    moved = [after >> 32 * i & 0xFFFFFFFF for i in range(4)] + words[4:]
    return values, np.array(moved, np.uint32).reshape(d.output_state_tensor.sizes)


def random_state(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    shape = draw(sizes(min(most, 300), ranks))
    state = (1,) * (len(shape) - 1) + (6,)
    return {}, {
        "input_state_tensor": state,
        "output_tensor": shape,
        "output_state_tensor": state,
    }


def images(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    channels = draw(st.sampled_from((1, 3)))
    shape = (draw(st.integers(1, 3)), channels, draw(st.integers(1, 9)), draw(st.integers(1, 9)))
    bias = tuple(draw(st.sampled_from((0.0, 1.5, -3.0))) for _ in range(channels))
    return {"bias": bias, "scale": 2.0}, sized("input_tensor", shape, shape)


def value_scaled(d: Any, x: Array) -> Array:
    return x * d.scale + np.array(d.bias).reshape(1, -1, 1, 1)


def cast_agrees(case: Case, inputs: list[Array], out: Array) -> None:
    want = converted(inputs[0], out.dtype)
    same = (out == want) | ((out != out) & (want != want))
    tiny = np.abs(want.astype(np.float64)) < 1.2e-38  # some adapters flush what is denormal
    assert (same | (tiny & (out == 0)) if out.dtype.kind == "f" else same).all()


ERF = np.vectorize(math.erf, otypes=[np.float64])
ROOT_HALF = math.sqrt(0.5)
INFINITY = (np.isinf, np.isposinf, np.isneginf)
POSITIVE = st.sampled_from((0.5, 1.0, 2.0))


def with_attributes(**drawn: Any) -> Own:
    """Tensors of equal sizes, with attributes drawn."""

    def own(draw: Draw, ranks: Sequence[int], most: int) -> Any:
        shape = draw(sizes(most, ranks))
        return {name: draw(values) for name, values in drawn.items()}, sized(
            "input_tensor", shape, shape
        )

    return own


def of_type(draw: Draw, ranks: Sequence[int], most: int) -> Any:
    shape = draw(sizes(most, ranks))
    return {"min": 1, "max": 100}, sized("input_tensor", shape, shape)


def power_agrees(case: Case, inputs: list[Array], out: Array) -> None:
    """Integers to powers that are floats are rounded as FLOAT32 before they are truncated."""
    x, e = inputs
    with np.errstate(all="ignore"):
        want = power(case.desc, scaled(case.desc, x), e)
    if x.dtype.kind == "f" or e.dtype.kind != "f":
        assert_close(out, want, 4)
        return
    near = converted(want, out.dtype).astype(np.float64)
    np.testing.assert_allclose(out.astype(np.float64), near, rtol=2e-6, atol=1)


EXPECTED: dict[str, Expected] = {
    **MOVES,
    "CUMULATIVE_SUMMATION": scan(summands),
    "CUMULATIVE_PRODUCT": scan(factors),
    "CAST": Expected(
        lambda d, x: converted(x, oracle.NUMPY_TYPES[d.output_tensor.data_type]),
        compare=cast_agrees,
        fill={"input_tensor": numbers(-300, 300)},
        examples=60,
        elements=600,
    ),
    "ELEMENT_WISE_IDENTITY": unary(lambda x: x, 1),
    "ELEMENT_WISE_ABS": unary(np.abs, 0),
    "ELEMENT_WISE_ACOS": unary(np.arccos, low=-1.1, high=1.1, least=1e-6),
    "ELEMENT_WISE_ASIN": unary(np.arcsin, low=-1.1, high=1.1, least=1e-6),
    "ELEMENT_WISE_ATAN": unary(np.arctan),
    "ELEMENT_WISE_CEIL": unary(np.ceil, 0),
    "ELEMENT_WISE_FLOOR": unary(np.floor, 0),
    "ELEMENT_WISE_CLIP": elementwise(clipped),
    "ELEMENT_WISE_CLIP1": elementwise(clipped, draw=of_type, min=1, max=100),
    "ELEMENT_WISE_COS": unary(np.cos, least=1e-6),
    "ELEMENT_WISE_SIN": unary(np.sin, least=1e-6),
    "ELEMENT_WISE_TAN": unary(np.tan, least=1e-6),
    "ELEMENT_WISE_EXP": unary(np.exp),
    "ELEMENT_WISE_LOG": unary(np.log, least=1e-6),
    "ELEMENT_WISE_CONSTANT_POW": elementwise(lambda d, x: np.power(x, d.exponent), ulps=4),
    "ELEMENT_WISE_RECIP": unary(lambda x: 1 / x, 3),
    "ELEMENT_WISE_SQRT": unary(np.sqrt, 3),
    "ELEMENT_WISE_THRESHOLD": elementwise(
        lambda d, x: np.maximum(x, bound(d.min, oracle.NUMPY_TYPES[d.output_tensor.data_type]))
    ),
    "ELEMENT_WISE_SIGN": unary(np.sign, 0),
    "ELEMENT_WISE_ERF": unary(ERF, least=1e-6),
    "ELEMENT_WISE_SINH": unary(np.sinh),
    "ELEMENT_WISE_COSH": unary(np.cosh),
    "ELEMENT_WISE_TANH": unary(np.tanh),
    "ELEMENT_WISE_ASINH": unary(np.arcsinh),
    "ELEMENT_WISE_ACOSH": unary(np.arccosh, least=1e-6),
    "ELEMENT_WISE_ATANH": unary(np.arctanh, low=-1.1, high=1.1, least=1e-6),
    "ELEMENT_WISE_ROUND": elementwise(rounded),
    "ELEMENT_WISE_NEGATE": unary(np.negative, 0),
    "ELEMENT_WISE_ADD": binary(np.add),
    "ELEMENT_WISE_ADD1": elementwise(
        lambda d, a, b: a + b,
        ulps=1,
        draw=lambda draw, ranks, most: (
            {"fused_activation": None},
            dict.fromkeys(("a_tensor", "b_tensor", "output_tensor"), draw(sizes(most, ranks))),
        ),
    ),
    "ELEMENT_WISE_SUBTRACT": binary(np.subtract),
    "ELEMENT_WISE_MULTIPLY": binary(np.multiply),
    "ELEMENT_WISE_DIVIDE": binary(divided, 3),
    "ELEMENT_WISE_MAX": binary(np.maximum),
    "ELEMENT_WISE_MIN": binary(np.minimum),
    "ELEMENT_WISE_MEAN": binary(
        lambda a, b: (a + b) / 2 if a.dtype.kind == "f" else divided(a + b, np.full_like(a, 2)), 1
    ),
    "ELEMENT_WISE_POW": replace(elementwise(power, ulps=4), compare=power_agrees),
    "ELEMENT_WISE_MODULUS_TRUNCATE": binary(remainder),
    "ELEMENT_WISE_MODULUS_FLOOR": binary(modulus, 1),
    "ELEMENT_WISE_ATAN_YX": binary(np.arctan2, 4),
    "ELEMENT_WISE_DIFFERENCE_SQUARE": binary(lambda a, b: (a - b) * (a - b), 3),
    "ELEMENT_WISE_LOGICAL_AND": binary(np.logical_and),
    "ELEMENT_WISE_LOGICAL_OR": binary(np.logical_or),
    "ELEMENT_WISE_LOGICAL_XOR": binary(np.logical_xor),
    "ELEMENT_WISE_LOGICAL_NOT": unary(np.logical_not, 0),
    "ELEMENT_WISE_LOGICAL_EQUALS": binary(np.equal),
    "ELEMENT_WISE_LOGICAL_GREATER_THAN": binary(np.greater),
    "ELEMENT_WISE_LOGICAL_LESS_THAN": binary(np.less),
    "ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL": binary(np.greater_equal),
    "ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL": binary(np.less_equal),
    "ELEMENT_WISE_IS_NAN": Expected(lambda d, x: np.isnan(x).astype(ones(d)), examples=20),
    "ELEMENT_WISE_IS_INFINITY": Expected(
        lambda d, x: INFINITY[d.infinity_mode](x).astype(ones(d)), examples=20
    ),
    "ELEMENT_WISE_IF": Expected(
        lambda d, c, a, b: np.where(c != 0, a, b),
        fill={"condition_tensor": few_values},
        bits=True,
        examples=20,
        elements=600,
    ),
    "ELEMENT_WISE_BIT_AND": bitwise(lambda d, a, b: a & b),
    "ELEMENT_WISE_BIT_OR": bitwise(lambda d, a, b: a | b),
    "ELEMENT_WISE_BIT_XOR": bitwise(lambda d, a, b: a ^ b),
    "ELEMENT_WISE_BIT_NOT": bitwise(lambda d, x: ~x),
    "ELEMENT_WISE_BIT_SHIFT_LEFT": bitwise(lambda d, a, b: a << b % bits_of(a)),
    "ELEMENT_WISE_BIT_SHIFT_RIGHT": bitwise(lambda d, a, b: a >> b % bits_of(a)),
    "ELEMENT_WISE_BIT_COUNT": bitwise(
        lambda d, x: np.frompyfunc(lambda v: int(v).bit_count(), 1, 1)(x).astype(ones(d))
    ),
    "VALUE_SCALE_2D": elementwise(value_scaled, ulps=1, draw=images, bias=(0.0,)),
    "ACTIVATION_CELU": elementwise(
        lambda d, x: np.maximum(0, x) + np.minimum(0, d.alpha * np.expm1(x / d.alpha)),
        ulps=4,
        least=1e-6,
        draw=with_attributes(alpha=POSITIVE),
        alpha=1.0,
    ),
    "ACTIVATION_ELU": elementwise(
        lambda d, x: np.where(x >= 0, x, d.alpha * np.expm1(x)), ulps=4, least=1e-6
    ),
    "ACTIVATION_SCALED_ELU": elementwise(
        lambda d, x: d.gamma * np.where(x > 0, x, d.alpha * np.expm1(x)), ulps=4, least=2e-6
    ),
    "ACTIVATION_GELU": unary(lambda x: x / 2 * (1 + ERF(x * ROOT_HALF)), least=2e-6),
    "ACTIVATION_SIGMOID": unary(sigmoid, least=1e-6),
    "ACTIVATION_HARD_SIGMOID": elementwise(
        lambda d, x: np.clip(d.alpha * x + d.beta, 0, 1), ulps=2, least=1e-6
    ),
    "ACTIVATION_SWISH": elementwise(
        lambda d, x: x * sigmoid(d.sigmoid_input_scale * x), ulps=5, least=2e-6
    ),
    "ACTIVATION_HARD_SWISH": elementwise(
        lambda d, x: x * np.clip(d.alpha * x + d.beta, 0, 1), ulps=4, least=1e-5
    ),
    "ACTIVATION_IDENTITY": unary(lambda x: x, 0),
    "ACTIVATION_LINEAR": elementwise(lambda d, x: d.alpha * x + d.beta, ulps=1, least=1e-6),
    "ACTIVATION_RELU": unary(lambda x: np.maximum(x, 0), 0),
    "ACTIVATION_LEAKY_RELU": elementwise(lambda d, x: np.where(x >= 0, x, d.alpha * x), ulps=1),
    "ACTIVATION_PARAMETERIZED_RELU": elementwise(
        lambda d, x, slope: np.where(x >= 0, x, slope * x).astype(x.dtype), ulps=1
    ),
    "ACTIVATION_THRESHOLDED_RELU": elementwise(lambda d, x: np.where(x > d.alpha, x, 0)),
    "ACTIVATION_SHRINK": elementwise(shrunk, ulps=1),
    "ACTIVATION_SOFTPLUS": elementwise(
        lambda d, x: softplus(d.steepness * x) / d.steepness,
        ulps=5,
        least=1e-6,
        draw=with_attributes(steepness=POSITIVE),
        steepness=1.0,
    ),
    "ACTIVATION_PARAMETRIC_SOFTPLUS": elementwise(
        lambda d, x: d.alpha * softplus(d.beta * x), ulps=5, least=2e-6
    ),
    "ACTIVATION_SOFTSIGN": unary(lambda x: x / (1 + np.abs(x))),
    "ACTIVATION_TANH": unary(np.tanh),
    "ACTIVATION_SCALED_TANH": elementwise(
        lambda d, x: d.alpha * np.tanh(d.beta * x), ulps=5, least=1e-6
    ),
    "ACTIVATION_SOFTMAX": line_wise(last_two, hardmax, partial(softmax_agrees, False)),
    "ACTIVATION_SOFTMAX1": line_wise(along, hardmax, partial(softmax_agrees, False)),
    "ACTIVATION_LOG_SOFTMAX": line_wise(last_two, hardmax, partial(softmax_agrees, True)),
    "ACTIVATION_LOG_SOFTMAX1": line_wise(along, hardmax, partial(softmax_agrees, True)),
    "ACTIVATION_HARDMAX": line_wise(last_two, hardmax),
    "ACTIVATION_HARDMAX1": line_wise(along, hardmax),
    "REDUCE": Expected(
        lambda d, x: x,
        reduction_of,
        {"input_tensor": numbers(-3, 3)},
        compare=reduce_agrees,
        examples=120,
        elements=3000,
        least={"axes": (0,)},
    ),
    "ARGMIN": Expected(
        lambda d, x: x,
        reduced,
        {"input_tensor": few_values},
        compare=partial(place_agrees, False),
        examples=40,
        least={"axes": (0,)},
    ),
    "ARGMAX": Expected(
        lambda d, x: x,
        reduced,
        {"input_tensor": few_values},
        compare=partial(place_agrees, True),
        examples=40,
        least={"axes": (0,)},
    ),
    "RANDOM_GENERATOR": Expected(
        philox,
        random_state,
        examples=20,
        asked=lambda d: {"output_sizes": d.output_tensor.sizes},
        least=lambda rank: {
            "input_state_tensor": (1,) * (rank - 1) + (6,),
            "output_tensor": (1,) * rank,
        },
    ),
}
for _name in ("SOFTMAX1", "LOG_SOFTMAX1", "HARDMAX1"):
    EXPECTED[f"ACTIVATION_{_name}"] = replace(EXPECTED[f"ACTIVATION_{_name}"], least={"axes": (0,)})

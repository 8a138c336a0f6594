"""The functions of shaders/number and shaders/math against NumPy and Python, on the adapter.

Integers, conversions, comparisons and + - * must be exact; other functions of floats have a bound
in units in the last place (ulp) of the float64 result. Where an adapter flushes denormal numbers to
zero, that and nothing else is allowed besides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from number_harness import (
    CLASSES,
    DTYPES,
    INTEGERS,
    SHADERS,
    TINY,
    WGSL,
    Runner,
    bits_of,
    cast,
    check,
    flushed,
    moderate,
    noise,
    open_runner,
    pairs,
    same_floats,
    single,
    wrapped,
)

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.ops import BY_NAME
from dmlgpu.ops.elements import FASTER, FASTER_ALONE, halved
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.values import STRAYING, float_slots

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore::RuntimeWarning")]  # of NumPy


@pytest.fixture(scope="module")
def runner() -> Runner:
    return open_runner()


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: truncated(a, b) if b else a,
    "rem": lambda a, b: a - truncated(a, b) * b if b else 0,
    "mod": lambda a, b: a % b if b else 0,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
UNARY: dict[str, Callable[[int], int]] = {
    "neg": lambda a: -a,
    "abs": abs,
    "sign": lambda a: (a > 0) - (a < 0),
    "not": lambda a: ~a,
}
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal,
    "lt": np.less,
    "le": np.less_equal,
}


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_of_two(runner: Runner, kind: str) -> None:
    a, b = pairs(kind, 2000)
    left, right = a.tolist(), b.tolist()
    for names in (list(BINARY)[:3], list(BINARY)[3:6], list(BINARY)[6:]):
        found = runner.several([kind, kind], {f"{kind}_{n}": kind for n in names}, a, b)
        for name in names:
            values = [BINARY[name](x, y) for x, y in zip(left, right, strict=True)]
            wrong = np.nonzero(found[f"{kind}_{name}"] != wrapped(values, kind))[0]
            assert not wrong.size, (name, a[wrong[0]], b[wrong[0]], values[wrong[0]])


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_of_one(runner: Runner, kind: str) -> None:
    a = single(kind)
    found = runner.several([kind], {f"{kind}_{name}": kind for name in UNARY}, a)
    for name, function in UNARY.items():
        expected = wrapped([function(x) for x in a.tolist()], kind)
        np.testing.assert_array_equal(found[f"{kind}_{name}"], expected, name)
    truth = runner(f"{kind}_is_true", [kind], "bool", a)
    np.testing.assert_array_equal(truth, a != 0)


@pytest.mark.parametrize("kind", INTEGERS)
def test_shifts_take_the_count_modulo_the_width(runner: Runner, kind: str) -> None:
    a = single(kind, 2000)
    width = 8 * a.dtype.itemsize
    count = np.random.default_rng(5).integers(0, 3 * width, len(a), dtype=np.uint32)
    found = runner.several([kind, "u32"], {f"{kind}_shl": kind, f"{kind}_shr": kind}, a, count)
    rows = list(zip(a.tolist(), (count % width).tolist(), strict=True))
    for name, values in {
        "shl": [x << n for x, n in rows],
        "shr": [x >> n for x, n in rows],
    }.items():
        np.testing.assert_array_equal(found[f"{kind}_{name}"], wrapped(values, kind), name)


@pytest.mark.parametrize("kind", ["u32", "u64"])
def test_count_ones(runner: Runner, kind: str) -> None:
    a = single(kind)
    expected = [int(x).bit_count() for x in a]
    np.testing.assert_array_equal(runner(f"{kind}_count_ones", [kind], "u32", a), expected)


@pytest.mark.parametrize("kind", ["f32", *INTEGERS])
def test_comparisons(runner: Runner, kind: str) -> None:
    a, b = pairs(kind)
    found = runner.several([kind, kind], {f"{kind}_{name}": "bool" for name in COMPARE}, a, b)
    for name, function in COMPARE.items():
        np.testing.assert_array_equal(found[f"{kind}_{name}"], function(a, b), name)


@pytest.mark.parametrize("kind", CLASSES)
def test_constants(runner: Runner, kind: str) -> None:
    text = f"fn constant(n: u32) -> {WGSL[kind]} {{\n"
    text += f"  if (n == 0u) {{ return {kind}_zero(); }}\n  return {kind}_one();\n}}\n"
    found = runner.several(["u32"], {"constant": kind}, np.arange(2), text=text)
    assert found["constant"].tolist() == [0, 1]


def test_f64_truth_and_equality(runner: Runner) -> None:
    a, b = pairs("f64", 500)
    np.testing.assert_array_equal(runner("f64_eq", ["f64", "f64"], "bool", a, b), a == b)
    np.testing.assert_array_equal(runner("f64_is_true", ["f64"], "bool", a), a != 0)


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_float_arithmetic_is_exact(runner: Runner, name: str) -> None:
    a, b = pairs("f32")
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[name]
    expected = function(a, b)
    found = runner(f"f32_{name}", ["f32", "f32"], "f32", a, b)
    right = same_floats(found, expected)
    if runner.flushes:  # arguments, or results that are denormal before they are rounded
        for x, y in ((a, b), (flushed(a), flushed(b))):
            exact = function(x.astype(np.float64), y.astype(np.float64))
            right |= same_floats(found, function(x, y))
            zero = np.copysign(np.float32(0), exact.astype(np.float32))
            right |= (np.abs(exact) < TINY) & same_floats(found, zero)
    assert right.all(), (a[~right][:3], b[~right][:3], found[~right][:3])


def test_float_signs_and_truth(runner: Runner) -> None:
    a = single("f32")
    found = runner.several(["f32"], {f"f32_{name}": "f32" for name in ("neg", "abs", "sign")}, a)
    np.testing.assert_array_equal(bits_of(found["f32_neg"]), bits_of(a) ^ 0x80000000)
    np.testing.assert_array_equal(bits_of(found["f32_abs"]), bits_of(a) & 0x7FFFFFFF)
    sign = np.where(np.isnan(a), np.float32(0), np.sign(a)) + np.float32(0)
    np.testing.assert_array_equal(bits_of(found["f32_sign"]), bits_of(sign))
    np.testing.assert_array_equal(runner("f32_is_true", ["f32"], "bool", a), a != 0)


@pytest.mark.parametrize("name", ["min", "max"])
def test_float_extremes(runner: Runner, name: str) -> None:
    a, b = pairs("f32")
    ordered = ~(np.isnan(a) | np.isnan(b))
    a, b = a[ordered], b[ordered]
    found = runner(f"f32_{name}", ["f32", "f32"], "f32", a, b)
    function = {"min": np.minimum, "max": np.maximum}[name]
    right = found == function(a, b)
    if runner.flushes:
        right |= found == function(flushed(a), flushed(b))
    assert right.all()


@pytest.mark.parametrize("name", ["rem", "mod"])
def test_float_remainders_are_exact(runner: Runner, name: str) -> None:
    a, b = pairs("f32")
    close = noise("f32", 3000, 7)
    a = np.concatenate([a, close])
    b = np.concatenate([b, close / np.float32(3)])
    expected = {"rem": np.fmod, "mod": np.mod}[name](a, b)
    found = runner(f"f32_{name}", ["f32", "f32"], "f32", a, b)
    right = same_floats(found, expected)
    if runner.flushes:
        right |= same_floats(found, flushed(expected))
        if name == "mod":  # the sum of the remainder and the divisor
            right |= same_floats(found, flushed(flushed(np.fmod(a, b)) + flushed(b)))
            right |= same_floats(found, np.mod(flushed(a), flushed(b)))
    assert right.all(), (a[~right][:3], b[~right][:3], found[~right][:3], expected[~right][:3])


@pytest.mark.parametrize("source", CLASSES)
def test_conversions(runner: Runner, source: str) -> None:
    a = single(source, 1500)
    if source in ("i64", "u64"):  # ties of FLOAT32 and FLOAT64, and their neighbours
        high = noise(source, 300, 8) | 1
        ties = (high << (a.itemsize * 4 - 6)) + noise(source, 300, 9) % 3 - 1
        a = np.concatenate([a, ties.astype(a.dtype)])
    targets = {f"{kind}_from_{source}": kind for kind in CLASSES if kind != source}
    found = runner.several([source], targets, a)
    for name, kind in targets.items():
        expected = np.array([cast(x, kind) for x in a.tolist()], DTYPES[kind])
        got = found[name]
        right = same_floats(got, expected) if kind in ("f32", "f64") else got == expected
        assert right.all(), (name, a[~right][:3], got[~right][:3], expected[~right][:3])


DATA_TYPES = {
    "float16": "f32",
    "float32": "f32",
    "float64": "f64",
    **{f"int{n}": "i64" if n == 64 else "i32" for n in (8, 16, 32, 64)},
    **{f"uint{n}": "u64" if n == 64 else "u32" for n in (8, 16, 32, 64)},
}


@pytest.mark.parametrize("name", DATA_TYPES)
def test_elements(runner: Runner, name: str) -> None:
    kind, dtype = DATA_TYPES[name], np.dtype(name)
    width = 8 * dtype.itemsize
    elements = np.arange(2**16, dtype=np.uint64) if width <= 16 else noise("u64", 4000, 4)
    elements &= np.uint64(2**width - 1)
    values = elements.astype(f"u{dtype.itemsize}").view(dtype)
    decoded = runner(f"{name}_decode", ["bits"], kind, elements)
    wide = values.astype(DTYPES[kind])
    if dtype.kind == "f":
        assert same_floats(decoded, wide).all()
    else:
        np.testing.assert_array_equal(decoded, wide)
    a = np.concatenate([single(kind), wide])
    wrap = {} if name == "float16" else {f"{name}_wrap": kind}  # halves are encoded and decoded
    found = runner.several([kind], {f"{name}_encode": "bits", **wrap}, a)
    expected = a.astype(dtype)
    back = found[f"{name}_encode"].astype(f"u{dtype.itemsize}").view(dtype)
    np.testing.assert_array_equal(
        found[f"{name}_encode"] >> np.uint64(width - 1) >> np.uint64(1), 0
    )
    assert same_floats(back, expected).all() if dtype.kind == "f" else (back == expected).all()
    again = found.get(f"{name}_wrap", expected.astype(DTYPES[kind]))
    if dtype.kind == "f":
        assert same_floats(again, expected.astype(DTYPES[kind])).all()
    else:
        np.testing.assert_array_equal(again, expected)


@pytest.mark.parametrize(("ours", "theirs"), float_slots([DataType.FLOAT16], True).items())
def test_what_hardware_stands_in_for_has_one_set_of_names(ours: str, theirs: str) -> None:
    files = [SHADERS / f"{name}.wgsl" for name in (ours, theirs)]
    names = [re.findall(r"^fn .*?\{", file.read_text(), re.M) for file in files]
    assert names[0] == names[1]


def test_names_carry_the_prefix_of_their_file() -> None:
    for path in (SHADERS / "number").glob("*.wgsl"):
        prefix = path.stem.removesuffix("_hardware").removesuffix("_fused") + "_"
        names = re.findall(r"^(?:fn|struct|const|var\S*|alias) (\w+)", path.read_text(), re.M)
        assert names
        assert [name for name in names if not name.startswith(prefix)] == []
    for path in (SHADERS / "math").glob("*.wgsl"):
        names = re.findall(r"^(?:fn|struct|const|var\S*|alias) (\w+)", path.read_text(), re.M)
        assert f"math_{path.stem}" in names
        others = set(names) - {f"math_{path.stem}"}
        assert [name for name in others if not name.startswith(f"math_{path.stem}_")] == []


def test_float16_nan_keeps_its_sign(runner: Runner) -> None:
    nan = np.array([0x7F800001, 0xFF800001, 0x7FC12345, 0xFFFFFFFF], np.uint32).view(np.float32)
    found = runner("float16_encode", ["f32"], "bits", nan)
    assert found.tolist() == [0x7E00, 0xFE00, 0x7E00, 0xFE00]


MATH: dict[str, tuple[Callable[[Any], Any], float]] = {
    "exp": (np.exp, 2.5),
    "expm1": (np.expm1, 2.5),
    "exp2": (np.exp2, 2.5),
    "log": (np.log, 2.5),
    "log1p": (np.log1p, 4),
    "log2": (np.log2, 2.5),
    "log10": (np.log10, 2.5),
    "sqrt": (np.sqrt, 1),
    "recip": (np.reciprocal, 1),
    "sin": (np.sin, 3),
    "cos": (np.cos, 3),
    "tan": (np.tan, 4),
    "asin": (np.arcsin, 4),
    "acos": (np.arccos, 2.5),
    "atan": (np.arctan, 2.5),
    "sinh": (np.sinh, 2.5),
    "cosh": (np.cosh, 2.5),
    "tanh": (np.tanh, 4),
    "asinh": (np.arcsinh, 4),
    "acosh": (np.arccosh, 4),
    "atanh": (np.arctanh, 4),
    "erf": (np.vectorize(math.erf), 4),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 4),
    "softplus": (lambda x: np.logaddexp(0, x), 4),
    "gelu": (lambda x: x * 0.5 * np.vectorize(math.erfc)(x * -math.sqrt(0.5)), 4),
}
# Where the bound may be passed by this much, near 1 and in the tail of a bell.
ABSOLUTE = {"tanh": 4e-7, "erf": 5e-7, "gelu": 1e-7}
ROUNDING: dict[str, Callable[[Any], Any]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round_even": np.rint,
    "round_away": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}


@pytest.mark.parametrize("name", MATH)
def test_functions_of_one(runner: Runner, name: str) -> None:
    x = np.concatenate([single("f32"), moderate(6000, 10)])
    check(runner, f"math_{name}", *MATH[name], x, absolute=ABSOLUTE.get(name, 0))


HALF = sorted(path.stem.removesuffix("_half") for path in (SHADERS / "math").glob("*_half.wgsl"))


@pytest.mark.parametrize("name", HALF)
def test_functions_for_float16(runner: Runner, name: str) -> None:
    """Over all of FLOAT16: nearly always the nearest number, never further than the next one."""
    x = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)
    found = runner(f"math_{name}_half", ["f32"], "f32", x).astype(np.float16)
    expected = MATH[name][0](x.astype(np.float64)).astype(np.float16)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    numbers = ~np.isnan(expected)
    found, expected = found[numbers], expected[numbers]
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    magnitude = [bits_of(values).astype(np.int32) & 0x7FFF for values in (found, expected)]
    apart = np.abs(magnitude[0] - magnitude[1])
    worst = apart.argmax()
    assert apart[worst] <= 1, (x[numbers][worst], found[worst], expected[worst])
    assert np.mean(apart) < 0.005


def test_falling_exponential(runner: Runner) -> None:
    """Right to FLOAT16's bits where FLOAT16 can tell, and nearly nothing below that."""
    x = -np.arange(0x7C01, dtype=np.uint16).view(np.float16).astype(np.float32)
    found = runner("math_exp_falling", ["f32"], "f32", x)
    np.testing.assert_allclose(found, np.exp(x.astype(np.float64)), rtol=2.0**-12, atol=2.0**-25)
    assert np.isnan(
        runner("math_exp_falling", ["f32"], "f32", np.full(4, np.nan, np.float32))
    ).all()


@pytest.mark.parametrize("name", HALF)
def test_functions_for_float16_take_any_float32(runner: Runner, name: str) -> None:
    """An expression may scale its argument first."""
    x = np.concatenate([single("f32"), moderate(3000, 25)])
    found = runner(f"math_{name}_half", ["f32"], "f32", x)
    right = np.zeros(len(x), bool)
    for taken in (x, flushed(x)) if runner.flushes else (x,):
        exact = MATH[name][0](taken.astype(np.float64)).astype(np.float32)
        right |= np.isclose(found, exact, rtol=2.0**-12, atol=2.0**-25, equal_nan=True)
    assert right.all(), (x[~right][:3], found[~right][:3])


def test_float16_results_are_made_by_the_functions_for_float16() -> None:
    assert sorted((*FASTER, FASTER_ALONE)) == HALF
    assert halved("math_tanh(x)") == "math_tanh_half(x)"
    assert halved("alpha * math_tanh(x)") == "alpha * math_tanh(x)"
    assert halved("x * math_sigmoid(x)") == "x * math_sigmoid_half(x)"
    assert halved("math_round_even(x)") == "math_round_even(x)"
    for data_type, name in ((DataType.FLOAT16, "math_exp_half"), (DataType.FLOAT32, "math_exp")):
        tensor = TensorDesc(data_type, (3,))
        desc = BY_NAME["ELEMENT_WISE_EXP"].desc(input_tensor=tensor, output_tensor=tensor)
        work = BY_NAME["ELEMENT_WISE_EXP"].work(desc)
        assert isinstance(work, ElementWise)
        assert [expression.result for _, expression in work.outputs] == [f"{name}(x)"]


def test_functions_that_stray_are_known() -> None:
    texts = {path.stem: path.read_text() for path in (SHADERS / "math").glob("*.wgsl")}
    for part in ("strays", "near"):
        assert sorted(n for n in texts if f"fn math_{n}_{part}(" in texts[n]) == sorted(STRAYING)


@pytest.mark.parametrize("name", ROUNDING)
def test_rounding_is_exact(runner: Runner, name: str) -> None:
    halves = np.arange(-40, 41, dtype=np.float32) / 4
    x = np.concatenate([single("f32"), moderate(2000, 11), halves, halves + 2**21])
    check(runner, f"math_{name}", ROUNDING[name], 0, x)


def test_sine_and_cosine_near_multiples_of_a_right_angle(runner: Runner) -> None:
    n = np.arange(1, 20000)
    x = np.concatenate([n, n * 2.0**20, n * 2.0**80]) * (math.pi / 2)
    x = x.astype(np.float32)
    for name in ("sin", "cos", "tan"):
        check(runner, f"math_{name}", *MATH[name], x, absolute=1e-9)


def test_power(runner: Runner) -> None:
    a, b = pairs("f32", 4000)
    near_one = np.abs(moderate(6000, 12))
    reach = np.random.default_rng(13).uniform(-150, 150, len(near_one))
    far = (reach / np.log2(near_one.astype(np.float64))).astype(np.float32)
    small = np.random.default_rng(14).integers(-9, 10, 6000).astype(np.float32)
    x = np.concatenate([a, near_one, moderate(3000, 15)])
    y = np.concatenate([b, far, small])
    check(runner, "math_pow", np.power, 2.5, x, y)


def test_angle_of_a_point(runner: Runner) -> None:
    y, x = pairs("f32")
    y = np.concatenate([y, moderate(3000, 16)])
    x = np.concatenate([x, moderate(3000, 17)])
    check(runner, "math_atan2", np.arctan2, 2.5, y, x)


def test_hypotenuse(runner: Runner) -> None:
    x, y = pairs("f32")
    x = np.concatenate([x, moderate(3000, 18)])
    y = np.concatenate([y, moderate(3000, 19)])
    check(runner, "math_hypot", np.hypot, 2.5, x, y)


def test_logaddexp(runner: Runner) -> None:
    a, b = pairs("f32")
    a = np.concatenate([a, moderate(3000, 20)])
    b = np.concatenate([b, moderate(3000, 21)])
    check(runner, "math_logaddexp", np.logaddexp, 4, a, b, absolute=1e-6)


def test_float_division(runner: Runner) -> None:
    a, b = pairs("f32")
    with_quotients = moderate(6000, 22)
    whole = np.random.default_rng(23).integers(1, 4096, len(with_quotients)).astype(np.float32)
    check(runner, "f32_div", np.divide, 1, a, b)
    check(runner, "f32_div", np.divide, 1, with_quotients, moderate(6000, 24))
    short = bits_of(with_quotients) & 0xFFFFF000
    found = runner("f32_div", ["f32", "f32"], "f32", short.view(np.float32) * whole, whole)
    np.testing.assert_array_equal(found, short.view(np.float32))  # exact where that is a float


def test_float_tests_and_neighbours(runner: Runner) -> None:
    x, y = pairs("f32", 2000)
    for name, function in {"is_nan": np.isnan, "is_inf": np.isinf, "signbit": np.signbit}.items():
        np.testing.assert_array_equal(runner(f"math_{name}", ["f32"], "bool", x), function(x), name)
    sign = runner("math_copysign", ["f32", "f32"], "f32", x, y)
    np.testing.assert_array_equal(bits_of(sign), bits_of(np.copysign(x, y)))
    after = runner("math_nextafter", ["f32", "f32"], "f32", x, y)
    assert same_floats(after, np.nextafter(x, y)).all()

"""The element-wise functions of arrays: which types each takes, and its WGSL expression.

An expression is over the values a, b and c of its operands, all of one computing type; `T_` stands
for the class of that type's values. Functions whose result is bool give 0u or 1u. What DirectML has
an operator for is written as that operator is, so the results are the same bit for bit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dmlgpu.array.promotion import BOOL, FLOAT32, INT8, DType, check_computes, data_type_of
from dmlgpu.errors import InvalidTypeError
from dmlgpu.plan.values import class_of, keeping_nan, truth


@dataclass(frozen=True, slots=True)
class Function:
    """One function of single elements."""

    text: str | Mapping[str, str]  # for every class of values, or by class, `bool` apart, `*` else
    arity: int = 1
    kinds: str = "iuf"  # NumPy's letters of the types it computes with
    is_truth: bool = False  # the result is bool, whatever is computed with
    compares: bool = False  # Python integers beyond the type are compared rightly

    def expression(self, dtype: DType) -> str:
        """The expression for a computing type."""
        kind = class_of(data_type_of(dtype))
        text = self.text
        if not isinstance(text, str):
            keys = (dtype.name, kind, "*")
            text = next(text[key] for key in keys if key in text)
        return _of_class(text, kind).replace("BITS", f"{dtype.itemsize * 8}u")

    def text_of(self, kind: str) -> str:
        """The expression for a class of values, where there is one for all."""
        assert isinstance(self.text, str)
        return _of_class(self.text, kind)


def _of_class(text: str, kind: str) -> str:
    return re.sub(r"\bT_(?=\w)", f"{kind}_", text)


def _float(text: str, arity: int = 1) -> Function:
    """A function of floats; integers are converted to float32."""
    return Function(text, arity, "f")


def _compare(condition: str) -> Function:
    return Function(truth(condition), 2, "biuf", is_truth=True, compares=True)


def _logical(condition: str, arity: int) -> Function:
    return Function(truth(condition), arity, "biuf", is_truth=True)


def _whole(name: str) -> Function:
    """A way of rounding: integers are whole already."""
    return Function({"f32": f"math_{name}(a)", "*": "a"}, 1, "biuf")


def _number(first: str) -> str:
    """NaN in one operand leaves the other."""
    return f"select(select({first}, a, f32_is_nan(b)), b, f32_is_nan(a))"


NONE64 = "vec2<u32>(0u)"
ODD_SIGNS = "(i64_is_negative(a) != i64_is_negative(b))"
FLOOR_DIVIDE = {
    "f32": "math_floor_divide(a, b)",
    "i32": "select(i32_div(a, b) - select(0, 1, i32_rem(a, b) != 0 && ((a < 0) != (b < 0))), "
    "0, b == 0)",
    "u32": "select(u32_div(a, b), 0u, b == 0u)",
    "i64": "select(i64_sub(i64_div(a, b), vec2<u32>(select(0u, 1u, i64_is_true(i64_rem(a, b)) && "
    f"{ODD_SIGNS}), 0u)), {NONE64}, !i64_is_true(b))",
    "u64": f"select(u64_div(a, b), {NONE64}, !u64_is_true(b))",
}
POWER = {
    "f32": "math_pow(a, b)",
    "i32": "bitcast<i32>(math_ipow_signed(bitcast<u32>(a), b, 0xffffffffu))",
    "u32": "math_ipow(a, b)",
    "i64": "math_ipow64_signed(a, b)",
    "u64": "math_ipow64(a, b)",
}
SHIFT_LEFT = {
    "i32": "select(i32_shl(a, u32_from_i32(b)), 0, u32_from_i32(b) >= BITS)",
    "u32": "select(u32_shl(a, b), 0u, b >= BITS)",
    "*": f"select(T_shl(a, b.x), {NONE64}, b.y != 0u || b.x >= BITS)",
}
SHIFT_RIGHT = {
    "i32": "i32_shr(a, min(u32_from_i32(b), 31u))",
    "u32": "select(u32_shr(a, b), 0u, b >= BITS)",
    "i64": "i64_shr(a, select(b.x, 63u, b.y != 0u || b.x > 63u))",
    "u64": f"select(u64_shr(a, b.x), {NONE64}, b.y != 0u || b.x >= BITS)",
}
MAXIMUM = {"f32": keeping_nan("f32_max(a, b)"), "*": "T_max(a, b)"}
MINIMUM = {"f32": keeping_nan("f32_min(a, b)"), "*": "T_min(a, b)"}
CLIPPED = (
    "select(f32_min(f32_max(a, b), c), f32_nan(), f32_is_nan(a) || f32_is_nan(b) || f32_is_nan(c))"
)

# Functions of floats that the math library has under their own names.
OF_ONE = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp"),
    *("exp2", "expm1", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh"),
)
OF_TWO = ("atan2", "copysign", "hypot", "logaddexp")

FUNCTIONS: dict[str, Function] = {
    **{name: _float(f"math_{name}(a)") for name in OF_ONE},
    **{name: _float(f"math_{name}(a, b)", 2) for name in OF_TWO},
    "abs": Function({"bool": "a", "*": "T_abs(a)"}, 1, "biuf"),
    "add": Function({"bool": "a | b", "*": "T_add(a, b)"}, 2, "biuf"),
    "bitwise_and": Function("T_and(a, b)", 2, "biu"),
    "bitwise_invert": Function({"bool": "a ^ 1u", "*": "T_not(a)"}, 1, "biu"),
    "bitwise_left_shift": Function(SHIFT_LEFT, 2, "iu"),
    "bitwise_or": Function("T_or(a, b)", 2, "biu"),
    "bitwise_right_shift": Function(SHIFT_RIGHT, 2, "iu"),
    "bitwise_xor": Function("T_xor(a, b)", 2, "biu"),
    "ceil": _whole("ceil"),
    "clip": Function({"f32": CLIPPED, "*": "T_min(T_max(a, b), c)"}, 3, "iuf"),
    "deg2rad": _float("f32_mul(a, 0.017453292)"),
    "divide": _float("f32_div(a, b)", 2),
    "equal": _compare("T_eq(a, b)"),
    "fabs": _float("f32_abs(a)"),
    "floor": _whole("floor"),
    "floor_divide": Function(FLOOR_DIVIDE, 2),
    "fmax": Function({"f32": _number("f32_max(a, b)"), "*": "T_max(a, b)"}, 2, "biuf"),
    "fmin": Function({"f32": _number("f32_min(a, b)"), "*": "T_min(a, b)"}, 2, "biuf"),
    "fmod": Function({"*": "T_rem(a, b)"}, 2),
    "greater": _compare("T_lt(b, a)"),
    "greater_equal": _compare("T_le(b, a)"),
    "heaviside": _float(
        "select(select(select(0.0, 1.0, f32_lt(0.0, a)), b, f32_eq(a, 0.0)), a, f32_is_nan(a))", 2
    ),
    "isfinite": Function(
        {"f32": truth("f32_magnitude(a) < 0x7f800000u"), "*": "1u"}, 1, "biuf", is_truth=True
    ),
    "isinf": Function({"f32": truth("math_is_inf(a)"), "*": "0u"}, 1, "biuf", is_truth=True),
    "isnan": Function({"f32": truth("math_is_nan(a)"), "*": "0u"}, 1, "biuf", is_truth=True),
    "less": _compare("T_lt(a, b)"),
    "less_equal": _compare("T_le(a, b)"),
    "logical_and": _logical("T_is_true(a) && T_is_true(b)", 2),
    "logical_not": _logical("!T_is_true(a)", 1),
    "logical_or": _logical("T_is_true(a) || T_is_true(b)", 2),
    "logical_xor": _logical("T_is_true(a) != T_is_true(b)", 2),
    "maximum": Function(MAXIMUM, 2, "biuf"),
    "minimum": Function(MINIMUM, 2, "biuf"),
    "multiply": Function({"bool": "a & b", "*": "T_mul(a, b)"}, 2, "biuf"),
    "negative": Function("T_neg(a)"),
    "nextafter": Function(
        {"float16": "math_nextafter_float16(a, b)", "f32": "math_nextafter(a, b)"}, 2, "f"
    ),
    "not_equal": _compare("!T_eq(a, b)"),
    "positive": Function("a"),
    "pow": Function(POWER, 2),
    "rad2deg": _float("f32_mul(a, 57.29578)"),
    "reciprocal": _float("math_recip(a)"),
    "remainder": Function({"f32": "math_remainder(a, b)", "*": "T_mod(a, b)"}, 2),
    "round": _whole("round_even"),
    "sign": Function({"f32": "select(f32_sign(a), a, f32_is_nan(a))", "*": "T_sign(a)"}),
    "signbit": Function(
        {"f32": truth("math_signbit(a)"), "*": truth("T_lt(a, T_zero())")},
        1,
        "iuf",
        is_truth=True,
    ),
    "square": Function("T_mul(a, a)"),
    "subtract": Function("T_sub(a, b)", 2),
    "trunc": _whole("trunc"),
}
# What NumPy refuses for bool rather than computing in int8.
NOT_OF_BOOL = frozenset(("subtract", "negative", "positive", "sign", "clip"))


def computing_type(name: str, dtype: DType) -> DType:
    """The type in which a function computes for operands that promote to `dtype`."""
    function = FUNCTIONS[name]
    check_computes(name, dtype)
    if dtype.kind in function.kinds:
        return dtype
    if "f" in function.kinds and "i" not in function.kinds:
        return FLOAT32
    if dtype == BOOL and name not in NOT_OF_BOOL and "i" in function.kinds:
        return INT8
    raise InvalidTypeError(f"{name} is not defined for {dtype}")

"""DML_OPERATOR_ACTIVATION_*: the element-wise ones, by themselves and fused into other operators.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_activation_relu_operator_desc
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dmlgpu.desc.description import Description, Output, entry_of
from dmlgpu.desc.levels import FeatureLevel, check_support
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import InvalidDescError, UnsupportedError
from dmlgpu.ops.elements import Row, records, row, saturated, text_for
from dmlgpu.plan.operator import Operator
from dmlgpu.plan.values import Parameter, class_of


class Activation(Description):
    """A function of each element, which other operators can apply to their results.

    Fields:
        input_tensor (tensor): what is read; None in a fused activation.
        output_tensor (tensor): what is written; may be the input itself; None in a fused one.
        slope_tensor (tensor): the factors of elements below zero, of the same sizes.
        alpha (FLOAT): the first coefficient.
        beta (FLOAT): the second coefficient.
        gamma (FLOAT): the factor of the whole.
        steepness (FLOAT): how sharp the bend at zero is.
        bias (FLOAT): how far elements move toward zero.
        threshold (FLOAT): elements nearer to zero than this become zero.
        sigmoid_input_scale (FLOAT): the factor inside the sigmoid.
    """

    input_tensor: TensorDesc = None  # type: ignore[assignment]  # a fused one has no tensors
    output_tensor: Output = None  # type: ignore[assignment]


class ActivationParameterizedReluDesc(Description):
    """DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC: x where x >= 0, else slope * x.

    Fields:
        slope_tensor (tensor): the slope of each element, of the same sizes.
    """

    input_tensor: TensorDesc
    slope_tensor: TensorDesc
    output_tensor: Output


def check_alpha(d: Any) -> None:
    """CELU divides by alpha."""
    if d.alpha == 0:
        raise InvalidDescError("ACTIVATION_CELU: alpha is 0; it must not be 0")


def celu(d: Any) -> str:
    """The same as max and min for either sign of alpha; the usual alpha needs no division."""
    bent = "math_expm1(x)" if d.alpha == 1 else "p_alpha * math_expm1(f32_div(x, p_alpha))"
    return f"select({bent}, x, x >= 0.0)"


def check_steepness(d: Any) -> None:
    """SOFTPLUS divides by its steepness."""
    if not d.steepness > 0:
        raise InvalidDescError(
            f"ACTIVATION_SOFTPLUS: steepness is {d.steepness}; it must be above 0"
        )


def check_steepness_level(d: Any, level: FeatureLevel) -> None:
    """A gentle bend came later."""
    if d.steepness < 1 and level < FeatureLevel.FL_6_4:
        raise UnsupportedError(
            f"ACTIVATION_SOFTPLUS: steepness is {d.steepness}, allowed from FL_6_4; {level.name} "
            "allows 1 and above"
        )


def softplus(d: Any) -> str:
    """The usual steepness needs no division."""
    if d.steepness == 1:
        return "math_softplus(x)"
    # Beyond 88 it is x, also where the product is too large for a number.
    scaled = "p_steepness * x"
    return f"select(f32_div(math_softplus({scaled}), p_steepness), x, f32_lt(88.0, {scaled}))"


def shrink(d: Any) -> str:
    """Comparisons are FLOAT32's; integers move by a bias of their own type."""
    data_type = d.input_tensor.data_type if d.input_tensor is not None else DataType.FLOAT32
    kind = class_of(data_type)
    value = "x" if kind == "f32" else f"f32_from_{kind}(x)"
    bias = "p_bias" if kind == "f32" else saturated(data_type, "p_bias")
    below = f"f32_lt({value}, -p_threshold)" if kind != "u32" else "false"
    zero = f"{kind}_zero()"
    moved = f"select({zero}, {kind}_add(x, {bias}), {below})"
    return f"select({moved}, {kind}_sub(x, {bias}), f32_lt(p_threshold, {value}))"


activation = partial(row, Activation, "ACTIVATION_")
ROWS = (
    activation(
        "CELU", "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).", celu, check=check_alpha
    ),
    activation(
        "ELU",
        "x where x >= 0, else alpha * (exp(x) - 1).",
        "select(p_alpha * math_expm1(x), x, x >= 0.0)",
    ),
    activation(
        "SCALED_ELU", "gamma times ELU.", "p_gamma * select(p_alpha * math_expm1(x), x, x > 0.0)"
    ),
    activation("GELU", "x / 2 * (1 + erf(x / sqrt 2)).", "math_gelu(x)"),
    activation("SIGMOID", "1 / (1 + exp(-x)).", "math_sigmoid(x)"),
    activation(
        "HARD_SIGMOID",
        "max(0, min(alpha * x + beta, 1)).",
        "max(0.0, min(p_alpha * x + p_beta, 1.0))",
    ),
    activation(
        "SWISH",
        "x * sigmoid(sigmoid_input_scale * x).",
        "x * math_sigmoid(p_sigmoid_input_scale * x)",
    ),
    activation(
        "HARD_SWISH",
        "x * max(0, min(alpha * x + beta, 1)).",
        "x * max(0.0, min(p_alpha * x + p_beta, 1.0))",
    ),
    activation("IDENTITY", "x.", "x"),
    activation("LINEAR", "alpha * x + beta.", "p_alpha * x + p_beta"),
    activation("RELU", "max(0, x).", "T_max(x, T_zero())"),
    activation("LEAKY_RELU", "x where x >= 0, else alpha * x.", "select(p_alpha * x, x, x >= 0.0)"),
    activation("THRESHOLDED_RELU", "x where x > alpha, else 0.", "select(0.0, x, x > p_alpha)"),
    activation("SHRINK", "toward zero by bias outside the threshold, else 0.", shrink),
    activation(
        "SOFTPLUS",
        "ln(1 + exp(steepness * x)) / steepness.",
        softplus,
        check=check_steepness,
        check_level=check_steepness_level,
    ),
    activation(
        "PARAMETRIC_SOFTPLUS",
        "alpha * ln(1 + exp(beta * x)).",
        # Where beta * x is too large for a number, the result need not be.
        "select(p_alpha * math_softplus(p_beta * x), (p_alpha * p_beta) * x,"
        " f32_lt(3.4e38, p_beta * x))",
    ),
    activation(
        "SOFTSIGN",
        "x / (1 + |x|).",
        "select(f32_div(x, 1.0 + abs(x)), f32_sign(x), math_is_inf(x))",
    ),
    activation("TANH", "the hyperbolic tangent.", "math_tanh(x)"),
    activation("SCALED_TANH", "alpha * tanh(beta * x).", "p_alpha * math_tanh(p_beta * x)"),
)
OPERATORS: tuple[Operator[Any], ...] = records(
    (
        *ROWS,
        Row(ActivationParameterizedReluDesc, "select(T_mul(slope, x), x, T_le(T_zero(), x))"),
    )
)
FUSABLE = {row.desc: row for row in ROWS if "Swish" not in row.desc.__name__}


def fused(operator: str, desc: Description | None) -> tuple[str, tuple[Parameter, ...]]:
    """A fused activation as an expression of x, FLOAT32 in and out, and its parameters."""
    if desc is None:
        return "x", ()
    row = FUSABLE.get(type(desc))
    name = entry_of(type(desc)).name
    if row is None:
        raise InvalidDescError(f"{operator}: fused_activation is {name}, which cannot be fused")
    if desc.tensors():
        raise InvalidDescError(
            f"{operator}: fused_activation has tensors; those of a fused {name} must be None"
        )
    try:
        row.check(desc)
    except InvalidDescError as error:
        raise InvalidDescError(f"{operator}: fused_activation: {error}") from None
    parameters = tuple(
        Parameter(f"p_{field}", DataType.FLOAT32, value)
        for field, value in vars(desc).items()
        if isinstance(value, float)
    )
    return text_for(row.text, desc, "f32").replace("T_", "f32_"), parameters


def check_fused_level(
    operator: str, desc: Description | None, output: TensorDesc, level: FeatureLevel
) -> None:
    """A fused activation must exist at the level, for the tensor that it is applied to."""
    row = None if desc is None else FUSABLE.get(type(desc))
    if desc is None or row is None:  # that it cannot be fused at all is told elsewhere
        return
    facts = entry_of(type(desc))
    tensors = {"input_tensor": output, "output_tensor": output}
    check_support(f"{operator}: fused {facts.name}", facts.support_of(desc), tensors, level)
    row.check_level(desc, level)

"""Activations of integers, by feature level, fused into other operators, and of special values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.layouts import as_gpu, run

import dmlgpu as dml
from dmlgpu.ops import operator_of
from dmlgpu.plan.dispatch import Adapter
from dmlgpu.plan.reduce import short_lines
from dmlgpu.plan.reduce.whole_lines import Division

LINE = dml.TensorDesc(dml.DataType.FLOAT32, (1, 1, 1, 3))
L = dml.FeatureLevel


def sum_with(activation: dml.Description) -> dml.Description:
    return dml.ElementWiseAdd1Desc(
        a_tensor=LINE, b_tensor=LINE, output_tensor=LINE, fused_activation=activation
    )


@pytest.mark.parametrize(
    ("activation", "since"),
    [
        (dml.ActivationReluDesc(), L.FL_2_0),
        (dml.ActivationCeluDesc(alpha=1.0), L.FL_3_0),
        (dml.ActivationGeluDesc(), L.FL_5_1),
        (dml.ActivationSoftplusDesc(steepness=1.0), L.FL_2_0),
        (dml.ActivationSoftplusDesc(steepness=0.5), L.FL_6_4),
    ],
)
def test_a_fused_activation_must_exist_at_the_level(
    activation: dml.Description, since: dml.FeatureLevel
) -> None:
    for level in L:
        if level >= since:
            dml.validate(sum_with(activation), level)
            continue
        with pytest.raises(dml.UnsupportedError):
            dml.validate(sum_with(activation), level)


def test_a_fused_activation_obeys_its_own_rules() -> None:
    for activation, words in (
        (dml.ActivationCeluDesc(alpha=0.0), "ACTIVATION_CELU: alpha is 0"),
        (dml.ActivationSoftplusDesc(steepness=0.0), "ACTIVATION_SOFTPLUS: steepness is 0.0"),
    ):
        with pytest.raises(dml.InvalidDescError, match=words):
            dml.validate(sum_with(activation))


def test_a_steepness_below_one_came_with_level_6_4() -> None:
    gentle = dml.ActivationSoftplusDesc(input_tensor=LINE, output_tensor=LINE, steepness=0.5)
    dml.validate(gentle, L.FL_6_4)
    with pytest.raises(
        dml.UnsupportedError, match=r"steepness is 0.5, allowed from FL_6_4; FL_6_3"
    ):
        dml.validate(gentle, L.FL_6_3)


@pytest.mark.gpu
@pytest.mark.parametrize("alpha", [0.01, 0.02, 1.0, 300.0])
def test_scaled_tangents_of_halves_are_rounded_once(device: dml.Device, alpha: float) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    x = x[np.isfinite(x)]
    got = dml.activation_scaled_tanh(device.tensor(x), alpha, 1.0).numpy().astype(np.float64)
    exact = np.float64(np.float32(alpha)) * np.tanh(x.astype(np.float64))
    near = np.abs(exact).astype(np.float16)
    assert (np.abs(got - exact) <= 0.502 * np.spacing(near).astype(np.float64)).all()


@pytest.mark.gpu
def test_softplus_of_large_numbers(device: dml.Device) -> None:
    """Times its steepness a number may be too large; the result is not."""
    x = np.array([2e38, 3e38, 100, 40, 1, -2e38, np.inf, -np.inf, np.nan], np.float32)
    wide = x.astype(np.float64)
    with np.errstate(invalid="ignore"):
        for steepness in (2.5, 1.0):
            exact = np.logaddexp(0, steepness * wide) / steepness
            got = dml.activation_softplus(device.tensor(x), steepness).numpy()
            np.testing.assert_allclose(got, exact, rtol=4e-7)
        exact = 0.5 * np.logaddexp(0, 1.5 * wide)
    got = dml.activation_parametric_softplus(device.tensor(x), 0.5, 1.5).numpy()
    np.testing.assert_allclose(got, exact, rtol=4e-7)
    small = device.tensor(np.array([1e-3], np.float32))
    got = dml.activation_parametric_softplus(small, 10, 1e38).numpy()
    np.testing.assert_allclose(got, [1e36], rtol=4e-7)


@pytest.mark.gpu
@pytest.mark.parametrize("bias", [300.7, 1e9, -1e9])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32])
def test_the_bias_of_shrink_saturates_to_the_type(
    device: dml.Device, dtype: type[Any], bias: float
) -> None:
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    a = np.array([0, 1, 2, 3, most, least], dtype)
    by = np.array(int(min(max(bias, least), most)), dtype)
    moved = np.where(a > 1, a - by, np.where(a.astype(float) < -1, a + by, 0)).astype(dtype)
    found = dml.activation_shrink(device.tensor(a), bias=bias, threshold=1.0)
    assert found.tolist() == moved.tolist()


def special_lines(size: int) -> Any:
    """Lines of FLOAT32 whose exponentials overflow, vanish or mean nothing."""
    plain = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    lines = np.stack([plain, plain * 200, plain * np.float32(1e30), *[plain] * 3, *[plain] * 3])
    lines[3, size // 2] = np.nan
    lines[4, size // 3] = np.inf
    lines[5, : size // 2] = -np.inf
    lines[6:] = -np.inf
    lines[7, -1] = np.nan
    lines[8, 0] = 3
    return lines


@pytest.mark.gpu
@pytest.mark.parametrize("kernels", ["the adapter's", "a GPU's"])
@pytest.mark.parametrize("size", [1, 7, 4096, 70_001])
def test_lines_with_infinities_and_nan(device: dml.Device, size: int, kernels: str) -> None:
    """As NumPy's formulas say, whichever kernels run: what is infinite makes a line NaN."""
    lines = special_lines(size)
    wide = lines.astype(np.float64)
    with np.errstate(all="ignore"):
        most = wide.max(1, keepdims=True)
        shifted = wide - most
        total = np.exp(shifted).sum(1, keepdims=True)
        sums = np.where(np.isinf(most), most, most + np.log(total))
        wanted = np.exp(shifted) / total, shifted - np.log(total), sums
    with as_gpu(device) if kernels == "a GPU's" else dml.Device(device.adapter) as made:
        x = made.tensor(lines)
        found = (
            dml.activation_softmax1(x, axes=(1,)),
            dml.activation_log_softmax1(x, axes=(1,)),
            dml.reduce(x, function=dml.ReduceFunction.LOG_SUM_EXP, axes=(1,)),
        )
        for got, right in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got.numpy(), right, rtol=2e-6, atol=1e-6)


FUNCTIONS = ("ActivationSoftmax1Desc", "ActivationLogSoftmax1Desc", "ActivationHardmax1Desc")


def by_lines(function: str, x: Any) -> Any:
    """In FLOAT64."""
    wide = x.astype(np.float64)
    shifted = wide - wide.max(1, keepdims=True)
    total = np.exp(shifted).sum(1, keepdims=True)
    if "Hardmax" in function:
        return np.arange(x.shape[1]) == wide.argmax(1)[:, None]
    return np.exp(shifted) / total if "Log" not in function else shifted - np.log(total)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("size", [2, 3, 5, 7, 9, 10, 12, 14, 24, 33, 65, 129, 258, 1025, 2047])
def test_lines_of_any_length_are_read_once(device: dml.Device, size: int, dtype: type[Any]) -> None:
    """They begin anywhere in a unit, and nothing beside the output changes."""
    if "SwiftShader" in device.adapter.name:
        pytest.skip("SwiftShader takes minutes to compile these kernels, and uses none of them")
    rng = np.random.default_rng(size)
    rows = 9000 // size + 3
    tensor = dml.TensorDesc(dml.DataType.from_numpy(dtype), (rows, size))
    function = FUNCTIONS[size % 3]
    desc = getattr(dml, function)(input_tensor=tensor, output_tensor=tensor, axes=(1,))
    x = np.round(rng.normal(0, 3, (rows, size)), 1).astype(dtype)
    with as_gpu(device) as gpu:
        (only,) = gpu.compile(desc).plan.dispatches
        assert only.shader.startswith("reduce/whole_lines")
        (got,) = run(gpu, desc, [x], rng)
    rtol, atol = (2e-3, 1e-6) if dtype is np.float16 else (2e-6, 1e-6)
    np.testing.assert_allclose(got, by_lines(function, x), rtol=rtol, atol=atol)


@pytest.mark.parametrize("lanes", [(32, 32), (32, 64), (8, 8), (0, 0)])
@pytest.mark.parametrize("bits", [16, 32])
def test_workgroups_take_lines_that_end_with_a_unit(bits: int, lanes: tuple[int, int]) -> None:
    """So that none of them writes a unit that is another's too."""
    adapter = Adapter(subgroup_min=lanes[0], subgroup_max=lanes[1], max_binding=1 << 31)
    kind, unit, whole = dml.DataType[f"FLOAT{bits}"], 128 // bits, 0
    for size in (*range(unit, 200), 257, 513, 777, 1001, 1025, 2047, 4095, 5001):
        tensor = dml.TensorDesc(kind, (100_000, size))
        desc = dml.ActivationSoftmax1Desc(input_tensor=tensor, output_tensor=tensor, axes=(1,))
        dispatches = operator_of(desc).work(desc).plan(adapter).dispatches
        if len(dispatches) > 1:
            assert size > 3000
            continue
        (only,) = dispatches
        whole += 1
        if short_lines.suits(kind, size):  # those that end with a unit have one invocation
            assert "lines" not in only.params
            continue
        division = Division.of(size, unit, adapter, shifted=size % unit != 0)
        assert division is not None
        assert division.lines * size % unit == 0
        assert only.workgroups == -(-100_000 // division.lines)
    assert whole > 195


def test_lines_that_do_not_follow_each_other_are_read_twice() -> None:
    adapter = Adapter(subgroup_min=32, subgroup_max=32)
    for sizes, strides, axes in (
        ((90, 257), (260, 1), (1,)),
        ((90, 257), (1, 90), (1,)),
        ((90, 257), None, (0,)),
        ((9, 11, 257), None, (0, 2)),
    ):
        source = dml.TensorDesc(dml.DataType.FLOAT32, sizes, strides)
        output = dml.TensorDesc(dml.DataType.FLOAT32, sizes)
        desc = dml.ActivationSoftmax1Desc(input_tensor=source, output_tensor=output, axes=axes)
        assert len(operator_of(desc).work(desc).plan(adapter).dispatches) >= 2
    tensor = dml.TensorDesc(dml.DataType.FLOAT32, (5, 9, 11, 3))
    desc = dml.ActivationSoftmax1Desc(input_tensor=tensor, output_tensor=tensor, axes=(2, 3))
    (only,) = operator_of(desc).work(desc).plan(adapter).dispatches
    assert only.params["size"] == 33


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", [dml.DataType.FLOAT16, dml.DataType.FLOAT32])
def test_lines_across_the_output_are_moved_before(device: dml.Device, data_type: Any) -> None:
    """By a plan with memory of its own, which the plan of both steps has to keep."""
    sizes = (6, 20, 33)
    source = dml.TensorDesc(data_type, sizes, (700, 1, 20))
    output = dml.TensorDesc(data_type, sizes, (760, 36, 1))
    desc = dml.ActivationSoftmax1Desc(input_tensor=source, output_tensor=output, axes=(1,))
    rng = np.random.default_rng(3)
    x = rng.standard_normal(sizes).astype(data_type.numpy)
    with as_gpu(device, launch=0) as gpu:
        plan = gpu.compile(desc).plan
        assert any("laid" in field for d in plan.dispatches for field in d.bindings.values())
        (got,) = run(gpu, desc, [x], rng)
    e = np.exp(x.astype(float) - x.max(1, keepdims=True))
    np.testing.assert_allclose(got, e / e.sum(1, keepdims=True), rtol=2e-3)


@pytest.mark.gpu
def test_kernels_agree_on_the_largest_beside_nan(device: dml.Device) -> None:
    """What comes of NaN is open, but not to depend on where lines lie: it is passed over."""
    if "SwiftShader" in device.adapter.name:
        pytest.skip("SwiftShader takes minutes to compile these kernels, and uses none of them")
    with as_gpu(device) as gpu:
        for size in (3, 9, 12, 130):
            x = np.tile(np.arange(size, dtype=np.float32), (9, 1))
            for line in range(9):
                x[line, line % size] = np.nan
            found = dml.activation_hardmax1(gpu.tensor(x), axes=(1,)).numpy()
            np.testing.assert_array_equal(found.argmax(1), np.nanargmax(x, 1))
            np.testing.assert_array_equal(found.sum(1), np.ones(9))

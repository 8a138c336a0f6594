"""dml.fuse: one kernel for a chain, with the results of its steps bit for bit."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
import dmlgpu.numpy as dnp

pytestmark = pytest.mark.gpu

CHAINS: list[Any] = [
    lambda x, y: x * y + x,
    lambda x, y: (x - y) ** 2 / 3 + dnp.exp(-x),
    lambda x, y: dnp.where(x * 0.1 + y > 0.2, x, y.astype(np.float16)) * 3,
    lambda x, y: (x.astype(np.int8) + 100) * 3 - y.astype(np.int8),
    lambda x, y: dnp.maximum(x, y).clip(-0.5, 0.5).round(1),
    lambda x, y: (x > y) & (x * x < 1) | dnp.isnan(y),
    lambda x, y: x.astype(np.float16) * y.astype(np.float16) + x.astype(np.float16),
    lambda x, y: x.astype(np.int64) * 2**33 + y.astype(np.int64),
    lambda x, y: x,
    lambda x, y: np.tanh(x) + np.sqrt(abs(y)),
    lambda x, y: dnp.broadcast_to(x * y, (3, *(x * y).shape)) + 1,
]


@pytest.mark.parametrize("function", CHAINS)
def test_a_chain_is_its_steps_bit_for_bit(device: dml.Device, function: Any) -> None:
    rng = np.random.default_rng(3)
    x = device.tensor(rng.standard_normal((7, 5)).astype(np.float32))
    y = device.tensor(rng.standard_normal((5,)).astype(np.float32))
    fused = dml.fuse(function)
    for a, b in ((x, y), (y, x), (x[::2], y[:1]), (y[0], x)):
        one, several = fused(a, b), function(a, b)
        assert (one.dtype, one.shape) == (several.dtype, several.shape)
        assert one.numpy().tobytes() == several.numpy().tobytes()


SPECIAL = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -2.5, 3e38, 1e-3, 65504.0]
ONE = (lambda a: -a, abs, np.floor, np.exp, np.sin, np.tanh, np.sqrt, lambda a: a + 0.0)
TWO = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    np.maximum,
    np.arctan2,
    lambda a, b: dnp.where(a < b, a, b),
)
TYPES = (np.float32, np.float16, np.int32, np.int64)


def any_chain(seed: int) -> Any:
    """A function of two tensors that makes values of others, the same ones more than once."""
    random = np.random.default_rng(seed)
    asked = [(random.random(), *random.integers(100, size=3)) for _ in range(6)]

    def function(x: Any, y: Any) -> Any:
        made = [x, y]
        for kind, f, i, j in asked:
            a, b = made[-1 - i % len(made)], made[-1 - j % len(made)]
            if kind < 0.3:
                value = ONE[f % len(ONE)](a.astype(np.float32))
            elif kind < 0.4:
                value = a.astype(TYPES[f % len(TYPES)])
            else:
                value = TWO[f % len(TWO)](a, b)
            made.append(value)
        return made[-1].astype(np.float32)

    return function


def same_bits(one: Any, other: Any) -> bool:
    """Whether floats have the same bits; which NaN it is does not matter."""
    both = np.isnan(one) & np.isnan(other)
    return bool((both | (one.view(np.uint32) == other.view(np.uint32))).all())


@pytest.mark.parametrize("seed", range(60))
def test_random_chains_of_special_values(device: dml.Device, seed: int) -> None:
    """Compilers know more of a chain than of its steps, and count on finite numbers."""
    random = np.random.default_rng(seed)
    x, y = (device.tensor(random.choice(SPECIAL, 64).astype(np.float32)) for _ in range(2))
    function = any_chain(seed)
    assert same_bits(dml.fuse(function)(x, y).numpy(), function(x, y).numpy())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x - x,
        lambda x: x * x - x * x,
        lambda x: (abs(x) - abs(x)).sum(),
        lambda x: dnp.isnan(x - x).sum(),
        lambda x: 1 / dnp.tanh(-(x - x)),
        lambda x: 1 / dnp.asinh(-(x.astype(np.int64) - x.astype(np.int64))),
        lambda x: x.astype(np.float16) - x.astype(np.float16),
        lambda x: dnp.broadcast_to(x, (2, 4)) - x,
        lambda x: (x / x).max(),
    ],
)
def test_a_value_that_is_used_twice(device: dml.Device, function: Any) -> None:
    """What is taken off itself is no 0 where it is infinite or NaN, and 0 has a sign."""
    x = device.tensor(np.array([np.inf, 1, np.nan, -0.0], np.float32))
    one, several = (np.asarray(f(x)).astype(np.float32) for f in (dml.fuse(function), function))
    assert same_bits(one, several)


@pytest.mark.parametrize(
    "function",
    [
        lambda i: dnp.isnan(i).sum(),
        lambda i: dnp.isfinite(i).all(),
        lambda i: dnp.where(dnp.isnan(i), 0, 1).sum(axis=1),
    ],
)
def test_a_reduction_that_reads_nothing(device: dml.Device, function: Any) -> None:
    """No integer is NaN, so the expression has no tensor in it."""
    i = device.tensor(np.arange(6).reshape(2, 3))
    fused = dml.fuse(function)
    assert fused(i).tolist() == function(i).tolist()
    assert fused.compiled(i) is None


def test_a_chain_is_one_call(device: dml.Device) -> None:
    x = device.tensor(np.ones(1000, np.float32))
    weights = device.tensor(np.full(1000, 2, np.float32))
    calls = []

    @dml.fuse
    def smooth(x: Any, scale: float = 1.0) -> Any:
        """What it does."""
        calls.append(1)
        return (x * weights + 1) * scale

    record = device.context.record
    names: list[str] = []
    device.context.record = lambda call: (names.append(call.name), record(call))[1]
    try:
        assert smooth(x).tolist()[:1] == [3]
        assert smooth(x, scale=2.0).tolist()[:1] == [6]
        assert smooth(x).tolist()[:1] == [3]
    finally:
        device.context.record = record
    assert names == ["fuse(smooth)"] * 3
    assert len(calls) == 2  # once for each combination of arguments
    assert (smooth.__name__, smooth.__doc__) == ("smooth", "What it does.")


def test_a_reduction_may_come_last(device: dml.Device) -> None:
    x = device.tensor(np.arange(12, dtype=np.float32).reshape(3, 4))
    for function in (
        lambda v: (v * v).sum(),
        lambda v: (v - 1).mean(axis=0),
        lambda v: dnp.max(v * -1, axis=1, keepdims=True),
        lambda v: (v > 3).any(axis=1),
        lambda v: np.sum(v + 1, axis=1),
        lambda v: dnp.vecdot(v, v + 1),
        lambda v: dnp.count_nonzero(v > 3, axis=0),
    ):
        one, several = dml.fuse(function)(x), function(x)
        assert one.dtype == several.dtype
        assert np.array_equal(one.numpy(), several.numpy())


@pytest.mark.parametrize("name", ["sum", "mean", "argmax", "max", "var"])
def test_a_chain_and_its_reduction_are_one_call(device: dml.Device, name: str) -> None:
    x = device.tensor(np.arange(2**12, dtype=np.float32).reshape(64, 64))
    distance = dml.fuse(lambda x, y: getattr((x - y) ** 2, name)(1))
    row = device.tensor(np.ones(64, np.float32))
    made = distance.compiled(x, row)
    assert made is not None
    dispatches = made.plan.dispatches
    # The average comes before the deviations from it; nothing else lies between in memory.
    assert len(dispatches) == (2 if name == "var" else 1)
    assert set(made.plan.scratch) == ({"centre"} if name == "var" else set())
    assert {"x0", "x1", "output"} == {f for d in dispatches for f in d.bindings.values()} - {
        "centre"
    }
    with device.profile() as p:
        distance(x, row)
    made = 8 if name.startswith("arg") else 4  # places have 64 bits
    assert [(call.name, call.nbytes) for call in p.calls] == [
        ("fuse(<lambda>)", 4 * 64 * 65 + made * 64)
    ]


def test_tensors_that_need_too_many_bindings_run_step_by_step(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = device.tensor(np.arange(64, dtype=np.float32))
    total = dml.fuse(lambda x, y: (x * y).sum())
    monkeypatch.setattr(device.context.gpu, "max_binding", 64)
    monkeypatch.setattr(device.context.gpu, "max_bindings", 8)
    assert total.compiled(x, x) is None


ENDINGS = ["sum", "prod", "max", "min", "mean", "var", "std", "all", "any", "argmax", "argmin"]
SHAPES = ((7,), (4, 8), (3, 5, 4), (2, 3, 16), (16, 3), (2, 1, 5, 8), (5000,), (3, 1100), (700, 8))
TYPES = [
    *("float32", "float32", "float32", "float16", "float16", "int32", "uint32", "int8", "uint8"),
    *("int16", "uint16", "int64", "uint64", "bool"),
]
UNARY: list[Any] = [
    lambda v: v.astype(np.float32) * 0.3,
    lambda v: abs(v.astype(np.float16)) + 0.1,
    lambda v: (v.astype(np.float32) + 0.01) ** 2,
    lambda v: v.astype(np.int8) * 3,
    lambda v: v.astype(np.int64) + 2**33,
    lambda v: v.astype(np.uint16) // 3,
    lambda v: v > 1,
    lambda v: dnp.sqrt(abs(v.astype(np.float32))),
    lambda v: v.copy(),
]
BINARY: list[Any] = [
    lambda a, b: a.astype(np.float32) * b.astype(np.float32) + a.astype(np.float32),
    lambda a, b: dnp.where(a > b, a.astype(np.float32), b.astype(np.float16)),
    lambda a, b: dnp.maximum(a.astype(np.float32), b.astype(np.float32)) - 0.5,
    lambda a, b: a.astype(np.int32) - b.astype(np.int32),
    lambda a, b: a.astype(np.float16) * b.astype(np.float16),
    lambda a, b: a == b,
    lambda a, b: a.astype(np.uint8) | b.astype(np.uint8),
]


def random_operand(device: dml.Device, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """A tensor of a random type that broadcasts to the shape, packed or with axes exchanged."""
    sizes = tuple(1 if rng.random() < 0.2 else n for n in shape)
    sizes = sizes[rng.integers(0, len(shape)) :] if rng.random() < 0.2 else sizes
    order = rng.permutation(len(sizes)) if rng.random() < 0.3 else np.arange(len(sizes))
    values = rng.standard_normal(sizes) * 9
    with np.errstate(invalid="ignore"):
        values = values.transpose(order).astype(str(rng.choice(TYPES)))
    return device.tensor(values).transpose([int(a) for a in np.argsort(order)])


def random_chain(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """A function of two tensors: steps, and a reduction over some axes."""
    steps = [UNARY[i] for i in rng.integers(0, len(UNARY), rng.integers(0, 3))]
    both = BINARY[rng.integers(0, len(BINARY))]
    name = str(rng.choice(ENDINGS))
    axes: Any = tuple(a for a in range(len(shape)) if rng.random() < 0.6)
    if name.startswith("arg"):
        axes = None if rng.random() < 0.3 else int(rng.integers(0, len(shape)))
    keepdims, widened = bool(rng.integers(0, 2)), rng.random() < 0.2

    def chain(a: Any, b: Any) -> Any:
        value = both(a, b)
        for step in steps:
            value = step(value)
        value = dnp.broadcast_to(value, (2, *shape)) if widened else dnp.broadcast_to(value, shape)
        return getattr(value, name)(axes, keepdims=keepdims)

    return chain


def check_random_chain(device: dml.Device, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    a, b = (random_operand(device, rng, shape) for _ in range(2))
    chain = random_chain(rng, shape)
    one, several = dml.fuse(chain)(a, b), chain(a, b)
    assert (one.dtype, one.shape) == (several.dtype, several.shape)
    assert one.numpy().tobytes() == several.numpy().tobytes()


LONG = os.environ.get("HYPOTHESIS_PROFILE", "quick") != "quick"


@pytest.mark.parametrize("seed", range(180 if LONG else 18))
def test_a_chain_that_ends_in_a_reduction_is_its_steps_bit_for_bit(
    device: dml.Device, seed: int
) -> None:
    check_random_chain(device, seed)


@pytest.mark.slow
def test_the_kernels_of_a_gpu_give_the_bits_of_the_steps_too(device: dml.Device) -> None:
    if not device.adapter.driver.startswith("Mesa 22"):
        pytest.skip(f"{device.adapter} is a GPU, or takes minutes to compile the kernels of one")
    with dml.Device(device.adapter) as made:
        made.context.facts = replace(made.context.facts, is_cpu=False)
        for seed in range(180, 360 if LONG else 189):
            check_random_chain(made, seed)


def test_no_elements_and_nested_functions(device: dml.Device) -> None:
    inner = dml.fuse(lambda v: v * 2)
    outer = dml.fuse(lambda v: inner(v) + 1)
    assert outer(device.tensor([1.0, 2.0])).tolist() == [3, 5]
    assert outer(dnp.zeros((0, 2), device=device)).shape == (0, 2)
    assert dml.fuse(lambda v: v + 1)(np.ones(2, np.float32)).tolist() == [2, 2]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda v: (v + 1)[0],
        lambda v: v[::-1] + 1,
        lambda v: v.T + 1,
        lambda v: v.reshape(-1),
        lambda v: v if v.item() else -v,
        lambda v: v.sum() + 1,
        lambda v: v.__iadd__(1),
        lambda v: 3,
        lambda v: v.cumsum(0),
        lambda v: v.numpy(),
    ],
)
def test_what_cannot_be_traced_says_so(device: dml.Device, wrong: Any) -> None:
    with pytest.raises((dml.DmlError, TypeError)):
        dml.fuse(wrong)(device.tensor(np.ones((2, 3), np.float32)))
    with pytest.raises(TypeError, match="not callable"):
        dml.fuse(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "function",
    [lambda a: a.sum() + 1, lambda a: 1 - a.sum(), lambda a: a if a.sum() > 0 else -a],
)
def test_nothing_follows_a_reduction(device: dml.Device, function: Any) -> None:
    with pytest.raises(dml.UnsupportedError, match=r"^fuse: sum must be the last step, and more f"):
        dml.fuse(function)(device.tensor(np.ones((2, 3), np.float32)))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["int16", "float32", "float16"])
@pytest.mark.parametrize(
    "f",
    [
        lambda a: (a / 3).sum(axis=0),
        lambda a: (a / 3).var(axis=0),
        lambda a: (dnp.sqrt(dnp.abs(dnp.sin(a * 0.7) + dnp.exp(-a * a))) * 1.7).sum(axis=0),
    ],
    ids=["sum", "variance", "long"],
)
def test_sums_across_add_in_the_same_order(device: dml.Device, f: Any, dtype: str) -> None:
    """Whatever the types are that the terms are made of, and however long that takes to say."""
    x = device.tensor(np.random.default_rng(3).integers(-5, 9, (70, 65)).astype(dtype))
    assert dml.fuse(f)(x).numpy().tobytes() == f(x).numpy().tobytes()

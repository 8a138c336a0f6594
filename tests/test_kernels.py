"""Own kernels: expressions of elements, and whole shaders over tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml

pytestmark = pytest.mark.gpu

SCALED = """
struct Params { factor: f32, offset: f32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@binding(1) @group(0) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) {
        y[id.x] = params.factor * x[id.x] + params.offset;
    }
}
"""
A = np.arange(24, dtype=np.float32).reshape(4, 6)


@pytest.fixture
def scaled() -> dml.Kernel:
    return dml.Kernel(SCALED, name="scaled")


Operand = Callable[[Any], Any]


@pytest.mark.parametrize(
    "view",
    [lambda v: v, lambda v: v[1:, 1:], lambda v: v[::-1, ::2], lambda v: v.T, lambda v: v[:1, 5:]],
    ids=["whole", "part", "backward", "transposed", "one"],
)
def test_an_expression_takes_views_numbers_and_arrays(device: dml.Device, view: Operand) -> None:
    x, a = view(device.tensor(A)), view(A)
    axpy = dml.elementwise("x * k + y")
    assert axpy.operands == ("x", "k", "y")
    np.testing.assert_array_equal(axpy(x, 2.0, x).numpy(), a * 2 + a)
    np.testing.assert_array_equal(axpy(y=x, x=a, k=-0.5).numpy(), a * -0.5 + a)
    np.testing.assert_array_equal(axpy(x, a[:, :1], 1).numpy(), a * a[:, :1] + 1)
    out = device.tensor(np.zeros_like(a))
    assert axpy(x, 3, x, out=out[::-1]).shape == a.shape
    np.testing.assert_array_equal(out.numpy()[::-1], a * 3 + a)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.uint32, np.float16, np.bool_])
def test_elements_of_every_narrow_type(device: dml.Device, dtype: Any) -> None:
    a = (np.arange(37) % 2).astype(dtype)
    x = device.tensor(a)
    made = dml.elementwise("max(x, y)", x, x[::-1])
    assert made.dtype == a.dtype
    np.testing.assert_array_equal(made.numpy(), np.maximum(a, a[::-1]))
    above = dml.elementwise("x > y", x, x[::-1], dtype=bool)
    np.testing.assert_array_equal(above.numpy(), a > a[::-1])


def test_results_have_the_type_that_is_asked_for(device: dml.Device) -> None:
    x = device.tensor([0.25, 2.75])
    assert dml.elementwise("x * 2.0", x, dtype=np.int16).tolist() == [0, 5]
    assert dml.elementwise("x", x).dtype == np.float32
    assert dml.elementwise("x + y", x, device.tensor(np.array([1, 2], np.int32))).tolist() == [
        1.25,
        4.75,
    ]


def test_numbers_are_told_apart_by_their_bits(device: dml.Device) -> None:
    x = device.tensor([1.0])
    divided = dml.elementwise("x / k")
    assert [divided(x, k).item() for k in (0.5, 2.0, 2, 4)] == [2.0, 0.5, 0.5, 0.25]
    signs = dml.elementwise("bitcast<f32>(bitcast<u32>(k) | bitcast<u32>(x))")
    assert [np.signbit(signs(x, k).item()) for k in (0.0, -0.0)] == [False, True]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda x: dml.elementwise("x; y"), "it must be one expression"),
        (lambda x: dml.elementwise("3.0 + 4.0"), "names no operand"),
        (lambda x: dml.elementwise(""), "it must be WGSL"),
        (lambda x: dml.elementwise("x0_load(x)"), "x0_load is no function of WGSL"),
        (lambda x: dml.elementwise("x + y", x), "takes x, y, each once; given are 1 in order"),
        (lambda x: dml.elementwise("x + y", x, x=x), "each once"),
        (lambda x: dml.elementwise("x", x.astype(np.int64)), "int64 has 64 bits"),
        (lambda x: dml.elementwise("x * k", 2.0, 3.0), "no operand is a tensor"),
        (
            lambda x: dml.elementwise("x * k", x.astype(np.int32), 10**400),
            "out of bounds for int32",
        ),
        (lambda x: dml.elementwise("x + y", x, x[:2]), "could not be broadcast"),
        (lambda x: dml.elementwise("x +", x), "does not compile on"),
        (lambda x: dml.elementwise("x")(x, out=x[:1]), "out has shape"),
        (lambda x: dml.Kernel("fn main() {}"), "so nothing to write"),
        (lambda x: dml.Kernel(SCALED.replace("group(0)", "group(1)")), "of group 0"),
        (lambda x: dml.Kernel(7), "it must be text"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(device: dml.Device, make: Any, said: str) -> None:
    x = device.tensor([1.0, 2.0, 3.0])
    with pytest.raises(dml.DmlError, match=said.replace("(", r"\(")) as caught:
        make(x)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("inward", "outward"),
    [
        (lambda v: v, lambda v: v),
        (lambda v: v.T, lambda v: v.reshape(6, 4)),
        (lambda v: v[1:3, ::-1], lambda v: v[:2]),
        (lambda v: v[1:, 1:], lambda v: v[:3, 4::-1]),
    ],
)
def test_a_shader_reads_and_writes_tensors_and_views(
    device: dml.Device, scaled: dml.Kernel, inward: Operand, outward: Operand
) -> None:
    x, y, expected = device.tensor(A), device.tensor(-A), -A
    params = np.array([2, 0.5], np.float32)
    outward(expected)[...] = (inward(A) * np.float32(2) + np.float32(0.5)).reshape(
        outward(expected).shape
    )
    assert scaled(inward(x), outward(y), params, workgroups=1) is None
    np.testing.assert_array_equal(y.numpy(), expected)
    np.testing.assert_array_equal(x.numpy(), A)
    named = device.tensor(np.zeros(24, np.float32))
    scaled(params=params.tobytes(), y=named, x=A, workgroups=(1, 1))
    np.testing.assert_array_equal(named.numpy(), A.ravel() * 2 + np.float32(0.5))


def test_it_is_recorded_among_other_calls_and_a_row_of_the_profile(
    device: dml.Device, scaled: dml.Kernel
) -> None:
    x = device.tensor(A)
    y = device.tensor(np.zeros_like(A))
    with device.profile() as p:
        for k in range(1, 6):
            scaled(x, y, np.array([k, 0], np.float32), workgroups=1)
            x += y
    expected = A.copy()
    for k in range(1, 6):
        expected += expected * np.float32(k)
    np.testing.assert_array_equal(x.numpy(), expected)
    assert [call.name for call in p.calls] == ["scaled", "add"] * 5
    assert p.calls[0].nbytes == 2 * A.nbytes


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda k, x, y: k(x, y, workgroups=1), "binds x, y, params, each once; given are 2"),
        (lambda k, x, y: k(x, x, b"", workgroups=1), "x and y lie in one buffer"),
        (lambda k, x, y: k(y[:2], y, b"12345678", workgroups=1), "y lie in one buffer"),
        (lambda k, x, y: k(x, A, b"", workgroups=1), "y is ndarray; what is written is a Tensor"),
        (lambda k, x, y: k(x, y.astype(np.int32), b"", workgroups=1), "an array of float32"),
        (lambda k, x, y: k(x, y[:0], b"", workgroups=1), "no elements to bind"),
        (lambda k, x, y: k(x, y[0].broadcast_to(4, 6), b"", workgroups=1), "read-only"),
        (lambda k, x, y: k(x, y, b"", workgroups=0), "workgroups is 0"),
        (lambda k, x, y: k(x, y, b"", workgroups=(1, 2, 3)), "workgroups is "),
        (lambda k, x, y: k(x, y, b"", workgroups=1), "params has no bytes"),
    ],
)
def test_what_is_bound_is_checked(
    device: dml.Device, scaled: dml.Kernel, call: Any, said: str
) -> None:
    x, y = device.tensor(A), device.tensor(A)
    with pytest.raises(dml.DmlError, match=said.replace("(", r"\(")) as caught:
        call(scaled, x, y)
    assert "\n" not in str(caught.value)
    np.testing.assert_array_equal(y.numpy(), A)


def test_the_line_that_does_not_compile_is_named(device: dml.Device) -> None:
    broken = dml.Kernel(SCALED.replace("params.offset;", "offset;"), name="broken")
    x = device.tensor(A)
    with pytest.raises(dml.DeviceError, match=r"broken line 9, `y\[id.x\] = .*offset"):
        broken(x, x.copy(), b"", workgroups=1)


def test_an_own_shader_may_count_too_far(device: dml.Device) -> None:
    """Its indices are checked, for nobody has shown them to be in range."""
    kernel = dml.Kernel(
        "@group(0) @binding(0) var<storage, read_write> y: array<u32>;\n"
        "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n"
        "    y[id.x * 4096u] = 7u;\n}"
    )
    y, beside = (device.tensor(np.zeros(64, np.uint32)) for _ in range(2))
    kernel(y, workgroups=4)
    assert y.tolist()[0] == 7
    assert not beside.any().item()

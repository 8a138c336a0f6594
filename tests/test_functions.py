"""The function level: the documented program, natural ranks, and basic indexing."""

from __future__ import annotations

import re
from array import array as python_array
from typing import Any

import numpy as np
import pytest
import wgpu
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import oracle
from support.tables import IDX4, SCAN7

import dmlgpu as dml

pytestmark = pytest.mark.gpu


def test_python_floats_are_float32(device: dml.Device) -> None:
    made = dml.element_wise_add([1.5, 2.5], [0.25])
    assert made.dtype == np.float32
    assert made.tolist() == [1.75, 2.75]
    assert dml.slice(np.array([1.5, 2.5]), [1], [1], [1]).dtype == np.float64


def test_the_documented_program(device: dml.Device) -> None:
    y = dml.cumulative_summation(np.ones((1, 1, 2, 4), np.float32), axis=3)
    assert np.asarray(y).tolist() == [[[[1, 2, 3, 4], [1, 2, 3, 4]]]]

    numbers = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    x = dml.default_device().tensor(numbers)
    z = x[:, :, ::-2, 1:]
    assert np.array_equal(np.asarray(z), numbers[:, :, ::-2, 1:])
    gathered = dml.gather_nd(x, np.array([[[[0, 0, 1]]]]))
    assert np.asarray(gathered).tolist() == [[[[4, 5, 6, 7]]]]

    desc = dml.Slice1Desc(
        input_tensor=dml.TensorDesc(dml.DataType.FLOAT32, (1, 1, 4, 4)),
        output_tensor=dml.TensorDesc(dml.DataType.FLOAT32, (1, 1, 2, 2)),
        input_window_offsets=(0, 0, 0, 1),
        input_window_sizes=(1, 1, 4, 3),
        input_window_strides=(1, 1, -2, 2),
    )
    assert dml.validate(desc, dml.FeatureLevel.FL_3_0) is None
    made = dml.Device(feature_level=dml.FeatureLevel.FL_3_0)
    op = made.compile(desc)
    out = op(made.tensor(x.numpy()))
    assert out.numpy().tolist() == [[[[13, 15], [5, 7]]]]
    made.close()


def test_the_default_device_is_kept(device: dml.Device) -> None:
    assert dml.default_device() is dml.default_device()
    assert dml.slice(np.zeros(3, np.int8), [0], [2], [1]).device is dml.default_device()


def test_the_default_device_is_a_device(device: dml.Device) -> None:
    before = dml.default_device()
    with pytest.raises(TypeError, match="set_default_device: device is 3; it must be a Device"):
        dml.set_default_device(3)  # type: ignore[arg-type]
    assert dml.default_device() is before


def test_arrays_of_bool_are_uint8_as_tensors_of_bool_are(device: dml.Device) -> None:
    mask, a = np.array([[True, False], [False, True]]), np.array([[1, 2], [3, 4]], np.int32)
    for condition in (mask, mask.T, mask.tolist(), device.tensor(mask)):
        assert dml.element_wise_if(condition, a, -a).tolist() == [[1, -2], [-3, 4]]
        assert dml.element_wise_logical_not(condition).tolist() == [[0, 1], [1, 0]]
    byte = dml.TensorDesc(dml.DataType.UINT8, (2, 2))
    op = device.compile(dml.ElementWiseLogicalNotDesc(input_tensor=byte, output_tensor=byte))
    assert op(mask).tolist() == [[0, 1], [1, 0]]
    with pytest.raises(dml.InvalidDescError, match="indices_tensor is UINT8"):
        dml.gather(a, mask[0], 0)


def test_functions_stay_on_their_tensors_device(device: dml.Device) -> None:
    x = device.tensor(np.arange(6, dtype=np.int16).reshape(2, 3))
    assert dml.gather_nd(x, np.array([[1]])).device is device
    assert dml.slice1(x, (0, 0), (2, 3), (1, -1)).device is device
    assert x[0].device is device


def test_adapters_are_named(device: dml.Device) -> None:
    entries = dml.adapters()
    assert entries
    for entry in entries:
        assert entry.name
        assert entry.kind
        assert entry.backend
        assert isinstance(entry.driver, str)
    with dml.Device(entries[0]) as by_entry, dml.Device(entries[0].name[:6]) as by_name:
        for made in (by_entry, by_name):
            assert dml.cumulative_summation(made.tensor(np.ones(3, np.int32)), 0).numpy()[2] == 3


@pytest.mark.parametrize("dtype", oracle.NUMPY_TYPES.values(), ids=str)
def test_arrays_come_back_as_they_went(device: dml.Device, dtype: np.dtype[Any]) -> None:
    x = np.frombuffer(oracle.random_bytes(3 * 5 * 8, 1), dtype)[:15].reshape(3, 5)
    for array in (x, x.T, x[::-1, ::2], np.broadcast_to(x[0], (4, 5))):
        t = device.tensor(array)
        assert t.shape == array.shape
        assert t.dtype == dtype
        assert t.numpy().tobytes() == array.tobytes()
        assert np.asarray(t).tobytes() == array.tobytes()
        assert t.tobytes()[: array.nbytes] == array.tobytes()
        assert len(t.tobytes()) == t.desc.total_tensor_size_in_bytes


def test_numpy_drops_the_padding(device: dml.Device) -> None:
    desc = dml.TensorDesc(dml.DataType.UINT8, (2, 3), (5, 1), total_tensor_size_in_bytes=12)
    t = device.upload(desc, bytes(range(12)))
    assert t.numpy().tolist() == [[0, 1, 2], [5, 6, 7]]
    assert t.tobytes() == bytes(range(12))


@pytest.mark.parametrize("array", [np.zeros((1,) * 9), np.zeros(2, complex)])
def test_arrays_that_are_no_tensors_are_refused(device: dml.Device, array: oracle.Array) -> None:
    with pytest.raises(dml.InvalidDescError):
        device.tensor(array)


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_a_negative_axis_counts_from_the_end(device: dml.Device, name: str, axis: int) -> None:
    x = np.random.default_rng(3).integers(-9, 10, (3, 4, 5)).astype(np.int32)
    run = {"sum": dml.cumulative_summation, "prod": dml.cumulative_product}[name]
    expected = getattr(np, f"cum{name}")(x, axis=axis, dtype=np.int32)
    assert np.array_equal(run(x, axis).numpy(), expected)
    assert np.array_equal(run(device.tensor(x), axis=axis).numpy(), expected)


@pytest.mark.parametrize("axis", [3, -4])
def test_an_axis_out_of_range_is_refused(device: dml.Device, axis: int) -> None:
    with pytest.raises(dml.InvalidDescError, match=rf"^CUMULATIVE_SUMMATION: axis.*{axis}\b"):
        dml.cumulative_summation(device.tensor(np.zeros((2, 3, 4), np.float32)), axis)


def test_direction_and_exclusive_arguments(device: dml.Device) -> None:
    x = device.tensor(np.array([1, 2, 3, 4], np.uint16))
    down = dml.AxisDirection.DECREASING
    assert dml.cumulative_summation(x, 0, down).numpy().tolist() == [10, 9, 7, 4]
    assert dml.cumulative_summation(x, 0, exclusive=True).numpy().tolist() == [0, 1, 3, 6]
    both = dml.cumulative_product(x, axis=0, axis_direction=down, exclusive=True)
    assert both.numpy().tolist() == [24, 12, 4, 1]


def test_slice1_defaults_to_all_reachable_elements(device: dml.Device) -> None:
    x = np.arange(35, dtype=np.int64).reshape(5, 7)
    window = ((1, 0), (4, 7), (-2, 3))
    assert dml.slice1(x, *window).numpy().tolist() == x[4:0:-2, ::3].tolist()
    fewer = dml.slice1(x, *window, output_sizes=(1, 2))
    assert fewer.numpy().tolist() == [[28, 31]]


# data shape, indices shape, natural result shape
NATURAL = [
    ((4, 5), (3, 1), (3, 5)),
    ((4, 5), (3, 2), (3,)),
    ((4,), (2, 3, 1), (2, 3)),
    ((2, 3, 4, 5), (6, 2), (6, 4, 5)),
    ((2, 3, 4, 5), (1,), (3, 4, 5)),
    ((7,), (1, 1, 1, 1, 1, 1, 1, 1), (1,) * 7),
    ((3, 4, 5), (2, 2, 1), (2, 2, 4, 5)),
    ((2,) * 7, (3, 4, 6), (3, 4, 2)),
    ((2, 2, 2, 2, 2), (2, 2, 2, 2, 1), (2,) * 8),
]


@pytest.mark.parametrize(("data", "index", "natural"), NATURAL)
def test_gather_nd_results_have_their_natural_rank(
    device: dml.Device, data: tuple[int, ...], index: tuple[int, ...], natural: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(4)
    x = rng.integers(0, 2**16, data).astype(np.uint16)
    indices = rng.integers(0, min(data), index)
    expected = x[tuple(np.moveaxis(indices, -1, 0))]
    assert expected.shape == natural
    for run in (dml.gather_nd, dml.gather_nd1):
        out = run(device.tensor(x), device.tensor(indices))
        assert out.shape == natural
        assert np.array_equal(out.numpy(), expected)
        assert np.array_equal(run(x, indices).numpy(), expected)


def test_gather_nd1_batches_of_natural_rank(device: dml.Device) -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(2, 3, 4, 5)).astype(np.float64)
    indices = rng.integers(-4, 4, (2, 3, 7, 1))
    out = dml.gather_nd1(device.tensor(x), indices, batch_dimension_count=2).numpy()
    assert out.shape == (2, 3, 7, 5)
    assert np.array_equal(out, np.take_along_axis(x, indices % 4, 2))
    flat = dml.gather_nd1(x, indices[..., 0, :], batch_dimension_count=2).numpy()
    assert np.array_equal(flat, out[:, :, 0])


def test_a_result_above_eight_dimensions_is_refused(device: dml.Device) -> None:
    with pytest.raises(dml.InvalidDescError, match=r"^GATHER_ND\b.*\b9\b"):
        dml.gather_nd(np.zeros((2,) * 8, np.float32), np.zeros((1, 1, 1), np.int32))


@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=5, max_side=6))
def test_basic_indexing_equals_numpys(
    device: dml.Device, data: st.DataObject, shape: tuple[int, ...]
) -> None:
    x = np.arange(np.prod(shape), dtype=np.int16).reshape(shape)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=False))
    expected = x[index]
    t = device.tensor(x)
    out = np.asarray(t[index])
    assert out.dtype == x.dtype
    assert out.shape == expected.shape
    assert np.array_equal(out, expected)


def test_a_new_axis_is_basic_indexing_too(device: dml.Device) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    t = device.tensor(x)
    assert np.array_equal(np.asarray(t[None, :, ::-1]), x[None, :, ::-1])
    assert np.array_equal(np.asarray(t[1, None, ..., None]), x[1, None, ..., None])


@pytest.mark.parametrize("index", [3, -4, (0, 4), (Ellipsis, -5)])
def test_integers_out_of_range_are_index_errors(device: dml.Device, index: Any) -> None:
    t = device.tensor(np.zeros((3, 4), np.float32))
    with pytest.raises(dml.IndexRangeError):
        t[index]


@pytest.mark.parametrize("index", [(0, 0, 0), (Ellipsis, Ellipsis)])
def test_too_many_indices_are_refused(device: dml.Device, index: Any) -> None:
    t = device.tensor(np.zeros((3, 4), np.float32))
    with pytest.raises((dml.DmlError, IndexError)):
        t[index]


@pytest.fixture(scope="module")
def bare(device: dml.Device) -> dml.Device:
    """A device over a wgpu device with default limits and no optional feature."""
    return dml.Device.from_wgpu(wgpu.gpu.request_adapter_sync().request_device_sync())


@pytest.mark.parametrize("dtype", [oracle.NUMPY_TYPES[t] for t in sorted(SCAN7)], ids=str)
@pytest.mark.parametrize(("sizes", "axis"), [((7, 300), 1), ((300, 7), 0), ((100_000,), 0)])
def test_scans_need_no_optional_feature(
    bare: dml.Device, sizes: tuple[int, ...], axis: int, dtype: np.dtype[Any]
) -> None:
    x = np.frombuffer(oracle.random_bytes(int(np.prod(sizes)) * dtype.itemsize, 5), dtype)
    if dtype.kind == "f":  # sums of -1, 0 and 1 are exact
        x = (np.arange(x.size) * 7 % 3 - 1).astype(dtype)
    x = x.reshape(sizes)
    t = bare.tensor(x)
    assert np.array_equal(dml.cumulative_summation(t, axis).numpy(), np.cumsum(x, axis, dtype))
    product = dml.cumulative_product(t[..., ::-1], axis).numpy()
    assert np.array_equal(product, np.cumprod(x[..., ::-1], axis, dtype))


@pytest.mark.parametrize("dtype", oracle.NUMPY_TYPES.values(), ids=str)
def test_copies_need_no_optional_feature(bare: dml.Device, dtype: np.dtype[Any]) -> None:
    x = np.frombuffer(oracle.random_bytes(35 * dtype.itemsize, 5), dtype).reshape(5, 7)
    t = bare.tensor(x)
    assert t[::-2, 1:].numpy().tobytes() == x[::-2, 1:].tobytes()
    for index_type in sorted(IDX4):
        indices = np.array([[4], [0], [4]], oracle.NUMPY_TYPES[index_type])
        assert dml.gather_nd(t, indices).numpy().tobytes() == x[[4, 0, 4]].tobytes()


def test_results_feed_further_operators(device: dml.Device) -> None:
    x = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    t = device.tensor(x)
    out = dml.cumulative_summation(dml.gather_nd(t[:, ::-1], np.array([[2], [0]])), -1)
    assert np.array_equal(out.numpy(), np.cumsum(x[:, ::-1][[2, 0]], -1, dtype=np.int32))


@pytest.mark.gpu
def test_an_index_array_of_no_dimensions_is_an_integer(device: dml.Device) -> None:
    values = np.arange(1, 21, dtype=np.uint8)
    x = device.tensor(values)
    assert x[np.array(2)].numpy() == values[2]
    np.testing.assert_array_equal(x[np.array(1) :].numpy(), values[1:])


@pytest.mark.gpu
def test_a_float_is_refused_also_after_the_equal_integer(device: dml.Device) -> None:
    x = device.tensor(np.ones((4, 4), np.float32))
    _ = x[1:], dml.cumulative_summation(x, 1), dml.slice(x, [0, 0], [1, 1], [1, 1])
    with pytest.raises(dml.InvalidDescError):
        _ = x[1.0:]
    with pytest.raises(dml.InvalidDescError, match="axis"):
        dml.cumulative_summation(x, 1.0)
    with pytest.raises(dml.InvalidDescError, match="offsets"):
        dml.slice(x, [0.0, 0], [1, 1], [1, 1])


@pytest.mark.gpu
def test_narrow_elements_reversed_up_to_the_first(device: dml.Device) -> None:
    for count in (5, 20, 33):
        values = np.arange(1, count + 1, dtype=np.uint8)
        np.testing.assert_array_equal(device.tensor(values)[::-1].numpy(), values[::-1])


@pytest.mark.gpu
def test_a_wrapped_buffer_needs_no_copy_usage(device: dml.Device) -> None:
    values = np.arange(4096, dtype=np.float32)
    raw = device.wgpu_device.create_buffer_with_data(data=values, usage="STORAGE")
    x = device.wrap(raw, dml.TensorDesc(dml.DataType.FLOAT32, values.shape))
    np.testing.assert_array_equal(x[1:].numpy(), values[1:])


@pytest.mark.gpu
def test_one_index_takes_its_axis_away(device: dml.Device) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for index in (1, np.array(1), np.int64(1), device.tensor(np.array(1))):
        found = dml.gather(device.tensor(x), index, 0)
        np.testing.assert_array_equal(found.numpy(), x[1])


STATE = np.zeros((1, 1, 1, 6), np.uint32)
SQUARE = np.ones((2, 3), np.float32)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: dml.cast(SQUARE, None), "data type None has no DirectML type"),
        (lambda: dml.split(SQUARE, 2, 0), "SPLIT: output_sizes is 2; it must be a sequence"),
        (lambda: dml.random_generator(STATE), "RANDOM_GENERATOR: output_sizes is missing"),
        (lambda: dml.padding(SQUARE, 0, 0, [1], [1]), "PADDING: start_padding has 1 entries"),
        (lambda: dml.padding(SQUARE, 0, 0, [1, 1], [1]), "PADDING: end_padding has 1 entries"),
        (lambda: dml.tile(SQUARE, [2]), "TILE: repeats has 1 entries; the tensors have 2"),
        (lambda: dml.top_k(SQUARE, 1, 0), "TOP_K: k is 0; it must be at least 1"),
        (
            lambda: dml.reduce(np.ones(3, np.int32), dml.ReduceFunction.AVERAGE, [0]),
            "REDUCE with function AVERAGE: input_tensor is INT32, which it has at no level",
        ),
        (
            lambda: dml.element_wise_clip(SQUARE, min=0, max=10**400),
            "max is an integer of 1329 bits; FLOAT32 has no such number",
        ),
        (
            lambda: dml.element_wise_add1(
                SQUARE, SQUARE, fused_activation=dml.ActivationCeluDesc(alpha=0)
            ),
            "ELEMENT_WISE_ADD1: fused_activation: ACTIVATION_CELU: alpha is 0",
        ),
        (
            lambda: dml.element_wise_add1(
                SQUARE, SQUARE, fused_activation=dml.ActivationSwishDesc(sigmoid_input_scale=1)
            ),
            "ELEMENT_WISE_ADD1: fused_activation is ACTIVATION_SWISH, which cannot be fused",
        ),
        (
            lambda: dml.element_wise_negate(dml.tensor(np.zeros((0, 3), np.float32))),
            "ELEMENT_WISE_NEGATE: a tensor of shape (0, 3) has no elements",
        ),
    ],
)
def test_what_is_wrong_is_named(device: dml.Device, call: Any, said: str) -> None:
    with pytest.raises((dml.InvalidDescError, dml.InvalidTypeError), match=re.escape(said)):
        call()


@pytest.mark.gpu
def test_what_may_run_in_place_is_said(device: dml.Device) -> None:
    d = dml.TensorDesc(dml.DataType.FLOAT32, (4,))
    desc = dml.ElementWisePowDesc(input_tensor=d, exponent_tensor=d, output_tensor=d)
    x, e = device.empty(d), device.empty(d)
    with pytest.raises(dml.BindingError, match="it runs in place on input_tensor alone"):
        device.compile(desc)(x, e, out=e)
    with pytest.raises(dml.BindingError, match="exponent_tensor is None; it must be a Tensor or"):
        device.compile(desc)(x, None)


def test_missing_and_unknown_fields_name_the_description() -> None:
    with pytest.raises(TypeError, match=r"^ElementWiseAbsDesc\.__init__\(\) missing 2 required"):
        dml.ElementWiseAbsDesc()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^ElementWiseAddDesc\.__init__\(\) got an unexpected"):
        dml.ElementWiseAddDesc(foo=1)  # type: ignore[call-arg]


@pytest.mark.gpu
def test_python_numbers_take_the_type_that_tensors_beside_them_have(device: dml.Device) -> None:
    ints, floats = device.tensor([1, 2]), device.tensor(np.float32([1, 2]))
    halves, truth = device.tensor(np.float16([1, 2])), device.tensor([True, False])
    for a, b, wanted in (
        ([1, 2], [3, 4], np.int32([4, 6])),
        ([1, 2], [3, 2**40], np.int64([4, 2**40 + 2])),
        ([1, 2], 0.5, np.float32([1.5, 2.5])),
        (ints, 2, np.int64([3, 4])),
        (floats, 2, np.float32([3, 4])),
        (0.5, halves, np.float16([1.5, 2.5])),
        (np.uint8([1, 2]), [7, 8], np.uint8([8, 10])),
    ):
        made = dml.element_wise_add(a, b)
        assert made.dtype == wanted.dtype
        assert np.array_equal(made.numpy(), wanted)
    assert dml.element_wise_if(truth, floats, 7).tolist() == [1, 7]
    with pytest.raises(dml.InvalidDescError, match="b_tensor is FLOAT32; a_tensor is INT64, and"):
        dml.element_wise_add(ints, 0.5)
    with pytest.raises(OverflowError, match="300 out of bounds for uint8"):
        dml.element_wise_add(np.uint8([1]), 300)


@pytest.mark.gpu
def test_results_of_tensors_without_axes_have_none(device: dml.Device) -> None:
    five, line = device.tensor(5.0), device.tensor([1.0])
    assert dml.element_wise_add(five, five).shape == ()
    assert dml.element_wise_add(five, 1).shape == dml.element_wise_add(5, 6).shape == ()
    assert dml.element_wise_logical_equals(five, 5).tolist() == 1
    assert dml.activation_relu(five).shape == dml.cast(five, np.int32).shape == ()
    for _ in range(2):  # also where the call is remembered
        assert dml.activation_relu(line).shape == dml.element_wise_add(five, line).shape == (1,)
        assert dml.activation_relu(five).shape == dml.activation_relu(np.float32(5)).shape == ()


@pytest.mark.gpu
def test_square_roots_as_powers(device: dml.Device) -> None:
    x = np.float32([-np.inf, np.inf, -0.0, 0, 4, -4, np.nan])
    for exponent in (0.5, 0.25, 2.5, -0.5):
        got = dml.element_wise_constant_pow(x, exponent=exponent).numpy()
        other = dml.element_wise_pow(x, np.float32(exponent)).numpy()
        assert np.array_equal(got, other, equal_nan=True)
        assert np.array_equal(np.signbit(got), np.signbit(other))
        assert exponent != 0.5 or got[:5].tolist() == [np.inf, np.inf, 0, 0, 2]


def test_results_have_the_axes_of_whatever_was_given(device: dml.Device) -> None:
    assert dml.element_wise_abs(range(3)).tolist() == [0, 1, 2]
    assert dml.element_wise_abs(python_array("f", [1, -2, 3])).tolist() == [1, 2, 3]
    assert dml.element_wise_add(device.tensor(1.0), range(2)).tolist() == [1, 2]
    assert dml.element_wise_abs(-2).shape == ()
    assert dml.cumulative_summation(np.float32(2), 0).shape == (1,)  # as np.cumsum has it

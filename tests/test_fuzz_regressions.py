"""Cases that once gave a wrong answer, another library's error, or a message of many lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
from support.fuzz_values import Hostile

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc
from dmlgpu.device import REMEMBERED_LIMIT
from dmlgpu.errors import shown

HUGE = 10**5000  # Python refuses to print it
RAGGED = [[1], [2, 3]]
LINE = TensorDesc(T.FLOAT32, (12,))
SUM = dml.CumulativeSummationDesc(input_tensor=LINE, output_tensor=LINE, axis=0)
ROOMY = TensorDesc(T.FLOAT32, (4,), total_tensor_size_in_bytes=2**62)
X = np.arange(12, dtype=np.float32).reshape(3, 4)
BAD_DESC, BAD_INDEX = dml.InvalidDescError, dml.IndexRangeError

WITHOUT_DEVICE: dict[str, tuple[Callable[[], Any], str]] = {
    "a size too long to print": (
        lambda: TensorDesc(T.FLOAT32, (HUGE,)),
        r"sizes\[0\] is an integer of 16610 bits; it must be in",
    ),
    "a total too long to print": (
        lambda: TensorDesc(T.FLOAT32, (1,), total_tensor_size_in_bytes=HUGE),
        "total_tensor_size_in_bytes is an integer of",
    ),
    "flags too long to print": (lambda: TensorDesc(T.FLOAT32, (1,), flags=HUGE), "flags is an int"),
    "a data type too long to print": (lambda: TensorDesc(HUGE, (1,)), "data_type is an integer"),
    "an array as data type": (
        lambda: TensorDesc(np.array([1, 2]), (1,)),
        r"data_type is array\(\[1, 2\]\); it must be one of",
    ),
    "sizes that cannot be shown": (
        lambda: TensorDesc(T.FLOAT32, Hostile("__repr__")),
        "sizes is a Hostile that cannot be shown; it must be a sequence",
    ),
    "sizes whose iteration raises": (
        lambda: TensorDesc(T.FLOAT32, Hostile("__iter__")),
        "must be a sequence of integers",
    ),
    "a size whose conversion raises": (
        lambda: TensorDesc(T.FLOAT32, [Hostile("__index__")]),
        r"sizes\[0\] is Hostile\('__index__'\); it must be an integer",
    ),
    "sizes of many lines": (
        lambda: TensorDesc(T.FLOAT32, np.zeros((3, 3))),
        r"^TensorDesc: sizes\[0\] is array\(\[0., 0., 0.\]\); it must be an integer$",
    ),
    "a direction that cannot be shown": (
        lambda: dml.CumulativeSummationDesc(
            input_tensor=LINE, output_tensor=LINE, axis=0, axis_direction=Hostile("__repr__")
        ),
        "axis_direction is a Hostile that cannot be shown",
    ),
    "an array as flag": (
        lambda: dml.CumulativeSummationDesc(
            input_tensor=LINE, output_tensor=LINE, axis=0, has_exclusive_sum=np.array([1, 2])
        ),
        r"has_exclusive_sum is array\(\[1, 2\]\); it must be True or False",
    ),
    "a word as flag": (
        lambda: dml.CumulativeProductDesc(
            input_tensor=LINE, output_tensor=LINE, axis=0, has_exclusive_product="no"
        ),
        "has_exclusive_product is 'no'; it must be True or False",
    ),
    "a level that cannot be shown": (
        lambda: dml.validate(SUM, Hostile("__repr__")),
        "feature_level is a Hostile",
    ),
    "a level too long to print": (lambda: dml.validate(SUM, HUGE), "feature_level is an integer"),
    "a tensor that cannot be shown": (
        lambda: dml.validate(
            dml.CumulativeSummationDesc(
                input_tensor=Hostile("__repr__"), output_tensor=LINE, axis=0
            )
        ),
        "input_tensor is a Hostile that cannot be shown; it must be a TensorDesc",
    ),
    "fields twice": (lambda: T.from_numpy([("a", "i4"), ("a", "i4")]), "has no DirectML type"),
    "a type of bad syntax": (lambda: T.from_numpy("i4,,"), "data type 'i4,,' has no DirectML type"),
    "a type of two lines": (
        lambda: T.from_numpy("a\nb"),
        r"data type 'a\\nb' has no DirectML type",
    ),
    "a type that cannot be shown": (lambda: T.from_numpy(Hostile("__repr__")), "data type "),
}


def assert_one_sentence(error: BaseException) -> None:
    message = str(error)
    assert "\n" not in message
    assert not message.endswith("."), message
    assert len(message) < 800


@pytest.mark.parametrize("name", WITHOUT_DEVICE)
def test_refused_without_a_device(name: str) -> None:
    case, words = WITHOUT_DEVICE[name]
    with pytest.raises(BAD_DESC, match=words) as caught:
        case()
    assert_one_sentence(caught.value)


ON_DEVICE: dict[str, tuple[Callable[[dml.Device, dml.Tensor], Any], type[dml.DmlError], str]] = {
    "an index array of floats": (lambda d, x: x[np.array([0.5])], BAD_DESC, "index 0 is an array"),
    "an index array of objects": (lambda d, x: x[[None, "a"]], BAD_DESC, "index 0 is an array of"),
    "a ragged index": (lambda d, x: x[0, [[0], [1, 2]]], BAD_DESC, "index 1 is .*, not an array"),
    "an index array too long to print": (lambda d, x: x[[HUGE]], BAD_DESC, "index 0 is an array"),
    "a float as index": (lambda d, x: x[np.array(1.5)], BAD_DESC, "index 0 is an array of float64"),
    "an index too long to print": (lambda d, x: x[HUGE], BAD_INDEX, "index an integer of"),
    "an index whose conversion raises": (
        lambda d, x: x[Hostile("__index__")],
        BAD_DESC,
        "is Hostile",
    ),
    "an index whose hash raises": (lambda d, x: x[Hostile("__hash__")], BAD_DESC, "is Hostile"),
    "a bound whose conversion raises": (
        lambda d, x: x[Hostile("__index__") :],
        BAD_DESC,
        "index of axis 0: __index__ raises",
    ),
    "upload without a description": (
        lambda d, x: d.upload(None, b"abcd"),
        BAD_DESC,
        "desc is None; it must be a TensorDesc",
    ),
    "wrap without a description": (lambda d, x: d.wrap(x.buffer, None), BAD_DESC, "desc is None"),
    "wrap at an offset too long to print": (
        lambda d, x: d.wrap(x.buffer, LINE, HUGE),
        BAD_DESC,
        "offset is an integer",
    ),
    "view without a description": (lambda d, x: x.view(None), BAD_DESC, "view: desc is NoneType"),
    "Python objects as bytes": (
        lambda d, x: d.upload(LINE, np.array([object()] * 6)),
        BAD_DESC,
        "data is ndarray; it must be contiguous bytes",
    ),
    "a ragged list as tensor": (
        lambda d, x: d.tensor(RAGGED),
        BAD_DESC,
        r"array is \[\[1\], \[2, 3\]\], not an array: ",
    ),
    "an array that raises": (
        lambda d, x: d.tensor(Hostile("__array__")),
        BAD_DESC,
        "not an array: __array__ raises$",
    ),
    "a ragged list to a function": (
        lambda d, x: dml.gather_nd(x, RAGGED),
        BAD_DESC,
        r"^indices is \[\[1\], \[2, 3\]\], not an array",
    ),
    "a ragged list to an operator": (
        lambda d, x: d.compile(SUM)(RAGGED),
        BAD_DESC,
        "^CUMULATIVE_SUMMATION: input_tensor is .*, not an array",
    ),
    "no offsets": (lambda d, x: dml.slice(x, None, (1, 1), (1, 1)), BAD_DESC, "offsets is None"),
    "a number as strides": (lambda d, x: dml.slice(x, (0, 0), (1, 1), 5), BAD_DESC, "strides is 5"),
    "no window": (lambda d, x: dml.slice1(x, None, (3, 4), (1, 1)), BAD_DESC, "offsets is None"),
    "a number as output sizes": (
        lambda d, x: dml.slice1(x, (0, 0), (3, 4), (1, 1), 3),
        BAD_DESC,
        "output_sizes 3 cannot be an output",
    ),
    "empty output sizes": (
        lambda d, x: dml.slice1(x, (0, 0), (3, 4), (1, 1), []),
        BAD_DESC,
        r"output_sizes \[\] cannot be an output: sizes has 0 dimensions",
    ),
    "an array of batch counts": (
        lambda d, x: dml.gather_nd1(x, [[1]], batch_dimension_count=np.array([1, 2])),
        BAD_DESC,
        "batch_dimension_count is array",
    ),
    "no batch count": (
        lambda d, x: dml.gather_nd1(x, [[1]], batch_dimension_count=None),
        BAD_DESC,
        "GATHER_ND1: batch_dimension_count is None",
    ),
    "an empty list as batch count": (
        lambda d, x: dml.gather_nd1(x, [[1]], batch_dimension_count=[]),
        BAD_DESC,
        r"batch_dimension_count is \[\]",
    ),
    "an adapter that cannot be shown": (
        lambda d, x: dml.Device(Hostile("__repr__")),
        dml.DeviceError,
        "adapter is Hostile; it must be",
    ),
    "a description whose hash raises": (
        lambda d, x: d.compile(Hostile("__hash__")),
        BAD_DESC,
        "desc is Hostile",
    ),
    "a field whose hash raises": (
        lambda d, x: d.compile(
            dml.CumulativeSummationDesc(
                input_tensor=Hostile("__hash__"), output_tensor=LINE, axis=0
            )
        ),
        BAD_DESC,
        "input_tensor is Hostile",
    ),
    "more host memory than there is": (
        lambda d, x: d.compile(
            dml.Slice1Desc(
                input_tensor=ROOMY,
                output_tensor=TensorDesc(T.FLOAT32, (4,)),
                input_window_offsets=(0,),
                input_window_sizes=(4,),
                input_window_strides=(1,),
            )
        )(np.zeros(4, np.float32)),
        dml.OutOfMemoryError,
        rf"^no host memory for the {2**62} bytes of a tensor",
    ),
}


@pytest.mark.gpu
@pytest.mark.parametrize("name", ON_DEVICE)
def test_refused_on_a_device(device: dml.Device, name: str) -> None:
    case, error, words = ON_DEVICE[name]
    x = device.tensor(X)
    with pytest.raises(error, match=words) as caught:
        case(device, x)
    assert_one_sentence(caught.value)
    np.testing.assert_array_equal(x[1:].numpy(), X[1:])


@pytest.mark.gpu
def test_something_with_a_key_is_no_tensor(device: dml.Device) -> None:
    class Keyed:
        key: ClassVar[list[int]] = [1]

    with pytest.raises(dml.BindingError, match="CUMULATIVE_SUMMATION: input_tensor is an array"):
        device.compile(SUM)(Keyed())


@pytest.mark.gpu
def test_reading_a_buffer_that_cannot_be_copied(device: dml.Device) -> None:
    buffer = device.wgpu_device.create_buffer(size=48, usage="STORAGE")
    wrapped = device.wrap(buffer, LINE)
    out = device.compile(SUM)(device.tensor(X.reshape(12)), out=wrapped)
    np.testing.assert_array_equal(out.numpy(), np.cumsum(X, dtype=np.float32))


@pytest.mark.gpu
@pytest.mark.parametrize("kept", [True, False])
def test_too_large_a_tensor_while_work_is_recorded(device: dml.Device, kept: bool) -> None:
    """The pool lets its buffers go to make room, also those that recorded work has yet to use."""
    with dml.Device(device.adapter) as fresh:
        x = fresh.tensor(X)
        results = [dml.cumulative_summation(x, 1)] * kept
        dml.cumulative_summation(x, 0)
        with pytest.raises(dml.OutOfMemoryError):
            fresh.empty(TensorDesc(T.FLOAT64, (2**32 - 1,)))
        for result in results:
            np.testing.assert_array_equal(result.numpy(), np.cumsum(X, 1, dtype=np.float32))
        np.testing.assert_array_equal(x.numpy(), X)


@pytest.mark.gpu
def test_a_profile_may_be_left_twice(device: dml.Device) -> None:
    with device.profile() as profile:
        dml.cumulative_summation(device.tensor(X), 0)
    profile.__exit__(None, None, None)
    assert len(profile.calls) == 1


@pytest.mark.gpu
def test_a_mapped_buffer_is_refused(device: dml.Device) -> None:
    """Submitting work that uses one would end the process."""
    buffer = device.wgpu_device.create_buffer(size=48, usage="STORAGE", mapped_at_creation=True)
    with pytest.raises(dml.BindingError, match="the buffer is mapped; unmap it first"):
        device.wrap(buffer, LINE)
    buffer.unmap()
    assert not device.compile(SUM)(device.wrap(buffer, LINE)).numpy().any()


@pytest.mark.gpu
def test_output_sizes_may_be_an_array(device: dml.Device) -> None:
    out = dml.slice1(device.tensor(X), (0, 0), (3, 4), (1, 1), np.array([2, 4]))
    np.testing.assert_array_equal(out.numpy(), X[:2])


@pytest.mark.gpu
def test_arguments_that_change_are_not_remembered(device: dml.Device) -> None:
    """An object's hash says nothing of its value."""

    class Row:
        value = 0

        def __index__(self) -> int:
            return self.value

    class Offsets:
        values: tuple[int, ...] = (0, 0)

        def __iter__(self) -> Any:
            return iter(self.values)

    x, row, offsets = device.tensor(X), Row(), Offsets()
    for row.value in (0, 2, 1):
        np.testing.assert_array_equal(x[row].numpy(), X[row.value])
        np.testing.assert_array_equal(x[row : row.value + 1].numpy(), X[row.value, None])
    for offsets.values in ((0, 0), (1, 2)):
        out = dml.slice(x, offsets, (1, 2), (1, 1)).numpy()  # type: ignore[arg-type]
        i, j = offsets.values
        np.testing.assert_array_equal(out, X[i : i + 1, j : j + 2])


@pytest.mark.gpu
def test_shapes_of_an_index_are_bounded(device: dml.Device) -> None:
    """Every end beyond the last row names the same window."""
    x = device.tensor(X)
    for end in range(3, 1200):
        assert x[:end].shape == (3, 4)
    assert len(device.remembered) <= REMEMBERED_LIMIT


@pytest.mark.gpu
def test_a_tensor_without_a_numpy_type_can_be_shown(device: dml.Device) -> None:
    assert "dtype=uint4" in repr(device.empty(TensorDesc(T.UINT4, (8,))))


def test_values_in_messages_are_short() -> None:
    assert shown(12) == "12"
    assert shown("a\nb") == r"'a\nb'"
    assert shown(np.zeros((2, 2))) == "array([[0., 0.], [0., 0.]])"
    assert len(shown("x" * 10_000)) < 130
    assert shown(-HUGE) == "an integer of 16610 bits"
    assert shown(Hostile("__repr__")) == "a Hostile that cannot be shown"

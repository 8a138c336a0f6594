"""Misuse of tensors: NumPy's error classes and words, and always a DmlError too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml

pytestmark = pytest.mark.gpu

NumpyAxisError = getattr(np, "exceptions", np).AxisError
Case = tuple[Callable[[Any], Any], type[Exception]]

# Run on a tensor and on the array of the same elements; both raise the class, in these words.
AS_NUMPY: dict[str, Case] = {
    "index 5 is out of bounds for axis 0 with size 2": (lambda x: x[5], IndexError),
    "index -4 is out of bounds for axis 1 with size 3": (lambda x: x[..., -4], IndexError),
    "too many indices for array: array is 2-dimensional, but 3 were indexed": (
        lambda x: x[0, 0, 0],
        IndexError,
    ),
    "an index can only have a single ellipsis ('...')": (lambda x: x[..., ...], IndexError),
    "are valid indices": (lambda x: x[1.0], IndexError),
    "slice indices must be integers or None or have an __index__ method": (
        lambda x: x[1.0:],
        TypeError,
    ),
    "slice step cannot be zero": (lambda x: x[::0], ValueError),
    "cannot reshape array of size 6 into shape (4,)": (lambda x: x.reshape(4), ValueError),
    "cannot reshape array of size 6 into shape (5,": (lambda x: x.reshape(5, -1), ValueError),
    "can only specify one unknown dimension": (lambda x: x.reshape(-1, -1), ValueError),
    "axis 2 is out of bounds for array of dimension 2": (lambda x: x.cumsum(2), NumpyAxisError),
    "axis -3 is out of bounds for array of dimension 2": (
        lambda x: x.swapaxes(0, -3),
        NumpyAxisError,
    ),
    "axis 3 is out of bounds for array of dimension 2": (lambda x: x.take(0, 3), NumpyAxisError),
    "axis 4 is out of bounds for array of dimension 2": (lambda x: x.squeeze(4), NumpyAxisError),
    "axis 5 is out of bounds for array of dimension 2": (
        lambda x: x.transpose(0, 5),
        NumpyAxisError,
    ),
    "axes don't match array": (lambda x: x.transpose(0), ValueError),
    "repeated axis": (lambda x: x.transpose(0, 0), ValueError),
    "cannot select an axis to squeeze out which has size not equal to one": (
        lambda x: x.squeeze(0),
        ValueError,
    ),
    "index 3 is out of bounds for axis 1 with size 3": (lambda x: x.take([0, 3], 1), IndexError),
    "can only convert an array of size 1 to a Python scalar": (lambda x: x.item(), ValueError),
    "he truth value of an array with more than one element is ambiguous": (bool, ValueError),
}


@pytest.fixture(scope="module")
def array() -> np.ndarray[Any, Any]:
    return np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("words", AS_NUMPY)
def test_numpys_class_and_words(
    device: dml.Device, array: np.ndarray[Any, Any], words: str
) -> None:
    use, kind = AS_NUMPY[words]
    for x in (array, device.tensor(array)):
        with pytest.raises(kind) as error:
            use(x)
        assert words in str(error.value)
    assert isinstance(error.value, dml.DmlError)


@pytest.mark.parametrize(
    "use",
    [
        lambda t: t.cumsum(2),
        lambda t: t.flip(2),
        lambda t: t.expand_dims(4),
        lambda t: dml.cumulative_product(t, 2),
    ],
)
def test_axis_errors_are_numpys_and_this_librarys(
    device: dml.Device, array: np.ndarray[Any, Any], use: Any
) -> None:
    with pytest.raises(NumpyAxisError, match="is out of bounds for array of dimension") as error:
        use(device.tensor(array))
    assert isinstance(error.value, (dml.AxisError, dml.InvalidDescError))
    assert isinstance(error.value, IndexError)
    assert error.value.axis in (2, 4)
    assert error.value.ndim in (2, 3)
    assert error.value.hresult == 0x80070057


def test_axes_of_what_has_no_elements(device: dml.Device) -> None:
    with pytest.raises(dml.AxisError, match="expand_dims: axis 3 is out of bounds") as error:
        device.tensor(np.zeros((0, 0), np.float32)).expand_dims(3)
    assert (error.value.axis, error.value.ndim) == (3, 3)


@pytest.mark.parametrize("index", ["a", [0.5], np.array([0.0]), object(), (0, ["a"])])
def test_what_is_no_index_is_refused(
    device: dml.Device, array: np.ndarray[Any, Any], index: Any
) -> None:
    t = device.tensor(array)
    _ = t[0:2:1], t[:, 1]  # remembered: a list of the same numbers is something else
    for use in (lambda: t[index], lambda: t.__setitem__(index, 0)):
        with pytest.raises(IndexError, match=r"integer (\(or boolean\) type|or boolean arrays)"):
            use()
    with pytest.raises(dml.InvalidIndexError, match="float32"):
        t[device.tensor(np.array([0], np.float32))]


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(3, complex),
        np.zeros(3, object),
        np.zeros(3, "datetime64[s]"),
        np.zeros(3, [("a", "f4")]),
        "text",
        [None],
        ["a", "b"],
    ],
)
def test_types_that_no_tensor_has_are_type_errors(device: dml.Device, wrong: Any) -> None:
    uses = (device.tensor, lambda x: dml.cumulative_summation(x, 0), dml.default_device().tensor)
    for use in uses:
        with pytest.raises(TypeError, match=r"convert with astype to one of float32, .*int64"):
            use(wrong)
        with pytest.raises(dml.InvalidTypeError):
            use(wrong)


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x.reshape(2.0, 3),
        lambda x: x.reshape("ab"),
        lambda x: x.transpose(0.0, 1),
        lambda x: x.cumsum("0"),
        lambda x: x.swapaxes(0, None),
        lambda x: x.take(np.array([0.5])),
    ],
)
def test_arguments_that_are_no_integers_are_type_errors(
    device: dml.Device, array: np.ndarray[Any, Any], use: Any
) -> None:
    for x in (array, device.tensor(array)):
        with pytest.raises(TypeError) as error:
            use(x)
    assert isinstance(error.value, dml.InvalidTypeError)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda t: t.take([0.5]), "take: indices have type float64; they must be integers"),
        (lambda t: t.take([True]), "take: indices have type bool; they must be integers"),
        (lambda t: t.take(t), "take: indices have type float32; they must be integers"),
        (lambda t: t.take([[[[[[[[0]]]]]]]], 1), "9 dimensions; at most 8"),
        (
            lambda t: t.reshape("ab"),
            "reshape: shape is 'ab'; it must be an integer or a sequence of integers",
        ),
        (lambda t: t.reshape(2.0, 3), r"reshape: shape\[0\] is 2.0; it must be an integer"),
        (lambda t: t.reshape(None), "reshape: shape is None"),
        (lambda t: t.reshape((1,) * 7 + (2, 3)), "9 dimensions; at most 8"),
        (lambda t: t.reshape(0), r"cannot reshape array of size 6 into shape \(0,\)"),
        (lambda t: t.broadcast_to(2, 4), "could not broadcast array from shape"),
        (lambda t: t.broadcast_to(3), r"from shape \(2, 3\) into shape \(3,\)"),
        (lambda t: t.broadcast_to(-1, 2, 3), r"broadcast_to: shape\[0\] is -1"),
        (lambda t: t.expand_dims((0, 1, 2, 3, 4, 5, 6)), "expand_dims: the result has 9"),
        (lambda t: t.expand_dims((0, 0)), "repeated axis"),
        (lambda t: t.cumsum(1.0), "axis is 1.0; it must be an integer"),
        (lambda t: t.flip("x"), "flip: axes is 'x'"),
        (lambda t: t.view((2, 3)), "view: desc is tuple; it must be a TensorDesc or a data type"),
        (lambda t: t.view(dml.TensorDesc(dml.DataType.UINT8, (25,))), "28 bytes.* has 24"),
        (lambda t: t[(None,) * 7], "the index gives 9 dimensions; at most 8"),
        (lambda t: dml.slice(t, 0, (1, 1), (1, 1)), "SLICE: offsets is 0; it must be a sequence"),
        (lambda t: dml.slice(t, (0, 0), (1, 1), None), "SLICE: strides is None"),
        (lambda t: dml.slice1(t, 0, (1, 1), (1, 1)), "SLICE1: input_window_offsets is 0"),
        (
            lambda t: dml.cumulative_summation(None, 0),
            "CUMULATIVE_SUMMATION: input_tensor is None; it must be a tensor or an array",
        ),
        (lambda t: dml.gather_nd(t, "a"), "has no DirectML type"),
        (lambda t: dml.gather_nd(t, [[0.5]]), "GATHER_ND: indices_tensor is FLOAT32"),
        (lambda t: t.gather_nd([[2]]), "GATHER_ND1.*2"),
    ],
)
def test_other_misuse_is_one_clear_sentence(
    device: dml.Device, array: np.ndarray[Any, Any], use: Any, words: str
) -> None:
    with pytest.raises(dml.DmlError, match=words):
        use(device.tensor(array))

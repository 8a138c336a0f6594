"""NumPy's functions given tensors: on the GPU with a Tensor as result, or refused by name."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
import dmlgpu.numpy as dnp

pytestmark = pytest.mark.gpu


@pytest.fixture
def x(device: dml.Device) -> dml.Tensor:
    return device.tensor(np.arange(6, dtype=np.float32).reshape(2, 3) + 1)


DONE: list[Any] = [
    *(lambda v: np.add(v, v), lambda v: np.sin(v), lambda v: np.true_divide(v, 2)),
    *(lambda v: np.power(v, 2), lambda v: np.arctan2(v, v), lambda v: np.maximum(v, 3)),
    *(lambda v: np.add.reduce(v), lambda v: np.maximum.reduce(v, axis=1)),
    *(lambda v: np.add.accumulate(v, axis=1), lambda v: np.cumsum(v, axis=0), lambda v: np.sum(v)),
    *(
        lambda v: np.mean(v, axis=1, keepdims=True),
        lambda v: np.std(v, ddof=1),
        lambda v: np.max(v),
    ),
    *(lambda v: np.concatenate([v, v], axis=1), lambda v: np.stack([v, v]), lambda v: np.ravel(v)),
    *(lambda v: np.where(v > 2, v, 0), lambda v: np.clip(v, 2, 4), lambda v: np.reshape(v, (3, 2))),
    *(lambda v: np.transpose(v), lambda v: np.expand_dims(v, 0), lambda v: np.flip(v, 0)),
    *(lambda v: np.roll(v, 1, 1), lambda v: np.tile(v, 2), lambda v: np.repeat(v, 2, axis=0)),
    *(lambda v: np.zeros_like(v), lambda v: np.full_like(v, 3), lambda v: np.diff(v)),
    *(lambda v: np.moveaxis(v, 0, 1), lambda v: np.squeeze(v[:1]), lambda v: np.argmax(v, axis=1)),
    *(lambda v: np.tril(v), lambda v: np.all(v), lambda v: np.count_nonzero(v, axis=0)),
    *(lambda v: np.ones((2, 3), np.float32) + v, lambda v: np.float32(2) * v, lambda v: 1 - v),
    *(lambda v: np.arange(3, dtype=np.int8) < v, lambda v: np.swapaxes(v, 0, 1), lambda v: abs(-v)),
    *(
        lambda v: np.round(v / 4, 1),
        lambda v: np.broadcast_to(v, (2, 2, 3)),
        lambda v: np.min(v, 0),
    ),
]


DONE += [
    *(lambda v: np.take(v, [1, 0, 1], 0), lambda v: np.take(v, [[0, 5], [-1, 2]])),
    *(lambda v: np.take(v, [9, -9], mode="clip"), lambda v: np.take(v, [9, -9], mode="wrap")),
    *(
        lambda v: np.take_along_axis(v, np.array([[0, 1], [2, -1]]), 1),
        lambda v: np.argwhere(v > 1),
    ),
    *(lambda v: np.flatnonzero(v), lambda v: np.compress([False, True], v, 0)),
    *(lambda v: np.extract(v > 1, v), lambda v: np.pad(v, 1), lambda v: np.pad(v, 2, "reflect")),
    *(
        lambda v: np.hstack([v, v]),
        lambda v: np.hstack([v[0], v[1]]),
        lambda v: np.vstack([v[0], v]),
    ),
    *(lambda v: np.dstack([v, v]), lambda v: np.column_stack([v[0], v.T]), lambda v: np.ediff1d(v)),
    *(lambda v: np.ediff1d(v, to_end=[7], to_begin=3), lambda v: np.rollaxis(v, 1)),
    *(lambda v: np.rollaxis(v[None], 0, 3), lambda v: np.rollaxis(v[None], 2, -2)),
    *(lambda v: np.moveaxis(v, source=0, destination=1), lambda v: np.swapaxes(v, 0, 1)),
    *(lambda v: np.atleast_1d(v[0, 0]), lambda v: np.atleast_2d(v[0]), lambda v: np.atleast_3d(v)),
    *(lambda v: np.atleast_3d(v[0]), lambda v: np.atleast_3d(v[0, 0]), lambda v: np.triu(v, 1)),
    *(lambda v: np.stack([v, v], axis=1), lambda v: np.repeat(v, [2, 0], axis=0)),
]


@pytest.mark.parametrize("use", DONE)
def test_numpys_functions_stay_on_the_gpu(x: dml.Tensor, use: Any) -> None:
    made = use(x)
    assert isinstance(made, dml.Tensor)
    wanted = np.asarray(use(x.numpy()))
    assert made.shape == wanted.shape
    assert np.allclose(made.numpy(), wanted, rtol=1e-6)


SEVERAL: list[Any] = [
    *(lambda v: np.nonzero(v > 1), lambda v: np.where(v > 1), lambda v: np.atleast_2d(v, v[0])),
    *(lambda v: np.split(v, 3, axis=1), lambda v: np.split(v, [1, 1, 9], 1)),
    *(lambda v: np.array_split(v, 2, axis=1), lambda v: np.array_split(v, 5)),
    *(lambda v: np.hsplit(v, 3), lambda v: np.hsplit(v[0], [2]), lambda v: np.vsplit(v, 2)),
    *(lambda v: np.dsplit(v[None], [-1]), lambda v: np.meshgrid(v[0], v[1])),
    *(lambda v: np.broadcast_arrays(v, v[0]),),
]


@pytest.mark.parametrize("use", SEVERAL)
def test_functions_that_give_several_arrays(x: dml.Tensor, use: Any) -> None:
    made, wanted = use(x), use(x.numpy())
    assert len(made) == len(wanted)
    for one, theirs in zip(made, wanted, strict=True):
        assert isinstance(one, dml.Tensor)
        assert one.shape == theirs.shape
        assert np.array_equal(one.numpy(), theirs)


def test_what_needs_no_data(x: dml.Tensor) -> None:
    assert np.result_type(x, np.int8) == np.float32
    assert (np.iscomplexobj(x), np.isrealobj(x)) == (False, True)
    assert (np.isreal(x).numpy().all(), np.iscomplex(x).numpy().any()) == (True, False)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("trace", r"; np\.trace\(x\) takes tensors"),
        ("dot", r"; np\.dot\(x\) takes tensors"),
        ("flat", r"; np\.asarray\(x\)\.flat is NumPy's"),
        ("nothing_like_that", r"'nothing_like_that'$"),
        ("__array_interface__", r"'__array_interface__'$"),
    ],
)
def test_attributes_of_numpys_arrays_say_what_to_call(
    x: dml.Tensor, name: str, instead: str
) -> None:
    with pytest.raises(AttributeError, match=instead):
        getattr(x, name)
    assert not hasattr(x, name)


def test_methods_are_the_tensors_own() -> None:
    for name in ("mean", "reshape", "tolist", "__add__"):
        method = getattr(dml.Tensor, name)
        assert pickle.loads(pickle.dumps(method)) is method


def test_arguments_that_a_method_lacks(x: dml.Tensor) -> None:
    with pytest.raises(TypeError, match=r"^Tensor\.sum\(\) got an unexpected .* 'where'"):
        x.sum(where=True)  # type: ignore[call-arg]


def test_bits_as_another_type(x: dml.Tensor) -> None:
    a = x.numpy()
    made = x.T.view(np.int32)
    assert (made.dtype, made.shape) == (np.int32, (3, 2))
    assert np.array_equal(made.numpy(), a.T.view(np.int32))
    made[...] = 0x3F800000  # the same memory
    assert x.tolist() == [[1.0] * 3] * 2
    assert x[:0].view(np.uint32).shape == (0, 3)
    with pytest.raises(dml.InvalidTypeError, match="float16 has 16 bits; it must have 32, as fl"):
        x.view(np.float16)
    with pytest.raises(dml.InvalidTypeError, match=r"bool is bytes of 0 and 1; x != 0 says which"):
        x.astype(np.uint8).view(bool)
    with pytest.raises(dml.InvalidTypeError, match=r"view: desc is '>f4'; tensors have no other"):
        x.view(">f4")
    assert (x > 2).view(np.uint8).dtype == np.uint8
    assert x.view(dtype=np.int32).dtype == np.int32
    x.fill(2)
    assert x.tolist() == [[2.0] * 3] * 2


def test_conditions_longer_than_the_axis(x: dml.Tensor) -> None:
    for given in ([False, True, False], [False, True, True]):
        condition = x.device.tensor(given)
        if given[2]:
            with pytest.raises(
                IndexError, match="compress: condition has 3 elements, and one that"
            ):
                np.compress(condition, x, 0)
        else:
            assert np.compress(condition, x, 0).tolist() == x.numpy()[1:].tolist()


ODD: list[tuple[Any, type[Exception], str]] = [
    (lambda v: np.roll(v, "a", 0), TypeError, "roll: shift is 'a'; it must be an integer or"),
    (lambda v: np.roll(v, (1, 2, 3), (0, 1)), ValueError, "3 shifts are given for 2 axes"),
    (lambda v: np.size(v, 5), IndexError, "size: axis 5 is out of bounds"),
    (lambda v: np.vsplit(v[0], 2), ValueError, "np.vsplit: the array has 1 dimensions"),
    (lambda v: np.dsplit(v, 2), ValueError, "np.dsplit: the array has 2 dimensions"),
    (
        lambda v: np.divmod(v, 2, dtype="f4"),
        TypeError,
        "np.divmod: a tensor takes no argument dtype",
    ),
    (lambda v: np.modf(v, out=(v, v)), TypeError, "np.modf: a tensor takes no argument out"),
    (lambda v: np.put(v, [0], 1, "clip"), ValueError, "np.put: mode is 'clip'; for a tensor it"),
    (
        lambda v: np.copyto(v.astype(int), 2.5),
        TypeError,
        "float32 is not cast to int64 by the rule",
    ),
    (lambda v: np.pad(v, 1.5), TypeError, "pad: pad_width is 1.5; it must be integers"),
    (lambda v: np.pad(v, -1), ValueError, "pad: pad_width is -1; it must not be negative"),
    (lambda v: np.pad(v, 1, "edge", constant_values=3), ValueError, "only constant has constant_v"),
    (lambda v: np.where(v > 1, v, None), ValueError, "both or neither of x1 and x2 must be given"),
    *(
        (lambda v, x=x: dml.tensor(x), TypeError, "array is .*; it must be numbers")
        for x in (None, "abc", {1, 2}, [1, None])
    ),
    (lambda v: v.mean(dtype=np.int32), TypeError, "mean: dtype is int32; averages are floats"),
    (lambda v: np.round(v, 1.5), TypeError, "round: decimals is 1.5; it must be an integer"),
]


@pytest.mark.parametrize(("use", "kind", "words"), ODD)
def test_odd_arguments(x: dml.Tensor, use: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as error:
        use(x)
    assert isinstance(error.value, dml.DmlError)


def test_shifts_and_axes_are_broadcast(x: dml.Tensor) -> None:
    a = x.numpy()
    shifts = [((2, 1), 1), (1, (0, 1)), (3, (1,)), (10**12, None), ((1, 2), None)]
    shifts += [(1, ()), ((), ()), (True, 0), (2**70, 0), (1, np.array([0, 1]))]
    for shift, axis in shifts:
        assert np.array_equal(np.roll(x, shift, axis).numpy(), np.roll(a, shift, axis))
    assert (np.size(x, (0, 1)), np.size(x, 1)) == (6, 3)


def test_what_no_element_is(x: dml.Tensor) -> None:
    assert 2 in x
    for other in (None, "a", b"a", 1j, object()):
        assert other not in x
    assert np.conjugate(x > 2).tolist() == (x > 2).tolist()


def test_bounds_beyond_the_type(device: dml.Device) -> None:
    u = device.tensor(np.array([1, 200], np.uint8))
    assert np.clip(u, -1, 300).tolist() == [1, 200]
    assert u.clip(-5, 100).tolist() == [1, 100]
    for low, high in ((300, None), (None, -1), (300, 400)):
        with pytest.raises(OverflowError, match="out of bounds for uint8"):
            np.clip(u.numpy(), low, high)
        with pytest.raises(OverflowError, match="out of bounds for uint8"):
            u.clip(low, high)
    for low, high in ((300, np.array([1000])), (300, 1e6), (200.5, 300), (-300, np.int32(-200))):
        wanted = np.clip(u.numpy(), low, high)
        got = np.clip(u, low, high)
        assert got.tolist() == wanted.tolist(), (low, high)


def test_functions_that_write(x: dml.Tensor) -> None:
    a, y = x.numpy(), x.copy()
    for v in (a, y):
        np.put_along_axis(v, np.array([[1], [-1]]), 50, axis=1)
        np.put(v, [0, 3, -2], [7, 8])
    assert np.array_equal(y.numpy(), a)


REFUSED: list[Any] = [
    *(lambda v: np.linalg.inv(v), lambda v: np.fft.fft(v), lambda v: np.subtract.reduce(v)),
    *(
        lambda v: np.sort(v, order="x"),
        lambda v: np.unique(v, axis=0),
        lambda v: np.gcd(v.astype(int), 2),
    ),
    *(
        lambda v: np.histogram2d(v[0], v[1]),
        lambda v: np.linalg.svd(v),
    ),
    *(
        lambda v: np.arctan2.at(v, 0, 1),
        lambda v: np.divide.reduceat(v, [0]),
        lambda v: np.frexp(v),
    ),
    *(lambda v: np.add(v, v, out=np.zeros((2, 3), np.float32)),),
    *(lambda v: np.add(v, v, where=np.ones((2, 3), bool)), lambda v: np.var(v, mean=v)),
    *(lambda v: np.ones((2, 3), np.float32).__iadd__(v), lambda v: np.packbits(v > 1)),
]


@pytest.mark.parametrize("use", REFUSED)
def test_what_is_not_done_is_a_type_error_that_says_what_to_call(x: dml.Tensor, use: Any) -> None:
    with pytest.raises(TypeError, match=r"np\.asarray\(x\)|takes no argument"):
        use(x)


def test_out_is_a_tensor(x: dml.Tensor) -> None:
    out = dnp.zeros((2, 3), device=x.device)
    assert np.add(x, 1, out=out) is out
    assert np.array_equal(out.numpy(), x.numpy() + 1)
    assert dnp.multiply(x, 2, out=out) is out
    assert np.array_equal(out.numpy(), x.numpy() * 2)


def test_the_way_back(x: dml.Tensor) -> None:
    assert isinstance(np.asarray(x), np.ndarray)
    assert np.asarray(x > 2).dtype == np.bool_
    assert np.asarray(x[0, 0]).shape == ()
    assert np.array_equal(np.from_dlpack(x), x.numpy())
    assert np.array_equal(dnp.from_dlpack(x.numpy()).numpy(), x.numpy())


def test_arrays_on_a_device_that_is_not_the_default(x: dml.Tensor) -> None:
    with dml.Device() as other:
        y = other.tensor(x.numpy())
        assert (np.ones((2, 3), np.float32) * y).device is other
        assert np.concatenate([x.numpy(), y]).device is other
        with pytest.raises(dml.BindingError, match="another device"):
            x + y


def test_arguments_that_tensors_do_not_take_are_named(device: dml.Device) -> None:
    x = device.tensor(np.ones((2, 3), np.float32))
    assert np.reshape(x, (3, 2), order="C").shape == (3, 2)
    with pytest.raises(TypeError, match=r"^np\.var: a tensor takes no argument mean$"):
        np.var(x, mean=x)
    with pytest.raises(TypeError, match=r"reshape: order is 'F'; a tensor has no other than 'C'$"):
        np.reshape(x, (3, 2), order="F")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("fft", r": transforms need complex numbers.*np\.asarray\(x\)"),
        ("vectorize", r": a function of Python's numbers cannot run .* dmlgpu\.fuse"),
        ("loadtxt", r": files and buffers are read into host memory"),
        ("nothing_like_that", r"'nothing_like_that'$"),
    ],
)
def test_names_that_only_numpy_has_say_what_to_use(name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=instead):
        getattr(dnp, name)
    assert not hasattr(dnp, name)


LIKE: list[Any] = [
    lambda v: np.array([1, 2], ndmin=2, like=v),
    lambda v: np.array([1.5], np.float16, like=v),
    lambda v: np.asarray([1], np.uint8, like=v),
    lambda v: np.zeros(3, int, like=v),
    lambda v: np.zeros(shape=(2,), dtype=np.int8, like=v),
    lambda v: np.arange(0, 5, 2, int, like=v),
    lambda v: np.eye(3, like=v),
    lambda v: np.eye(3, 4, 1, like=v),
    lambda v: np.full((2,), 2.5, np.float16, like=v),
    lambda v: np.full(3, 2**63 + 1, like=v),
]


@pytest.mark.parametrize("make", LIKE)
def test_arrays_made_like_a_tensor(x: dml.Tensor, make: Any) -> None:
    made, wanted = make(x), make(x.numpy())
    assert isinstance(made, dml.Tensor)
    assert made.dtype.kind == wanted.dtype.kind
    assert np.array_equal(made.numpy(), wanted)


def test_memory_that_tensors_share(x: dml.Tensor) -> None:
    a = x.numpy()
    for first, second in (
        (lambda v: v, lambda v: v.T),
        (lambda v: v.reshape(-1), lambda v: v),
        (lambda v: v.T, lambda v: v.reshape(6)),
    ):
        assert np.shares_memory(first(x), second(x)) == np.shares_memory(first(a), second(a))
    assert np.shares_memory(x, x[:1, ::-1])
    assert not np.shares_memory(x[:, :1], x[:, 1:])
    assert not np.shares_memory(x, x[[0]])  # which is a copy
    assert not np.may_share_memory(x, a)
    assert sorted(np.random.default_rng(0).permutation(x[0])) == [1, 2, 3]


def test_changes_in_place(x: dml.Tensor) -> None:
    x[0, 0] = np.nan
    assert np.nan_to_num(x, copy=False) is x
    assert x.tolist()[0][0] == 0
    assert np.array_equal(x, x, equal_nan=True)
    assert not np.array_equal(x, None)
    assert not np.array_equal(x, "a")


def test_the_order_of_elements_is_numpys_own(x: dml.Tensor) -> None:
    a = x.numpy()
    for use in (
        lambda v: v.ravel(order="C"),
        lambda v: v.T.flatten(order="C"),
        lambda v: v.copy(order="C"),
        lambda v: v.T.reshape(2, 3, order="C"),
        lambda v: v.astype(np.float16, order="C", casting="same_kind"),
    ):
        assert np.array_equal(use(x).numpy(), use(a))
    for name in ("ravel", "flatten", "copy"):
        with pytest.raises(dml.InvalidTypeError, match="order is 'F'; a tensor has no other than"):
            getattr(x, name)(order="F")
    with pytest.raises(TypeError, match="astype: float32 is not cast to int32 by the rule 'safe'"):
        x.astype(np.int32, casting="safe")


@pytest.mark.parametrize("dtype", ["uint8", "uint64", "int32", "float32"])
@pytest.mark.parametrize("number", [5, 300, -1, 1.5, 2**40, True])
def test_copyto_takes_numbers_as_numpy_does(device: dml.Device, dtype: str, number: Any) -> None:
    x, wanted = device.tensor(np.zeros(2, dtype)), np.zeros(2, dtype)
    try:
        np.copyto(wanted, number)
    except (OverflowError, TypeError) as error:
        with pytest.raises(type(error)):
            np.copyto(x, number)
        return
    np.copyto(x, number)
    np.testing.assert_array_equal(x.numpy(), wanted)


def test_copyto_leaves_what_is_not_selected(device: dml.Device) -> None:
    x, where = device.tensor(np.int32([2**24 + 1, 5])), device.tensor([False, True])
    np.copyto(x, device.tensor([1.5, 1.5]), casting="unsafe", where=where)
    assert x.tolist() == [2**24 + 1, 1]


def test_what_universal_functions_do_not_take_is_said(device: dml.Device) -> None:
    x, out = device.tensor([7.0]), device.tensor([0.0])
    for use, words in (
        (lambda: np.divmod(x, x, out=(None, out)), "takes no argument out"),
        (lambda: np.vecdot(x, x, axis=None), "axis is None"),
        (lambda: x.astype(np.int32, casting="bogus"), "casting is 'bogus'"),
        (lambda: np.copyto(x, 1, casting="bogus"), "casting is 'bogus'"),
        (lambda: np.bincount([1], device.tensor([1.0]), minlength=1.5), "minlength is 1.5"),
        (lambda: np.delete(x, 2**64 - 1), "is out of bounds"),
        (lambda: np.roll(x, 1.5, 0), "must be an integer or a sequence of integers"),
    ):
        with pytest.raises(dml.DmlError, match=words):
            use()
    assert np.add.reduce(device.tensor([1, 2]), dtype=np.float32).dtype == np.float32


def test_arrays_of_other_kinds_or_shapes_are_not_equal(device: dml.Device) -> None:
    x = device.tensor([1, 2])
    for other in ([2**70, 1], [[1, 2], [3]], ["a", "b"], [1, 2, 3]):
        assert np.array_equal(x, other) is False
    assert np.may_share_memory(x, x, 0)


def test_float64_numbers_count_as_pythons(device: dml.Device) -> None:
    """Alone, without dimensions in an array, and in lists; arrays keep their type."""
    x, two = device.tensor([1.0, 2.0]), np.float64(2)
    zero_d = np.array(2.0)
    for use in (
        lambda n: x * n,
        lambda n: n * x,
        lambda n: x**n,
        lambda n: np.where(x > 1, x, n),
        lambda n: np.clip(x, 0, n),
    ):
        for number in (two, zero_d):
            made = use(number)
            assert made.dtype == np.float32
            np.testing.assert_array_equal(made.numpy(), use(2.0).numpy())
    assert np.append(x, two).dtype == np.float32
    assert (x * [two, 3.0]).tolist() == [2, 6]
    assert device.tensor(two).dtype == np.float32
    assert device.tensor(zero_d).dtype == device.tensor(np.array([2.0])).dtype == np.float64


def test_tensors_without_dimensions_are_arguments(device: dml.Device) -> None:
    x, i = device.tensor([1.0, 3.0, 2.0]), device.tensor([1, 2])
    assert np.linspace(x.min(), x.max(), 3).tolist() == [1, 2, 3]
    assert np.linspace(x.min(), 3, 2, retstep=True)[1] == 2
    assert dnp.linspace(x[0], x[1], 2, device=device).tolist() == [1, 3]
    assert np.histogram(x, 2, (x.min(), x.max()))[0].tolist() == [1, 2]
    assert np.histogram(x, i[1])[0].tolist() == [1, 2]
    assert np.full((2, 1), x.max(), dtype=np.float32).tolist() == [[3], [3]]
    assert round(x.mean()) == 2
    assert isinstance(round(x.mean()), int)
    assert round(x.mean(), 1).tolist() == 2
    assert np.can_cast(x, np.float64)
    assert not np.can_cast(x, np.int8)


def test_results_are_broadcast_into_out(device: dml.Device) -> None:
    x, out = device.tensor([1, 2, 3]), device.tensor(np.zeros((2, 3), np.int32))
    assert np.add(x, 1, out=out) is out
    assert out.tolist() == [[2, 3, 4]] * 2
    with pytest.raises(dml.DmlError, match="non-broadcastable output"):
        np.add(out, 1, out=x)


def test_arrays_of_float64_are_compared_with(device: dml.Device) -> None:
    x = device.tensor(np.float32([0.1, 2, np.nan]))
    exact = x.numpy().astype(np.float64)
    assert np.allclose(x, np.array([0.1, 2, np.nan]), equal_nan=True)
    assert np.isclose(np.array([0.2, 2, 3]), x).tolist() == [False, True, False]
    assert np.array_equal(x, exact, equal_nan=True)
    assert not np.array_equal(x, exact)
    assert not np.array_equal(x[:2], np.array([0.1, 2]))  # no float32 is 0.1


def test_what_is_no_number_is_broadcast_beside_tensors(device: dml.Device) -> None:
    x, none = np.broadcast_arrays(device.tensor([1, 2]), None)
    assert x.tolist() == [1, 2]
    assert none.tolist() == [None, None]


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "mean"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool"])
def test_reductions_of_selected_elements(device: dml.Device, dtype: str, name: str) -> None:
    rng = np.random.default_rng(0)
    x, mask = rng.integers(0, 5, (4, 5)).astype(dtype), rng.random((4, 5)) < 0.5
    mask[0] = mask[:, 0] = True
    first: dict[str, Any] = {"initial": 2} if name in ("sum", "prod", "max", "min") else {}
    function = getattr(np, name)
    for axis in (None, 0, 1, (0, 1)):
        row = {"where": mask[1], "keepdims": True, **first}
        for given in ({"where": mask, **first}, row, first):
            if given is row and axis == 0:
                continue  # of some columns nothing is selected
            on_gpu = {k: device.tensor(v) if k == "where" else v for k, v in given.items()}
            wanted = function(x, axis=axis, **given)
            got = function(device.tensor(x), axis=axis, **on_gpu)
            np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-6)
    tensor = device.tensor(np.float32([1, 2, 3]))
    assert np.add.reduce(tensor, where=np.array([True, False, True])).item() == 4
    assert np.maximum.reduce(tensor, initial=9).item() == 9
    assert np.max(tensor[:0], initial=4).item() == 4
    with pytest.raises(dml.InvalidDescError, match="initial is needed"):
        np.max(tensor, where=tensor > 1)


def test_a_value_to_begin_with_has_the_type_of_the_result(device: dml.Device) -> None:
    x = device.tensor(np.int64([1, 2**63 - 1]))
    none = device.tensor(np.zeros((0, 3), np.int8))
    for made, dtype, value in (
        (np.sum(device.tensor([1, 2]), initial=2.5), np.int64, 5),
        (np.max(x, initial=2.5), np.int64, 2**63 - 1),
        (np.sum(device.tensor(np.uint64([2**64 - 8])), initial=np.int64(7)), np.uint64, 2**64 - 1),
        (np.sum(none, axis=0, initial=200), np.int64, [200] * 3),
        (np.sum(none, axis=0, initial=1, dtype=np.float32), np.float32, [1] * 3),
        (np.any(none, axis=0, where=np.zeros((0, 3), bool)), np.bool_, [False] * 3),
    ):
        assert (made.dtype, made.tolist()) == (dtype, value)
    with pytest.raises(OverflowError, match="initial is inf"):
        np.max(x, initial=np.inf)
    for dtype, value in ((np.int32, 2**30), (np.float16, 60)):
        many = device.tensor(np.full(3000, value, dtype))
        made = np.mean(many, where=np.ones(3000, bool))
        assert (made.dtype, made.item()) == (many.mean().dtype, value)


def test_arrays_of_other_libraries_keep_their_own_arithmetic(device: dml.Device) -> None:
    class Foreign:
        def __array_ufunc__(self, *_: Any, **__: Any) -> str:
            return "theirs"

        def __array_function__(self, *_: Any) -> str:
            return "theirs"

        def __array__(self) -> None:
            raise AssertionError("read")

        def __radd__(self, _: Any) -> str:
            return "theirs"

    x, foreign = device.tensor([1, 2]), Foreign()
    assert x + foreign == "theirs"
    assert np.add(x, foreign) == "theirs"
    assert np.concatenate([x, foreign]) == "theirs"
    assert (x + range(2)).tolist() == [1, 3]


def test_integers_are_compared_with_float64_exactly(device: dml.Device) -> None:
    for x, y in (
        (np.int32([2**24 + 1]), np.array([2.0**24 + 1])),
        (np.int64([2**63 - 1]), np.array([2.0**63])),
        (np.int64([2**62]), np.array([2.0**62])),
        (np.uint8([1, 2]), np.array([1, 2.5])),
        (np.array([True, False]), np.array([1.0, 0])),
    ):
        assert np.array_equal(device.tensor(x), y) is bool(
            [int(n) for n in x] == [n if n % 1 else int(n) for n in y.tolist()]
        )


def test_one_number_is_printed_as_a_number(device: dml.Device) -> None:
    x = device.tensor([1.5, 2.5])
    assert f"{x.sum()} {x.sum()!s}" == "4.0 4.0"
    assert str(x) == repr(x)
    with np.printoptions(threshold=5):
        assert "..., " in repr(device.tensor(np.arange(9)))

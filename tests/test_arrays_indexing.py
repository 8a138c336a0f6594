"""Indexing with everything that NumPy allows in brackets, read and assigned, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.layouts import small_bindings

import dmlgpu as dml
from dmlgpu import indexed
from dmlgpu.array.promotion import DTYPES

pytestmark = [pytest.mark.gpu, pytest.mark.facts]

EXPRESSIONS = 40  # in each of the random transcripts
TRANSCRIPTS = 13
INTEGERS = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]


def same(tensor: Any, array: Any) -> None:
    array = np.asarray(array)
    assert isinstance(tensor, dml.Tensor)
    assert (tensor.shape, tensor.dtype) == (array.shape, array.dtype)
    assert tensor.numpy().tobytes() == array.tobytes()


class Transcript:
    """Random index expressions on one random array after the other."""

    def __init__(self, device: dml.Device, seed: int) -> None:
        self.device = device
        self.rng = np.random.default_rng(seed)

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def pick(self, choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def base(self) -> tuple[np.ndarray, dml.Tensor]:
        """An array and a tensor of the same random elements; often both are views."""
        rank = int(self.rng.integers(1, 5))
        low = 0 if self.chance(0.08) else 1
        shape = tuple(int(n) for n in self.rng.integers(low, 6, rank))
        array = self.elements(shape, self.pick(DTYPES))
        tensor = self.device.tensor(array)
        if self.chance(0.4):
            order = tuple(int(a) for a in self.rng.permutation(rank))
            array, tensor = array.transpose(order), tensor.transpose(order)
        return array, tensor

    def elements(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return self.rng.integers(0, 100, shape).astype(dtype)

    def bounds(self, size: int) -> slice:
        ends = [None, *range(-size - 1, size + 2)]
        steps = [None, None, 1, 2, -1, -2, 3]
        return slice(self.pick(ends), self.pick(ends), self.pick(steps))

    def form(self, array: np.ndarray) -> Any:
        """An index array as it may be given: NumPy's, a list, or a tensor."""
        how = self.pick(["array", "list", "tensor", "tensor"])
        if how == "tensor":
            return self.device.tensor(array)
        return array.tolist() if how == "list" and array.size else array

    def integers(self, size: int, shape: tuple[int, ...]) -> np.ndarray:
        """Positions of an axis, in a shape that broadcasts to `shape`, sometimes out of range."""
        if self.chance(0.3):
            shape = tuple(1 if self.chance(0.5) else n for n in shape)
        if self.chance(0.2):
            shape = shape[int(self.rng.integers(len(shape) + 1)) :]
        dtype = self.pick(INTEGERS)
        low = -size if dtype.kind == "i" else 0
        return self.rng.integers(low, max(size, low + 1), shape).astype(dtype)

    def index(self, shape: tuple[int, ...]) -> tuple[Any, Any]:
        """A random index, as NumPy gets it and as a tensor does."""
        kinds = self.pick(["basic", "integer", "mask", "mixed", "mixed"])
        common = tuple(int(n) for n in self.rng.integers(0 if self.chance(0.1) else 1, 4, 2))
        common = common[int(self.rng.integers(3)) :]
        pairs: list[tuple[Any, Any]] = []
        axis, dotted = 0, False
        count = int(self.rng.integers(1, len(shape) + 1))
        while axis < count:
            size = shape[axis]
            kind = {
                "basic": ["slice", "slice", "int"],
                "integer": ["array", "array", "slice"],
                "mask": ["mask", "slice"],
                "mixed": ["slice", "int", "array", "array", "mask", "truth"],
            }[kinds]
            chosen = self.pick(kind)
            if self.chance(0.08):
                pairs.append((None, None))
            if not dotted and self.chance(0.08):
                pairs.append((..., ...))
                dotted = True
                axis += int(self.rng.integers(0, len(shape) - axis + 1))
                continue
            if chosen == "slice":
                span = self.bounds(size)
                pairs.append((span, span))
            elif chosen == "int" and size:
                number = int(self.rng.integers(-size, size)) + 9 * self.chance(0.03)
                pairs.append((number, self.pick([number, np.int8(number), np.array(number)])))
            elif chosen == "array":
                array = self.integers(size, common)
                wrong = self.chance(0.03) and array.size
                if wrong:
                    array.reshape(-1)[-1] = size + 3
                pairs.append((array, array if wrong or not size else self.form(array)))
            elif chosen == "mask":
                ndim = int(self.rng.integers(1, len(shape) - axis + 1))
                sizes = list(shape[axis : axis + ndim])
                if self.chance(0.03):
                    sizes[-1] += 1
                mask = self.rng.random(sizes) < self.pick([0, 0.3, 0.7, 1])
                common = (int(mask.sum()),)
                pairs.append((mask, self.form(mask)))
                axis += ndim - 1
            elif chosen == "truth":
                truth = self.chance(0.8)
                pairs.append(
                    (truth, self.pick([truth, np.bool_(truth), self.device.tensor(truth)]))
                )
                continue
            axis += 1
        mine, theirs = tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
        if len(pairs) == 1 and not isinstance(theirs[0], tuple):
            return mine[0], theirs[0]
        return mine, theirs

    def value(self, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
        """What is assigned: a number, or an array that broadcasts to a shape, mostly."""
        if self.chance(0.3):
            number = self.pick([1, 7, 2.0, True])
            return number, number
        shape = tuple(1 if self.chance(0.15) else n for n in shape)
        shape = shape[int(self.rng.integers(len(shape) + 1)) if self.chance(0.3) else 0 :]
        if self.chance(0.03) and shape:
            shape = (*shape[:-1], shape[-1] + 2)
        array = self.elements(shape, dtype if self.chance(0.6) else self.pick(DTYPES))
        return array, self.pick([array, self.device.tensor(array)])

    def run(self) -> str:
        array, tensor = self.base()
        mine, theirs = self.index(array.shape)
        kind = self.pick(["read", "write"])
        try:
            read = array[mine]
        except IndexError:
            with pytest.raises(IndexError) as raised:
                tensor[mine]  # values on the device are not looked at
            assert isinstance(raised.value, dml.DmlError)
            return "error"
        if kind == "read":
            same(tensor[theirs], read)
            return kind
        given, also = self.value(np.shape(read), array.dtype)
        try:
            array[mine] = given
        except (ValueError, IndexError) as error:
            expected = IndexError if isinstance(error, IndexError) else ValueError
            with pytest.raises(expected):
                tensor[theirs] = also
            return "error"
        tensor[theirs] = also
        same(tensor, array)
        return kind


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(TRANSCRIPTS))
def test_random_expressions_give_numpys_result(device: dml.Device, seed: int) -> None:
    transcript = Transcript(device, seed)
    for number in range(EXPRESSIONS):
        state = transcript.rng.bit_generator.state
        try:
            transcript.run()
        except Exception as error:
            transcript.rng.bit_generator.state = state
            array, _ = transcript.base()
            mine, theirs = transcript.index(array.shape)
            error.add_note(f"expression {number}: {array.dtype} {array.shape} [{mine}] [{theirs}]")
            raise


@pytest.fixture(scope="module")
def array() -> np.ndarray:
    return np.arange(60, dtype=np.float32).reshape(3, 4, 5)


ROWS, COLUMNS = np.array([2, 0, -1]), np.array([[1], [-4]])


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_of_every_type_count_from_the_end_where_negative(
    device: dml.Device, dtype: Any
) -> None:
    a = np.arange(300, dtype=np.uint16)
    picks = np.array([0, 5, 127, -1 if dtype.kind == "i" else 1, 100]).astype(dtype)
    x = device.tensor(a)
    for given in (picks, picks.tolist(), device.tensor(picks)):
        same(x[given], a[picks])
        same(x[given[0]], a[picks[0]])


def test_arrays_stand_where_numpy_puts_them(device: dml.Device, array: np.ndarray) -> None:
    x = device.tensor(array)
    for given in (lambda v: v, device.tensor):
        rows, columns = given(ROWS), given(COLUMNS)
        # Side by side, integers among them: in their place. Apart: first.
        same(x[:, columns, rows], array[:, COLUMNS, ROWS])
        same(x[1, :, rows], array[1, :, ROWS])
        same(x[rows, :, columns], array[ROWS, :, COLUMNS])
        same(x[:, 1, rows], array[:, 1, ROWS])
        same(x[rows, ..., columns], array[ROWS, ..., COLUMNS])
        same(x[:1, rows, None, ::-2], array[:1, ROWS, None, ::-2])
        same(x[rows, None, columns], array[ROWS, None, COLUMNS])


def test_masks(device: dml.Device, array: np.ndarray) -> None:
    x = device.tensor(array)
    full, leading, inner = array % 3 == 0, array[:, :, 0] > 12, array[0] > 8
    for given in (lambda v: v, device.tensor, np.ndarray.tolist):
        same(x[given(full)], array[full])
        same(x[given(leading)], array[leading])
        same(x[1:, given(inner)], array[1:, inner])
        same(x[given(leading), given(ROWS[:1])], array[leading, ROWS[:1]])
        same(x.T[given(full.T)], array.T[full.T])
        same(x[given(np.zeros((3, 4, 5), bool))], array[:0, 0, 0])
    for shape in ((0,), (3, 0), (0, 4, 5)):  # without elements they match axes of any size
        nothing = np.zeros(shape, bool)
        for given in (nothing, device.tensor(nothing)):
            same(x[given], array[nothing])
            x[given] = 1
    leading = np.zeros((4, 0), bool)
    same(x.T[:1, leading], array.T[:1, leading])
    same(x, array)
    same(x[x > 30], array[array > 30])
    for truth in (True, False):
        same(x[truth], array[truth])
        same(x[0, 0, 0][truth], array[0, 0, 0][np.newaxis][:truth])
        same(x[:, device.tensor(truth), [1]], array[:, truth, [1]])


def test_assignment_through_arrays(device: dml.Device, array: np.ndarray) -> None:
    for given in (lambda v: v, device.tensor):
        a, x = array.copy(), device.tensor(array)
        for index, also, value in (
            (ROWS, given(ROWS), -1),
            ((ROWS, COLUMNS), (given(ROWS), given(COLUMNS)), [[5.0], [6.0], [7.0]]),
            (
                np.s_[:, COLUMNS, ::-2],
                np.s_[:, given(COLUMNS), ::-2],
                np.arange(6).reshape(2, 1, 3),
            ),
            (a > 30, given(a > 30), 2.5),
            (a[:, 0, 0] > 10, given(a[:, 0, 0] > 10), 9),
            (a[:, :, 0] > 20, given(a[:, :, 0] > 20), np.arange(5)),
            (a[:, :, 1] > 16, given(a[:, :, 1] > 16), -a[a[:, :, 1] > 16]),
            (np.s_[..., [True, False] * 2 + [True]], np.s_[..., [True, False] * 2 + [True]], 0),
        ):
            a[index] = value
            x[also] = value
            same(x, a)


def test_of_repeated_places_the_last_value_stays(device: dml.Device) -> None:
    a, places = np.zeros(100, np.uint8), np.arange(5000) * 7 % 90
    x = device.tensor(a)
    a[places] = values = (np.arange(5000) % 251).astype(np.uint8)
    x[device.tensor(places)] = values
    same(x, a)
    x[places] += 1  # read, computed, written: once for each place
    a[places] += 1
    same(x, a)


def test_views_and_the_tensor_itself_as_values(device: dml.Device) -> None:
    a = np.arange(12, dtype=np.int32).reshape(3, 4) % 4
    x = device.tensor(a)
    x.T[[0, 3]] = x[:, :2].T
    a.T[[0, 3]] = a[:, :2].T.copy()
    same(x, a)
    x[:, [1, 0]] = x[:, :2]
    a[:, [1, 0]] = a[:, :2].copy()
    same(x, a)
    line, y = np.array([2, 0, 1, 3]), device.tensor(np.array([2, 0, 1, 3]))
    line[line], y[y] = line[::-1].copy(), y[::-1]
    same(y, line)
    y[y > 1] = y[y > 1] * 10
    line[line > 1] *= 10
    same(y, line)
    with pytest.raises(dml.InvalidDescError, match="read-only"):
        x[0].broadcast_to(3, 4)[[0, 1]] = 1


def test_values_are_cast_as_numpy_casts_them(device: dml.Device) -> None:
    for dtype, value in (
        (np.int16, 2.75),
        (np.uint8, 300.5),
        (bool, 3),
        (np.float16, 7),
        (bool, 0.5),
    ):
        a = np.zeros(4, dtype)
        x = device.tensor(a)
        if value != 300.5:
            a[[1, 2]] = a[np.array([True, False, False, False])] = value
            x[[1, 2]] = x[np.array([True, False, False, False])] = value
            same(x, a)
        a[[3, 0]] = np.array([0.5, 2.5])
        x[[3, 0]] = np.array([0.5, 2.5])
        same(x, a)
    for index in ([0], np.array([True])):
        with pytest.raises(OverflowError):
            device.tensor(np.zeros(1, np.int8))[index] = 1000


def test_indices_out_of_range(device: dml.Device) -> None:
    x = device.tensor(np.arange(5, dtype=np.float32))
    for index in ([0, 5], [-6], np.array([9], np.uint64), (..., [7])):
        for use in (lambda i=index: x[i], lambda i=index: x.__setitem__(i, 1)):
            with pytest.raises(IndexError, match="is out of bounds for axis 0 with size 5"):
                use()
    far = device.tensor(np.array([-99, 7, 2]))
    assert x[far].tolist() == [0, 4, 2]  # values on the GPU are clamped
    x[far] = -1  # and what they would write is dropped
    assert x.tolist() == [0, 1, -1, 3, 4]
    with pytest.raises(IndexError, match="size 0"):
        x[:0][far]
    with pytest.raises(IndexError, match="boolean index did not match indexed array along axis 0"):
        x[device.tensor([True, False])]
    with pytest.raises(IndexError, match="shape mismatch: indexing arrays could not be broadcast"):
        device.tensor(np.zeros((2, 2)))[[0, 1], [0, 1, 1]]
    with pytest.raises(ValueError, match="could not broadcast"):
        x[[0, 1]] = [1, 2, 3]


def test_a_debug_device_looks_at_indices(device: dml.Device) -> None:
    with dml.Device(debug=True) as debug:
        x = debug.tensor(np.zeros((2, 3), np.float32))
        bad = debug.tensor(np.array([1, -3]))
        x[:, bad].numpy()
        x[bad]
        with pytest.raises(dml.IndexRangeError, match=r"^take: indices_tensor\[1\] is -3; "):
            debug.wait()
        x[bad, bad] = 1
        with pytest.raises(dml.IndexRangeError, match=r"^put: indices_tensor\[1, 0\] is -3; "):
            debug.wait()


def test_unsigned_indices_beside_signed_ones(device: dml.Device) -> None:
    a = np.arange(12).reshape(3, 4)
    huge = device.tensor(np.array([2**64 - 1, 1], np.uint64))
    same(device.tensor(a)[huge, device.tensor(np.array([-1, -2]))], a[[2, 1], [-1, -2]])


def test_more_dimensions_than_eight_are_refused(device: dml.Device) -> None:
    x = device.tensor(np.zeros((1,) * 6))
    assert x[np.zeros((1, 1, 1), int)].ndim == 8
    with pytest.raises(dml.InvalidDescError, match="9 dimensions; at most 8"):
        x[np.zeros((1, 1, 1, 1), int)]
    deep = np.zeros((1,) * 8, int)
    same(device.tensor([[7]])[device.tensor(deep), device.tensor(deep)], deep + 7)


def test_no_dimensions_and_eight(device: dml.Device) -> None:
    for index in (True, False, (..., True), (True, None)):
        point, x = np.array(3, np.float32), device.tensor(np.array(3, np.float32))
        point[index], x[index] = [5], [5]
        same(x, point)
        same(x[index], point[index])
    a = np.zeros((2,) * 8, np.float16)
    x, mask = device.tensor(a), np.random.default_rng(1).random(a.shape) < 0.4
    a.T[mask], x.T[device.tensor(mask)] = np.arange(mask.sum()), np.arange(mask.sum())
    corners = (np.array([1, 0]),) * 8
    a[corners] += 1
    x[tuple(map(device.tensor, corners))] += 1
    same(x, a)


def test_an_element_apart_from_its_word(device: dml.Device) -> None:
    for dtype in (np.uint8, np.float16, bool):
        a = (np.arange(35) % 2).reshape(5, 7).astype(dtype)
        x = device.tensor(a)
        a[[4, 0], 1:6:2] = a[[1, 2], 2:5]
        x[[4, 0], 1:6:2] = x[[1, 2], 2:5]
        same(x, a)


@pytest.mark.slow
def test_tensors_larger_than_a_binding(device: dml.Device) -> None:
    with small_bindings(device, 8192) as small:
        a = (np.arange(12000) % 251).astype(np.uint8).reshape(30, 400)
        x = small.tensor(a)
        rows, columns = np.arange(35) * 7 % 30, np.arange(350) * 9 % 400
        down, along = small.tensor(rows), small.tensor(columns)
        same(x[down[:, None], along], a[rows[:, None], columns])
        same(x[5:, along, None], a[5:, columns, None])
        few = a[:, :100]  # whose positions fit the bindings of every adapter
        same(x[:, :100][small.tensor(few > 200)], few[few > 200])
        value = np.arange(30 * 350).astype(np.uint8).reshape(30, 350)
        a[:, columns], x[:, along] = value, value
        a[rows, ::-3], x[down, ::-3] = value[0, :134], value[0, :134]
        same(x, a)


def test_columns_are_put_by_rows(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where positions name many columns of many lines, every element is written anew."""
    monkeypatch.setattr(indexed, "LARGE", 0)
    monkeypatch.setattr(indexed, "LINES", 2)
    monkeypatch.setattr(indexed, "SHORT", 1 << 20)
    put, across = indexed._put_across, []
    monkeypatch.setattr(indexed, "_put_across", lambda *a: across.append(a) or put(*a))
    rng = np.random.default_rng(7)
    for case in range(150):
        shape = tuple(int(n) for n in rng.integers(1, 7, rng.integers(2, 5)))
        axis, count = int(rng.integers(len(shape))), int(rng.integers(1, 9))
        dtype = (np.float32, np.float16, np.uint8, np.int64, np.int8, np.bool_)[case % 6]
        a = rng.integers(0, 90, shape).astype(dtype)
        x = device.tensor(a)
        at = rng.integers(-shape[axis], shape[axis], count)
        whole = (*shape[:axis], count, *shape[axis + 1 :])
        values = (
            rng.integers(0, 90, whole).astype(dtype),
            rng.integers(0, 90, whole[axis:]).astype(dtype),
            rng.integers(0, 90, (*whole[:axis], 1, *whole[axis + 1 :])).astype(dtype),
            np.asarray(rng.integers(0, 90)).astype(dtype),
        )[case % 4]
        given = (at, device.tensor(at), at.tolist())[case % 3]
        before = (slice(None),) * axis
        x[(*before, given)] = device.tensor(values) if case % 2 else values
        a[(*before, at)] = values
        np.testing.assert_array_equal(x.numpy(), a)
    assert len(across) > 60
    x = device.tensor(a := np.arange(12, dtype=np.float32).reshape(3, 4))
    x[:, [3, 0, 1, 2]] = x
    a[:, [3, 0, 1, 2]] = a.copy()
    np.testing.assert_array_equal(x.numpy(), a)

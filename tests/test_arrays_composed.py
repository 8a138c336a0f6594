"""NumPy's functions that are made of others, on tensors: as NumPy's own, in value and shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dmlgpu as dml

pytestmark = [pytest.mark.gpu, pytest.mark.facts, pytest.mark.large]

RNG = np.random.default_rng(3)
PLAIN = RNG.standard_normal((5, 4, 6)).astype(np.float32)
HOLED = PLAIN.copy()
HOLED[0, 1, 2] = HOLED[3, 0, 0] = np.nan
EMPTY = np.zeros((3, 0), np.float32)
WHOLE = RNG.integers(0, 9, (7, 5)).astype(np.int32)
SIGNED = RNG.integers(-100, 100, 300).astype(np.int8)
WIDE = np.array([[1, np.inf, -np.inf, 3], [np.inf, np.inf, 2, -1]], np.float32)
HALVES = RNG.integers(-8, 8, (6, 8)).astype(np.float16)
LINE = np.sort(RNG.standard_normal(11).astype(np.float32))


def both(device: dml.Device, function: Any, *arrays: Any) -> tuple[Any, Any]:
    """What a function makes of tensors, and of arrays."""
    return function(*(device.tensor(a) for a in arrays)), function(*arrays)


def same(got: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        assert len(got) == len(wanted)
        for mine, theirs in zip(got, wanted, strict=True):
            same(mine, theirs)
        return
    if isinstance(wanted, bool):
        assert got is wanted
        return
    assert isinstance(got, dml.Tensor)
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape
    tolerance = 2e-3 if got.dtype == np.float16 else 2e-6
    np.testing.assert_allclose(got.numpy(), wanted, tolerance, tolerance)


ORDERED: list[Any] = [
    np.median,
    lambda x: np.median(x, 1, None, False, True),
    lambda x: np.quantile(x, 0.5, 1, None, False, "linear", True),
    lambda x: np.median(x, axis=0),
    lambda x: np.median(x, axis=(0, -1), keepdims=True),
    lambda x: np.median(x, axis=1, keepdims=True),
    lambda x: np.quantile(x, 0.3),
    lambda x: np.quantile(x, [0, 0.25, 0.5, 1], axis=1),
    lambda x: np.quantile(x, [[0.1, 0.9]], axis=-1, keepdims=True),
    lambda x: np.percentile(x, 30, axis=0),
    lambda x: np.percentile(x, [5, 95]),
    *(
        lambda x, how=how: np.quantile(x, [0.1, 0.37, 0.6], axis=0, method=how)
        for how in ("lower", "higher", "midpoint", "nearest")
    ),
    np.ptp,
    lambda x: np.ptp(x, axis=1, keepdims=True),
    np.average,
    lambda x: np.average(x, axis=1, returned=True),
]


@pytest.mark.parametrize("number", range(len(ORDERED)))
@pytest.mark.parametrize("a", [PLAIN, HOLED, WHOLE, HALVES], ids=["plain", "NaN", "ints", "halves"])
def test_order_statistics(device: dml.Device, a: Any, number: int) -> None:
    same(*both(device, ORDERED[number], a))


def test_medians_beside_infinities(device: dml.Device) -> None:
    for axis in (None, 0, 1):
        same(*both(device, lambda x, axis=axis: np.median(x, axis), WIDE))
    same(*both(device, lambda x: np.quantile(x, [0, 0.3, 1], method="nearest"), WIDE))


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2)])
@pytest.mark.parametrize("ddof", [0, 1])
def test_means_and_variances_without_nan(device: dml.Device, axis: Any, ddof: int) -> None:
    for a in (PLAIN, HOLED):
        same(*both(device, lambda x: np.nanmean(x, axis=axis, keepdims=True), a))
        same(*both(device, lambda x: np.nanvar(x, axis=axis, ddof=ddof), a))
        same(*both(device, lambda x: np.nanstd(x, axis=axis, ddof=ddof), a))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_lines_of_nan_alone_have_no_mean(device: dml.Device) -> None:
    a = np.array([[np.nan, np.nan], [1, np.nan]], np.float32)
    same(*both(device, lambda x: np.nanmean(x, axis=1), a))
    same(*both(device, lambda x: np.nanvar(x, axis=1, ddof=1), a))


def test_averages_with_weights(device: dml.Device) -> None:
    weights = np.array([1, 2, 3, 4], np.float32)
    same(*both(device, lambda x, w: np.average(x, 1, w), PLAIN, weights))
    same(*both(device, lambda x, w: np.average(x, 1, w, True), PLAIN, weights))
    same(*both(device, lambda x, w: np.average(x, None, w), PLAIN, np.abs(PLAIN)))
    with pytest.raises(ValueError, match=r"weights have the shape \(4,\)"):
        np.average(device.tensor(PLAIN), weights=weights)
    with pytest.raises(ValueError, match=r"along axis 0 they must have \(5,\)"):
        np.average(device.tensor(PLAIN), 0, weights)


COUNTED: list[Any] = [
    (np.bincount, WHOLE.ravel()),
    (lambda x: np.bincount(x, minlength=20), WHOLE.ravel().astype(np.uint8)),
    (lambda x, w: np.bincount(x, w), WHOLE.ravel(), RNG.random(35).astype(np.float32)),
    (np.bincount, np.array([], np.int64)),
    (np.bincount, np.array([True, False, True])),
    (np.histogram, PLAIN),
    (np.histogram, WHOLE),
    (np.histogram, SIGNED),
    (np.histogram, np.full(5, 2, np.float32)),
    (np.histogram, np.array([], np.float32)),
    (np.histogram, np.array([True, False, True])),
    (lambda x: np.histogram(x, 7, (-1, 1.5)), PLAIN),
    (lambda x: np.histogram(x, 7, (-50, 1000)), SIGNED),
    (lambda x: np.histogram(x, [-1, 0, 0.5, 2]), PLAIN),
    (lambda x: np.histogram(x, [0.5, 2, 3.5, 5]), WHOLE),
    (lambda x: np.histogram(x, 5, density=True), PLAIN),
    (lambda x, w: np.histogram(x, 5, weights=w), PLAIN, np.abs(PLAIN)),
    (lambda x, b: np.digitize(x, b), PLAIN, LINE),
    (lambda x, b: np.digitize(x, b, right=True), LINE, LINE),
    (lambda x, b: np.digitize(x, b), LINE, LINE[::-1].copy()),
    (lambda x, b: np.digitize(x, b, right=True), LINE, LINE[::-1].copy()),
]
# Tenths are no floats: as float32 some are above and some below what they are as float64.
TENTHS = np.linspace(-1, 1, 21)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int8, np.uint64])
@pytest.mark.parametrize("bins", [TENTHS, TENTHS[::-1], [-1e9, 0.5, 3e9], [2.5, 0, -0.5]])
def test_edges_are_compared_as_float64(device: dml.Device, dtype: Any, bins: Any) -> None:
    """Without any float64 on the GPU: an edge gives way to the next number of the type."""
    a = np.concatenate([TENTHS, [0, 1, 2, 3, 100]]).astype(dtype)
    x = device.tensor(a)
    for right in (False, True):
        same(np.digitize(x, bins, right), np.digitize(a, bins, right))
    rising = np.sort(bins)
    same(np.histogram(x, rising)[0], np.histogram(a, rising)[0])


@pytest.mark.filterwarnings("ignore:Converting input from bool")
@pytest.mark.parametrize("number", range(len(COUNTED)))
def test_counts(device: dml.Device, number: int) -> None:
    function, *arrays = COUNTED[number]
    same(*both(device, function, *arrays))


INTEGERS = (np.uint8, np.int8, np.uint16, np.int16, np.int32, np.int64, np.uint64)
BEYOND: list[Any] = [
    *([0, 128, 256, 512], [-9, -6, -1], [300, 400], [0, 2, np.inf], [-np.inf, 0, np.inf]),
    *([0.0, 1e30], [-1e30, 5, 1e20], [-1e30, -1e25], [1e25, 1e30]),
]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_counts_at_the_ends_of_types(device: dml.Device, dtype: Any) -> None:
    """Edges and numbers that the type of the elements does not hold."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    a = np.array([high, high, 3, low, 0, 100], dtype)
    x = device.tensor(a)
    for edges in BEYOND:
        same(np.histogram(x, edges)[0], np.histogram(a, edges)[0])
        inside = low if high < 2**60 else 0  # as float64, NumPy's own bins err at 2^63
        b = a[a <= 100][a[a <= 100] >= inside]
        for right in (False, True):
            same(np.digitize(device.tensor(b), edges, right), np.digitize(b, edges, right))
            falling = edges[::-1]
            same(np.digitize(device.tensor(b), falling, right), np.digitize(b, falling, right))
    counted = np.array([min(high, 999), min(high, 999), 3], dtype)
    weights = np.array([1, 2, 3], np.float32)
    same(*both(device, np.bincount, counted))
    same(*both(device, lambda x: np.bincount(x, minlength=1500), counted))
    same(*both(device, lambda x, w: np.bincount(x, w), counted, weights))


def test_the_median_of_nothing_is_nan(device: dml.Device) -> None:
    assert np.isnan(np.median(device.tensor(EMPTY)).item())
    assert np.isnan(np.median(device.tensor(EMPTY), 1).numpy()).tolist() == [True] * 3


def test_the_largest_integers_are_below_larger_edges(device: dml.Device) -> None:
    for largest in (np.int64(2**63 - 1), np.uint64(2**64 - 1)):
        assert np.digitize(device.tensor(np.array([largest])), [0.0, 1e30]).tolist() == [1]
        assert np.histogram(device.tensor(np.array([largest])), [0, 9, 1e30])[0].tolist() == [0, 1]


SIGNED_64 = [-5, 3, 2**24, 2**24 + 1, 2**63 - 1]
UNSIGNED_64 = [3, 2**24, 2**24 + 2, 2**63 - 1, 2**64 - 1]


def test_uint64_beside_signed_integers(device: dml.Device) -> None:
    """No integer type holds both, and float32 does not tell all of them apart."""
    i = device.tensor(np.array(SIGNED_64, np.int64))
    u = device.tensor(np.array(UNSIGNED_64, np.uint64))
    for x, others, y in ((i, UNSIGNED_64, u), (u, SIGNED_64, i)):
        assert np.isin(x, y).tolist() == [n in others for n in x.tolist()]
        assert set(np.intersect1d(x, y).tolist()) == {n for n in x.tolist() if n in others}
        assert set(np.setdiff1d(x, y).tolist()) == {n for n in x.tolist() if n not in others}
        for side, before in (("left", int.__lt__), ("right", int.__le__)):
            wanted = [sum(before(n, v) for n in others) for v in x.tolist()]
            assert np.searchsorted(y, x, side=side).tolist() == wanted
    assert np.isin(u, [2**24 + 1, 3, -1]).tolist() == [True, False, False, False, False]
    assert np.searchsorted(u, -1).item() == 0


def test_differences_of_sets_keep_the_first_type(device: dml.Device) -> None:
    x = device.tensor(np.array([2**24 + 1, 3], np.int32))
    made = np.setdiff1d(x, device.tensor(np.array([3], np.float32)))
    assert (made.dtype, made.tolist()) == (np.int32, [2**24 + 1])
    assert np.setdiff1d(device.tensor(np.array([1, 200], np.uint8)), [1]).dtype == np.uint8


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint64, np.int8, np.bool_])
def test_edges_of_any_type(device: dml.Device, kind: Any) -> None:
    a = np.float32([0.5, 1.5, 2, 1])
    edges = np.array([0, 1] if kind is np.bool_ else [0, 1, 2]).astype(kind)
    same(*both(device, lambda x: np.histogram(x, edges)[0], a))


def test_the_largest_integers_are_counted(device: dml.Device) -> None:
    for a in (np.array([2**53 + 1, 0]), np.array([2**63 + 1, 5], np.uint64)):
        for bins in (1, 3):
            same(*both(device, lambda x, n=bins: np.histogram(x, n)[0], a))


@pytest.mark.parametrize("dtype", [np.uint64, np.uint8, np.int32, np.float16])
def test_choices_have_one_type(device: dml.Device, dtype: Any) -> None:
    a = np.array([9, 7], dtype)
    for function in (
        lambda x: np.select([x > 8, x < 8], [x, x > 8], 0),
        lambda x: np.select([x > 8], [x], 3),
    ):
        got, wanted = both(device, function, a)
        assert got.dtype == wanted.dtype
        assert np.array_equal(got.numpy(), wanted)


@pytest.mark.parametrize(
    ("values", "bins"),
    [
        (np.int64([2**53, -(2**63)]), [-(2.0**63), 2.0**53]),
        (np.int64([2**53 + 3]), [2.0**53 + 2]),
        (np.float32([2**24]), [2**24 + 1]),
        (np.int32([2**24 + 1]), np.float32([2**24])),
        (np.int8([-128, 0, 127]), [-300, 0, 300]),
        (np.array([True, False]), [0, 1]),
    ],
)
def test_bins_are_compared_exactly(device: dml.Device, values: Any, bins: Any) -> None:
    for right in (False, True):
        same(*both(device, lambda x, right=right: np.digitize(x, bins, right), values))


SETS = (
    (WHOLE, np.array([2, 3, 50], np.int64)),
    (PLAIN, PLAIN[1]),
    (np.array([1, np.nan, 2], np.float32), np.array([np.nan, 2], np.float32)),
    (WHOLE, np.array([], np.int32)),
    (np.array([], np.int32), WHOLE),
)


@pytest.mark.parametrize("number", range(len(SETS)))
def test_sets(device: dml.Device, number: int) -> None:
    for function in (
        np.isin,
        lambda a, b: np.isin(a, b, invert=True),
        np.union1d,
        np.intersect1d,
        np.setdiff1d,
        np.setxor1d,
    ):
        if number == 2 and function is np.setxor1d:
            continue  # to NumPy's each NaN is an element of its own
        same(*both(device, function, *SETS[number]))


@pytest.mark.parametrize("offset", [0, 1, -2, 3, 9, -9])
def test_diagonals(device: dml.Device, offset: int) -> None:
    same(*both(device, lambda x: np.diagonal(x, offset), WHOLE))
    same(*both(device, lambda x: np.diagonal(x, offset, 2, 0), PLAIN))
    same(*both(device, lambda x: np.diag(x, offset), WHOLE))
    same(*both(device, lambda x: np.trace(x, offset), WHOLE))
    same(*both(device, lambda x: np.trace(x, offset, 1, 2), PLAIN))
    if abs(offset) < 4:
        same(*both(device, lambda x: np.diag(x, offset), LINE))


OTHERS: list[Any] = [
    *((lambda x, k=k: np.rot90(x, k), PLAIN) for k in range(-1, 5)),
    (lambda x: np.rot90(x, 1, (2, 0)), PLAIN),
    (np.trapezoid, PLAIN),
    (lambda x: np.trapezoid(x, dx=0.5, axis=0), WHOLE),
    (lambda y, x: np.trapezoid(y, x, axis=0), PLAIN, LINE[:5]),
    (lambda y, x: np.trapezoid(y, x), PLAIN, np.sort(PLAIN)),
    (np.nan_to_num, np.array([np.nan, np.inf, -np.inf, 2], np.float32)),
    (lambda x: np.nan_to_num(x, nan=7, posinf=8, neginf=9), np.array([np.nan, np.inf, -np.inf])),
    (np.nan_to_num, WHOLE),
    (lambda x, y: np.select([x > 1, x > 0], [x, y], -1), PLAIN, HOLED),
    (lambda x, p, f: np.interp(x, p, f), PLAIN, LINE, LINE**2),
    (lambda x, p, f: np.interp(x, p, f, left=-5, right=9), HOLED, LINE, LINE**2),
    (lambda x, p, f: np.interp(x, p, f), LINE, LINE, LINE**2),
    (lambda x, y: np.append(x, y), PLAIN, WHOLE),
    (lambda x, y: np.append(x, y, axis=1), PLAIN, PLAIN),
    (np.isposinf, np.array([np.inf, -np.inf, np.nan, 1], np.float32)),
    (np.isneginf, np.array([np.inf, -np.inf, np.nan, 1], np.float32)),
    (lambda x, y: np.allclose(x, y), PLAIN, PLAIN + np.float32(1e-7)),
    (lambda x, y: np.allclose(x, y), HOLED, HOLED),
    (lambda x, y: np.allclose(x, y, equal_nan=True), HOLED, HOLED),
    (lambda x: np.partition(x, 3)[..., 3], PLAIN),
]


@pytest.mark.parametrize("number", range(len(OTHERS)))
def test_choices_and_curves(device: dml.Device, number: int) -> None:
    function, *arrays = OTHERS[number]
    arrays = [a.astype(np.float32) if a.dtype == np.float64 else a for a in arrays]
    same(*both(device, function, *arrays))


@pytest.mark.parametrize("number", [300, -1])
def test_a_default_that_the_choices_cannot_hold(device: dml.Device, number: int) -> None:
    """It is refused, as dnp.where refuses it; NumPy's select takes its lowest bits."""
    x = device.tensor(np.array([1, 2], np.uint8))
    mask = x > 1
    with pytest.raises(OverflowError, match=f"integer {number} out of bounds for uint8"):
        np.select([mask], [x], number)


def test_partitions_by_place(device: dml.Device) -> None:
    x = device.tensor(PLAIN)
    places = np.argpartition(x, (1, 2), axis=0)
    assert np.array_equal(np.take_along_axis(x, places, 0).numpy(), np.sort(PLAIN, 0))
    with pytest.raises(IndexError, match="kth is 6; there are 6 elements"):
        np.partition(x, 6)


def test_copying_into_a_tensor(device: dml.Device) -> None:
    x = device.tensor(PLAIN)
    np.copyto(x, 3)
    assert (x == 3).all()
    np.copyto(x, device.tensor(HOLED), where=device.tensor(PLAIN > 0))
    assert np.array_equal(x.numpy(), np.where(PLAIN > 0, HOLED, np.float32(3)), equal_nan=True)
    with pytest.raises(TypeError, match="float32 is not cast to int32 by the rule 'same_kind'"):
        np.copyto(device.tensor(WHOLE), device.tensor(PLAIN[0, 0, 0]))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: np.quantile(x, 1.5), "q must be from 0 to 1"),
        (lambda x: np.percentile(x, -1), "q must be from 0 to 100"),
        (lambda x: np.quantile(x, 0.5, method="weibull"), "method is 'weibull'"),
        (lambda x: np.quantile(x[:0], 0.5), "no element to be found"),
        (lambda x: np.bincount(x), "x has 3 dimensions; it must have one"),
        (lambda x: np.bincount(x.reshape(-1)), "x is float32; it must be integers"),
        (lambda x: np.bincount((x.reshape(-1) - 100).astype(np.int32)), "must not be negative"),
        (lambda x: np.histogram(x, "auto"), "must be a number or edges here"),
        (lambda x: np.digitize(x, [3.0, 1.0, 2.0]), "bins must rise or fall"),
        (lambda x: np.digitize(x, ["a"]), "must be real numbers in one dimension"),
        (lambda x: np.interp(x, x, x), "both must have one dimension"),
        (lambda x: np.diagonal(x[0, 0]), "two dimensions at least"),
        (lambda x: np.select([x > 0], []), "there must be as many of both"),
    ],
)
def test_what_they_refuse(device: dml.Device, function: Any, words: str) -> None:
    with pytest.raises(dml.DmlError, match=words):
        function(device.tensor(PLAIN))


def test_they_stay_on_the_gpu(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read back, but for a few numbers that make a shape."""
    x, line = device.tensor(PLAIN), device.tensor(LINE)
    read: list[int] = []
    elements = dml.Tensor.elements
    monkeypatch.setattr(
        dml.Tensor, "elements", lambda t, *args: read.append(t.nbytes) or elements(t, *args)
    )
    for made in (
        *(np.median(x, axis=0), np.quantile(x, [0.1, 0.9]), np.nanstd(x), np.isin(x, x[0])),
        *(np.interp(x, line, line), np.diagonal(x), np.trapezoid(x), np.nan_to_num(x)),
        *(np.average(x, 2), np.select([x > 0], [x]), np.rot90(x), np.digitize(x, line)),
    ):
        assert made.shape is not None
    assert read == [line.nbytes]  # digitize looks at its edges
    np.histogram(x)
    assert sum(read) <= line.nbytes + 16
    assert x.tolist()
    assert sum(read) > x.nbytes


def test_a_bin_has_the_weights_of_its_own_elements(device: dml.Device) -> None:
    """Whatever others weigh, and as precisely as sums are elsewhere."""
    for weights in ([np.nan, 1, 2, 4], [np.inf, 1, 2, 4], [1e30, 1, 2, 4]):
        w = np.float32(weights)
        got = np.bincount(device.tensor([0, 2, 1, 2]), weights=device.tensor(w)).numpy()
        np.testing.assert_array_equal(got, np.float32([w[0], 2, 5]))
    rng = np.random.default_rng(0)
    x = rng.integers(0, 50, 20_000).astype(np.int32)
    w = rng.random(20_000, np.float32)
    got = np.bincount(device.tensor(x), weights=device.tensor(w), minlength=60).numpy()
    np.testing.assert_allclose(got, np.bincount(x, w, 60), rtol=1e-6)
    edges = np.linspace(0, 49, 8)
    got = np.histogram(device.tensor(x), edges, weights=device.tensor(w))[0].numpy()
    np.testing.assert_allclose(
        got, np.histogram(x, edges, weights=w.astype(np.float64))[0], rtol=1e-6
    )
    assert np.bincount([], weights=device.tensor(np.zeros(0, np.float32))).tolist() == []


def test_bins_in_tensors_are_those_in_arrays(device: dml.Device) -> None:
    x = device.tensor([16777216.0, 3.0])
    for bins in (np.int32([16777217]), np.float64([3.0000000001]), np.uint8([4, 2, 1])):
        # float64 has no arithmetic on the GPU, but edges are compared as it is.
        got = np.digitize(x, device.tensor(bins))
        np.testing.assert_array_equal(got.numpy(), np.digitize(x.numpy(), bins))
    with pytest.raises(dml.InvalidDescError, match="must rise or fall"):
        np.digitize(x, device.tensor([1, 3, 2]))
    counts, edges = np.histogram(x, device.tensor(3))
    assert (counts.shape, edges.shape) == ((3,), (4,))


def test_sets_keep_nan_and_order(device: dml.Device) -> None:
    x, y = (device.tensor(np.float32([np.nan, n])) for n in (1, 2))
    np.testing.assert_array_equal(np.setxor1d(x, y).numpy(), [1, 2, np.nan, np.nan])
    left = np.setdiff1d(device.tensor([3, 1, 2]), device.tensor([2]), assume_unique=True)
    assert left.tolist() == [3, 1]
    narrow = device.tensor(np.uint8([44]))
    assert np.isin(narrow, [np.uint8(1), 300]).tolist() == [False]


def test_numbers_beyond_the_type_of_choices_are_refused(device: dml.Device) -> None:
    x, mask = device.tensor(np.uint8([1, 2])), device.tensor([True, False])
    for default in (-1, 300):
        with pytest.raises(OverflowError, match="out of bounds for uint8"):
            np.select([mask], [x], default)


def test_many_copies_and_many_parts(device: dml.Device) -> None:
    x = np.float32([[1, 2, 3], [4, 5, 6]])
    tensor = device.tensor(x)
    for counts in (1, 0, 3, (2, 1), (1, 2), (3, 1, 2), (2, 2, 2, 2), (2, 1, 2, 1, 2, 2, 1, 2)):
        np.testing.assert_array_equal(np.tile(tensor, counts).numpy(), np.tile(x, counts))
    for counts in ((2, 1), (2, 2), (2, 1, 1), 1):
        copies, wanted = np.tile(tensor, counts), np.tile(x, counts)
        copies[0], wanted[0] = 9, 9
        np.testing.assert_array_equal(copies.numpy(), wanted)
    many = np.tile(device.tensor([1, 2, 3]), 10_000)
    assert many.shape == (30_000,)
    assert int(many.sum()) == 60_000
    with pytest.raises(dml.DmlError, match="at most"):
        np.tile(tensor, (1 << 28, 64))
    for parts in (31, 33, 100, 101):
        rows = [device.tensor(np.arange(n, n + 3, dtype=np.int16)) for n in range(parts)]
        wanted = [row.numpy() for row in rows]
        np.testing.assert_array_equal(np.stack(rows).numpy(), np.stack(wanted))
        np.testing.assert_array_equal(np.stack(rows, 1).numpy(), np.stack(wanted, 1))
        np.testing.assert_array_equal(np.concatenate(rows).numpy(), np.concatenate(wanted))


def test_running_extremes(device: dml.Device) -> None:
    rng = np.random.default_rng(1)
    for shape, axis in (((1,), 0), ((7,), 0), ((5, 64), 1), ((33, 3), 0), ((3, 5, 4), -2)):
        x = rng.standard_normal(shape).astype(np.float32)
        x.flat[x.size // 2] = np.nan
        for function in (np.maximum, np.minimum):
            got = function.accumulate(device.tensor(x), axis)
            np.testing.assert_array_equal(got.numpy(), function.accumulate(x, axis))


def test_many_arrays_of_several_types_keep_their_digits(device: dml.Device) -> None:
    parts = [device.tensor(np.full(3, 2**24 + 1, np.int32)), device.tensor(np.ones(3, np.float32))]
    doubles = [device.tensor(np.ones(3))] * 30
    assert np.concatenate([*parts * 4, *doubles])[0].item() == 2**24 + 1


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.uint8, np.int8, np.uint16, np.int16, np.int32, np.uint32, np.int64]
)
@pytest.mark.parametrize("most", [1, 9, 127, 5000, 70_000])
def test_values_are_counted(device: dml.Device, dtype: Any, most: int) -> None:
    rng = np.random.default_rng(most)
    high = 1 if dtype == np.bool_ else min(most, np.iinfo(dtype).max)
    for count in (1, 16, 255, 4097, 100_003):
        a = rng.integers(0, high + 1, count).astype(dtype)
        for least in (0, 300, 6000):
            made = np.bincount(device.tensor(a), minlength=least)
            np.testing.assert_array_equal(made.numpy(), np.bincount(a, minlength=least))
    rows = rng.integers(0, high + 1, (6, 7)).astype(dtype)
    made = np.bincount(device.tensor(rows).T[2])  # whose elements do not lie side by side
    np.testing.assert_array_equal(made.numpy(), np.bincount(rows.T[2]))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_values_below_zero_are_not_counted(device: dml.Device, dtype: Any) -> None:
    with pytest.raises(dml.InvalidDescError, match="must not be negative"):
        np.bincount(device.tensor(np.array([3, -1, 2], dtype)))
    with pytest.raises(dml.InvalidDescError, match="must not be negative"):
        np.bincount(device.tensor(np.array([3], dtype)), minlength=-1)

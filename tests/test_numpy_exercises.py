"""Exercises for NumPy's users, with `import dmlgpu.numpy as np`, beside NumPy's results.

They follow the collection "100 numpy exercises" by their numbers. What is drawn at random there is
a fixed array here; `ravel` stands for `flat`, and a number for a structured type of two or three.
Those that cannot be done are named with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import dmlgpu as dml
import dmlgpu.numpy as dnp

CANNOT = {
    1: "it imports NumPy",
    2: "it prints what NumPy is built with",
    5: "it prints NumPy's help",
    23: "structured types do not exist",
    32: "complex numbers do not exist",
    33: "dates do not exist",
    34: "dates do not exist",
    38: "np.fromiter reads an iterator into host memory; np.asarray(list(...)) uploads it",
    43: "a tensor cannot be made read-only",
    46: "structured types do not exist",
    51: "structured types do not exist",
    54: "np.genfromtxt reads a text into host memory",
    55: "np.ndenumerate visits elements one by one",
    62: "np.nditer visits elements one by one",
    63: "tensors have no subclasses",
    82: "the singular values that a rank needs do not exist",
    85: "tensors have no subclasses",
    91: "records do not exist",
    96: "np.unique takes no argument axis",
}
EXERCISES: dict[int, Callable[[Any], Any]] = {}
RNG = numpy.random.default_rng(100)
SHARE = RNG.random((10, 10)).astype(numpy.float32)
CUBE = RNG.random((3, 3, 3)).astype(numpy.float32)
WHOLE = RNG.integers(0, 10, 50).astype(numpy.int32)
POINTS = RNG.random((10, 2)).astype(numpy.float32)


def exercise(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    EXERCISES[int(function.__name__.removeprefix("number_"))] = function
    return function


def short(*numbers: tuple[int, Callable[[Any], Any]]) -> None:
    EXERCISES.update(numbers)


short(
    (3, lambda np: np.zeros(10)),
    (4, lambda np: np.zeros((10, 10), np.float32).size * np.zeros((10, 10), np.float32).itemsize),
    (7, lambda np: np.arange(10, 50)),
    (8, lambda np: np.arange(50)[::-1]),
    (9, lambda np: np.arange(9).reshape(3, 3)),
    (10, lambda np: np.nonzero([1, 2, 0, 0, 4, 0])),
    (11, lambda np: np.eye(3)),
    (12, lambda np: np.random.default_rng(1).random((3, 3, 3)).shape),
    (13, lambda np: (np.asarray(SHARE).min(), np.asarray(SHARE).max())),
    (14, lambda np: np.asarray(SHARE).mean()),
    (16, lambda np: np.pad(np.ones((5, 5)), pad_width=1, mode="constant", constant_values=0)),
    (17, lambda np: (0 * np.nan, np.nan == np.nan, np.inf > np.nan, np.nan in {np.nan})),
    (18, lambda np: np.diag(1 + np.arange(4), k=-1)),
    (20, lambda np: np.unravel_index(99, (6, 7, 8))),
    (21, lambda np: np.tile(np.array([[0, 1], [1, 0]]), (4, 4))),
    (24, lambda np: np.dot(np.ones((5, 3)), np.ones((3, 2)))),
    (26, lambda np: np.sum(np.arange(5), -1)),
    (28, lambda np: (np.array(0) / np.array(0), np.array(0) // np.array(0))),
    (30, lambda np: np.intersect1d(np.asarray(WHOLE[:10]), np.asarray(WHOLE[10:20]))),
    (39, lambda np: np.linspace(0, 1, 11, endpoint=False)[1:]),
    (40, lambda np: np.sort(np.asarray(SHARE[0]))),
    (41, lambda np: np.add.reduce(np.arange(10))),
    (42, lambda np: (np.allclose(SHARE, SHARE), np.array_equal(np.asarray(SHARE), SHARE))),
    (47, lambda np: 1.0 / np.subtract.outer(np.arange(8), np.arange(8) + 0.5)),
    (52, lambda np: distances(np, np.asarray(POINTS))),
    (58, lambda np: np.asarray(SHARE) - np.asarray(SHARE).mean(axis=1, keepdims=True)),
    (59, lambda np: np.asarray(SHARE)[np.asarray(SHARE)[:, 1].argsort()]),
    (60, lambda np: (~(np.asarray(WHOLE[:30]).reshape(3, 10) > 2).any(axis=0)).any()),
    (65, lambda np: np.bincount(np.asarray([1, 3, 9, 3, 4, 1]), np.asarray([1, 2, 3, 4, 5, 6]))),
    (67, lambda np: np.asarray(CUBE).sum(axis=(-2, -1))),
    (
        69,
        lambda np: (
            np.diag(np.dot(SHARE, np.asarray(SHARE))),
            np.einsum("ij,ji->i", SHARE, np.asarray(SHARE)),
        ),
    ),
    (71, lambda np: np.ones((5, 5, 3)) * (2 * np.ones((5, 5)))[:, :, None]),
    (76, lambda np: np.lib.stride_tricks.sliding_window_view(np.arange(10), window_shape=3)),
    (81, lambda np: np.lib.stride_tricks.sliding_window_view(np.arange(1, 15), window_shape=4)),
    (83, lambda np: np.bincount(np.asarray(WHOLE)).argmax()),
    (84, lambda np: np.lib.stride_tricks.sliding_window_view(np.asarray(SHARE), (3, 3))),
    (
        86,
        lambda np: np.tensordot(np.ones((10, 20, 20)), np.ones((10, 20, 1)), axes=[[0, 2], [0, 1]]),
    ),
    (
        92,
        lambda np: (
            np.power(np.asarray(SHARE[0]), 3),
            np.einsum("i,i,i->i", *[np.asarray(SHARE[0])] * 3),
        ),
    ),
    (
        95,
        lambda np: (
            (np.asarray(WHOLE).reshape(-1, 1) & (2 ** np.arange(8, dtype=np.int32))) != 0
        ).astype(int),
    ),
    (
        97,
        lambda np: [
            np.einsum(t, SHARE[0], np.asarray(SHARE[1])) for t in ("i,i->i", "i,i", "i,j->ij")
        ],
    ),
)


def distances(np: Any, points: Any) -> Any:
    x, y = np.atleast_2d(points[:, 0], points[:, 1])
    return np.sqrt((x - x.T) ** 2 + (y - y.T) ** 2)


@exercise
def number_6(np: Any) -> Any:
    z = np.zeros(10)
    z[4] = 1
    return z


@exercise
def number_15(np: Any) -> Any:
    z = np.ones((10, 10))
    z[1:-1, 1:-1] = 0
    return z


@exercise
def number_19(np: Any) -> Any:
    z = np.zeros((8, 8), dtype=int)
    z[1::2, ::2] = 1
    z[::2, 1::2] = 1
    return z


@exercise
def number_22(np: Any) -> Any:
    z = np.asarray(SHARE)
    return (z - np.mean(z)) / np.std(z)


@exercise
def number_25(np: Any) -> Any:
    z = np.arange(11)
    z[(z > 3) & (z < 8)] *= -1
    return z


@exercise
def number_27(np: Any) -> Any:
    z = np.asarray(WHOLE[:8] % 4)
    return z**z, 2 << z >> 2, z < -z, z / 1 / 1


@exercise
def number_29(np: Any) -> Any:
    z = np.asarray(SHARE * 20 - 10)
    return np.copysign(np.ceil(np.abs(z)), z)


@exercise
def number_31(np: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.ones(1) / 0


@exercise
def number_35(np: Any) -> Any:
    a, b = np.ones(3) * 1, np.ones(3) * 2
    np.add(a, b, out=b)
    np.divide(a, 2, out=a)
    np.negative(a, out=a)
    np.multiply(a, b, out=a)
    return a


@exercise
def number_36(np: Any) -> Any:
    z = np.asarray(SHARE * 10)
    return z - z % 1, z // 1, np.floor(z), z.astype(int), np.trunc(z)


@exercise
def number_37(np: Any) -> Any:
    z = np.zeros((5, 5))
    z += np.arange(5)
    return z


@exercise
def number_44(np: Any) -> Any:
    x, y = np.asarray(POINTS)[:, 0], np.asarray(POINTS)[:, 1]
    return np.sqrt(x**2 + y**2), np.arctan2(y, x)


@exercise
def number_45(np: Any) -> Any:
    z = np.array(SHARE[0])
    z[z.argmax()] = 0
    return z


@exercise
def number_48(np: Any) -> Any:
    whole = [(np.iinfo(t).min, np.iinfo(t).max) for t in (np.int8, np.int32, np.int64)]
    info = np.finfo(np.float32)
    return *whole, (float(info.min), float(info.max), float(info.eps))


@exercise
def number_49(np: Any) -> Any:
    with np.printoptions(threshold=float("inf")):
        return np.array2string(np.zeros((40, 40), np.float32))


@exercise
def number_50(np: Any) -> Any:
    z = np.arange(100)
    return z[(np.abs(z - 41.7)).argmin()]


@exercise
def number_53(np: Any) -> Any:
    z = np.asarray((SHARE[0] * 100).copy())
    y = z.view(np.int32)
    y[:] = z
    return y


@exercise
def number_56(np: Any) -> Any:
    x, y = np.meshgrid(np.linspace(-1, 1, 10), np.linspace(-1, 1, 10))
    d = np.sqrt(x * x + y * y)
    return np.exp(-((d - 0.0) ** 2 / (2.0 * 1.0**2)))


@exercise
def number_57(np: Any) -> Any:
    z = np.zeros((10, 10))
    np.put(z, np.random.default_rng(3).choice(range(100), 3, replace=False), 1)
    return z.sum()


@exercise
def number_61(np: Any) -> Any:
    z = np.asarray(SHARE)
    return z.ravel()[np.abs(z - 0.5).argmin()]


@exercise
def number_64(np: Any) -> Any:
    z, i = np.ones(10), np.asarray(WHOLE)
    z += np.bincount(i, minlength=len(z))
    np.add.at(z, i, 1)
    return z


@exercise
def number_66(np: Any) -> Any:
    picture = np.asarray(WHOLE[:48].reshape(4, 4, 3) % 2)
    colours = picture[..., 0] * (256 * 256) + picture[..., 1] * 256 + picture[..., 2]
    return len(np.unique(colours))


@exercise
def number_68(np: Any) -> Any:
    values, groups = np.asarray(SHARE.reshape(-1)[:50]), np.asarray(WHOLE)
    return np.bincount(groups, weights=values) / np.bincount(groups)


@exercise
def number_70(np: Any) -> Any:
    z, nz = np.array([1, 2, 3, 4, 5]), 3
    z0 = np.zeros(len(z) + (len(z) - 1) * nz)
    z0[:: nz + 1] = z
    return z0


@exercise
def number_72(np: Any) -> Any:
    a = np.arange(25).reshape(5, 5)
    a[[0, 1]] = a[[1, 0]]
    return a


@exercise
def number_73(np: Any) -> Any:
    faces = np.asarray(WHOLE[:30].reshape(10, 3))
    f = np.roll(faces.repeat(2, axis=1), -1, axis=1).reshape(len(faces) * 3, 2)
    f = np.sort(f, axis=1)
    edges = np.unique(f[:, 0] * 100 + f[:, 1])  # in the place of a structured type
    return np.stack([edges // 100, edges % 100], axis=1)


@exercise
def number_74(np: Any) -> Any:
    c = np.bincount(np.array([1, 1, 2, 3, 4, 4, 6]))
    return np.repeat(np.arange(len(c)), c)


@exercise
def number_75(np: Any) -> Any:
    ret = np.cumsum(np.arange(20, dtype=np.float32))
    ret[3:] = ret[3:] - ret[:-3]
    return ret[2:] / 3


@exercise
def number_77(np: Any) -> Any:
    z = np.asarray(WHOLE % 2 == 0)
    w = np.array(SHARE[0])
    np.logical_not(z, out=z)
    np.negative(w, out=w)
    return z, w


@exercise
def number_78(np: Any) -> Any:
    p0, p1 = np.asarray(POINTS), np.asarray(POINTS + POINTS[::-1])
    p = np.array([[0.25, 0.75]], np.float32)
    return to_lines(np, p0, p1, p)


def to_lines(np: Any, p0: Any, p1: Any, p: Any) -> Any:
    t = p1 - p0
    length = (t**2).sum(axis=1)
    u = -((p0[:, 0] - p[..., 0]) * t[:, 0] + (p0[:, 1] - p[..., 1]) * t[:, 1]) / length
    u = u.reshape(len(u), 1)
    d = p0 + u * t - p
    return np.sqrt((d**2).sum(axis=1))


@exercise
def number_79(np: Any) -> Any:
    p0, p1 = np.asarray(POINTS), np.asarray(POINTS + POINTS[::-1])
    return np.array([to_lines(np, p0, p1, point).tolist() for point in np.asarray(POINTS)])


@exercise
def number_80(np: Any) -> Any:
    z, shape, position = np.asarray(SHARE), (5, 5), (1, 1)
    made = np.ones(shape) * 9
    first = [p - n // 2 for p, n in zip(position, shape, strict=True)]
    source = tuple(slice(max(f, 0), f + 5) for f in first)
    target = tuple(slice(max(-f, 0), 5) for f in first)
    made[target] = z[source]
    return made


@exercise
def number_87(np: Any) -> Any:
    z, k = np.ones((16, 16)), 4
    return np.add.reduceat(
        np.add.reduceat(z, np.arange(0, z.shape[0], k), axis=0), np.arange(0, z.shape[1], k), axis=1
    )


@exercise
def number_88(np: Any) -> Any:
    z = np.array((SHARE > 0.5).astype(numpy.int32))
    for _ in range(4):
        n = z[:-2, :-2] + z[:-2, 1:-1] + z[:-2, 2:] + z[1:-1, :-2] + z[1:-1, 2:]
        n = n + z[2:, :-2] + z[2:, 1:-1] + z[2:, 2:]
        birth = (n == 3) & (z[1:-1, 1:-1] == 0)
        survive = ((n == 2) | (n == 3)) & (z[1:-1, 1:-1] == 1)
        z[...] = 0
        z[1:-1, 1:-1][birth | survive] = 1
    return z


@exercise
def number_89(np: Any) -> Any:
    z = np.asarray(SHARE.reshape(-1))
    return z[np.argsort(z)[-5:]], np.sort(z[np.argpartition(-z, 5)[:5]])


@exercise
def number_90(np: Any) -> Any:
    arrays = [np.asarray(a) for a in ([1, 2, 3], [4, 5], [6, 7])]
    ix = np.indices(tuple(len(x) for x in arrays), dtype=np.int32)
    ix = ix.reshape(len(arrays), -1).T
    return np.stack([a[ix[:, n]] for n, a in enumerate(arrays)], axis=1)


@exercise
def number_93(np: Any) -> Any:
    a, b = np.asarray(WHOLE[:24].reshape(8, 3) % 5), np.asarray(WHOLE[24:28].reshape(2, 2) % 5)
    c = a[..., np.newaxis, np.newaxis] == b
    return np.where(c.any((3, 1)).all(1))[0]


@exercise
def number_94(np: Any) -> Any:
    z = np.asarray(WHOLE[:30].reshape(10, 3) % 2)
    e = np.all(z[:, 1:] == z[:, :-1], axis=1)
    return z[~e]


@exercise
def number_98(np: Any) -> Any:
    phi = np.arange(0, 31.4, 0.1, dtype=np.float32)
    x, y = phi * np.cos(phi), phi * np.sin(phi)
    dr = (np.diff(x) ** 2 + np.diff(y) ** 2) ** 0.5
    r = np.zeros_like(x)
    r[1:] = np.cumsum(dr)
    r_int = np.linspace(0, r.max(), 200, dtype=np.float32)
    return np.interp(r_int, r, x), np.interp(r_int, r, y)


@exercise
def number_99(np: Any) -> Any:
    x = np.asarray([[1.0, 0, 3, 8], [2, 0, 1, 1], [1.5, 2.5, 1, 0]], np.float32)
    m = np.logical_and.reduce(np.mod(x, 1) == 0, axis=-1)
    m &= x.sum(axis=-1) == 4
    return x[m]


@exercise
def number_100(np: Any) -> Any:
    x = np.asarray(SHARE.reshape(-1))
    idx = np.asarray(RNG_PLACES)
    return np.percentile(x[idx].mean(axis=1), [2.5, 97.5])


RNG_PLACES = RNG.integers(0, 100, (50, 100)).astype(numpy.int32)


def test_every_exercise_is_done_or_named_with_a_reason() -> None:
    assert EXERCISES.keys().isdisjoint(CANNOT)
    assert EXERCISES.keys() | CANNOT.keys() == set(range(1, 101))


@pytest.fixture
def default(device: dml.Device) -> Iterator[dml.Device]:
    """The device of calls that are given arrays alone."""
    dml.set_default_device(device)
    yield device
    dml.set_default_device(None)


def compare(got: Any, wanted: Any) -> None:
    if isinstance(wanted, (tuple, list)):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            compare(one, other)
    elif isinstance(wanted, str):
        assert got == wanted
    else:
        assert numpy.shape(got) == numpy.shape(wanted)
        numpy.testing.assert_allclose(numpy.asarray(got), wanted, rtol=2e-4, atol=2e-4)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "number",
    [n for n in sorted(EXERCISES)],
)
def test_an_exercise_gives_what_numpy_gives(default: dml.Device, number: int) -> None:
    with numpy.errstate(all="ignore"):
        wanted = EXERCISES[number](numpy)
    compare(EXERCISES[number](dnp), wanted)

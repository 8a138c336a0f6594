"""Random numbers of dmlgpu.numpy: the same for a seed, of the right distribution, as NumPy asks."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import dmlgpu as dml
import dmlgpu.numpy as dnp

pytestmark = pytest.mark.gpu
MANY = 40_000


@pytest.fixture
def rng(device: dml.Device) -> dnp.random.Generator:
    return dnp.random.default_rng(2026, device=device)


DRAWS: dict[str, Any] = {
    "random": lambda r: r.random(MANY),
    "float16": lambda r: r.random(MANY, np.float16),
    "integers": lambda r: r.integers(-3, 7, MANY),
    "normal": lambda r: r.normal(2, 3, MANY),
    "standard_normal": lambda r: r.standard_normal(MANY),
    "uniform": lambda r: r.uniform(-1, 3, MANY),
    "exponential": lambda r: r.exponential(2, MANY),
    "standard_exponential": lambda r: r.standard_exponential(MANY),
    "permutation": lambda r: r.permutation(MANY),
    "choice": lambda r: r.choice(5, MANY),
    "choice_shares": lambda r: r.choice(3, MANY, p=[0.2, 0.3, 0.5]),
}
# Mean and deviation of each distribution.
MOMENTS = {
    "random": (0.5, 12**-0.5),
    "float16": (0.5, 12**-0.5),
    "integers": (1.5, (99 / 12) ** 0.5),
    "normal": (2, 3),
    "standard_normal": (0, 1),
    "uniform": (1, 4 * 12**-0.5),
    "exponential": (2, 2),
    "standard_exponential": (1, 1),
    "permutation": ((MANY - 1) / 2, MANY * 12**-0.5),
    "choice": (2, 2**0.5),
    "choice_shares": (1.3, 0.61**0.5),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_gives_the_same_numbers_and_another_one_others(
    device: dml.Device, name: str
) -> None:
    first, again, other = (
        DRAWS[name](dnp.random.default_rng(seed, device=device)).numpy() for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_have_the_mean_and_the_deviation(rng: dnp.random.Generator, name: str) -> None:
    values = DRAWS[name](rng).numpy().astype(np.float64)
    mean, deviation = MOMENTS[name]
    assert values.shape == (MANY,)
    assert abs(values.mean() - mean) < 5 * deviation / MANY**0.5
    assert abs(values.std() / deviation - 1) < 0.03


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_numbers_are_below_one_and_spread(rng: dnp.random.Generator, dtype: Any) -> None:
    values = rng.random((4, MANY), dtype).numpy()
    assert (values.dtype, values.shape) == (dtype, (4, MANY))
    assert 0 <= values.min() < 0.001
    assert 0.999 < values.max() < 1
    counts = np.histogram(values.astype(np.float64), 16, (0, 1))[0]
    expected = 4 * MANY / 16
    assert ((counts - expected) ** 2 / expected).sum() < 40  # of 15 degrees: once in 2,000


def test_normal_numbers_have_tails(rng: dnp.random.Generator) -> None:
    values = rng.standard_normal(MANY + 1).numpy().astype(np.float64)
    assert values.shape == (MANY + 1,)
    assert abs((np.abs(values) < 1).mean() - 0.6827) < 0.012
    assert abs((np.abs(values) > 2).mean() - 0.0455) < 0.006
    assert abs((values**3).mean()) < 0.1


def test_later_numbers_are_others(rng: dnp.random.Generator) -> None:
    first, later = rng.random(1000).numpy(), rng.random(1000).numpy()
    assert abs(np.corrcoef(first, later)[0, 1]) < 0.15
    assert not np.isin(first, later).all()


def test_the_bits_are_those_of_the_operator(device: dml.Device) -> None:
    """As the module says: the key is that of NumPy's seed, the counter begins at 0."""
    key = np.random.SeedSequence(7).generate_state(2)
    state = np.array([0, 0, 0, 0, *key], np.uint32).reshape(1, 1, 1, 6)
    bits = dml.random_generator(device.tensor(state), output_sizes=(1, 1, 1, 10)).numpy()
    made = dnp.random.default_rng(7, device=device).random(10)
    assert np.array_equal(made.numpy(), (bits.reshape(-1) >> 8).astype(np.float32) * 2.0**-24)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_integers_of_every_type(rng: dnp.random.Generator, dtype: str) -> None:
    low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    values = rng.integers(low, high, 5000, dtype, endpoint=True).numpy()
    assert values.dtype == dtype
    middle = low // 2 + high // 2
    assert 0.45 < (values > middle).mean() < 0.55
    some = rng.integers(3, 6, (2, 50), np.int8).numpy()
    assert set(some.reshape(-1).tolist()) == {3, 4, 5}


def test_integers_of_large_ranges_are_even(rng: dnp.random.Generator) -> None:
    values = rng.integers(0, 3 * 2**62, 9000, np.uint64).numpy()
    counts = np.histogram(values.astype(np.float64), 3, (0, 3.0 * 2**62))[0]
    assert (abs(counts - 3000) < 250).all()


def test_permutations_have_everything_once(rng: dnp.random.Generator) -> None:
    x = rng.random(1).device.tensor(np.arange(24).reshape(4, 6))
    assert sorted(rng.permutation(24).tolist()) == list(range(24))
    assert rng.permutation(5).dtype == np.int64
    assert sorted(rng.permutation(x).tolist()) == x.tolist()
    assert rng.permutation(x, 1)[0].numpy().tolist() != x[0].tolist()
    assert sorted(rng.permuted(x).numpy().reshape(-1).tolist()) == list(range(24))
    lines = rng.permuted(x, 1).numpy()
    assert np.array_equal(np.sort(lines, 1), x.numpy())
    before = x.numpy()
    rng.shuffle(x)
    assert sorted(x.tolist()) == before.tolist()
    firsts = [int(rng.permutation(3)[0]) for _ in range(60)]
    assert set(firsts) == {0, 1, 2}


def test_choices(rng: dnp.random.Generator) -> None:
    some = rng.choice([10.0, 20.0, 30.0], (2, 3))
    assert some.shape == (2, 3)
    assert set(some.numpy().reshape(-1).tolist()) <= {10, 20, 30}
    assert sorted(rng.choice(6, 6, replace=False).tolist()) == list(range(6))
    assert sorted(rng.choice(4, 2, False, [0.5, 0, 0, 0.5]).tolist()) == [0, 3]
    rows = rng.choice(np.arange(12).reshape(3, 4), 2, axis=1)
    assert rows.shape == (3, 2)
    first = [rng.choice(3, 1, False, [0.7, 0.2, 0.1]).item() for _ in range(100)]
    assert first.count(0) > 50


def test_parameters_are_broadcast(rng: dnp.random.Generator) -> None:
    assert rng.normal([0.0, 100.0], [1.0, 0.0]).numpy()[1] == 100
    assert rng.uniform(np.zeros((2, 1)), 1.0, (2, 3)).shape == (2, 3)
    assert rng.exponential(np.float32([1, 2])).shape == (2,)
    assert rng.random().shape == ()
    assert rng.integers(5).shape == ()
    assert rng.random(0).shape == (0,)
    assert rng.integers(5, size=(0, 2)).shape == (0, 2)
    assert rng.standard_normal((0,)).shape == (0,)
    out = rng.random((2, 3))
    assert rng.random(out=out) is out


def test_methods_have_numpys_arguments() -> None:
    for name in ("random", "integers", "normal", "standard_normal", "uniform", "exponential"):
        told = (getattr(np.random.Generator, name).__doc__ or "").strip().split("\n")[0]
        names = [part.partition("=")[0].strip() for part in told.partition("(")[2][:-1].split(",")]
        assert list(inspect.signature(getattr(dnp.random.Generator, name)).parameters)[1:] == names
    rng = dnp.random.default_rng(3)
    assert dnp.random.default_rng(rng) is rng


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda r: r.random(2, np.float64), "random: dtype is float64; it must be float32"),
        (lambda r: r.integers(5, 5), "low is not below high"),
        (lambda r: r.integers(0, 300, 2, np.uint8), "0 to 299 are not all numbers of uint8"),
        (lambda r: r.integers(1.5), "both must be integers"),
        (lambda r: r.normal(0, -1), "scale is -1; it must not be negative"),
        (lambda r: r.shuffle([1, 2]), "x is list; it must be a Tensor"),
        (lambda r: r.choice(3, 4, replace=False), "4 of 3 are asked for"),
        (lambda r: r.choice(3, p=[0.5, 0.5]), r"p has the shape \(2,\)"),
        (lambda r: r.choice(2, p=[0.5, 0.6]), "1 in sum"),
        (lambda r: r.choice(3, 2, False, [1, 0, 0]), "fewer than 2 have a share"),
        (lambda r: r.choice(0), "a is empty"),
        (lambda r: r.uniform([0.0, 1], 2, 3), "the parameters have the shape|broadcast"),
        (lambda r: dnp.random.default_rng(-1), "seed is -1"),
    ],
)
def test_what_generators_refuse(rng: dnp.random.Generator, use: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError), match=words) as error:
        use(rng)
    assert isinstance(error.value, dml.DmlError)


def test_names_that_generators_lack_say_what_to_use(rng: dnp.random.Generator) -> None:
    with pytest.raises(AttributeError, match=r"'poisson': it is not made on the GPU; NumPy's"):
        rng.poisson(3)
    with pytest.raises(AttributeError, match="'rand': the old functions of random share"):
        dnp.random.rand  # noqa: B018
    assert "PHILOX" in repr(rng)

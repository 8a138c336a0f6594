"""What software adapters do in their own way: vectors of invocations, parts of lines, pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import dmlgpu as dml
import dmlgpu.numpy as dnp
from dmlgpu.plan.dispatch import VECTOR, Adapter
from dmlgpu.plan.elementwise import spans
from dmlgpu.plan.elementwise.planner import ElementWise
from dmlgpu.plan.elementwise.spans import Spans, is_brief
from dmlgpu.plan.reading import Loop
from dmlgpu.plan.reduce import division
from dmlgpu.plan.values import Expression, Operand, Parameter
from dmlgpu.wgsl.assembly import Access, assemble

DTYPES = ("float32", "float16", "uint8", "int64")


@pytest.fixture
def software(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[dml.Device]:
    """A device that runs the kernels of software adapters, and cuts small tensors like large."""
    for name, value in {"CPU_STEPS": 4, "CPU_LEFT": 1, "CPU_NEAR": 256, "CPU_ENOUGH": 2}.items():
        monkeypatch.setattr(division, name, value)
    monkeypatch.setattr(division, "CPU_LONG", 2)
    monkeypatch.setattr(division, "CPU_ROUNDS", 64)
    monkeypatch.setattr(spans, "ENOUGH", 1)
    with dml.Device(device.adapter) as made:
        made.context.facts = replace(made.context.facts, is_cpu=True)
        yield made


@pytest.mark.parametrize("sizes", [(1,), (1000,), (5, 63), (5, 64), (3, 7, 700), (2, 100_000)])
@pytest.mark.parametrize("is_linear", [False, True])
def test_every_group_is_in_one_span(sizes: tuple[int, ...], is_linear: bool) -> None:
    loops = [Loop(n, (1,)) for n in sizes]
    groups = int(np.prod(sizes))
    made = Spans.of(loops, groups, is_linear=is_linear, wg_size=128)
    turns, count = made.params["turns"], made.count
    assert isinstance(turns, int)
    seen = Counter[tuple[int, int]]()
    for span in range(made.workgroups * 128 // VECTOR):
        row, part = divmod(span, count)
        begin = part * turns * VECTOR
        end = min(begin + turns * VECTOR, made.along) if row < made.rows else 0
        seen.update((row, number) for number in range(begin, end))
    assert seen == Counter((r, n) for r in range(made.rows) for n in range(made.along))
    assert made.rows * made.along == groups


@pytest.mark.parametrize(
    ("result", "group", "brief"),
    [
        ("T_add(a, b)", 16, True),
        ("math_exp(x)", 8, True),
        ("T_mod(a, b)", 4, True),
        ("T_mod(a, b)", 16, False),
        ("math_floor_divide(a, b)", 8, False),
        (" + ".join(["a"] * 99), 4, True),
        (" + ".join(["select(0.0, a, f32_lt(a, b))"] * 2), 4, True),
        (" + ".join(["select(0.0, a, f32_lt(a, b))"] * 9), 4, False),
        (" + ".join(["math_erf(a)"] * 20), 4, False),
        (" + ".join(["math_exp(f32_mul(a, b))"] * 20), 4, True),
    ],
)
def test_what_takes_long_to_compile_in_a_loop_is_not_made_in_turn(
    result: str, group: int, brief: bool
) -> None:
    assert is_brief(Expression(result), group) == brief


def test_numbers_are_read_before_a_vector_makes_its_groups() -> None:
    layout = dml.TensorDesc(dml.DataType.FLOAT32, (5, 4000))
    x, made = Operand.of("x", layout), Operand.of("made", layout)
    numbers = (Parameter("k", layout.data_type, 1), Parameter("m", layout.data_type, 2))
    work = ElementWise({"x": x}, ((made, Expression("f32_add(f32_mul(x, k), m)")),), numbers)
    (dispatch,) = work.plan(Adapter(is_cpu=True)).dispatches
    before, _, loop = dispatch.code.partition("for (var number")
    assert "\n  read_parameters();" in before
    assert "params" not in loop
    assert "params" not in dispatch.code.partition("fn operate0")[2].partition("}")[0]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
def test_broadcasts(software: dml.Device, dtype: str) -> None:
    rng = np.random.default_rng(3)
    for sizes in ((70_001,), (3, 4000), (5, 1001), (2000, 8), (7, 3, 640)):
        x = rng.integers(0, 100, sizes).astype(dtype)
        for other in (sizes, (1, *sizes[1:]), (*sizes[:-1], 1)):
            y = rng.integers(0, 100, other).astype(dtype)
            a, b = software.tensor(x), software.tensor(y)
            np.testing.assert_array_equal((a + b).numpy(), x + y)
            np.testing.assert_array_equal((a > b).numpy(), x > y)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
@pytest.mark.parametrize(
    "sizes", [(5000, 4), (5000, 3), (2000, 72), (40, 1024), (33, 1001), (6, 50, 256)]
)
def test_parts_of_lines(software: dml.Device, dtype: str, sizes: tuple[int, ...]) -> None:
    """Sums are of whole numbers, so that no order matters; of equals the first one counts."""
    rng = np.random.default_rng(4)
    x = rng.integers(0, 50, sizes).astype(dtype)
    given = software.tensor(x)
    wide = np.dtype("uint32" if dtype == "uint8" else dtype)
    for axis in (None, *range(len(sizes))):
        total = dnp.sum(given, axis=axis, dtype=wide).numpy()
        np.testing.assert_array_equal(total, x.astype(np.float64).sum(axis))
        np.testing.assert_array_equal(dnp.max(given, axis=axis).numpy(), x.max(axis))
        np.testing.assert_array_equal(dnp.argmax(given, axis=axis).numpy(), x.argmax(axis))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int8", "uint8", "uint16"])
def test_integers_of_floats(software: dml.Device, dtype: str) -> None:
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 1 << 32, 1 << 16, dtype=np.uint32)
    ends = np.array([2.0**n + d for n in (15, 16, 17, 31, 32) for d in (-1, -0.5, 0, 0.5, 1)])
    far = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 2.0**24 - 1, 2.0**31 - 128])
    some = rng.random(1 << 14) * 2.0 ** rng.integers(-2, 34, 1 << 14)
    given = np.concatenate([ends, -ends, far, -far, some, -some]).astype(np.float32)
    with np.errstate(invalid="ignore"):
        x = np.concatenate([bits.view(np.float32), given])
        whole = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0, posinf=1e30, neginf=-1e30))
    kind = np.iinfo(dtype)
    expected = np.clip(whole, kind.min, kind.max).astype(np.int64).astype(dtype)
    np.testing.assert_array_equal(software.tensor(x).astype(dtype).numpy(), expected)


@pytest.mark.gpu
def test_signs_of_halves(software: dml.Device) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    given = software.tensor(x)
    for got, expected in ((-given, -x), (dnp.abs(given), np.abs(x))):
        np.testing.assert_array_equal(got.numpy().view(np.uint16), expected.view(np.uint16))


def test_words_are_reached_in_pairs() -> None:
    code = "#bind read source: vec4<u32>\n#bind write made: vec2<u32>"
    pairs = dict.fromkeys(("source", "made"), Access(in_pairs=True))
    text = assemble("doctor/integers", {}, pairs, code).text
    assert "source: array<vec2<u64>>" in text
    assert "made: array<u64>" in text
    plain = assemble("doctor/integers", {}, {}, code).text
    assert "u64" not in plain

"""SLICE and SLICE1: bit-exact copies against NumPy, and everything they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import oracle
from support.cases import Case
from support.draws import Draw, Kwargs
from support.generate import Fault, change, check, own_faults

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import FeatureLevel as L
from dmlgpu.ops import BY_NAME

Invalid, Unsupported = dml.InvalidDescError, dml.UnsupportedError


def window(
    data_type: T,
    source: tuple[int, ...],
    offsets: tuple[int, ...],
    windows: tuple[int, ...],
    strides: tuple[int, ...],
    *,
    source_strides: tuple[int, ...] | None = None,
    target_strides: tuple[int, ...] | None = None,
) -> Case:
    """A SLICE1 of all reachable elements."""
    counts = [1 + (n - 1) // abs(s) for n, s in zip(windows, strides, strict=True)]
    kwargs = {
        "input_tensor": dml.TensorDesc(data_type, source, source_strides),
        "output_tensor": dml.TensorDesc(data_type, tuple(counts), target_strides),
        "input_window_offsets": offsets,
        "input_window_sizes": windows,
        "input_window_strides": strides,
    }
    return Case("SLICE1", kwargs, seed=7)


EVERY_TYPE = sorted(oracle.NUMPY_TYPES)
SHAPES: dict[str, tuple[Any, ...]] = {
    "odd_window": ((3, 65, 67), (1, 2, 3), (2, 63, 61), (1, 1, 1)),
    "reversed_rows": ((5, 333), (0, 0), (5, 333), (1, -1)),
    "reversed_all": ((7, 9, 11), (0, 0, 0), (7, 9, 11), (-1, -1, -1)),
    "every_third": ((1001,), (1,), (1000,), (3,)),
    "outer_steps": ((40, 3, 17), (1, 0, 0), (39, 3, 17), (-2, 2, 1)),
    "rank_8": ((2, 1, 3, 2, 1, 2, 3, 5), (0,) * 8, (2, 1, 3, 2, 1, 2, 3, 5), (1, 1, -1, 1) * 2),
    "one_element": ((1,), (0,), (1,), (1,)),
    "tall": ((70_001, 3), (1, 0), (70_000, 3), (1, -1)),
    "tall_inside": ((2, 70_001, 3), (0, 0, 1), (2, 70_001, 2), (-1, 1, 1)),
}


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", EVERY_TYPE, ids=lambda t: t.name)
@pytest.mark.parametrize("shape", SHAPES)
def test_windows_of_every_type(execute: Any, shape: str, data_type: T) -> None:
    check(window(data_type, *SHAPES[shape]), execute)


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", EVERY_TYPE, ids=lambda t: t.name)
@pytest.mark.parametrize(
    ("source_strides", "target_strides"),
    [
        ((0, 1), None),
        ((1, 0), None),
        ((1, 19), (1, 19)),
        ((37, 1), (39, 1)),
        ((2, 1), (37, 1)),
        (None, (3, 60)),
        (None, (1, 21)),
        (None, (21 * 37, 1)),
    ],
)
def test_layouts_of_every_type(
    execute: Any,
    source_strides: tuple[int, ...] | None,
    target_strides: tuple[int, ...] | None,
    data_type: T,
) -> None:
    full = ((19, 37), (0, 0), (19, 37), (1, 1))
    case = window(data_type, *full, source_strides=source_strides, target_strides=target_strides)
    check(case, execute)


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", EVERY_TYPE, ids=lambda t: t.name)
def test_an_output_that_interleaves_without_nesting(execute: Any, data_type: T) -> None:
    check(window(data_type, (2, 2), (0, 0), (2, 2), (1, 1), target_strides=(3, 2)), execute)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("data_type", "bits"),
    [
        (T.FLOAT32, [0x7FA00001, 0xFFC12345, 0x00000001, 0x80000000, 0x807FFFFF, 0xFF800000]),
        (T.FLOAT16, [0x7D01, 0xFE55, 0x0001, 0x8000, 0x83FF, 0xFC00]),
        (T.FLOAT64, [0x7FF4000000000001, 0xFFF8DEADBEEF0001, 1, 1 << 63, (1 << 52) - 1]),
    ],
)
def test_special_values_keep_their_bits(device: dml.Device, data_type: T, bits: list[int]) -> None:
    x = np.array(bits, oracle.bits_of(data_type)).view(oracle.NUMPY_TYPES[data_type])
    out = dml.slice1(device.tensor(x), (0,), (len(bits),), (-1,))
    assert out.tobytes()[: x.nbytes] == x[::-1].tobytes()


@pytest.mark.gpu
@pytest.mark.parametrize("step", [1, -1])
def test_more_than_65535_workgroups(device: dml.Device, step: int) -> None:
    # 64 invocations of 16 bytes each are 1 KiB of output: 80 MB needs more than 65,535 such groups.
    x = np.frombuffer(oracle.random_bytes(80_000_003, 3), np.uint8)
    out = dml.slice1(device.tensor(x), (1,), (80_000_001,), (step,)).numpy()
    assert np.array_equal(out, x[1:-1][::step])


@pytest.mark.gpu
def test_a_tensor_above_128_mib_works_or_is_refused_clearly(device: dml.Device) -> None:
    # 128 MiB is what WebGPU guarantees for one binding; an adapter may offer more.
    x = np.frombuffer(oracle.random_bytes(150_000_000, 4), np.uint16)
    try:
        out = dml.slice1(device.tensor(x), (3,), (x.size - 3,), (-1,)).numpy()
    except dml.DeviceError as refused:
        pytest.skip(str(refused))
    assert np.array_equal(out, x[3:][::-1])


BASE: dict[str, Kwargs] = {
    "SLICE": {
        "input_tensor": dml.TensorDesc(T.FLOAT32, (1, 1, 4, 4)),
        "output_tensor": dml.TensorDesc(T.FLOAT32, (1, 1, 2, 2)),
        "offsets": (0, 0, 1, 0),
        "sizes": (1, 1, 2, 2),
        "strides": (1, 1, 2, 3),
    },
    "SLICE1": {
        "input_tensor": dml.TensorDesc(T.FLOAT32, (1, 1, 4, 4)),
        "output_tensor": dml.TensorDesc(T.FLOAT32, (1, 1, 2, 2)),
        "input_window_offsets": (0, 0, 0, 1),
        "input_window_sizes": (1, 1, 4, 3),
        "input_window_strides": (1, 1, -2, 2),
    },
}


def f32(*sizes: int) -> dml.TensorDesc:
    return dml.TensorDesc(T.FLOAT32, sizes)


def ranked(rank: int, operator: str) -> Kwargs:
    ones = (1,) * rank
    names = [field for field in BASE[operator] if not field.endswith("_tensor")]
    tensors: Kwargs = {field: lambda: f32(*ones) for field in ("input_tensor", "output_tensor")}
    return tensors | {names[0]: (0,) * rank, names[1]: ones, names[2]: ones}


def typed(data_type: T, *fields: str) -> Kwargs:
    base = BASE["SLICE"]
    fields = fields or ("input_tensor", "output_tensor")
    return {field: change(base[field], data_type=data_type) for field in fields}


REJECTED: list[tuple[str, Kwargs, L, type[Exception], str]] = [
    ("SLICE", {"offsets": (0, 0, 1)}, L.FL_6_4, Invalid, r"offsets.*\b3\b.*\b4\b"),
    ("SLICE", {"sizes": (1, 1, 2)}, L.FL_6_4, Invalid, r"sizes.*\b3\b"),
    ("SLICE", {"strides": (1, 1, 2, 3, 1)}, L.FL_6_4, Invalid, r"strides.*\b5\b.*\b4\b"),
    ("SLICE", {"output_tensor": f32(1, 2, 2)}, L.FL_6_4, Invalid, r"output_tensor.*\b3\b"),
    ("SLICE", typed(T.FLOAT16, "output_tensor"), L.FL_6_4, Invalid, "output_tensor.*FLOAT16"),
    ("SLICE", {"output_tensor": f32(1, 1, 2, 1)}, L.FL_6_4, Invalid, r"(output_tensor|sizes).*2"),
    (
        "SLICE",
        {"sizes": (1, 1, 3, 2), "strides": (1, 1, 2, 1), "output_tensor": f32(1, 1, 3, 2)},
        L.FL_6_4,
        Invalid,
        r"(offsets|sizes|strides).*\b5\b",
    ),
    ("SLICE", {"offsets": (0, 0, 4, 0)}, L.FL_6_4, Invalid, r"offsets\[2\].*"),
    ("SLICE", {"strides": (1, 1, 0, 1)}, L.FL_6_4, Invalid, r"strides\[2\].*\b0\b"),
    ("SLICE", {"strides": (0, 1, 1, 1)}, L.FL_6_4, Invalid, r"strides\[0\].*\b0\b"),
    ("SLICE", {"strides": (1, 1, -2, 1)}, L.FL_6_4, Invalid, r"strides\[2\].*-2\b"),
    ("SLICE", {"strides": (2**32, 1, 1, 1)}, L.FL_6_4, Invalid, rf"strides\[0\].*{2**32}"),
    ("SLICE", {"offsets": (0, -1, 1, 0)}, L.FL_6_4, Invalid, r"offsets\[1\].*-1\b"),
    ("SLICE", {"offsets": (0, 2**32, 1, 0)}, L.FL_6_4, Invalid, rf"offsets\[1\].*{2**32}"),
    ("SLICE", {"sizes": (1, 0, 2, 2)}, L.FL_6_4, Invalid, r"sizes\[1\].*\b0\b"),
    ("SLICE", typed(T.INT8), L.FL_1_0, Unsupported, "input_tensor.*INT8.*FL_2_1.*FL_1_0"),
    ("SLICE", typed(T.UINT8), L.FL_2_0, Unsupported, "input_tensor.*UINT8.*FL_2_1.*FL_2_0"),
    ("SLICE", typed(T.INT64), L.FL_4_0, Unsupported, "input_tensor.*INT64.*FL_4_1.*FL_4_0"),
    ("SLICE", typed(T.UINT4), L.FL_6_4, Invalid, "input_tensor.*UINT4"),
    ("SLICE", ranked(3, "SLICE"), L.FL_2_1, Unsupported, r"input_tensor.*\b3\b.*FL_"),
    ("SLICE", ranked(6, "SLICE"), L.FL_2_1, Unsupported, r"input_tensor.*\b6\b.*FL_"),
    ("SLICE1", {"input_window_offsets": (0, 0)}, L.FL_6_4, Invalid, r"input_window_offsets.*2"),
    ("SLICE1", {"input_window_sizes": (1, 1)}, L.FL_6_4, Invalid, r"input_window_sizes.*2"),
    ("SLICE1", {"input_window_strides": (1,)}, L.FL_6_4, Invalid, r"input_window_strides.*1"),
    ("SLICE1", {"output_tensor": f32(2, 2)}, L.FL_6_4, Invalid, r"output_tensor.*\b2\b"),
    ("SLICE1", typed(T.FLOAT16, "output_tensor"), L.FL_6_4, Invalid, "output_tensor.*FLOAT16"),
    (
        "SLICE1",
        {"input_window_offsets": (0, 0, 2, 1), "input_window_sizes": (1, 1, 3, 3)},
        L.FL_6_4,
        Invalid,
        r"input_window_(offsets|sizes)\[2\].*\b[35]\b",
    ),
    (
        "SLICE1",
        {"input_window_sizes": (1, 1, 0, 3)},
        L.FL_6_4,
        Invalid,
        r"input_window_sizes\[2\].*\b0\b",
    ),
    (
        "SLICE1",
        {"input_window_strides": (1, 1, 0, 2)},
        L.FL_6_4,
        Invalid,
        r"input_window_strides\[2\].*\b0\b",
    ),
    (
        "SLICE1",
        {"output_tensor": f32(1, 1, 3, 2)},
        L.FL_6_4,
        Invalid,
        r"output_tensor.*\b3\b.*\b2\b",
    ),
    (
        "SLICE1",
        {"input_window_strides": (1, 1, -2, 2**31)},
        L.FL_6_4,
        Invalid,
        rf"input_window_strides\[3\].*{2**31}",
    ),
    (
        "SLICE1",
        {"input_window_strides": (1, 1, -(2**31) - 1, 1)},
        L.FL_6_4,
        Invalid,
        rf"input_window_strides\[2\].*-{2**31 + 1}",
    ),
    (
        "SLICE1",
        {"input_window_offsets": (0, 0, 0, -1)},
        L.FL_6_4,
        Invalid,
        r"input_window_offsets\[3\].*-1\b",
    ),
    ("SLICE1", {}, L.FL_2_0, Unsupported, "FL_2_1.*FL_2_0"),
    ("SLICE1", typed(T.FLOAT64), L.FL_3_1, Unsupported, "input_tensor.*FLOAT64.*FL_4_1.*FL_3_1"),
    ("SLICE1", typed(T.INT4), L.FL_6_4, Invalid, "input_tensor.*INT4"),
    ("SLICE1", ranked(8, "SLICE1"), L.FL_2_1, Unsupported, r"input_tensor.*\b8\b.*FL_"),
    ("SLICE1", ranked(3, "SLICE1"), L.FL_2_1, Unsupported, r"input_tensor.*\b3\b.*FL_"),
]


@pytest.mark.parametrize(("operator", "changes", "level", "error", "message"), REJECTED)
def test_rejected(
    operator: str, changes: Kwargs, level: L, error: type[dml.DmlError], message: str
) -> None:
    fault = Fault(operator, BASE[operator] | changes, error, level)
    with pytest.raises(error, match=rf"^{operator}\b.*{message}") as caught:
        fault.validate()
    assert type(caught.value) is error


@pytest.mark.parametrize("operator", ["SLICE", "SLICE1"])
def test_nine_dimensions_are_rejected(operator: str) -> None:
    with pytest.raises(Invalid, match=rf"^({operator}|TensorDesc)\b.*\b9\b"):
        Fault(operator, ranked(9, operator)).validate()


@pytest.mark.parametrize(
    ("operator", "changes"),
    [
        ("SLICE", {}),
        ("SLICE", {"strides": (2**32 - 1, 1, 2, 3)}),
        ("SLICE1", {}),
        ("SLICE1", {"input_window_strides": (-(2**31), 2**31 - 1, -2, 2)}),
        ("SLICE1", {"output_tensor": f32(1, 1, 1, 1)}),
    ],
)
def test_accepted(operator: str, changes: Kwargs) -> None:
    dml.validate(BY_NAME[operator].desc(**(BASE[operator] | changes)))


def wrong(draw: Draw, kwargs: Kwargs) -> list[Kwargs]:
    """One field of a valid description changed so that one rule of SLICE or SLICE1 breaks."""
    first, count, step = [field for field in kwargs if not field.endswith("_tensor")]
    source, target = kwargs["input_tensor"], kwargs["output_tensor"]
    d = draw(st.integers(0, source.rank - 1))

    def swap(field: str, value: int) -> Kwargs:
        return {field: (*kwargs[field][:d], value, *kwargs[field][d + 1 :])}

    grown = (*target.sizes[:d], target.sizes[d] + 2**20, *target.sizes[d + 1 :])
    other = draw(st.sampled_from([t for t in EVERY_TYPE if t != source.data_type]))
    return [
        swap(first, source.sizes[d]),
        swap(first, draw(st.sampled_from((-1, 2**32)))),
        swap(count, draw(st.sampled_from((-1, 0, source.sizes[d] + 1, 2**32)))),
        swap(step, draw(st.sampled_from((0, 2**32, -(2**31) - 1)))),
        {draw(st.sampled_from((first, count, step))): (1,) * (source.rank + 1)},
        {"output_tensor": change(target, sizes=grown, strides=None)},
        {"output_tensor": change(target, sizes=(1, *target.sizes)[-8:], strides=None)}
        if source.rank < 8
        else swap(step, 0),
        {"output_tensor": change(target, data_type=other)},
    ]


@pytest.mark.slow
@settings(max_examples=150)
@given(own_faults("SLICE", wrong))
def test_random_faults_of_slice(fault: Fault) -> None:
    oracle.assert_refused(fault.validate, fault.operator, fault.error)


@pytest.mark.slow
@settings(max_examples=150)
@given(own_faults("SLICE1", wrong))
def test_random_faults_of_slice1(fault: Fault) -> None:
    oracle.assert_refused(fault.validate, fault.operator, fault.error)

"""CUMULATIVE_SUMMATION and CUMULATIVE_PRODUCT against NumPy, and everything they refuse."""

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
from support.tables import SCAN7

import dmlgpu as dml
from dmlgpu import AxisDirection, TensorDesc
from dmlgpu import DataType as T
from dmlgpu import FeatureLevel as L
from dmlgpu.ops import BY_NAME

Invalid, Unsupported = dml.InvalidDescError, dml.UnsupportedError
SUM, PRODUCT = "CUMULATIVE_SUMMATION", "CUMULATIVE_PRODUCT"
BOTH = (SUM, PRODUCT)
EVERY_TYPE = sorted(SCAN7)


EXCLUSIVE = {SUM: "has_exclusive_sum", PRODUCT: "has_exclusive_product"}


def scan(
    operator: str,
    data_type: T,
    sizes: tuple[int, ...],
    axis: int,
    *,
    strides: tuple[int, ...] | None = None,
    out_strides: tuple[int, ...] | None = None,
    direction: AxisDirection = AxisDirection.INCREASING,
    exclusive: bool = False,
    in_place: bool = False,
    mode: str = "exact",
) -> Case:
    kwargs = {
        "input_tensor": TensorDesc(data_type, sizes, strides),
        "output_tensor": TensorDesc(data_type, sizes, strides if in_place else out_strides),
        "axis": axis,
        "axis_direction": direction,
        EXCLUSIVE[operator]: exclusive,
    }
    return Case(operator, kwargs, 5, in_place="input_tensor" if in_place else "", mode=mode)


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", EVERY_TYPE, ids=lambda t: t.name)
@pytest.mark.parametrize("operator", BOTH)
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(
    ("sizes", "axis"),
    [((1,), 0), ((3, 1), 1), ((5, 257), 1), ((257, 5), 0), ((3, 70, 11), 1), ((2,) * 8, 4)],
)
def test_every_direction_and_mode(
    execute: Any, sizes: tuple[int, ...], axis: int, in_place: bool, operator: str, data_type: T
) -> None:
    for direction in AxisDirection:
        for exclusive in (False, True):
            case = scan(
                operator,
                data_type,
                sizes,
                axis,
                direction=direction,
                exclusive=exclusive,
                in_place=in_place,
            )
            check(case, execute)


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", EVERY_TYPE, ids=lambda t: t.name)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "strides",
    [
        {"strides": (0, 1)},
        {"strides": (1, 0)},
        {"strides": (0, 0)},
        {"strides": (1, 1)},
        {"strides": (1, 23)},
        {"out_strides": (45, 1)},
        {"out_strides": (1, 23)},
        {"strides": (53, 1), "out_strides": (3, 70)},
        {"strides": (45, 1), "in_place": True},
        {"strides": (1, 23), "in_place": True},
        {"strides": (3, 71), "in_place": True},
    ],
    ids=str,
)
def test_layouts(execute: Any, strides: dict[str, Any], axis: int, data_type: T) -> None:
    check(scan(SUM, data_type, (23, 43), axis, **strides), execute)


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", EVERY_TYPE, ids=lambda t: t.name)
@pytest.mark.parametrize("in_place", [False, True])
def test_an_output_that_interleaves_without_nesting(
    execute: Any, in_place: bool, data_type: T
) -> None:
    layout = {"strides": (3, 2)} if in_place else {"out_strides": (3, 2)}
    for axis in (0, 1):
        check(scan(SUM, data_type, (2, 2), axis, in_place=in_place, **layout), execute)


POWERS = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)


@pytest.mark.gpu
@pytest.mark.parametrize("data_type", [T.UINT16, T.FLOAT32, T.INT64])
@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("before", [(), (2,)])
@pytest.mark.parametrize("after", [(), (3,)])
def test_lengths_around_powers_of_two(
    execute: Any, after: tuple[int, ...], before: tuple[int, ...], power: int, data_type: T
) -> None:
    for near in (-1, 0, 1):
        sizes = (*before, power + near, *after)
        down = AxisDirection(near % 2)
        check(scan(SUM, data_type, sizes, len(before), direction=down, mode="close"), execute)


@pytest.mark.gpu
@pytest.mark.parametrize("operator", BOTH)
@pytest.mark.parametrize("data_type", EVERY_TYPE, ids=lambda t: t.name)
@pytest.mark.parametrize("exclusive", [False, True])
def test_a_line_of_2_20(execute: Any, exclusive: bool, data_type: T, operator: str) -> None:
    direction = AxisDirection.DECREASING if exclusive else AxisDirection.INCREASING
    case = scan(operator, data_type, (2**20,), 0, direction=direction, exclusive=exclusive)
    if operator == SUM and data_type in oracle.FLOATS:  # long exact sums would pass 2**24
        case = scan(SUM, data_type, (2**20,), 0, exclusive=exclusive, mode="close")
    check(case, execute)


@pytest.mark.gpu
@pytest.mark.parametrize("direction", AxisDirection)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float16])
def test_a_line_of_2_24(device: dml.Device, dtype: Any, direction: AxisDirection) -> None:
    step = 1 if direction == AxisDirection.INCREASING else -1
    x = np.random.default_rng(1).integers(-1, 2, 2**24).astype(dtype)
    out = dml.cumulative_summation(device.tensor(x), 0, direction).numpy()
    with np.errstate(over="ignore"):
        expected = np.cumsum(x[::step], dtype=np.int64)[::step].astype(dtype)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.gpu
@pytest.mark.parametrize(("sizes", "axis"), [((5_000_000, 3), 1), ((3, 5_000_000), 0)])
def test_more_than_65535_workgroups(device: dml.Device, sizes: tuple[int, int], axis: int) -> None:
    x = np.frombuffer(oracle.random_bytes(60_000_000, 9), np.uint32).reshape(sizes)
    out = dml.cumulative_summation(device.tensor(x), axis, AxisDirection.DECREASING).numpy()
    assert np.array_equal(out, np.flip(np.cumsum(np.flip(x, axis), axis, np.uint32), axis))


@pytest.mark.gpu
@pytest.mark.parametrize("sizes", [(2**20,), (1000, 1000)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_same_bits_on_every_run(device: dml.Device, dtype: Any, sizes: tuple[int, ...]) -> None:
    x = device.tensor(np.random.default_rng(2).normal(size=sizes).astype(dtype))
    for axis in range(len(sizes)):
        first = dml.cumulative_summation(x, axis).tobytes()
        for _ in range(3):
            assert dml.cumulative_summation(x, axis).tobytes() == first


@pytest.mark.gpu
def test_float16_sums_round_once_to_nearest_even_and_overflow(device: dml.Device) -> None:
    inf = np.inf
    step_and_sum = [  # the exact sums stand in the comments where they are no FLOAT16
        *((2048, 2048), (1, 2048), (2, 2052), (1, 2052)),  # 2049, 2051
        *((61440, 63488), (2012, 65504), (15, 65504), (1, inf)),  # 63492, 65519, 65520
        *((4096, inf), (-4096, inf), (-1, 65504), (-65504, 15)),  # 69616, 65520, 65519
        *((-15, 0), (-2048, -2048), (-1, -2048), (-2, -2052), (-63488, -inf)),  # -2049, -2051
    ]
    x = np.array([step for step, _ in step_and_sum], np.float16)
    out = dml.cumulative_summation(device.tensor(x), 0).numpy()
    assert out.tolist() == [expected for _, expected in step_and_sum]


@pytest.mark.gpu
@pytest.mark.parametrize("operator", BOTH)
def test_float16_pairs_are_rounded_from_float32(device: dml.Device, operator: str) -> None:
    bits = np.frombuffer(oracle.random_bytes(2**18, 21), np.uint16)
    x = bits.view(np.float16).reshape(-1, 2)
    x = x[np.isfinite(x).all(axis=1)]
    run = dml.cumulative_summation if operator == SUM else dml.cumulative_product
    out = run(device.tensor(x), 1).numpy()
    a, b = x[:, 0].astype(np.float32), x[:, 1].astype(np.float32)
    oracle.assert_same_values(out[:, 0], a)
    tiny = (np.abs(x) < np.finfo(np.float16).tiny).any(axis=1)  # may be flushed on the way in
    oracle.assert_same_values(out[~tiny, 1], (a + b if operator == SUM else a * b)[~tiny])


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_nan_and_infinity_propagate(device: dml.Device, dtype: Any) -> None:
    x = np.array([[1, np.nan, 2, 3], [np.inf, 1, -np.inf, 5], [-np.inf, 2, 3, 4]], dtype)
    out = dml.cumulative_summation(device.tensor(x), 1).numpy()
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(out, np.cumsum(x, axis=1, dtype=dtype))


@pytest.mark.gpu
def test_the_exclusive_first_element_is_the_identity_exactly(device: dml.Device) -> None:
    x = device.tensor(np.full((3, 5), -0.0, np.float32))
    zero = dml.cumulative_summation(x, 1, exclusive=True).numpy()[:, 0]
    assert zero.tobytes() == np.zeros(3, np.float32).tobytes()
    assert dml.cumulative_product(x, 1, exclusive=True).numpy()[:, 0].tolist() == [1, 1, 1]


def f32(*sizes: int) -> TensorDesc:
    return TensorDesc(T.FLOAT32, sizes)


def base(operator: str) -> Kwargs:
    return scan(operator, T.FLOAT32, (1, 1, 3, 4), 3).kwargs


def typed(data_type: T, *fields: str) -> Kwargs:
    names = fields or ("input_tensor", "output_tensor")
    return {field: change(f32(1, 1, 3, 4), data_type=data_type) for field in names}


def ranked(rank: int) -> Kwargs:
    tensors = {f: lambda: f32(*(2,) * rank) for f in ("input_tensor", "output_tensor")}
    return {**tensors, "axis": 0}


REJECTED: list[tuple[Kwargs, L, type[Exception], str]] = [
    ({"axis": 4}, L.FL_6_4, Invalid, r"axis.*\b4\b"),
    ({"axis": -1}, L.FL_6_4, Invalid, r"axis.*-1\b"),
    ({"axis": 2**32}, L.FL_6_4, Invalid, rf"axis.*{2**32}"),
    ({"axis_direction": 2}, L.FL_6_4, Invalid, r"axis_direction.*\b2\b"),
    ({"axis_direction": -1}, L.FL_6_4, Invalid, r"axis_direction.*-1\b"),
    ({"output_tensor": f32(1, 1, 3, 5)}, L.FL_6_4, Invalid, r"output_tensor.*\b5\b"),
    ({"output_tensor": f32(1, 3, 4)}, L.FL_6_4, Invalid, r"output_tensor.*\b3\b"),
    (typed(T.FLOAT16, "output_tensor"), L.FL_6_4, Invalid, "output_tensor.*FLOAT16"),
    (ranked(3), L.FL_3_1, Unsupported, r"input_tensor.*\b3\b.*FL_"),
    (ranked(5), L.FL_3_1, Unsupported, r"input_tensor.*\b5\b.*FL_"),
    (typed(T.INT64), L.FL_4_1, Unsupported, "input_tensor.*INT64.*FL_5_0.*FL_4_1"),
    (typed(T.UINT64), L.FL_4_0, Unsupported, "input_tensor.*UINT64.*FL_5_0.*FL_4_0"),
    *(
        (typed(t), level, Invalid, rf"input_tensor.*\b{t.name}\b")
        for t in (T.INT8, T.UINT8, T.INT16, T.FLOAT64, T.UINT4, T.INT4)
        for level in (L.FL_3_1, L.FL_6_4)
    ),
]


@pytest.mark.parametrize("operator", BOTH)
@pytest.mark.parametrize(("changes", "level", "error", "message"), REJECTED)
def test_rejected(
    operator: str, changes: Kwargs, level: L, error: type[dml.DmlError], message: str
) -> None:
    fault = Fault(operator, base(operator) | changes, error, level)
    with pytest.raises(error, match=rf"^{operator}\b.*{message}") as caught:
        fault.validate()
    assert type(caught.value) is error


@pytest.mark.parametrize(
    ("operator", "needs", "below"), [(SUM, "FL_2_1", L.FL_2_0), (PRODUCT, "FL_3_1", L.FL_3_0)]
)
def test_not_known_below_the_level_that_introduced_it(operator: str, needs: str, below: L) -> None:
    with pytest.raises(Unsupported, match=rf"^{operator}\b.*{needs}.*{below.name}"):
        dml.validate(BY_NAME[operator].desc(**base(operator)), below)


@pytest.mark.parametrize("operator", BOTH)
def test_nine_dimensions_are_rejected(operator: str) -> None:
    with pytest.raises(Invalid, match=rf"^({operator}|TensorDesc)\b.*\b9\b"):
        Fault(operator, base(operator) | ranked(9)).validate()


@pytest.mark.parametrize("operator", BOTH)
@pytest.mark.parametrize("changes", [{"axis_direction": 0}, {"axis_direction": 1}])
def test_raw_enumeration_values_are_accepted(operator: str, changes: Kwargs) -> None:
    dml.validate(BY_NAME[operator].desc(**(base(operator) | changes | {EXCLUSIVE[operator]: 2})))


def wrong(draw: Draw, kwargs: Kwargs) -> list[Kwargs]:
    """One field of a valid description changed so that one rule of the scans breaks."""
    source, target = kwargs["input_tensor"], kwargs["output_tensor"]
    d = draw(st.integers(0, source.rank - 1))
    grown = (*target.sizes[:d], target.sizes[d] + 1, *target.sizes[d + 1 :])
    other = draw(st.sampled_from([t for t in EVERY_TYPE if t != source.data_type]))
    changes: list[Kwargs] = [
        {"axis": draw(st.sampled_from((source.rank, -1, 2**32)))},
        {"axis_direction": draw(st.sampled_from((2, -1, 2**31)))},
        {"output_tensor": change(target, sizes=grown, strides=None)},
        {"output_tensor": change(target, data_type=other)},
    ]
    if source.rank < 8:
        changes.append({"output_tensor": change(target, sizes=(1, *target.sizes), strides=None)})
    return changes


@pytest.mark.slow
@settings(max_examples=150)
@given(own_faults(SUM, wrong))
def test_random_faults_of_summation(fault: Fault) -> None:
    oracle.assert_refused(fault.validate, fault.operator, fault.error)


@pytest.mark.slow
@settings(max_examples=150)
@given(own_faults(PRODUCT, wrong))
def test_random_faults_of_product(fault: Fault) -> None:
    oracle.assert_refused(fault.validate, fault.operator, fault.error)

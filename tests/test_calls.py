"""What a call costs the host: nothing that was worked out once is worked out again."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any
from weakref import WeakSet

import numpy as np
import pytest
from support.programs import says

import dmlgpu as dml
import dmlgpu.numpy as dnp
from dmlgpu.gpu import transfer
from dmlgpu.runtime import context, executable

pytestmark = pytest.mark.gpu

X = np.arange(4 * 16 * 64, dtype=np.float32).reshape(4, 16, 64)
AT = np.array([3, 0, 1], np.int64)

Expression = Callable[[Any, Any], Any]
EXPRESSIONS: dict[str, Expression] = {
    "x + y": lambda x, i: x + x,
    "2.0 - x": lambda x, i: 2.0 - x,
    "-x": lambda x, i: -x,
    "x > y": lambda x, i: x > x,
    "x[:, 1:, 2:-2]": lambda x, i: x[:, 1:, 2:-2],
    "x[3]": lambda x, i: x[3],
    "x.sum(1)": lambda x, i: x.sum(1),
    "x.max()": lambda x, i: x.max(),
    "x.cumsum(1)": lambda x, i: x.cumsum(1),
    "x.take(i, 0)": lambda x, i: x.take(i, 0),
}
FRAMES = 8  # functions of Python that a call goes through


class Frames:
    """Counts the functions of Python that are entered."""

    def __init__(self) -> None:
        self.entered: list[str] = []

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            self.entered.append(frame.f_code.co_qualname)

    def of(self, call: Callable[[], object]) -> list[str]:
        self.entered.clear()
        before = sys.getprofile()
        sys.setprofile(self)
        try:
            call()
        finally:
            sys.setprofile(before)
        return self.entered


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_call_that_was_made_before_goes_straight_down(device: dml.Device, name: str) -> None:
    expression = EXPRESSIONS[name]
    x, at = device.tensor(X), device.tensor(AT)
    for _ in range(3):
        made = expression(x, at)
    _, _, *entered = Frames().of(lambda: expression(x, at))
    assert len(entered) <= FRAMES, entered
    again = expression(x, at)
    expected = np.asarray(expression(X, AT))
    assert (again.shape, again.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(made.numpy(), expected)
    np.testing.assert_array_equal(again.numpy(), expected)


def set_row(x: Any, value: Any) -> Any:
    x[1] = value
    return x


def add_to(x: Any, other: Any) -> Any:
    x += other
    return x


# Frames of other spellings, as few as they have been: they only fall.
SPELLINGS: dict[str, tuple[int, Expression]] = {
    "dnp.exp": (12, lambda x, i: dnp.exp(x)),
    "dnp.add": (13, lambda x, i: dnp.add(x, x)),
    "np.add": (22, lambda x, i: np.add(x, x)),
    "dnp.sum": (11, lambda x, i: dnp.sum(x, axis=1)),
    "np.sum": (20, lambda x, i: np.sum(x, axis=1)),
    "x.T": (8, lambda x, i: x.T),
    "x.reshape": (18, lambda x, i: x.reshape(16, -1)),
    "x[1:] - x[:-1]": (16, lambda x, i: x[1:] - x[:-1]),
    "x.copy": (8, lambda x, i: x.copy()),
    "x[1] = 2.0": (20, lambda x, i: set_row(x, 2.0)),
    "x += 1.0": (18, lambda x, i: add_to(x, 1.0)),
    "np.concatenate": (209, lambda x, i: np.concatenate([x, x])),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_other_spellings_go_down_in_few_frames(device: dml.Device, name: str) -> None:
    most, expression = SPELLINGS[name]
    x, at = device.tensor(X), device.tensor(AT)
    for _ in range(3):
        expression(x, at)
    _, _, *entered = Frames().of(lambda: expression(x, at))
    assert len(entered) <= most, entered


FUNCTIONS: dict[str, Expression] = {
    "slice1": lambda x, i: dml.slice1(x, [0, 1, 2], [4, 15, 60], [1, 1, 1]),
    "slice1 by name": lambda x, i: dml.slice1(
        x,
        input_window_sizes=(4, 15, 60),
        input_window_offsets=(0, 1, 2),
        input_window_strides=(1, 1, 1),
    ),
    "element_wise_add": lambda x, i: dml.element_wise_add(x, x),
    "gather": lambda x, i: dml.gather(x, i, axis=0),
    "gather by name": lambda x, i: dml.gather(axis=0, indices=i, x=x),
    "reduce": lambda x, i: dml.reduce(x, dml.ReduceFunction.SUM, [1]),
    "top_k": lambda x, i: dml.top_k(x, axis=2, k=3)[1],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_was_called_so_before_takes_one_look_up(
    device: dml.Device, name: str
) -> None:
    x, at = device.tensor(X), device.tensor(AT)
    expected = FUNCTIONS[name](X, AT).numpy()
    FUNCTIONS[name](x, at)
    before = len(device.remembered)
    entered = Frames().of(lambda: FUNCTIONS[name](x, at))
    assert len(device.remembered) == before
    if name not in ("top_k", "gather by name", "reduce"):
        assert len(entered) <= FRAMES, entered
    np.testing.assert_array_equal(FUNCTIONS[name](x, at).numpy(), expected)


def test_arguments_that_are_equal_but_not_the_same_are_told_apart(device: dml.Device) -> None:
    x = device.tensor(X)
    dml.cumulative_summation(x, 1)
    for axis in (1.0, np.float64(5e-324)):  # the bits of the second are those of an integer
        with pytest.raises(dml.InvalidDescError, match="axis"):
            dml.cumulative_summation(x, axis)  # type: ignore[arg-type]
    dml.slice(x, [np.int64(1)] * 3, [1, 1, 1], [1, 1, 1])
    with pytest.raises(dml.InvalidDescError, match="offsets"):
        dml.slice(x, [np.float64(5e-324)] * 3, [1, 1, 1], [1, 1, 1])  # type: ignore[list-item]


def test_bool_and_the_bytes_that_hold_it_are_told_apart(device: dml.Device) -> None:
    """Both have one description, and what is remembered for one is not right for the other."""
    values = np.array([3, 0, 200], np.uint8)
    truth, numbers = device.tensor(values != 0), device.tensor(values)
    assert truth.desc == numbers.desc
    for _ in range(2):
        assert (numbers + numbers).tolist() == [6, 0, 144]
        assert (truth + truth).tolist() == [True, False, True]
        assert numbers.sum().item() == 203
        assert truth.sum().item() == 2
        assert truth[1:].dtype == np.bool_
        assert numbers[1:].dtype == np.uint8
        assert truth[0].shape == ()
        assert truth[:1].shape == (1,)


def test_zeros_of_both_signs_are_two_numbers(device: dml.Device) -> None:
    x = device.tensor(np.ones(3, np.float32))
    for zero in (0.0, -0.0, np.float64(0.0), np.float64(-0.0)):
        signs = np.signbit((x * zero).numpy())
        assert signs.all() == np.signbit(zero), repr(zero)


def test_attributes_that_are_zeros_of_both_signs_are_two_numbers(device: dml.Device) -> None:
    x = device.tensor(np.ones(3, np.float32))
    inner = dml.TensorDesc(dml.DataType.FLOAT32, (3,))
    outer = dml.TensorDesc(dml.DataType.FLOAT32, (4,))
    for zero in (0.0, -0.0, np.float64(0.0), np.float64(-0.0)):
        desc = dml.PaddingDesc(
            input_tensor=inner,
            output_tensor=outer,
            padding_mode=dml.PaddingMode.CONSTANT,
            padding_value=zero,
            start_padding=[0],
            end_padding=[1],
        )
        found = [
            dml.padding(x, dml.PaddingMode.CONSTANT, zero, [0], [1]),
            dml.element_wise_clip(x, min=zero, max=zero),
            dml.element_wise_identity(x, scale_bias=dml.ScaleBias(zero, -0.0)),
            device.compile(desc)(x),
        ]
        for result in found:
            assert np.signbit(result.numpy()[-1]) == np.signbit(zero), repr(zero)


def test_new_buffers_that_lie_as_others_did_are_bound_without_the_shaders_text(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    desc = dml.TensorDesc(dml.DataType.FLOAT32, (777,))
    sums = dml.CumulativeSummationDesc(input_tensor=desc, output_tensor=desc, axis=0)
    values = np.ones(777, np.float32)
    with dml.Device() as fresh:
        op = fresh.compile(sums)
        kept = [op(fresh.tensor(values))]
        monkeypatch.setattr(executable, "binds", None)
        for _ in range(3):
            x, out = fresh.tensor(values), fresh.empty(desc)
            kept += [x, op(x, out=out)]
            np.testing.assert_array_equal(out.numpy(), np.cumsum(values))


@pytest.mark.usefixtures("device")
def test_the_first_upload_imports_nothing() -> None:
    """NumPy's masked arrays take 50 ms to import."""
    program = """
device = dml.Device()
before = set(sys.modules)
device.tensor(np.ones(4, np.float32)).cumsum(0).numpy()
print(sorted(name for name in set(sys.modules) - before if not name.startswith("dmlgpu")))
"""
    assert says(program) == "[]\n"


def test_waiting_submits_writes_only_where_there_are_some(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed = []
    device.wait()  # for what other tests have recorded
    flush = device.context.gpu.flush_writes
    monkeypatch.setattr(device.context.gpu, "flush_writes", lambda: flushed.append(flush()))
    with monkeypatch.context() as busy:
        busy.setattr(transfer, "is_idle", lambda *_: False)  # else the tensor is written in place
        x = device.tensor(np.ones(4, np.float32))
    device.wait()
    device.wait()
    assert len(flushed) == 1
    assert x.tolist() == [1, 1, 1, 1]


def test_memory_beyond_the_limit_goes_with_a_submission() -> None:
    with dml.Device() as device:
        pool = device.context.pool
        device.memory_limit = 1 << 20
        tensors = [device.empty(dml.TensorDesc(dml.DataType.UINT8, (1 << 18,))) for _ in range(9)]
        tensors.append(device.empty(dml.TensorDesc(dml.DataType.UINT8, (256,))))
        del tensors
        assert pool._pooled() > device.memory_limit
        device.flush()
        # One goes of the size that was asked for before the other.
        assert pool._pooled() == (1 << 20) + 256 - (1 << 18)


def test_memory_of_the_size_asked_for_longest_ago_goes_first() -> None:
    """However little of it there is, and however much of the size that is asked for now."""

    def room(*sizes: int) -> list[dml.Tensor]:
        return [device.empty(dml.TensorDesc(dml.DataType.UINT8, (size,))) for size in sizes]

    with dml.Device() as device:
        device.memory_limit = 1 << 20
        room(4096)
        room(1 << 17, 1 << 17)
        room(*[1 << 18] * 4)
        device.flush()
        pool = device.context.pool
        assert {size for size, shelf in pool._shelves.items() if shelf} == {1 << 18}
        storages = {x.storage.serial for x in room(*[1 << 18] * 4)}
        device.flush()
        assert {x.storage.serial for x in room(*[1 << 18] * 4)} == storages


def test_pipelines_beyond_the_limit_go_and_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever was bound to them: an operator that the caller has, and a remembered function."""
    monkeypatch.setattr(context, "PIPELINE_LIMIT", 3)
    with dml.Device() as device:
        alive: WeakSet[Any] = WeakSet()
        make = device.context.gpu.pipeline

        def made(*given: Any) -> Any:
            pipeline = make(*given)
            alive.add(pipeline)
            return pipeline

        monkeypatch.setattr(device.context.gpu, "pipeline", made)
        x = device.tensor(np.arange(1, 9, dtype=np.float32))
        desc = dml.infer(dml.ElementWiseSqrtDesc, input_tensor=x.desc)
        op = device.compile(desc)
        wanted = np.sqrt(x.numpy())
        functions = [np.exp, np.log, np.sin, np.cos, np.tan, np.floor, np.ceil, np.rint]
        for function in (*functions, *functions):
            np.testing.assert_allclose(function(x).numpy(), function(x.numpy()), rtol=1e-6)
            np.testing.assert_array_equal(op(x).numpy(), wanted)
            gc.collect()
            assert len(alive) <= 3


def test_what_the_device_can_spare_is_the_limit_until_one_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with dml.Device() as device:
        asked: list[int] = []
        monkeypatch.setattr(device.context, "room", lambda: asked.append(3 << 30) or 3 << 30)
        device.tensor(np.ones(9, np.float32))
        device.flush()
        assert not asked
        assert device.memory_limit == device.memory.limit == asked[0] == 3 << 30
        device.memory_limit = 256
        assert device.memory_limit == 256
        with pytest.raises(dml.InvalidDescError, match="memory_limit"):
            device.memory_limit = -1
        device.memory_limit = None
        assert device.memory_limit == 3 << 30


def test_release_gives_back_what_is_kept() -> None:
    with dml.Device() as device:
        x = device.tensor(np.ones(1000, np.float32))
        for _ in range(3):
            x = x + 1
        assert device.memory.pooled
        device.release()
        assert device.memory.pooled == 0
        assert x.tolist() == [4] * 1000


def test_where_the_device_refuses_only_as_much_goes_as_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with dml.Device() as device:
        pool = device.context.pool
        for size in (1 << 16, 1 << 17, 1 << 18):
            device.empty(dml.TensorDesc(dml.DataType.UINT8, (size,)))
        make, least = pool._make, (1 << 18) + (1 << 17)

        def refuse(size: int) -> Any:
            if pool._pooled() > least:
                raise dml.OutOfMemoryError("full")
            return make(size)

        monkeypatch.setattr(pool, "_make", refuse)
        device.empty(dml.TensorDesc(dml.DataType.UINT8, (5000,)))
        assert [len(pool.shelf(1 << n)) for n in (16, 17, 18)] == [0, 1, 1]


def test_a_buffer_that_someone_may_hold_is_not_used_again_whatever_interrupts() -> None:
    """As if it came before the pool knew where the memory goes from there."""
    with dml.Device() as device:
        desc = dml.TensorDesc(dml.DataType.UINT8, (5000,))
        for evicted in (False, True):
            x = device.empty(desc)
            storage = x.storage
            storage.special = storage.shared = True
            del x
            if evicted:
                device.context.pool.clear()
                device.wgpu_device.queue.read_buffer(storage.buffer)  # it still exists
            else:
                assert device.empty(desc).storage is not storage


def test_what_an_interruption_kept_from_coming_back_is_let_go() -> None:
    """As if it came between the two steps in which memory changes hands."""
    with dml.Device() as device:
        desc = dml.TensorDesc(dml.DataType.UINT8, (5000,))
        device.empty(desc)
        pool = device.context.pool
        taken: Any = pool.shelf(5000).pop()
        serial = taken.storage.serial
        assert serial in pool._lent
        assert (device.memory.in_use, device.memory.pooled) == (0, 0)
        assert serial not in pool._lent
        assert device.empty(desc).storage.serial != serial

"""The fuzzer's cases on tensors: index objects, bindings, and calls in any order."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc
from support.fuzz_values import garbage, inputs, numbers

Draw = Callable[[Any], Any]
Array = np.ndarray[Any, Any]

LINE = np.array([3, 1, 4, 1, 5, 2, 6, 0], np.float32)
INDEXED = [
    np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    np.arange(15, dtype=np.uint8).reshape(3, 5),
    np.arange(7, dtype=np.int64),
]


@st.composite
def indices(draw: Draw) -> Any:
    """Anything that may stand between the brackets."""
    bound = st.none() | st.integers(-9, 9) | st.sampled_from((2**40, -(2**70), np.int8(1)))
    step = st.sampled_from((None, 1, 1, 2, -1, -3, 2**40))
    entry = st.one_of(
        st.integers(-4, 4),
        st.builds(slice, bound, bound, step),
        st.builds(slice, bound, bound, step),
        st.sampled_from((None, ...)),
        st.builds(slice, bound | numbers(), bound, step | numbers()),
        garbage(),
    )
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return draw(entry)
    if kind == 1:
        return tuple(draw(st.lists(entry, max_size=10)))
    simple = st.one_of(st.integers(-2, 1), st.builds(slice, bound, bound, step))
    return tuple(draw(st.lists(simple | st.sampled_from((None, ...)), max_size=4)))


def index(draw: Draw, tensors: list[dml.Tensor]) -> Callable[[], object]:
    """`x[index]`: NumPy's view, or a refusal."""
    number = draw(st.integers(0, len(INDEXED) - 1))
    key = draw(indices())

    def case() -> None:
        result = tensors[number][key]
        want = INDEXED[number][key]
        assert result.shape == want.shape
        np.testing.assert_array_equal(result.numpy(), want)

    return case


class Bench:
    """Three operators over eight numbers, with a memory to lay tensors out in."""

    def __init__(self, device: dml.Device, other: dml.Device, closed: dml.Tensor) -> None:
        self.device, self.other, self.closed = device, other, closed
        line, column = TensorDesc(T.FLOAT32, (8,)), TensorDesc(T.FLOAT32, (8, 1))
        self.ops = {
            "reverse": device.compile(
                dml.Slice1Desc(
                    input_tensor=line,
                    output_tensor=line,
                    input_window_offsets=(0,),
                    input_window_sizes=(8,),
                    input_window_strides=(-1,),
                )
            ),
            "sum": device.compile(
                dml.CumulativeSummationDesc(input_tensor=line, output_tensor=line, axis=0)
            ),
            "gather": device.compile(
                dml.GatherNdDesc(
                    input_tensor=column,
                    indices_tensor=TensorDesc(T.INT32, (8, 1)),
                    output_tensor=column,
                    input_dimension_count=2,
                    indices_dimension_count=2,
                )
            ),
        }
        self.arena_desc = TensorDesc(T.FLOAT32, (64,), guaranteed_base_offset_alignment=256)

    def answer(self, name: str, values: list[Array]) -> Array:
        """What NumPy makes of the inputs."""
        if name == "reverse":
            return values[0].reshape(8)[::-1]
        if name == "sum":
            return np.cumsum(values[0].reshape(8), dtype=np.float32)
        rows = values[1].reshape(8).astype(np.int64)
        return values[0].reshape(8)[np.clip(np.where(rows < 0, rows + 8, rows), 0, 7)]


KINDS = ("right", "right", "view", "arena", "column", "int", "short", "roomy", "strided")
FAR = ("other device", "closed device", "array", "array", "any", "same")


def binding(draw: Draw, bench: Bench) -> Callable[[], object]:
    """One call with tensors and arrays of every kind in every place."""
    name = draw(st.sampled_from(sorted(bench.ops)))
    wanted = 2 if name == "gather" else 1
    count = draw(st.sampled_from((wanted,) * 9 + (0, 1, 2, 3)))
    kinds = [draw(st.sampled_from(KINDS + FAR)) for _ in range(count)]
    if name == "gather" and count > 1:
        kinds[1] = draw(st.sampled_from(("int", "int", "int array", kinds[1])))
    target = draw(st.sampled_from(("none", "none", "none", *KINDS, *FAR)))
    places = [draw(st.sampled_from((0, 16, 32, 48, 64, 128))) for _ in range(count + 1)]
    strange = [draw(inputs()) for kind in (*kinds, target) if kind == "any"]

    def case() -> None:
        device = bench.device
        arena = device.upload(bench.arena_desc, np.tile(LINE, 8).tobytes())
        left = iter(strange)

        def make(kind: str, place: int, first: Any) -> Any:
            if kind in ("right", "column"):
                return device.tensor(LINE.reshape(8, 1) if kind == "column" else LINE)
            if kind == "view":
                return device.tensor(np.tile(LINE, 2)).view(TensorDesc(T.FLOAT32, (8,)))
            if kind == "arena":
                return device.wrap(arena.buffer, TensorDesc(T.FLOAT32, (8,)), place)
            if kind in ("int", "int array"):
                values = (LINE.astype(np.int32) - 2).reshape(8, 1)
                return values if kind == "int array" else device.tensor(values)
            if kind == "short":
                return device.tensor(LINE[:7])
            if kind == "roomy":
                desc = TensorDesc(T.FLOAT32, (8,), total_tensor_size_in_bytes=48)
                return device.upload(desc, LINE.tobytes() + bytes(16))
            if kind == "strided":
                return device.upload(TensorDesc(T.FLOAT32, (8,), (2,)), np.tile(LINE, 2)[1:])
            if kind == "other device":
                return bench.other.tensor(LINE)
            if kind == "closed device":
                return bench.closed
            if kind == "array":
                return np.tile(LINE, 2)[place // 16 :: 2][:8]
            return next(left) if kind == "any" else first

        made: list[Any] = []
        for kind, place in zip(kinds, places, strict=False):
            made.append(make(kind, place, made[0] if made else None))
        out = None if target == "none" else make(target, places[-1], made[0] if made else None)
        before = [contents(v) for v in made]
        around = arena.numpy()
        result = bench.ops[name](*made, out=out)
        want = bench.answer(name, before)
        np.testing.assert_array_equal(result.numpy().reshape(8), want)
        if out is not None:
            np.testing.assert_array_equal(out.numpy().reshape(8), want)
        inside = slice(0, 0)
        if target == "arena" or (target == "same" and kinds[:1] == ["arena"]):
            inside = slice(result.offset // 4, result.offset // 4 + 8)
        after = arena.numpy()
        around[inside] = after[inside]
        np.testing.assert_array_equal(after, around)

    return case


def contents(value: Any) -> Any:
    """A copy of what an input holds; None of what no call can accept."""
    try:
        return np.array(value)
    except Exception:
        return None


STEPS = (
    *("tensor", "tensor", "sum", "sum", "sum", "reverse", "in place", "read", "read", "drop"),
    *("flush", "wait", "index", "wrap", "profile", "leave", "leave wrongly", "compile", "close"),
    *("bad call", "bad desc", "too large", "collect", "memory", "exit twice"),
    *("forget", "forget", "forget", "array", "gather", "stray index", "too large"),
)


def order(draw: Draw) -> Callable[[], object]:
    """Calls in any order on a device of their own: what is read is right, or the device is gone."""
    steps = draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=14))
    picks = draw(st.lists(st.integers(0, 5), min_size=len(steps), max_size=len(steps)))
    debug = draw(st.booleans())

    def case() -> None:
        device = dml.Device(debug=debug)
        life = Life(device)
        refused: dml.DmlError | None = None
        for step, pick in zip(steps, picks, strict=True):
            try:
                life.step(step, pick)
            except dml.DmlError as error:
                refused = error
        device.close()
        if refused is not None:
            raise refused

    return case


class Life:
    """A device and what its tensors must hold."""

    def __init__(self, device: dml.Device) -> None:
        self.device = device
        self.closed = False
        self.line = TensorDesc(T.FLOAT32, (8,))
        self.sum = dml.CumulativeSummationDesc(
            input_tensor=self.line, output_tensor=self.line, axis=0
        )
        self.held: list[tuple[dml.Tensor, Array]] = []
        self.profiles: list[Any] = []
        self.ops: list[dml.CompiledOperator] = []

    def step(self, name: str, pick: int) -> None:
        """Does one thing; what a closed device answers must be an error."""
        device = self.device
        tensor, values = self.held[pick % len(self.held)] if self.held else (None, LINE)
        done: Any = None
        if name == "tensor":
            done = device.tensor(LINE + pick)
            self.held.append((done, LINE + pick))
        elif name == "compile":
            done = device.compile(self.sum)
            self.ops.append(done)
        elif name == "sum" and tensor is not None:
            op = self.ops[0] if self.ops else device.compile(self.sum)
            done = op(tensor)
            self.held.append((done, np.cumsum(values, dtype=np.float32)))
        elif name == "reverse" and tensor is not None:
            done = dml.slice1(tensor, [0], [8], [-1])
            self.held.append((done, values[::-1]))
        elif name == "index" and tensor is not None:
            done = tensor[::-1][::-1]
            self.held.append((done, values))
        elif name == "wrap" and tensor is not None:
            done = device.wrap(tensor.buffer, self.line, tensor.offset)
            self.held.append((done, values))
        elif name == "in place" and tensor is not None:
            device.compile(self.sum)(tensor, out=tensor)
            new = np.cumsum(values, dtype=np.float32)
            same = tensor.buffer
            self.held = [(t, new if t.buffer is same else v) for t, v in self.held]
        elif name == "gather" and tensor is not None:
            done = dml.gather_nd(tensor, np.array([[7 - n] for n in range(8)]))
            self.held.append((done, values[::-1]))
        elif name == "array":
            done = device.compile(self.sum)(LINE + pick)
            self.held.append((done, np.cumsum(LINE + pick, dtype=np.float32)))
        elif name == "read" and tensor is not None:
            done = tensor.numpy()
            np.testing.assert_array_equal(done, values)
        else:
            self.other(name, pick)
        assert done is None or not self.closed, f"{name} worked on a closed device"

    def other(self, name: str, pick: int) -> None:
        """Steps that give nothing."""
        device = self.device
        if name == "drop" and self.held:
            del self.held[pick % len(self.held)]
        elif name == "collect":
            gc.collect()
        elif name == "forget":
            for _ in range(1 + pick):
                dml.cumulative_summation(device.tensor(LINE), 0)
        elif name == "stray index":
            rows = device.tensor(np.array([[pick + 6]], np.int32))
            dml.gather_nd(device.tensor(LINE), rows)
        elif name == "flush":
            device.flush()
        elif name == "wait":
            device.wait()
        elif name == "memory":
            assert device.memory.in_use >= 0
        elif name == "profile":
            profile = device.profile()
            profile.__enter__()
            self.profiles.append(profile)
        elif name in ("leave", "exit twice") and self.profiles:
            profile = self.profiles[-1] if name == "exit twice" else self.profiles.pop()
            profile.__exit__(None, None, None)
            assert str(profile)
        elif name == "leave wrongly" and self.profiles:
            self.profiles.pop().__exit__(ValueError, ValueError("x"), None)
        elif name == "close":
            device.close()
            self.closed = True
        elif name == "bad call":
            device.compile(self.sum)(LINE[:3])
        elif name == "bad desc":
            device.compile(self.line)
        elif name == "too large":
            device.empty(TensorDesc(T.FLOAT32, (2**32 - 1,)))

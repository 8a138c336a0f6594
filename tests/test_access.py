"""Every way a shader reaches a tensor, run: alias, offset, scalar end, several bindings, atomics.

Small tensors and made-up limits stand in for the large ones that would need them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.kernels import read_file, slots_of

import dmlgpu as dml
from dmlgpu.gpu.memory import Storage
from dmlgpu.gpu.recording import Call
from dmlgpu.runtime.reach import Range, reach, window
from dmlgpu.wgsl import assembly as wgsl
from dmlgpu.wgsl import source
from dmlgpu.wgsl.assembly import Access, assemble


@pytest.fixture(autouse=True)
def shaders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "read", read_file)


class Runner:
    """Runs a kernel over ranges of buffers, reached as `reach` decides for some adapter."""

    def __init__(self, device: dml.Device) -> None:
        self.device = device

    def __call__(
        self,
        kernel: str,
        buffers: list[np.ndarray[Any, Any]],
        places: dict[str, tuple[int, int, int]],
        params: bytes,
        *,
        alignment: int = 256,
        max_binding: int = 1 << 20,
        whole: bool = False,
    ) -> tuple[list[np.ndarray[Any, Any]], dict[str, Access]]:
        """Places are (buffer, offset, size) in bytes; returns the buffers afterwards."""
        gpu = self.device.context.gpu
        storages = []
        for words in buffers:
            buffer = gpu.buffer(words.nbytes)
            self.device.context.transfers.write(buffer, 0, words.view(np.uint8))
            storages.append(Storage(buffer, words.nbytes))
        named = {
            name: Range(storages[number], offset, size, whole)
            for name, (number, offset, size) in places.items()
        }
        slots = slots_of(kernel)
        modes = wgsl.binds(kernel, slots)
        access, spans = reach(named, modes, alignment, max_binding)
        shader = assemble(kernel, slots, access)
        pipeline = gpu.pipeline(shader.label, shader.text, "main", {})
        uniforms = [(0, gpu.uniform(params))]
        if shader.ranges:
            ranges = np.zeros((len(shader.ranges), 4), np.uint32)
            for i, name in enumerate(shader.ranges):
                start = spans[access[name].alias or name][0]
                ranges[i, :2] = (named[name].offset - start) // 16, named[name].size // 4
            uniforms.append((shader.ranges_binding, gpu.uniform(ranges.tobytes())))
        bound = [
            (bound.binding, named[bound.name].storage.buffer, *window(spans, access, bound))
            for bound in shader.bindings
        ]
        group = gpu.bind_group(pipeline, uniforms, bound)
        self.device.context.record(Call("TEST", ((pipeline, group, 8, 1),), tuple(storages), 0))
        after = []
        for storage, words in zip(storages, buffers, strict=True):
            raw = np.empty(words.nbytes, np.uint8)
            self.device.context.transfers.read(storage.buffer, 0, raw)
            after.append(raw.view(np.uint32))
        return after, access


@pytest.fixture
def run(device: dml.Device) -> Runner:
    return Runner(device)


def some_words(count: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(0, 2**32, count, np.uint32)


def counted(count: int, bias: int = 1) -> bytes:
    return np.array([count, bias, 0, 0], np.int64).astype(np.uint32).tobytes()


def check_copy(
    run: Runner,
    kernel: str,
    buffers: list[np.ndarray[Any, Any]],
    places: dict[str, tuple[int, int, int]],
    wanted: Callable[[dict[str, Access]], bool],
    **how: Any,
) -> None:
    """Output words are input words plus one; every other word of every buffer keeps its value."""
    owner, offset, size = places["input"]
    given = buffers[owner][offset // 4 : (offset + size) // 4].copy()
    count = -(-size // {"unit": 16, "half": 8}.get(kernel, 4))
    after, access = run(kernel, buffers, places, counted(count), **how)
    assert wanted(access), access
    target, offset, size = places["output"]
    expected = [words.copy() for words in buffers]
    expected[target][offset // 4 : (offset + size) // 4] = given + np.uint32(1)
    for found, words in zip(after, expected, strict=True):
        np.testing.assert_array_equal(found, words)


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", ["unit", "half", "word", "repeat"])
@pytest.mark.parametrize("size", [16, 160, 20, 28, 132])
def test_two_buffers_from_their_start(run: Runner, kernel: str, size: int) -> None:
    """A tensor whose last 16 bytes are not its own is written word by word."""
    check_copy(
        run,
        kernel,
        [some_words(64), some_words(64, 1)],
        {"input": (0, 0, size), "output": (1, 0, size)},
        lambda access: access["output"].scalar == (kernel in ("unit", "half") and size % 16 != 0),
    )


@pytest.mark.gpu
@pytest.mark.parametrize(("words", "scalar"), [(64, False), (37, True)])
def test_what_is_only_read_is_read_in_units_to_the_end_of_its_buffer(
    run: Runner, words: int, scalar: bool
) -> None:
    """As far as there are whole units: of what lies behind the tensor nothing is used."""
    check_copy(
        run,
        "unit",
        [some_words(words), some_words(64, 1)],
        {"input": (0, 16, 132), "output": (1, 0, 132)},
        lambda access: access["input"].scalar == scalar and access["output"].scalar,
    )


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", ["unit", "half", "word"])
@pytest.mark.parametrize("size", [64, 52])
def test_offsets_below_the_alignment_are_passed_on(run: Runner, kernel: str, size: int) -> None:
    check_copy(
        run,
        kernel,
        [some_words(256), some_words(256, 1)],
        {"input": (0, 256 + 48, size), "output": (1, 512 + 16, size)},
        lambda access: access["input"].offset and access["output"].offset,
    )


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", ["unit", "half", "word", "repeat"])
@pytest.mark.parametrize("size", [64, 52])
def test_in_place_the_input_is_the_outputs_binding(run: Runner, kernel: str, size: int) -> None:
    check_copy(
        run,
        kernel,
        [some_words(64)],
        {"input": (0, 16, size), "output": (0, 16, size)},
        lambda access: access["input"].alias == "output",
    )


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", ["unit", "half", "word"])
@pytest.mark.parametrize("size", [64, 52])
@pytest.mark.parametrize("first", ["input", "output"])
def test_two_ranges_of_one_buffer_share_a_binding(
    run: Runner, kernel: str, size: int, first: str
) -> None:
    other = "output" if first == "input" else "input"
    check_copy(
        run,
        kernel,
        [some_words(64)],
        {first: (0, 16, size), other: (0, 112, size)},
        lambda access: access["input"].alias == "output",
    )


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", ["unit", "half", "word"])
@pytest.mark.parametrize("size", [1024, 1008, 1004])
@pytest.mark.parametrize("offset", [0, 16])
def test_a_tensor_larger_than_one_binding_takes_several(
    run: Runner, kernel: str, size: int, offset: int
) -> None:
    check_copy(
        run,
        kernel,
        [some_words(512), some_words(512, 1)],
        {"input": (0, offset, size), "output": (1, 256 + offset, size)},
        lambda access: access["input"].windows == (3 if offset and size == 1024 else 2),
        max_binding=512,
    )


@pytest.mark.gpu
@pytest.mark.parametrize("kernel", ["unit", "half", "word"])
def test_in_place_over_several_bindings(run: Runner, kernel: str) -> None:
    check_copy(
        run,
        kernel,
        [some_words(512)],
        {"input": (0, 16, 1020), "output": (0, 16, 1020)},
        lambda access: access["output"].windows == 3 and access["input"].alias == "output",
        max_binding=512,
    )


@pytest.mark.gpu
@pytest.mark.parametrize("source", ["unit", "half", "word"])
@pytest.mark.parametrize("target", ["unit", "half"])
def test_elements_of_an_aliased_array_of_others(run: Runner, source: str, target: str) -> None:
    """An input read by words may lie in a binding held as 16-byte units, and the other way."""
    words = some_words(64)
    for size in (64, 52):
        places = {"input": (0, 16, size), "output": (0, 128, size)}
        kernel = f"{source}_to_{target}"
        (after,), access = run(kernel, [words], places, counted(-(-size // 16)))
        assert access["input"].alias == "output"
        expected = words.copy()
        expected[32 : 32 + size // 4] = words[4 : 4 + size // 4]
        np.testing.assert_array_equal(after, expected)


@pytest.mark.gpu
@pytest.mark.parametrize("max_binding", [256, 1 << 20])
@pytest.mark.parametrize("offset", [0, 32])
def test_atomics_reach_the_same_words(run: Runner, max_binding: int, offset: int) -> None:
    words = np.zeros(512, np.uint32)
    words[offset // 4 + 10] = 77
    (after,), _ = run(
        "report", [words], {"report": (0, offset, 320)}, counted(32), max_binding=max_binding
    )
    expected = words.copy()
    expected[offset // 4 :][:4] = (7, 15, 23, 31)
    expected[offset // 4 + 8] = 0xFFFFFFFF
    expected[offset // 4 + 9] = 77
    expected[offset // 4 + 11 : offset // 4 + 13] = (64, 1)
    np.testing.assert_array_equal(after, expected)

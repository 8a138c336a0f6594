"""The device fixture, the rule for machines without an adapter, and the hypothesis profiles.

DMLGPU_REQUIRE_GPU=1 makes a missing adapter a failure instead of a skip.
HYPOTHESIS_PROFILE=long runs 2,000 random descriptions per operator instead of the quick number.
--fault-table prints at the end which fault at which stage had which outcome.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import fault_table
import oracle
import pytest
from hypothesis import HealthCheck, settings

import dmlgpu as dml

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background job
    signal.signal(signal.SIGINT, signal.default_int_handler)

slow_is_fine = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "quick", max_examples=200, deadline=None, derandomize=True, suppress_health_check=slow_is_fine
)
settings.register_profile(
    "long", max_examples=2000, deadline=None, print_blob=True, suppress_health_check=slow_is_fine
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

GUARD = 64
Execute = Callable[..., bytes]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fault-table", action="store_true", help="print faults and their outcomes")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.getoption("--fault-table"):
        terminalreporter.section("faults, stages, outcomes")
        for line in fault_table.lines():
            terminalreporter.write_line(line)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    unmarked = [
        item.nodeid
        for item in items
        if "device" in getattr(item, "fixturenames", ()) and item.get_closest_marker("gpu") is None
    ]
    if unmarked:
        raise pytest.UsageError(f"tests that use the device must be marked gpu: {unmarked}")


@pytest.fixture(scope="session")
def device() -> Iterator[dml.Device]:
    try:
        made = dml.Device()
    except dml.DeviceError as error:
        if os.environ.get("DMLGPU_REQUIRE_GPU") == "1":
            pytest.fail(f"DMLGPU_REQUIRE_GPU is set and there is no adapter: {error}")
        pytest.skip(f"no adapter: {error}")
    with made:
        yield made


def put(
    device: dml.Device, image: bytes, places: Sequence[tuple[dml.TensorDesc, int]]
) -> tuple[dml.Tensor, list[dml.Tensor]]:
    """A byte image on the device, and tensors over parts of it."""
    whole = dml.TensorDesc(dml.DataType.UINT8, (len(image),), guaranteed_base_offset_alignment=256)
    arena = device.upload(whole, image)
    parts = [device.wrap(arena.buffer, desc, arena.offset + offset) for desc, offset in places]
    return arena, parts


@pytest.fixture(scope="session")
def execute(device: dml.Device) -> Execute:
    return executor(device)


@pytest.fixture(scope="session", params=["own", "gpu"])
def execute_both(request: pytest.FixtureRequest, device: dml.Device) -> Iterator[Execute]:
    """With the adapter's own kernels; and on a CPU with a GPU's, which run there just as well."""
    if request.param == "own":
        yield executor(device)
        return
    if device.adapter.kind != "cpu":
        pytest.skip(f"{device.adapter.name} is a GPU")
    compiles_quickly = device.adapter.driver.startswith("Mesa 22")
    patient = os.environ.get("HYPOTHESIS_PROFILE") == "long" and "Mesa" in device.adapter.driver
    if not (compiles_quickly or patient):
        pytest.skip(f"{device.adapter} takes minutes to compile the kernels of a GPU")
    with dml.Device(device.adapter) as made:
        made.context.facts = replace(made.context.facts, is_cpu=False)
        yield executor(made)


def executor(device: dml.Device) -> Execute:
    """Runs a description on tensors that lie somewhere inside larger buffers.

    Returns the output's bytes. Nothing outside the output's TotalTensorSizeInBytes may change:
    neither the guard bytes around it nor any input.
    """

    def run(
        desc: object,
        tensors: Sequence[dml.TensorDesc],
        data: Sequence[bytes],
        *,
        gaps: Sequence[int] | None = None,
        one_buffer: bool = False,
        in_place: bool = False,
    ) -> bytes:
        """Tensors are the inputs, then the output unless in_place; gaps are multiples of 16."""
        image = bytearray()
        images: list[bytearray] = []
        places: list[tuple[int, int]] = []
        for k, tensor in enumerate(tensors):
            if k == 0 or not one_buffer:
                image = bytearray()
                images.append(image)
            step = max(16, tensor.guaranteed_base_offset_alignment)
            start = -(-(len(image) + (gaps[k] if gaps else GUARD)) // step) * step
            image += oracle.random_bytes(start - len(image), k)
            size = tensor.total_tensor_size_in_bytes
            image += data[k] if k < len(data) else oracle.random_bytes(size, k + 100)
            assert len(image) == start + size
            places.append((len(images) - 1, start))
        arenas, bound = [], []
        for n, content in enumerate(images):
            content += oracle.random_bytes(GUARD, n + 200)
            inside = [
                (tensor, start)
                for tensor, (owner, start) in zip(tensors, places, strict=True)
                if owner == n
            ]
            arena, parts = put(device, bytes(content), inside)
            arenas.append(arena)
            bound += parts
        op = device.compile(desc)
        out = op(bound[0], out=bound[0]) if in_place else op(*bound[:-1], out=bound[-1])
        result = out.tobytes()
        owner, start = places[-1]
        end = start + tensors[-1].total_tensor_size_in_bytes
        for n, (arena, content) in enumerate(zip(arenas, images, strict=True)):
            after = arena.tobytes()
            if n == owner:
                assert after[start:end] == result, "tobytes() differs from the buffer's bytes"
                after = after[:start] + bytes(content[start:end]) + after[end:]
            assert after == content, f"bytes outside the output changed in buffer {n}"
        return result

    return run

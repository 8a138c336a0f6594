"""The device fixture, the rule for machines without an adapter, and the hypothesis profiles.

DMLGPU_REQUIRE_GPU=1 makes a missing adapter a failure instead of a skip.
HYPOTHESIS_PROFILE=hundreds runs 300 random descriptions per operator instead of the quick number,
HYPOTHESIS_PROFILE=long 2,000.
--fault-table prints at the end which fault at which stage had which outcome; without xdist.
-m smoke takes ten seconds, -m "not slow" two minutes on two cores.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("support", "expected", "expected_moves")

from support import facts, fault_table, kernels_run  # noqa: E402
from support.execution import Execute, executor  # noqa: E402

import dmlgpu as dml  # noqa: E402
from dmlgpu.gpu import memory  # noqa: E402
from dmlgpu.runtime import context  # noqa: E402

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background job
    signal.signal(signal.SIGINT, signal.default_int_handler)

UNTESTED = pytest.StashKey[list[str]]()
slow_is_fine = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "quick", max_examples=120, deadline=None, derandomize=True, suppress_health_check=slow_is_fine
)
settings.register_profile(
    "few", max_examples=50, deadline=None, derandomize=True, suppress_health_check=slow_is_fine
)
settings.register_profile(
    "hundreds", max_examples=300, deadline=None, print_blob=True, suppress_health_check=slow_is_fine
)
settings.register_profile(
    "long", max_examples=2000, deadline=None, print_blob=True, suppress_health_check=slow_is_fine
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fault-table", action="store_true", help="print faults and their outcomes")
    parser.addoption(
        "--facts",
        choices=facts.NAMES,
        default="own",
        help="whose kernels run: see support/facts.py",
    )


def pytest_configure(config: pytest.Config) -> None:
    chosen = config.getoption("--facts")
    settings.load_profile(
        os.environ.get("HYPOTHESIS_PROFILE", "few" if chosen != "own" else "quick")
    )
    facts.choose(chosen)
    kernels_run.listen()
    # Of the thousands of kernels that a process runs most are run once, on memory of any size.
    context.PIPELINE_LIMIT, memory.FEW_KEPT = 96, 1 << 27
    context.KEPT["cpu"] = 128


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_testnodedown(node: Any, error: object) -> None:
    kernels_run.ran.update(getattr(node, "workeroutput", {}).get("shaders", ()))


def pytest_sessionfinish(session: pytest.Session) -> None:
    told = getattr(session.config, "workeroutput", None)
    if told is not None:  # of a process among several, which does not know the others
        told["shaders"] = sorted(kernels_run.ran)
        return
    session.config.stash[UNTESTED] = found = kernels_run.keep(session.config)
    if found and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if found := config.stash.get(UNTESTED, []):
        terminalreporter.section("shaders that no test has run with a GPU's facts")
        terminalreporter.write_line(", ".join(found))
    if config.getoption("--fault-table"):
        terminalreporter.section("faults, stages, outcomes")
        for line in fault_table.lines():
            terminalreporter.write_line(line)


# Files that start processes, wait for threads or run hundreds of cases: seconds each.
SLOW = {
    *("test_cumulative_kernels", "test_docs_site", "test_documents", "test_doctor"),
    *("test_endurance", "test_examples_dir", "test_exit", "test_faults", "test_fork"),
    *("test_fuzz", "test_interop", "test_interrupt", "test_loss", "test_packaging", "test_parts"),
    *("test_safety", "test_size", "test_terminal", "test_threads", "test_types"),
}


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file is run by one process, which opens one device; the longest one is shared out.

    The groups of pytest-xdist do not reach it where pytest 9 names the tests.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path, _, name = nodeid.partition("::")
            share = sum(map(ord, name)) % 8 if path.endswith("test_random.py") else ""
            return f"{path}{share}"

    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.stem in SLOW:
            item.add_marker(pytest.mark.slow)
    unmarked = [
        item.nodeid
        for item in items
        if "device" in getattr(item, "fixturenames", ()) and item.get_closest_marker("gpu") is None
    ]
    if unmarked:
        raise pytest.UsageError(f"tests that use the device must be marked gpu: {unmarked}")


@pytest.fixture(autouse=True, scope="module")
def _given_back() -> Iterator[None]:
    """What drivers have freed is given back to the system, which glibc does not do by itself."""
    yield
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


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


@pytest.fixture(scope="session")
def execute(device: dml.Device) -> Execute:
    return executor(device)

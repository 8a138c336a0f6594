"""Ctrl-C at any moment: KeyboardInterrupt, and then the device works on with right results."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from support.programs import run
from support.stages import STAGES, Bench, Stage

import dmlgpu as dml

pytestmark = pytest.mark.gpu

LIBRARY = str(Path(dml.__file__).parent)
STEP = 23  # every so many lines; each stage starts elsewhere


class AtLine:
    """Raises SIGINT when the library reaches its n-th line, wherever that is."""

    def __init__(self, n: int) -> None:
        self.left = n
        self.hit = ""

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(LIBRARY):
            return None
        if event == "line" and not self.hit:
            self.left -= 1
            if self.left == 0:
                self.hit = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return self

    def run(self, work: Callable[[], Any]) -> Any:
        before = sys.gettrace()
        sys.settrace(self)
        try:
            return work()
        finally:
            sys.settrace(before)


@pytest.fixture(scope="module")
def bench(device: dml.Device) -> Iterator[Bench]:
    with dml.Device(debug=True) as made:
        bench = Bench(made)
        for stage in STAGES:
            stage.run(bench, 0)
        yield bench


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_ctrl_c_at_every_line_of_the_library(bench: Bench, stage: Stage) -> None:
    interrupted = 0
    for n in range(1 + STAGES.index(stage) % STEP, 100_000, STEP):
        bench.renew()
        at = AtLine(n)
        try:
            got, right = at.run(lambda: stage.run(bench, 2 * n))  # noqa: B023
        except KeyboardInterrupt:
            interrupted += 1
        else:
            assert np.array_equal(got, right)
        if not at.hit:
            break
        got, right = stage.run(bench, 2 * n)
        assert np.array_equal(got, right), at.hit
        bench.intact()
        bench.accounted()
    assert interrupted > 3


@pytest.mark.parametrize(
    "work",
    [
        "summed(device, 1 << 20, 30).numpy()",
        "device.tensor(np.ones(1 << 22, np.float32)); device.wait()",
        "dml.cumulative_summation(np.ones(n % 5000 + 1, np.float32), 0).numpy()",
        "summed(device, 1 << 20, 20); device.wait()",
    ],
    ids=["read-back", "upload", "changing shapes", "wait"],
)
@pytest.mark.usefixtures("device")
def test_a_real_ctrl_c(work: str) -> None:
    """Twenty of them, from outside, at random moments of a busy loop."""
    done = run(
        f"""
        device = dml.default_device()
        x = device.tensor(np.arange(1000, dtype=np.float32))
        {work.replace("n %", "4999 %")}
        before = device.memory.in_use
        stop = threading.Event()
        def interrupt():
            while not stop.wait(0.02 + 0.08 * np.random.random()):
                os.kill(os.getpid(), signal.SIGINT)
                while not heard.wait(5):  # finalizers of wgpu swallow one now and then
                    os.kill(os.getpid(), signal.SIGINT)
                ready.wait()
                heard.clear()
                ready.clear()
        heard, ready = threading.Event(), threading.Event()
        threading.Thread(target=interrupt, daemon=True).start()
        caught = n = 0
        while caught < 20:
            try:
                while True:
                    n += 1
                    {work}
            except KeyboardInterrupt:
                heard.set()
                caught += 1
            assert summed(device, 100, 1).numpy()[-1] == 100
            assert np.array_equal(x[::-1].numpy(), np.arange(999, -1, -1))
            if caught == 20:
                stop.set()
            ready.set()
        gc.collect()  # a traceback may lie in a cycle
        print("caught", caught, device.memory.in_use - before)
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "caught 20 0\n"
    assert "dmlgpu" not in done.stderr

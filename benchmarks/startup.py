"""Start-up: what importing adds, and how soon a new process has its first result."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

PROGRAM = """
import json, sys, time
clock = time.perf_counter
start = clock()
import numpy, wgpu
libraries = clock()
import dmlgpu as dml
imported = clock()
chosen = sys.argv[1]
found = [a for a in dml.adapters() if str(a) == chosen] or [None]
listed = clock()
device = dml.Device(found[0])
opened = clock()
x = device.tensor(numpy.ones((64, 64), numpy.float32))
assert dml.cumulative_summation(x, 1).numpy()[5, 9] == 10
first = clock()
assert dml.slice1(x, (1, 2), (63, 60), (1, 1)).numpy().shape == (63, 60)
second = clock()
print(json.dumps([libraries - start, imported - libraries, listed - imported,
                  opened - listed, first - opened, second - first]))
"""
STAGES = (
    "import numpy, wgpu",
    "import dmlgpu on top of these",
    "list the adapters",
    "open the device",
    "first result: upload, compile, run, read back",
    "first result of another operator",
)
CHECKOUT = Path(__file__).parent.parent
FIRST = "first result after the adapters are listed"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a new process."""

    name: str
    seconds: float


def measure_start_up(adapter: str, runs: int) -> list[Stage]:
    """Medians over new processes."""
    times = []
    for _ in range(runs):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, adapter],
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"a new process failed: {done.stderr.strip()[-400:]}")
        times.append(json.loads(done.stdout.strip().splitlines()[-1]))
    columns = zip(*times, strict=True)
    stages = [Stage(name, median(column)) for name, column in zip(STAGES, columns, strict=True)]
    stages.append(Stage(FIRST, median(t[3] + t[4] for t in times)))
    return stages

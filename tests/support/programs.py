"""Small programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

FORKING = "ignore:This process:DeprecationWarning"  # that threads do not survive a fork is tested
START = """
import atexit, gc, logging, os, signal, sys, threading, time
import numpy as np
import dmlgpu as dml

logging.getLogger("wgpu").setLevel(logging.ERROR)  # what an adapter lacks is no fault

def summed(device, size=1 << 18, times=4):
    y = device.tensor(np.ones(size, np.float32))
    for _ in range(times):
        y = dml.cumulative_summation(y, 0)
    return y
"""


def import_path() -> str:
    """PYTHONPATH for a program that runs anywhere: this checkout first, then what is given."""
    root = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))


def run(text: str, *, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Runs a program that has a device at hand, with all warnings as errors."""
    program = START + textwrap.dedent(text)
    return subprocess.run(
        [sys.executable, "-W", "error", "-W", FORKING, "-c", program],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def says(text: str, *, timeout: float = 120) -> str:
    """What a program prints that ends well and in silence."""
    done = run(text, timeout=timeout)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr}"
    assert done.stderr == ""
    return done.stdout


def resident() -> int:
    """Bytes of memory this process holds; 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except OSError:
        return 0

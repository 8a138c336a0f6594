"""The command line where a person looks on, where none does, and when it is cut short."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.programs import import_path

import dmlgpu as dml
from dmlgpu.cli import output

if os.name == "nt":
    pytest.skip("pseudo-terminals are POSIX's", allow_module_level=True)

import fcntl
import pty
import struct
import termios

OPERATORS = ("operators", "--level", "3.0")
SMALL_BENCH = ("bench", "--size", "1")


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES")}
    return {**kept, "TERM": "xterm", "PYTHONPATH": import_path(), **more}


def on_terminal(*argv: str, columns: int = 120, **more: str) -> str:
    """What a terminal of so many columns is sent, by standard output and error alike."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"no pseudo-terminal can be had: {error}")
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "dmlgpu", *argv],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(**more),
    )
    os.close(theirs)
    sent = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not part:
            break
        sent += part
    os.close(ours)
    assert process.wait(60) == 0, sent.decode()
    return sent.decode().replace("\r\n", "\n")


def off_terminal(*argv: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dmlgpu", *argv],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


def plain(text: str) -> str:
    return re.sub(r"\033\[\d*m", "", text)


def test_a_wide_terminal_gets_the_same_text_with_styles() -> None:
    sent = on_terminal(*OPERATORS)
    assert "\033[1moperator" in sent
    assert plain(sent) == off_terminal(*OPERATORS).stdout


@pytest.mark.parametrize("more", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_styles_can_be_refused(more: dict[str, str]) -> None:
    assert "\033" not in on_terminal(*OPERATORS, **more)


@pytest.mark.parametrize("columns", [80, 64])
def test_a_narrow_terminal_gets_narrow_tables(columns: int) -> None:
    sent = plain(on_terminal(*OPERATORS, columns=columns))
    assert max(map(len, sent.splitlines())) <= columns
    wide = off_terminal(*OPERATORS).stdout
    assert sorted(sent.split()) == sorted(wide.split())  # nothing is cut off
    explain = ("explain", "slice1", "--input", "float32:4x4", "--strides", "-2,2")
    sent = plain(on_terminal(*explain, "--assume", "gpu", columns=columns))
    told = sent.partition("Least traffic")[0]
    assert max(map(len, told.splitlines())) <= columns


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("columns", [100, 72])
def test_info_fits_a_terminal(columns: int) -> None:
    sent = plain(on_terminal("info", columns=columns))
    _, _, told = sent.partition("\n\n")  # versions and the folder are as long as they are
    table, _, limits = told.partition("* is chosen")
    assert all(len(line) <= columns for line in [*table.splitlines(), *limits.splitlines()[1:]])


@pytest.mark.parametrize("columns", [120, 80, 60])
def test_tables_fit_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr(output, "is_terminal", lambda stream: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    widths = {"operator": 20, "task": 23, "result": 15, "GPU ms": 7, "verdict": 0}
    table = output.Table(widths, right=("GPU ms",))
    cells = ("CUMULATIVE_SUMMATION", "light, down each column", "3 x 1024 x 1024", "12.25")
    table.row(*cells, "within 2e-06", style=output.GREEN)
    lines = [plain(line) for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, lines)) <= columns
    letters = "".join((*widths, *cells, "within 2e-06")).replace(" ", "")
    assert sorted("".join(lines).replace(" ", "")) == sorted(letters)  # nothing is cut off
    assert len(lines) == (2 if columns == 120 else len(lines))
    column = lines[0].index("GPU ms") + len("GPU ms")
    assert lines[1][:column].endswith(" 12.25")


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_bench_shows_a_bar_to_a_person_and_lines_to_a_file() -> None:
    sent = on_terminal(*SMALL_BENCH)
    assert re.search(r"\r\x1b\[K\[#+\.+\] \d/9 \d+ s  CUMULATIVE_SUMMATION", sent)
    done = off_terminal(*SMALL_BENCH)
    assert done.returncode == 0
    assert "\r" not in done.stdout + done.stderr
    assert "\033" not in done.stdout + done.stderr
    steps = [line for line in done.stderr.splitlines() if line.startswith("[")]
    assert len(steps) == 9
    assert steps[-1].startswith("[9/9 ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full disk to offer")
def test_a_full_disk_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dmlgpu", *OPERATORS],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1
    assert done.stderr == "dmlgpu: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    "argv", [("operators", "--markdown"), ("operators", "--json"), ("--help",)]
)
def test_a_reader_that_stops_early_is_no_error(argv: tuple[str, ...]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "dmlgpu", *argv],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout
    assert process.stderr
    process.stdout.close()  # before anything can have been written
    err = process.stderr.read()
    process.stderr.close()
    process.wait(60)
    assert err == b""


@pytest.mark.gpu
def test_an_interrupt_is_quiet(device: dml.Device) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "dmlgpu", "bench", "--size", "16"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    first = process.stderr.readline()
    while not first.startswith("[1/9"):  # drivers may complain before
        assert first
        first = process.stderr.readline()
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err

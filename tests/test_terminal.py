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

from dmlgpu.cli import main, output

if os.name == "nt":
    pytest.skip("pseudo-terminals are POSIX's", allow_module_level=True)

import fcntl
import pty
import struct
import termios

OPERATORS = ("operators", "cumulative", "slice", "--level", "3.0")
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


@pytest.mark.parametrize("columns", [120, 80, 60])
def test_tables_fit_the_terminal_and_keep_words_whole(columns: int) -> None:
    sent = plain(on_terminal("operators", columns=columns))
    assert max(map(len, sent.splitlines())) <= columns
    _, _, wide = off_terminal("operators").stdout.partition("data types")
    assert set(wide.split()) <= set(sent.split()), "a word is cut"
    explain = ("explain", "slice1", "--input", "float32:4x4", "--strides", "-2,2")
    sent = plain(on_terminal(*explain, "--assume", "gpu", columns=columns))
    assert max(map(len, sent.splitlines())) <= columns


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("columns", [120, 80, 60])
def test_info_fits_a_terminal(columns: int) -> None:
    sent = "dmlgpu" + plain("\n" + on_terminal("info", columns=columns)).partition("\ndmlgpu")[2]
    lines = [line for line in sent.splitlines() if not line.startswith("shaders in ")]
    assert max(map(len, lines)) <= columns


@pytest.mark.parametrize("columns", [120, 80, 60])
def test_tables_fit_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr(output, "is_terminal", lambda stream: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    headings = ("operator", "task", "result", "ms", "verdict")
    cells = ("CUMULATIVE_SUMMATION", "light, down each column", "3 x 1024 x 1024", "12.25")
    row = (*cells, "within 2e-06")
    columns_of = {name: [cell] for name, cell in zip(headings, row, strict=True)}
    output.Table(columns_of, right=("ms",)).row(*row, style=output.GREEN)
    lines = [plain(line) for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, lines)) <= columns
    words = " ".join(lines).split()
    assert sorted(words) == sorted(w for text in (*headings, *row) for w in text.split())
    assert (len(lines) == 2) == (columns == 120)
    if columns > 60:
        column = lines[0].index("ms") + len("ms")
        assert lines[1][:column].endswith(" 12.25")


def test_where_no_table_fits_a_row_is_a_list(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "is_terminal", lambda stream: True)
    monkeypatch.setenv("COLUMNS", "30")
    table = output.Table({"operator": ["CUMULATIVE_SUMMATION"], "since": ["2.1"], "types": []})
    table.row("CUMULATIVE_SUMMATION", "2.1", "FLOAT16/32, INT32")
    assert plain(capsys.readouterr().out) == (
        "CUMULATIVE_SUMMATION\n  since     2.1\n  types     FLOAT16/32, INT32\n"
    )


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_bench_shows_a_bar_to_a_person_and_lines_to_a_file() -> None:
    sent = on_terminal(*SMALL_BENCH)
    assert re.search(r"\r\x1b\[K\[#+\.+\] \d+/\d+ \d+ s  CUMULATIVE_SUMMATION", sent)
    done = off_terminal(*SMALL_BENCH)
    assert done.returncode == 0
    assert "\r" not in done.stdout + done.stderr
    assert "\033" not in done.stdout + done.stderr
    steps = re.findall(r"^\[ *(\d+)/(\d+) +\d+ s\] \S", done.stderr, re.M)
    assert len(steps) == len(done.stderr.splitlines()) > 1
    assert steps == [(str(n + 1), str(len(steps))) for n in range(len(steps))]


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


@pytest.mark.parametrize("argv", [("operators",), ("operators", "--json"), ("--help",)])
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


@pytest.mark.parametrize("argv", [("operators",), ("--help",), ("nonsense",)])
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_fault(argv: tuple[str, ...], closed: str) -> None:
    line = f"exec {sys.executable} -m dmlgpu {' '.join(argv)} {closed}"
    done = subprocess.run(
        ["sh", "-c", line], env=environment(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == (2 if argv == ("nonsense",) else 0)
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.1, 0.3, 0.7])
def test_an_interrupt_is_quiet(seconds: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "dmlgpu", "bench", "--size", "16"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    first = process.stderr.readline()
    while not re.match(r"\[ *1/", first):  # drivers may complain before
        assert first
        first = process.stderr.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err


@pytest.mark.parametrize("columns", [60, 120])
@pytest.mark.parametrize("command", ["", "info", "operators", "explain", "demo", "bench", "doctor"])
def test_help_fits_the_terminal(
    command: str,
    columns: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All but a command that is to be copied, at 60 columns."""
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    lines = capsys.readouterr().out.splitlines()
    wide = [line for line in lines if len(line) > columns]
    assert not [line for line in wide if columns > 60 or not line.startswith("  dmlgpu explain")]

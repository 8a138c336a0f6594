"""The command line as tests call it."""

from __future__ import annotations

import re

import pytest

from dmlgpu import cli


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    """Status, standard output and standard error of a command."""
    try:
        status = cli.main(argv)
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 1
    out, err = capsys.readouterr()
    return status, out, err


def is_one_sentence(err: str) -> bool:
    return re.fullmatch(r"dmlgpu: [^\n]+\n", err) is not None

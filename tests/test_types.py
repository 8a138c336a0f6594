"""Types for users: a program with every public name is clean under mypy --strict, and runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import dmlgpu as dml
from dmlgpu.ops import BY_DESC

ROOT = Path(__file__).resolve().parent.parent
USER = ROOT / "tests" / "typed_user.py"


def mypy(*argv: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *map(str, argv)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_the_users_program_has_every_public_name() -> None:
    used = set(re.findall(r"\bdml\.(\w+)", USER.read_text(encoding="utf-8")))
    descs = {desc.__name__ for desc in BY_DESC}  # all alike: those of six operators stand for them
    assert set(dml.__all__) - descs - used == set()


def test_a_users_program_is_clean() -> None:
    done = mypy(USER)
    assert done.returncode == 0, done.stdout + done.stderr


def test_wrong_types_are_found(tmp_path: Path) -> None:
    """What the annotations are for: each line below is refused, for the reason given."""
    program = (
        "import dmlgpu as dml\n"
        "x = dml.default_device().tensor([1.0])\n"
        'y: str = x.numpy_async()  # has type "Coroutine\n'
        'z: int = x.shape  # has type "tuple[int, ...]"\n'
        "x.cumsum(axis=0.5)  # incompatible type\n"
        "x['a']  # Invalid index type\n"
        'x.nothing  # "Tensor" has no attribute "nothing"\n'
    )
    path = tmp_path / "wrong.py"
    path.write_text(program, encoding="utf-8")
    done = mypy(path)
    for number, line in enumerate(program.splitlines(), 1):
        _, reason, words = line.partition("  # ")
        found = [text for text in done.stdout.splitlines() if f"wrong.py:{number}: error" in text]
        assert bool(found) == bool(reason), done.stdout
        assert not reason or words in found[0], done.stdout


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_the_users_program_runs() -> None:
    done = subprocess.run([sys.executable, USER], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr

"""The programs in examples/: each is short, prints what is said here, and saves its picture."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs import import_path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = sorted((ROOT / "examples").glob("*.py"))
PAGE = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
PICTURE = re.compile(r"saves (\w+\.png)")
PRINTS = {
    "box_blur": """\
radius  2: 380 x 380, equal to NumPy
radius  6: 372 x 372, equal to NumPy
radius 18: 348 x 348, equal to NumPy
""",
    "embedding_lookup": """\
table (95, 16), tokens (2, 6), vectors (2, 6, 16): equal to NumPy
""",
    "game_of_life": """\
generation   0: 2729 cells live, equal to NumPy
generation  20: 1403 cells live, equal to NumPy
generation  80: 1040 cells live, equal to NumPy
generation 200:  751 cells live, equal to NumPy
""",
    "image_slices": """\
image            540 x 360  equal to NumPy
mirror           540 x 360  equal to NumPy
crop             225 x 150  equal to NumPy
every 6th pixel   90 x 60   equal to NumPy
""",
    "points": """\
57000 of 60000 points kept, as NumPy does: True
sorted into 28 layers, as NumPy does: True
15873 cells, each less than 0.5 m below its highest point
""",
    "sample_stars": """\
6000 stars of 530028 units of light, none in the dark
bright half of the pixels: 92% of the light, 92% of the stars
""",
    "share_device": """\
100000 dice, 349879 points, 3.499 each: equal to NumPy
""",
}


def test_every_program_is_here_and_on_the_page() -> None:
    assert [path.stem for path in PROGRAMS] == sorted(PRINTS)
    for path in PROGRAMS:
        assert f"python examples/{path.name}" in PAGE
        assert f"```text\n{PRINTS[path.stem]}```" in PAGE


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_it_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_it_prints_its_result_and_saves_its_picture(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path), str(tmp_path)],
        env={**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": import_path()},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == PRINTS[path.stem]
    promised = PICTURE.findall(path.read_text(encoding="utf-8"))
    assert sorted(p.name for p in tmp_path.iterdir()) == promised
    for name in promised:
        kept = (ROOT / "docs" / "pictures" / name).read_bytes()
        assert png_size((tmp_path / name).read_bytes()) == png_size(kept)


def png_size(data: bytes) -> tuple[int, int]:
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    return width, height

"""The wheel: what is in it, and that it works installed, from another directory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import dmlgpu as dml

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """\
from pathlib import Path
import numpy as np
import dmlgpu as dml
from dmlgpu.wgsl import shader_folder

package = Path(dml.__file__).resolve().parent
print(package)
print(shader_folder() == package / "shaders")
print(dml.cumulative_summation(np.ones((2, 3), np.int64), 1).numpy().tolist())
print(dml.slice1(np.arange(5, dtype=np.uint8), [0], [5], [-2]).numpy().tolist())
print(dml.gather_nd(np.arange(5, dtype=np.float16), [[4], [-5]]).numpy().tolist())
"""


def run(*argv: str | Path, cwd: Path, python_path: Path | None = None) -> str:
    environment = dict(os.environ)
    environment.pop("PYTHONPATH", None)
    if python_path:
        environment["PYTHONPATH"] = str(python_path)
    done = subprocess.run(
        [sys.executable, *map(str, argv)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run("-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    pip = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    run(*pip, "--no-index", "--no-deps", "--target", target, wheel, cwd=target)
    return target


def test_the_wheel_is_pure_and_carries_the_version(wheel: Path) -> None:
    assert wheel.name == f"dmlgpu-{dml.__version__}-py3-none-any.whl"


def test_the_wheel_holds_the_package_and_the_shaders_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    expected = {path.relative_to(ROOT).as_posix() for path in (ROOT / "dmlgpu").rglob("*.py")}
    expected |= {
        f"dmlgpu/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "shaders").rglob("*.wgsl")
    }
    expected.add("dmlgpu/py.typed")
    info = f"dmlgpu-{dml.__version__}.dist-info/"
    assert {name for name in names if not name.startswith(info)} == expected
    assert f"{info}licenses/LICENSE" in names


def test_the_wheel_brings_the_command(wheel: Path) -> None:
    entry_points = zipfile.ZipFile(wheel).read(
        f"dmlgpu-{dml.__version__}.dist-info/entry_points.txt"
    )
    assert "dmlgpu = dmlgpu.cli:main" in entry_points.decode()


def test_the_wheel_needs_only_numpy_and_wgpu(wheel: Path) -> None:
    metadata = zipfile.ZipFile(wheel).read(f"dmlgpu-{dml.__version__}.dist-info/METADATA").decode()
    needs = re.findall(r"^Requires-Dist: (\w+)(?!.*extra ==)", metadata, re.M)
    assert sorted(needs) == ["numpy", "wgpu"]


def test_installed_it_validates_and_finds_its_shaders(installed: Path, tmp_path: Path) -> None:
    program = (
        "import dmlgpu, dmlgpu.wgsl; from dmlgpu.cli import main; "
        "print(dmlgpu.__file__); print(dmlgpu.wgsl.shader_folder()); main(['operators'])"
    )
    package, shaders, *catalogue = run(
        "-c", program, cwd=tmp_path, python_path=installed
    ).splitlines()
    assert Path(package).resolve() == (installed / "dmlgpu" / "__init__.py").resolve()
    assert Path(shaders).resolve() == (installed / "dmlgpu" / "shaders").resolve()
    assert catalogue[0] == "operators at feature level 6.4"


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_installed_it_runs_from_another_directory(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    lines = run("program.py", cwd=tmp_path, python_path=installed).splitlines()
    assert Path(lines[0]) == (installed / "dmlgpu").resolve()
    assert lines[1:] == [
        "True",
        "[[1, 2, 3], [1, 2, 3]]",
        "[4, 2, 0]",
        "[4.0, 0.0]",
    ]

"""Source distribution and wheel: what is in them, and that the wheel works where it is alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import distribution, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import dmlgpu as dml
from dmlgpu.ops import OPERATORS

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """\
from pathlib import Path
import numpy as np
import dmlgpu as dml
from dmlgpu.wgsl.source import shader_folder

package = Path(dml.__file__).resolve().parent
print(package)
print(shader_folder() == package / "shaders")
print(dml.cumulative_summation(np.ones((2, 3), np.int64), 1).numpy().tolist())
print(dml.slice1(np.arange(5, dtype=np.uint8), [0], [5], [-2]).numpy().tolist())
print(dml.gather_nd(np.arange(5, dtype=np.float16), [[4], [-5]]).numpy().tolist())
"""


USER = """\
import numpy as np
import dmlgpu as dml

tensor = dml.TensorDesc(dml.DataType.FLOAT32, (2, 3), [3, 1])
desc = dml.CumulativeSummationDesc(input_tensor=tensor, output_tensor=tensor, axis=1)
dml.validate(desc, dml.FeatureLevel.FL_5_0)
with dml.Device(debug=True) as device:
    op: dml.CompiledOperator = device.compile(desc)
    x: dml.Tensor = device.tensor(np.ones((2, 3), np.float32))
    made: dml.Tensor = op(x, out=x)
    sums = made[::-1, 1:]
    shape: tuple[int, ...] = dml.slice1(sums, (0, 0), (2, 2), (1, -1)).numpy().shape
    with device.profile() as profile:
        dml.gather_nd(x, [[1, -1]])
    reveal_type(sums)
"""


def run(*argv: str | Path, cwd: Path, python: Path | str = sys.executable) -> str:
    environment = dict(os.environ)
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(python), *map(str, argv)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run("-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    (made,) = built.glob("*.whl")
    return made


@pytest.fixture(scope="session")
def sdist(built: Path) -> Path:
    (made,) = built.glob("*.tar.gz")
    return made


def needs(wheel: Path) -> list[str]:
    """What the wheel's metadata names, extras aside."""
    metadata = zipfile.ZipFile(wheel).read(f"dmlgpu-{dml.__version__}.dist-info/METADATA").decode()
    return re.findall(r"^Requires-Dist: (\w+)(?!.*extra ==)", metadata, re.M)


def needed(name: str) -> set[str]:
    """A distribution and all that it needs at run time here."""
    found = {name}
    for text in requires(name) or []:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            found |= needed(requirement.name)
    return found


@pytest.fixture(scope="session")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheel, what it needs, and nothing else.

    What it needs is copied from this environment, so that no network is used.
    """
    folder = tmp_path_factory.mktemp("clean") / "venv"
    run("-m", "venv", folder, cwd=folder.parent)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / Path(sys.executable).name
    site = Path(
        run(
            "-c", "import sysconfig as s; print(s.get_path('purelib'))", cwd=folder, python=python
        ).strip()
    )
    for name in set().union(*map(needed, needs(wheel))):
        for file in distribution(name).files or []:
            if ".." not in file.parts and "__pycache__" not in file.parts:
                target = site / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(str(file.locate()), target)
    pip = ("-m", "pip", "--disable-pip-version-check")
    run(*pip, "install", "--no-index", "--no-deps", wheel, cwd=folder, python=python)
    run(*pip, "check", cwd=folder, python=python)
    return python


def test_both_pass_the_check_of_the_index(built: Path) -> None:
    checked = run("-m", "twine", "check", "--strict", *built.iterdir(), cwd=built)
    assert checked.count("PASSED") == 2


def test_the_source_holds_all_that_is_tracked_for_it(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folders = ("dmlgpu", "shaders", "tests", "benchmarks", "docs", "examples", "tools")
    wanted = {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not {"__pycache__"} & set(path.parts)
    }
    wanted |= {path.name for path in ROOT.glob("*.md")}
    wanted |= {"LICENSE", "Makefile", "mkdocs.yml", "pyproject.toml"}
    assert wanted - names == set()
    assert {name.partition("/")[0] for name in names} & {".venv", ".drivers", "site"} == set()


def test_the_version_is_in_one_place() -> None:
    shown = [
        path.relative_to(ROOT).as_posix()
        for path in (*ROOT.glob("dmlgpu/**/*.py"), ROOT / "pyproject.toml", ROOT / "mkdocs.yml")
        if f'"{dml.__version__}"' in path.read_text(encoding="utf-8")
    ]
    assert shown == ["dmlgpu/__init__.py"]


def test_the_oldest_python_is_one_that_wgpu_takes() -> None:
    """Told in four places; numpy has older versions for older ones, wgpu is pinned."""
    (oldest,) = re.findall(
        r'^requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.M
    )
    assert oldest in SpecifierSet(distribution("wgpu").metadata["Requires-Python"])
    assert f"with Python {oldest} or newer" in (ROOT / "README.md").read_text("utf-8")
    assert f"with Python {oldest} or newer" in (ROOT / "docs/first-steps.md").read_text("utf-8")
    assert f"needs {oldest} " in (ROOT / "tools/setup.sh").read_text("utf-8")
    assert f'"{oldest}"' in (ROOT / ".github/workflows/ci.yml").read_text("utf-8")


def test_the_wheel_is_pure_and_carries_the_version(wheel: Path) -> None:
    assert wheel.name == f"dmlgpu-{dml.__version__}-py3-none-any.whl"


def test_the_wheel_holds_the_package_and_the_shaders_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    expected = {path.relative_to(ROOT).as_posix() for path in (ROOT / "dmlgpu").rglob("*.py")}
    expected |= {
        f"dmlgpu/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "shaders").rglob("*.wgsl")
    }
    expected |= {"dmlgpu/py.typed", "dmlgpu/desc/catalogue.json"}
    info = f"dmlgpu-{dml.__version__}.dist-info/"
    assert {name for name in names if not name.startswith(info)} == expected
    assert f"{info}licenses/LICENSE" in names


def test_the_wheel_brings_the_command(wheel: Path) -> None:
    entry_points = zipfile.ZipFile(wheel).read(
        f"dmlgpu-{dml.__version__}.dist-info/entry_points.txt"
    )
    assert "dmlgpu = dmlgpu.cli:main" in entry_points.decode()


def test_the_wheel_needs_only_numpy_and_wgpu(wheel: Path) -> None:
    assert sorted(needs(wheel)) == ["numpy", "wgpu"]


def test_installed_it_validates_and_finds_its_shaders(clean: Path, tmp_path: Path) -> None:
    program = (
        "import dmlgpu; from dmlgpu.cli import main; from dmlgpu.wgsl.source import shader_folder; "
        "print(dmlgpu.__file__); print(shader_folder()); main(['operators'])"
    )
    package, shaders, *catalogue = run("-c", program, cwd=tmp_path, python=clean).splitlines()
    home = Path(package).resolve().parent
    assert clean.parent.parent.resolve() in home.parents
    assert Path(shaders).resolve() == home / "shaders"
    assert catalogue[0] == "operators at feature level 6.4"


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_installed_it_runs_from_another_directory(clean: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    lines = run("program.py", cwd=tmp_path, python=clean).splitlines()
    assert clean.parent.parent.resolve() in Path(lines[0]).parents
    assert lines[1:] == [
        "True",
        "[[1, 2, 3], [1, 2, 3]]",
        "[4, 2, 0]",
        "[4.0, 0.0]",
    ]


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_installed_its_command_shows_every_operator(clean: Path, tmp_path: Path) -> None:
    command = clean.parent / ("dmlgpu.exe" if os.name == "nt" else "dmlgpu")
    assert "equal" in run("demo", cwd=tmp_path, python=command)
    listed = run("operators", cwd=tmp_path, python=command)
    for operator in OPERATORS:
        assert re.search(rf"^{operator.name}\b", listed, re.M), operator.name


def test_installed_its_types_reach_a_strict_user(clean: Path, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER, encoding="utf-8")
    said = run("-m", "mypy", "--strict", "--python-executable", clean, "user.py", cwd=tmp_path)
    assert 'Revealed type is "dmlgpu.tensor.Tensor"' in said

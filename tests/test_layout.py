"""The shape of the repository: same stems, no orphans, one module that knows wgpu, small files."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from test_plans import every_plan

from dmlgpu.plan import scan
from dmlgpu.wgsl import assembly, source

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "dmlgpu"
SHADERS = ROOT / "shaders"
STEMS = sorted(path.stem for path in (PACKAGE / "ops").glob("*.py") if path.stem != "__init__")
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES = 400


def belongs(stem: str) -> bool:
    return any(stem == known or stem.startswith(f"{known}_") for known in STEMS)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize(
    "place", ["shaders/{}.wgsl", "tests/ops/test_{}.py", "benchmarks/bench_{}.py"]
)
def test_every_operator_module_has_its_files(stem: str, place: str) -> None:
    assert (ROOT / place.format(stem)).is_file()


def test_every_operator_test_belongs_to_a_module() -> None:
    found = [path.stem.removeprefix("test_") for path in (ROOT / "tests/ops").glob("test_*.py")]
    assert [stem for stem in found if not belongs(stem)] == []


def test_every_shader_belongs_to_an_operator_module() -> None:
    found = [path.stem for path in SHADERS.glob("*.wgsl")]
    assert [stem for stem in found if not belongs(stem)] == []


def test_every_shader_and_snippet_is_used() -> None:
    kernels, snippets = set(), set()
    for _, plan in every_plan():
        for dispatch in plan.dispatches:
            kernels.add(dispatch.shader)
            snippets |= set(dispatch.slots.values())
    for path in SHADERS.rglob("*.wgsl"):  # a slot that no plan fills is the snippet of its name
        lines = path.read_text(encoding="utf-8").splitlines()
        snippets |= {line.removeprefix("#import ") for line in lines if line.startswith("#import ")}
    assert {path.stem for path in SHADERS.glob("*.wgsl")} == kernels
    assert {path.stem for path in (SHADERS / "shared").glob("*.wgsl")} - snippets == set()


@pytest.mark.parametrize("path", sorted((SHADERS / "shared").glob("*.wgsl")), ids=lambda p: p.stem)
def test_snippets_have_no_params_and_no_uniforms(path: Path) -> None:
    """A kernel's file says all of its parameters; snippets only use them."""
    text = path.read_text(encoding="utf-8")
    assert "struct Params" not in text
    assert "@binding" not in text


@pytest.mark.parametrize("path", sorted(SHADERS.rglob("*.wgsl")), ids=name_of)
def test_a_shader_opens_with_what_it_does(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("// ")


@pytest.mark.parametrize("path", sorted(SHADERS.rglob("*.wgsl")), ids=name_of)
def test_every_directive_is_one_that_assembly_knows(path: Path) -> None:
    """A misspelt one would stay in the text, for the driver to refuse."""
    known = (source._IMPORT, assembly._BIND, source._REPEAT)
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("#"):
            assert any(pattern.match(line) for pattern in known), line
            assert "//" not in line, f"a comment would hide what follows it on the line: {line}"
        else:
            assert "#" not in line, line
            assert "$" not in line, line


@pytest.mark.parametrize(
    ("shader", "name", "value"),
    [
        ("cumulative_lanes", "ROUNDS", scan.ROW_ROUNDS),
        ("cumulative_groups", "ROUNDS", scan.ROW_ROUNDS),
        ("cumulative_linked", "ROUNDS", scan.ROW_ROUNDS),
        ("cumulative_stream", "ROUNDS", scan.ROW_ROUNDS),
        ("cumulative_columns", "AHEAD", scan.COLUMNS_AHEAD),
        ("cumulative_columns_chain", "COLUMNS", scan.TILE_COLUMNS),
        ("shared/publish", "COUNT_BITS", scan.TICKETS.bit_length()),
    ],
)
def test_plans_and_shaders_agree_on_a_constant(shader: str, name: str, value: int) -> None:
    """Lines are repeated as often as the constant says, for it cannot count them itself."""
    text = (SHADERS / f"{shader}.wgsl").read_text(encoding="utf-8")
    assert f"const {name} = {value}u;" in text
    assert name in ("COLUMNS", "COUNT_BITS") or f"#repeat {value}: " in text


def test_a_subgroup_takes_as_many_rounds_of_a_row_as_plans_say() -> None:
    text = (SHADERS / "cumulative_rows.wgsl").read_text(encoding="utf-8")
    assert f"const ROUNDS = {scan.ROW_ROUNDS}u;" in text
    assert len(re.findall(r"let round\d = ", text)) == scan.ROW_ROUNDS


def test_tiles_have_no_more_steps_than_are_written_out() -> None:
    text = (SHADERS / "cumulative_columns_chain.wgsl").read_text(encoding="utf-8")
    repeats = {int(n) for n in re.findall(r"#repeat (\d+): ", text)}
    assert repeats == {max(n for shapes in scan.TILE_SHAPES.values() for *_, n in shapes)}


def imports(path: Path) -> set[str]:
    """Top-level packages that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_only_one_module_imports_wgpu() -> None:
    assert [name_of(path) for path in MODULES if "wgpu" in imports(path)] == ["dmlgpu/gpu.py"]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_holds(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("folder", ["dmlgpu", "shaders", "tests", "benchmarks", "tools"])
def test_no_file_is_longer_than_400_lines(folder: str) -> None:
    files = [
        path
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".wgsl", ".sh") and "__pycache__" not in path.parts
    ]
    lengths = {name_of(p): len(p.read_text(encoding="utf-8").splitlines()) for p in files}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}

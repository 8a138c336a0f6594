"""The shape of the repository: no orphans, directives that exist, files that open with a word."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from dmlgpu.plan.scan import choice
from dmlgpu.wgsl import assembly, params, source

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "dmlgpu"
SHADERS = ROOT / "shaders"
ELSEWHERE = ("doctor", "math", "number")  # probes, and libraries that calls bring in
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES = 900  # a hard end; 100 to 600 lines are normal


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_every_shader_is_used() -> None:
    """A kernel by some plan, a snippet by a plan's slot or by an import; libraries by calls."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "dmlgpu").rglob("*.py"))
    used = set(re.findall(r'"([\w/]+)"', code))
    prefixes = tuple(re.findall(r'f"(\w+_)\{', code))  # names that plans put together
    for path in SHADERS.rglob("*.wgsl"):  # a slot that no plan fills is the snippet of its name
        lines = path.read_text(encoding="utf-8").splitlines()
        used |= {line.removeprefix("#import ") for line in lines if line.startswith("#import ")}
    found = {path.relative_to(SHADERS).with_suffix("") for path in SHADERS.rglob("*.wgsl")}
    unused = {
        path.as_posix()
        for path in found
        if not used & {path.as_posix(), path.name} and not path.name.startswith(prefixes)
    }
    assert {name for name in unused if name.partition("/")[0] not in ELSEWHERE} == set()


@pytest.mark.parametrize("path", sorted(SHADERS.rglob("*.wgsl")), ids=name_of)
def test_a_shader_opens_with_what_it_does(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("// ")


@pytest.mark.parametrize("path", sorted(SHADERS.rglob("*.wgsl")), ids=name_of)
def test_every_directive_is_one_that_assembly_knows(path: Path) -> None:
    """A misspelt one would stay in the text, for the driver to refuse."""
    known = (source._IMPORT, assembly._BIND, source._REPEAT)
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#param "):
            assert len(params.layout_of([line])) == 1, line
        elif line.lstrip().startswith("#"):
            assert any(pattern.match(line) for pattern in known), line
            assert "//" not in line, f"a comment would hide what follows it on the line: {line}"
        else:
            assert "#" not in line, line
            assert "$" not in line, line


@pytest.mark.parametrize(
    ("shader", "name", "value"),
    [
        ("scan/groups", "ROUNDS", choice.ROUNDS),
        ("scan/tile_sum", "ROUNDS", choice.ROUNDS),
        ("scan/publish", "COUNT_BITS", choice.TICKETS.bit_length()),
    ],
)
def test_plans_and_shaders_agree_on_a_constant(shader: str, name: str, value: int) -> None:
    """Lines are repeated as often as the constant says, for it cannot count them itself."""
    text = (SHADERS / f"{shader}.wgsl").read_text(encoding="utf-8")
    assert f"const {name} = {value}u;" in text
    assert name == "COUNT_BITS" or f"#repeat {value}: " in text


def test_tiles_have_no_more_steps_than_are_written_out() -> None:
    text = (SHADERS / "scan/columns_chain.wgsl").read_text(encoding="utf-8")
    repeats = {int(n) for n in re.findall(r"#repeat (\d+): ", text)}
    assert repeats == {max(steps for _, steps in choice.TILE_SHAPES.values())}


def test_columns_have_as_many_batches_and_steps_as_are_written_out() -> None:
    text = (SHADERS / "scan/columns.wgsl").read_text(encoding="utf-8")
    repeats = re.findall(r"#repeat (\d+): if \(BATCH > \$u\)", text)
    assert repeats == [str(2 * choice.COLUMNS_BATCH)] * choice.BATCHES


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_holds(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("folder", ["dmlgpu", "shaders", "tests", "benchmarks", "tools"])
def test_no_file_is_longer_than_one_idea(folder: str) -> None:
    files = [
        path
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".wgsl", ".sh") and "__pycache__" not in path.parts
    ]
    lengths = {name_of(p): len(p.read_text(encoding="utf-8").splitlines()) for p in files}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}


def test_no_test_file_imports_another() -> None:
    """What several need lies in tests/support, so that each file runs alone."""
    tests = {path.stem: path for path in (ROOT / "tests").rglob("test_*.py")}
    found = {}
    for name, path in tests.items():
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        if modules & {*tests, "conftest"}:
            found[name] = modules & {*tests, "conftest"}
    assert found == {}

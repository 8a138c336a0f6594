"""How much there is of what there should be less of. The numbers here may only fall.

A change that lowers a count writes the new number here; a change that raises one is refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLANNERS = (ROOT / "dmlgpu" / "plan", ROOT / "dmlgpu" / "wgsl")
SHADERS = ROOT / "shaders"
STATEMENT = re.compile(r"^\s*(fn|let|var|return|if|for|struct)\b.*[;{]|^#(param|bind|import) ")
SOFTWARE = re.compile(r"\b(is_cpu|on_cpu|CPU_\w+)\b")

MOST = {
    "lines of planners and shaders": 20580,
    "modules that write WGSL": 25,
    "named numbers": 261,
    "lines that know software adapters": 130,
}


def modules(*folders: Path) -> Iterator[tuple[Path, str]]:
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            yield path, path.read_text(encoding="utf-8")


def texts(node: ast.AST) -> Iterator[str]:
    """Pieces of text that are no documentation."""
    for each in ast.walk(node):
        if (
            isinstance(each, ast.Constant)
            and isinstance(each.value, str)
            and "\n " not in each.value
        ):
            yield each.value


def writes_wgsl(text: str) -> bool:
    tree = ast.parse(text)
    return any(STATEMENT.search(piece) for piece in texts(tree))


def named_numbers(text: str) -> int:
    """Names of a module that stand for a number, or for several, which somebody chose."""

    def is_chosen(value: ast.expr) -> bool:
        kinds = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Tuple, ast.Dict, ast.Name)
        parts = [n for n in ast.walk(value) if isinstance(n, ast.expr)]
        numbers = [n.value for n in parts if isinstance(n, ast.Constant)]
        return (
            all(isinstance(n, kinds) for n in parts)
            and bool(numbers)
            and all(isinstance(n, (int, float)) for n in numbers)
        )

    made = 0
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Name, ast.Tuple)):
            targets = node.targets[0]
            names = targets.elts if isinstance(targets, ast.Tuple) else [targets]
            if is_chosen(node.value):
                made += sum(isinstance(n, ast.Name) and n.id.isupper() for n in names)
    return made


def counts() -> dict[str, int]:
    planners = list(modules(*PLANNERS))
    shaders = [path.read_text(encoding="utf-8") for path in SHADERS.rglob("*.wgsl")]
    knowing = [*planners, *modules(ROOT / "dmlgpu" / "ops")]
    return {
        "lines of planners and shaders": sum(
            text.count("\n") for text in (*(text for _, text in planners), *shaders)
        ),
        "modules that write WGSL": sum(writes_wgsl(text) for _, text in planners),
        "named numbers": sum(named_numbers(text) for _, text in planners),
        "lines that know software adapters": sum(
            bool(SOFTWARE.search(line)) for _, text in knowing for line in text.splitlines()
        ),
    }


@pytest.mark.parametrize("what", MOST)
def test_there_is_no_more_of_it(what: str) -> None:
    found = counts()[what]
    assert found <= MOST[what], f"{what}: {found}; there were {MOST[what]}"
    assert found == MOST[what], f"{what} fell to {found}: write that here"

"""`python tools/pages.py`: brings the code's tables and docstrings into the pages.

In docs/operators/ and docs/reference.md, whatever stands between `<!-- name: ... -->` and
`<!-- /name -->` is made here from the records in dmlgpu/ops and from docstrings; all else, the
worked examples above all, is written by hand and run by the tests. pictures.py draws the pictures.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pictures
import reference

from dmlgpu.cli import catalogue
from dmlgpu.desc.levels import level_text, ranks_text, types_short
from dmlgpu.ops import OPERATORS
from dmlgpu.plan.operator import Operator

DOCS = Path(__file__).resolve().parent.parent / "docs"
FOLDER = DOCS / "operators"
MADE = "made by `python tools/pages.py`"
FIELD = re.compile(r"(\w+) \(([\w\[\]]+)\): (.*)")
NEW_PAGE = """\
# {name}

<!-- summary: {made} -->
<!-- /summary -->

## Worked example

<!-- facts: {made} -->
<!-- /facts -->
"""


@dataclass(frozen=True)
class Told:
    """What a description's docstring says."""

    title: str
    meaning: str  # the formula, indented, and what its letters stand for
    fields: dict[str, tuple[str, str]]  # DirectML's type, and the meaning
    rules: list[str]


def told(operator: Operator[Any]) -> Told:
    """The parts of the docstring of an operator's description."""
    text = inspect.getdoc(operator.desc) or ""
    head, _, rest = text.partition("\nFields:\n")
    listed, _, rules = rest.partition("\nRules:\n")
    title, _, meaning = head.partition("\n")
    found = {}
    for line in listed.splitlines():
        match = FIELD.fullmatch(line.strip())
        if match:
            found[match[1]] = (match[2], match[3])
    items = re.split(r"^ *- ", rules, flags=re.M)[1:]
    return Told(
        sentence(title.partition(": ")[2]),
        meaning.strip("\n"),
        found,
        [" ".join(item.split()) for item in items],
    )


def sentence(text: str) -> str:
    """`text` with a capital letter in front."""
    return text[:1].upper() + text[1:]


def directml(name: str) -> str:
    """A field's name in the C structure."""
    return "".join(part.capitalize() for part in name.split("_"))


def manual(operator: Operator[Any]) -> str:
    """The address of the operator's page in DirectML's manual, from its module's docstring."""
    text = inspect.getmodule(operator.desc).__doc__ or ""
    structure = f"dml_{operator.name.lower()}_operator_desc"
    return next(word for word in text.split() if word.endswith(structure))


def summary(operator: Operator[Any]) -> str:
    """What the operator does, in words, as a picture and as a formula."""
    said = told(operator)
    stem = operator.name.lower()
    return (
        f"{said.title}\n\n![{said.title}](../pictures/{stem}.svg)\n\n{said.meaning}\n\n"
        f"`dml.{stem}` is the function, `dml.{operator.desc.__name__}` the description; "
        f"[DirectML's own page]({manual(operator)})."
    )


def facts(operator: Operator[Any]) -> str:
    """Fields, rules and feature levels."""
    said = told(operator)
    lines = ["## Fields", "", "| field | in DirectML | type | meaning |", "|---|---|---|---|"]
    for field in operator.fields:
        kind, meaning = said.fields[field.name]
        lines.append(
            f"| `{field.name}` | `{directml(field.name)}` | {kind} | {sentence(meaning)} |"
        )
    if any(kind.endswith("[]") for kind, _ in said.fields.values()):
        lines += ["", "`DimensionCount` is not a field: the arrays' length says it."]
    lines += ["", "## Rules", "", *(f"- {rule}" for rule in said.rules)]
    lines += ["", "## Feature levels", "", levels(operator), ""]
    in_place = "may be the input itself" if operator.entry.alias else "must not overlap an input"
    since = level_text(operator.entry.since)
    lines.append(
        f"The output {in_place}. `DML_OPERATOR_{operator.name}` is operator "
        f"{operator.entry.value} of DirectML, there since feature level {since}."
    )
    return "\n".join(lines)


def levels(operator: Operator[Any]) -> str:
    """What each tensor may be, level by level."""
    has_indices = any(field.name == "indices_tensor" for field in operator.fields)
    head = ["from level", "ranks", "data types"] + ["index types"] * has_indices
    lines = [line(head), line(["---"] * len(head))]
    for level, row in operator.entry.support.items():
        data = row[operator.inputs[0].name]
        cells = [level_text(level), ranks_text(data.ranks), types_short(data.data_types)]
        if has_indices:
            cells.append(types_short(row["indices_tensor"].data_types))
        lines.append(line(cells))
    return "\n".join(lines)


def listing() -> str:
    """Every operator with its page and one sentence."""
    lines = [line(["operator", "what it does"]), line(["---"] * 2)]
    for operator in OPERATORS:
        stem = operator.name.lower()
        lines.append(line([f"[{operator.name}]({stem}.md)", told(operator).title]))
    return "\n".join(lines)


def line(cells: list[str]) -> str:
    """One row of a table."""
    return "| " + " | ".join(cells) + " |"


def refreshed(text: str, sections: dict[str, str]) -> str:
    """`text` with what stands between the markers of each section made anew."""
    for name, made in sections.items():
        between = re.compile(rf"(<!-- {name}: [^\n]*-->\n).*?(<!-- /{name} -->)", re.S)
        text, count = between.subn(lambda m, made=made: f"{m[1]}\n{made}\n\n{m[2]}", text)
        assert count == 1, f"the markers of {name} are missing"
    return text


def made() -> dict[Path, str]:
    """Every file of this script, and what it should hold."""
    found = {}
    for operator in OPERATORS:
        path = FOLDER / f"{operator.name.lower()}.md"
        old = path.read_text("utf-8") if path.exists() else ""
        old = old or NEW_PAGE.format(name=operator.name, made=MADE)
        sections = {"summary": summary(operator), "facts": facts(operator)}
        found[path] = refreshed(old, sections)
    index = FOLDER / "index.md"
    sections = {"listing": listing(), "levels": catalogue.markdown().strip()}
    found[index] = refreshed(index.read_text("utf-8"), sections)
    names = DOCS / "reference.md"
    found[names] = refreshed(names.read_text("utf-8"), {"reference": reference.text()})
    for name, svg in pictures.drawn().items():
        found[DOCS / "pictures" / f"{name}.svg"] = svg
    return found


if __name__ == "__main__":
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")

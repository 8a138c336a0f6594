"""What the documentation site says of operators, made from their records while it is built.

tools/docs_site.py asks for it: a page for each family, and on pages written by hand whatever stands
for `<!-- made: name -->`. Nothing made is kept in the repository, so a new operator is on the site
without a change to any page. The pictures of examples are those of tools/worked.py. A page
docs/operators/x.md, where someone wrote one, has the worked example of the operator X; its fields,
rules and levels are made here too.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import reference
import worked

import dmlgpu as dml
from dmlgpu.cli.catalogue import columns
from dmlgpu.desc.catalogue import names as all_names
from dmlgpu.desc.levels import level_text
from dmlgpu.ops import BY_NAME, FAMILIES, OPERATORS
from dmlgpu.plan.operator import Operator

DOCS = Path(__file__).resolve().parent.parent / "docs"
FOLDER = "operators"
MANUAL = "https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_{}_operator_desc"
MARK = re.compile(r"^<!-- made: (\w+) -->$", re.M)
# Of a field without a line in the docstring.
MEANING = {"in": "what is read.", "out": "what is written.", "attribute": ""}
EXAMPLES = (
    "A value that is moved keeps its colour; white elements are not moved, or made anew. The "
    "programs begin with `import dmlgpu as dml` and `import numpy as np`."
)
FIELD = re.compile(r"(\w+) \(([^)]*)\): (.*)")


@dataclass(frozen=True)
class Told:
    """What the docstrings of a description and of the classes it is made from say."""

    title: str
    meaning: str  # the formula, indented, and what its letters stand for
    fields: dict[str, tuple[str, str]]  # DirectML's type, and the meaning
    rules: list[str]


def told(operator: Operator[Any]) -> Told:
    """The parts of the docstring of an operator's description."""
    head, _, _ = _parts(operator.desc)
    title, _, meaning = head.partition("\n")
    found: dict[str, tuple[str, str]] = {}
    rules: list[str] = []
    for kind in reversed(operator.desc.__mro__[:-1]):
        _, listed, said = _parts(kind)
        found |= {m[1]: (m[2], m[3]) for m in map(FIELD.fullmatch, listed) if m}
        rules += said
    return Told(sentence(title.partition(": ")[2]), meaning.strip("\n"), found, rules)


def _parts(kind: type[Any]) -> tuple[str, list[str], list[str]]:
    """What is said, the fields and the rules of a class's own docstring."""
    head, _, rest = inspect.cleandoc(vars(kind).get("__doc__") or "").partition("\nFields:\n")
    listed, _, rules = rest.partition("\nExample:\n")[0].partition("\nRules:\n")
    fields = [" ".join(item.split()) for item in re.split(r"^ {4}(?=\w)", listed, flags=re.M)]
    items = re.split(r"^ *- ", rules, flags=re.M)[1:]
    return head, fields, [" ".join(item.split()) for item in items]


def sentence(text: str) -> str:
    """`text` with a capital letter in front, unless it begins with a formula."""
    word = re.match(r"[a-z]{2,}(?=[ ,;])", text)
    return text[:1].upper() + text[1:] if word or text[:2] in ("a ", "an") else text


def signature(operator: Operator[Any]) -> str:
    """The function of an operator with its arguments, but for those that all have."""
    name = operator.name.lower()
    shown = reference.arguments(getattr(dml, name))
    return name + re.sub(r"(, \*)?, output_data_type=None(, output_sizes=None)?\)$", ")", shown)


def asked(operators: list[Operator[Any]]) -> str:
    """A sentence on the arguments that `signature` leaves out."""
    names = [operator.name.lower() for operator in operators]
    without = [
        f"`{name}`"
        for name in names
        if "output_data_type" not in inspect.signature(getattr(dml, name)).parameters
    ]
    if len(without) == len(names):
        return ""
    which = f"All but {', '.join(without)} also take" if without else "Each also takes"
    return (
        f" {which} `output_data_type` and `output_sizes`, which say what the result is "
        "where the inputs do not."
    )


def page_of(operator: Operator[Any]) -> str:
    """The page that someone wrote for an operator; empty where there is none."""
    name = f"{operator.name.lower()}.md"
    return name if (DOCS / FOLDER / name).exists() else ""


# The parts of pages.


def summary(operator: Operator[Any]) -> str:
    """Formula, function and description."""
    said = told(operator)
    lines = [said.meaning, ""] if said.meaning else []
    lines.append(
        f"`dml.{signature(operator)}` is the function and `dml.{operator.desc.__name__}` the "
        f"description; [DirectML's own page]({MANUAL.format(operator.name.lower())})."
    )
    return "\n".join(lines)


def facts(operator: Operator[Any]) -> str:
    """Fields, rules and feature levels of one operator."""
    parts = ["## Fields", field_table([operator])]
    if told(operator).rules:
        parts += ["## Rules", bullets(told(operator).rules)]
    parts += ["## Feature levels", level_table(operator)]
    inputs = sorted({name for names in operator.entry.alias.values() for name in names})
    in_place = " or ".join(f"`{n}` itself" for n in inputs)
    parts.append(
        f"The output {f'may be {in_place}' if inputs else 'must not overlap an input'}. "
        f"`DML_OPERATOR_{operator.name}` is operator {operator.entry.value} of DirectML, "
        f"there since feature level {level_text(operator.entry.since)}."
    )
    return "\n\n".join(parts)


def field_table(operators: list[Operator[Any]]) -> str:
    """Every field of some operators once, with those that have it where not all do."""
    owners: dict[tuple[str, str, str], list[str]] = {}
    for operator in operators:
        said = told(operator).fields
        for field in operator.fields:
            meaning = said.get(field.name, (field.kind, MEANING[field.direction]))
            owners.setdefault((field.name, *meaning), []).append(operator.name)
    rows = []
    for (name, kind, meaning), having in owners.items():
        excepted, few = few_of(operators, having)
        of = f" {'Not of' if excepted else 'Of'} {few}." if few else ""
        in_directml = "".join(part.capitalize() for part in name.split("_"))
        rows.append([f"`{name}`", f"`{in_directml}`, {kind}", sentence(meaning) + of])
    return table(["field", "in DirectML", "meaning"], rows)


def few_of(operators: list[Operator[Any]], having: list[str]) -> tuple[bool, str]:
    """The shorter list, of the operators named or of the others, and whether it is the others."""
    names = [operator.name for operator in operators]
    others = [name for name in names if name not in having]
    prefix = common_words(names)
    few = having if len(having) <= len(others) else others
    return few is others, ", ".join(name.removeprefix(prefix) for name in few)


def common_words(names: list[str]) -> str:
    """The words with which all names begin, where leaving them out makes a list shorter."""
    if len(names) < 4:
        return ""
    first, *rest = [name.split("_") for name in names]
    shared: list[str] = []
    for i, word in enumerate(first[:-1]):
        if any(other[: i + 1] != first[: i + 1] for other in rest):
            break
        shared.append(word + "_")
    return "".join(shared)


def level_rows(operator: Operator[Any]) -> tuple[tuple[str, str, str], ...]:
    """Level, ranks and data types, for each level that changed something."""
    rows: list[tuple[str, str, str]] = []
    for level in operator.entry.support:
        cells = columns(operator.entry, level)
        if not rows or rows[-1][1:] != cells:
            rows.append((level_text(level), *cells))
    return tuple(rows)


def level_table(operator: Operator[Any]) -> str:
    """What the tensors of an operator may be, level by level."""
    return table(["from level", "ranks", "data types"], map(list, level_rows(operator)))


def family_page(family: ModuleType) -> str:
    """One family: its operators, their fields and rules, and what each level allows."""
    operators = list(family.OPERATORS)
    head = (family.__doc__ or "").partition("\n")[0]
    prefix = common_words([operator.name for operator in operators])
    rows = []
    for operator in operators:
        page = page_of(operator)
        more = f" [Example](#{operator.name.lower()})." if worked.example(operator) else ""
        more = f" [Worked example]({page})." if page else more
        rows.append([f"`{signature(operator)}`", told(operator).title + more])
    parts = [
        f"# {family_title(family)}",
        sentence(re.sub(r"^DML_OPERATOR_[^:]*: ", "", head)),
        table(["function", "result"], rows),
        "Each function stands for DirectML's operator of the same name in capitals."
        + asked(operators),
    ]
    parts += examples(operators)
    formulas = [(o.name, told(o).meaning) for o in operators if "    " in told(o).meaning]
    if formulas:
        parts.append("## Formulas")
    for name, formula in formulas:
        parts += [f"**{name.removeprefix(prefix)}**", formula]
    parts += ["## Fields", field_table(operators)]
    notes = [
        f"**{o.name}**: {' '.join(told(o).meaning.split())}"
        for o in operators
        if told(o).meaning and "    " not in told(o).meaning
    ]
    having: dict[str, list[str]] = {}
    for operator in operators:
        for rule in told(operator).rules:
            having.setdefault(rule, []).append(operator.name)
    rules = []
    for rule, names in having.items():
        excepted, few = few_of(operators, names)
        rules.append(f"**{'All but ' if excepted else ''}{few}**: {rule}" if few else rule)
    if rules or notes:
        parts += ["## Rules", bullets([*rules, *notes])]
    parts += [
        "## Feature levels",
        "Ranks and data types are those of the first tensor; the others have the same, unless they "
        "are named.",
    ]
    alike: dict[Any, list[str]] = {}
    for operator in operators:
        alike.setdefault(level_rows(operator), []).append(operator.name.removeprefix(prefix))
    for operator in operators:
        for attribute in operator.entry.support_by:
            parts.append(f"{operator.name}: each `{attribute}` allows some of these types.")
    for levels, names in alike.items():
        parts += [f"**{', '.join(names)}**", table(["from level", "ranks", "data types"], levels)]
    parts += ["## In place", in_place(operators, prefix)]
    return "\n\n".join(parts) + "\n"


def examples(operators: list[Operator[Any]]) -> list[str]:
    """The examples of some operators with their pictures, under a heading."""
    parts: list[str] = []
    for shown in filter(None, map(worked.example, operators)):
        picture = f"../{picture_file(shown.name)}"
        parts += [f"### {shown.name}", f"![Input and output of {shown.name}]({picture})"]
        parts += [f"```python\n{shown.program}```", f"```text\n{shown.printed}```"]
    return ["## Examples", EXAMPLES, *parts] if parts else []


def in_place(operators: list[Operator[Any]], prefix: str) -> str:
    """Which outputs may lie on an input."""
    able = [operator.name.removeprefix(prefix) for operator in operators if operator.entry.alias]
    if not able:
        return "No output may overlap an input."
    if len(able) == len(operators):
        return "The output of each may be an input itself: the same bytes with the same strides."
    return f"May be an input itself, with the same strides: the output of {', '.join(able)}."


def family_title(family: ModuleType) -> str:
    """A family's name as the title of its page."""
    words = family.__name__.rpartition(".")[2].replace("_", " ")
    return words.capitalize().replace("Element wise", "Element-wise:").replace(" nd", "ND")


def family_file(family: ModuleType) -> str:
    """Where the page of a family is, from docs/."""
    stem = family.__name__.rpartition(".")[2].replace("_", "-")
    return f"{FOLDER}/{stem}-family.md"


def listing() -> str:
    """Every family with its page and its operators."""
    rows = []
    for family in FAMILIES:
        names = [operator.name for operator in family.OPERATORS]
        prefix = common_words(names)
        page = family_file(family).rpartition("/")[2]
        listed = []
        for operator in family.OPERATORS:
            name = operator.name.removeprefix(prefix)
            place = f"{page}#{operator.name.lower()}" if worked.example(operator) else ""
            place = page_of(operator) or place
            listed.append(f"[{name}]({place})" if place else name)
        start = f"{prefix}...: " if prefix else ""
        rows.append([f"[{family_title(family)}]({page})", start + ", ".join(listed)])
    text = f"{len(OPERATORS)} of DirectML's {len(all_names())} operators, by family:"
    return f"{text}\n\n{table(['family', 'operators'], rows)}"


# Markdown.


def bullets(items: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {item}" for item in items)


def table(head: list[str], rows: Iterable[Iterable[str]]) -> str:
    """Rows under their headings."""
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(c.replace("|", r"\|") for c in row) + " |" for row in cells)


def family_pages() -> dict[str, str]:
    """The pages of all families, by their place from docs/."""
    return {family_file(family): family_page(family) for family in FAMILIES}


def picture_file(name: str) -> str:
    """Where the picture of an operator's example is, from docs/."""
    return f"pictures/examples/{name.lower()}.svg"


def example_pictures() -> dict[str, str]:
    """The pictures of all examples, by their place from docs/."""
    shown = filter(None, map(worked.example, OPERATORS))
    return {picture_file(each.name): worked.picture(each) for each in shown}


def filled(page: str, text: str) -> str:
    """The text of a page, given by its place from docs/, with what is made put in."""
    parts: dict[str, Callable[[], str]] = {"listing": listing, "reference": reference.text}
    operator = BY_NAME.get(Path(page).stem.upper())
    if operator is not None and page.startswith(f"{FOLDER}/"):
        found = operator
        parts |= {"summary": lambda: summary(found), "facts": lambda: facts(found)}
    return MARK.sub(lambda match: parts[match[1]](), text)

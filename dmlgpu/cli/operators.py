"""`dmlgpu operators`: the catalogue at one level, or at all of them."""

from __future__ import annotations

import argparse
import json

from dmlgpu.cli import catalogue
from dmlgpu.cli.output import Table
from dmlgpu.cli.parser import Commands, add_command, add_json, add_level
from dmlgpu.desc.levels import FeatureLevel, level_text
from dmlgpu.ops import OPERATORS

EXAMPLES = """\
  dmlgpu operators --level 3.0           what feature level 3.0 allows
  dmlgpu operators --json                the same as data, tensor by tensor
"""


def add_operators(commands: Commands) -> None:
    """Adds the command."""
    text = "the operators: since which level, ranks, types, in place"
    parser = add_command(commands, "operators", run, text, EXAMPLES)
    add_level(parser)
    shape = parser.add_mutually_exclusive_group()
    add_json(shape)
    shape.add_argument("--markdown", action="store_true", help="print every level, as one table")


def run(args: argparse.Namespace) -> int:
    """The catalogue as a table, as JSON or as Markdown."""
    if args.json:
        print(json.dumps(catalogue.entries(args.level), indent=2))
    elif args.markdown:
        print(catalogue.markdown(), end="")
    else:
        _print(args.level)
    return 0


def _print(level: FeatureLevel) -> None:
    print(f"operators at feature level {level_text(level)}\n")
    names = max(len(operator.name) for operator in OPERATORS)
    table = Table({"operator": names, "since": 5, "ranks": 6, "in place": 8, "data types": 0})
    later = []
    for operator in OPERATORS:
        since = level_text(operator.entry.since)
        if level < operator.entry.since:
            later.append(f"{operator.name} comes with level {since}")
            continue
        ranks, types, indices = catalogue.columns(operator.entry, level)
        in_place = "yes" if operator.entry.alias else "no"
        table.row(operator.name, since, ranks, in_place, types)
        if indices != "-":
            table.row("  indices", "", "", "", indices)
    if later:
        print("\n" + "\n".join(later))

"""`dmlgpu operators`: the operators that a feature level has, and what their tensors may be."""

from __future__ import annotations

import argparse
import json

from dmlgpu.cli import catalogue
from dmlgpu.cli.output import Table, print_text
from dmlgpu.cli.parser import Commands, add_command, add_json, add_level
from dmlgpu.desc.levels import FeatureLevel, level_text
from dmlgpu.ops import OPERATORS

EXAMPLES = """\
  dmlgpu operators
  dmlgpu operators --level 3.0           what feature level 3.0 allows
  dmlgpu operators gather softmax        those with one of these words in their names
  dmlgpu operators --json                the same as data, tensor by tensor
"""


def add_operators(commands: Commands) -> None:
    """Adds the command."""
    text = "the operators at a feature level: ranks and data types, and whether in place"
    parser = add_command(commands, "operators", run, text, EXAMPLES)
    parser.add_argument("words", nargs="*", metavar="WORD", help="part of a name (default: all)")
    add_level(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """The operators as a table or as JSON."""
    words = [word.upper() for word in args.words] or [""]
    named = {o.name for o in OPERATORS if any(word in o.name for word in words)}
    if args.json:
        entries = [entry for entry in catalogue.entries(args.level) if entry["name"] in named]
        print(json.dumps(entries, indent=2))
    else:
        _print(args.level, named)
    return 0


def _print(level: FeatureLevel, named: set[str]) -> None:
    chosen = [operator for operator in OPERATORS if operator.name in named]
    there = [operator for operator in chosen if operator.entry.since <= level]
    print(f"operators at feature level {level_text(level)}\n")
    rows = [
        (
            operator.name,
            level_text(operator.entry.since),
            "yes" if operator.entry.alias else "no",
            *catalogue.columns(operator.entry, level),
        )
        for operator in there
    ]
    headings = ("operator", "since", "in place", "ranks", "data types")
    table = Table({name: [row[i] for row in rows] for i, name in enumerate(headings)})
    for row in rows:
        table.row(*row)
    later: dict[str, list[str]] = {}
    for operator in chosen:
        if operator not in there:
            later.setdefault(level_text(operator.entry.since), []).append(operator.name)
    if later:
        print()
    for since, names in sorted(later.items()):
        print_text(f"From level {since}: {', '.join(names)}.")

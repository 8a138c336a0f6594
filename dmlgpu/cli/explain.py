"""`dmlgpu explain OPERATOR`: the dispatches a description becomes, and the least time they take."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import dmlgpu as dml
from dmlgpu.cli.describe import add_options, describe
from dmlgpu.cli.explain_fused import Described, add_fused
from dmlgpu.cli.explained import Target, explained
from dmlgpu.cli.output import bytes_text, number_text, print_fact, print_text, time_text
from dmlgpu.cli.parser import Commands, add_adapter, add_command, add_json, add_level
from dmlgpu.errors import DeviceError
from dmlgpu.measure.roofline import copy_rate
from dmlgpu.ops import OPERATORS
from dmlgpu.plan.dispatch import SMALL, Adapter
from dmlgpu.plan.operator import Operator

MIB = 1 << 20
COPY_BYTES = {"discrete": 256 * MIB}  # of the copy that says how fast memory is, by kind
COPY_BYTES_ELSEWHERE = 64 * MIB
MAX_GROUPS = 65535  # what WebGPU promises

EXAMPLES = """\
  dmlgpu explain cumulative_summation --input float32:4096x4096 --axis 1
  dmlgpu explain slice1 --input float32:1x1x4x4 --offsets 0,0,0,1 \\
      --sizes 1,1,4,3 --strides 1,1,-2,2
  dmlgpu explain gather_nd --input float16:32768x64 --indices int64:8192x1 \\
      --json
  dmlgpu explain slice --input uint8:480x640:1024x1 --assume gpu \\
      --bandwidth 1000
  dmlgpu explain fuse "((x - y) ** 2).mean(1)" --tensor x=float32:512x512 \\
      --tensor y=float32:512

A tensor is TYPE:SIZES or TYPE:SIZES:STRIDES (in elements).
dmlgpu explain OPERATOR --help lists the options of one operator.
"""


@dataclass(frozen=True, slots=True)
class Assumed:
    """An adapter that need not be there."""

    title: str
    facts: Adapter


ASSUMED = {
    "gpu": Assumed(
        "an assumed discrete GPU with subgroups of 32",
        Adapter(
            subgroup_min=32,
            subgroup_max=32,
            exact_floats=True,
            wide_integers=True,
            forward_progress=True,
            max_workgroup_size=1024,
            max_workgroup_storage=49152,
            max_binding=1 << 31,
            shaped_from=SMALL,
        ),
    ),
    "cpu": Assumed(
        "an assumed software adapter", Adapter(is_cpu=True, subgroup_min=4, subgroup_max=128)
    ),
    "least": Assumed("an assumed adapter with no more than WebGPU promises", Adapter()),
}


def rewritten(words: Sequence[str]) -> list[str]:
    """`explain SLICE1 --strides -1,2` as `explain slice1 --strides=-1,2`, which argparse reads.

    Operators may be written in any case, and a list that begins with a minus sign is no option.
    """
    if len(words) < 2 or words[0] != "explain":
        return list(words)
    joined = ["explain", words[1].lower().removeprefix("dml_operator_")]
    for word in words[2:]:
        if re.match(r"-\d", word) and re.fullmatch(r"--[a-z1-9-]+", joined[-1]):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def add_explain(commands: Commands) -> None:
    """Adds the command, with a command of its own for each operator."""
    text = "the dispatches a description becomes, bytes moved and the least time for them"
    parser = add_command(commands, "explain", run, text, EXAMPLES)
    names = parser.add_subparsers(title="operators", metavar="OPERATOR", required=True)
    for operator in OPERATORS:
        _add_operator(names, operator)
    add_fused(_add_target(names, "fuse", "the dispatches of an expression that dml.fuse traces"))


def _add_operator(names: Any, operator: Operator[Any]) -> None:
    meaning = (operator.desc.__doc__ or "").partition("\n")[0].partition(": ")[2]
    told = _add_target(names, operator.name.lower(), meaning.rstrip(".").replace("%", "%%"))
    told.set_defaults(described=partial(_described, operator))
    add_options(told, operator)
    add_level(told)


def _described(operator: Operator[Any], args: argparse.Namespace) -> Described:
    desc = describe(operator, args)
    operator.validate(desc, args.level)
    return operator, desc, None


def _add_target(names: Any, name: str, text: str) -> Any:
    """A command with the options that say for which adapter it explains."""
    told = add_command(names, name, run, text)
    where = told.add_mutually_exclusive_group()
    add_adapter(where)
    where.add_argument("--assume", choices=ASSUMED, help="an adapter that need not be there")
    told.add_argument(
        "--bandwidth",
        type=_bandwidth,
        metavar="GB/S",
        help="speed of memory (default: the adapter's own copy, measured)",
    )
    add_json(told)
    return told


def _bandwidth(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"it is {text!r}; it must be a number above 0")
    return value


def target(args: argparse.Namespace) -> Target:
    """The adapter asked for, real or assumed, and how fast its memory is."""
    given = args.bandwidth
    if args.assume:
        assumed = ASSUMED[args.assume]
        source = "--bandwidth" if given else ""
        return Target(assumed.title, assumed.facts, MAX_GROUPS, given, source)
    try:
        opened = dml.Device(args.adapter)
    except DeviceError as error:
        raise DeviceError(f"{error}; --assume gpu or --assume cpu needs none") from None
    with opened as device:
        gpu = device.context.gpu
        if given:
            facts = device.context.probed_facts()
            return Target(str(device.adapter), facts, gpu.max_groups, given, "--bandwidth")
        nbytes = COPY_BYTES.get(device.adapter.kind, COPY_BYTES_ELSEWHERE)
        rate = copy_rate(device, nbytes) / 1e9
        facts = device.context.probed_facts()
        return Target(str(device.adapter), facts, gpu.max_groups, rate, "its own copy")


def run(args: argparse.Namespace) -> int:
    """Explains one description, as text or as JSON."""
    operator, desc, told = args.described(args)
    found = explained(operator, desc, target(args), told)
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        _print(found)
    return 0


def _print(found: dict[str, Any]) -> None:
    print_text(f"{found['operator']} on {found['adapter']}")
    fields = found["description"]
    width = 4 + max(map(len, fields))
    for name, value in fields.items():
        print_fact(f"  {name}", _value(value), width)
    print()
    for number, dispatch in enumerate(found["dispatches"], 1):
        _print_dispatch(number, dispatch)
    for name, size in found["scratch"].items():
        print_text(f"Scratch memory {name}: {bytes_text(size)}.")
    for name, size in found["shared"].items():
        print_text(f"Memory that all calls share, {name}: {bytes_text(size)}.")
    if found["in_place"]:
        shaders = ", ".join(
            f"{d['shader']}.wgsl with {_pairs(d['slots'])}" for d in found["in_place"]
        )
        print_text(f"In place, or inside one buffer, other dispatches take over: {shaders}.")
    copies = found["copies"]
    if copies:
        print_text(
            f"Between buffers that allow it, {copies['count']} copies of "
            f"{bytes_text(copies['bytes'])} each take the place of the dispatches."
        )
    _print_time(found)


def _print_dispatch(number: int, dispatch: dict[str, Any]) -> None:
    print(f"{number}. {dispatch['shader']}.wgsl, entry point {dispatch['entry']}")
    x, y = dispatch["grid"]
    size = dispatch["workgroup_size"]
    facts = {
        "slots": _pairs(dispatch["slots"]),
        "constants": _pairs(dispatch["constants"]),
        "bindings": _pairs(dispatch["bindings"]),
        "bytes": ", ".join(f"{a:,} to {b:,} of {n}" for n, (a, b) in dispatch["spans"].items()),
        "grid": f"{x:,} x {y:,} workgroups of {size}: {x * y * size:,} invocations",
    }
    for name, text in facts.items():
        if text:
            print_fact(f"   {name}", text, 14)
    width = 16 + max(map(len, dispatch["uniforms"]), default=0)
    for i, (name, value) in enumerate(dispatch["uniforms"].items()):
        print_fact(f"   {'' if i else 'uniforms':11}{name}", _value(value), width)
    print_fact("   moves", bytes_text(dispatch["bytes"]), 14)
    print()


def _print_time(found: dict[str, Any]) -> None:
    parts = [f"{bytes_text(size)} of {name}" for name, size in found["bytes"].items()]
    print_text(f"Least traffic: {' + '.join(parts)} = {bytes_text(found['bytes_least'])}.")
    rate = found["bandwidth_gb_per_s"]
    if rate is None:
        print_text("Least time: not known; --bandwidth GB/S says how fast memory is.")
        return
    speed = f"{number_text(rate)} GB/s ({found['bandwidth_from']})"
    print_text(f"Least time at {speed}: {time_text(found['seconds_least'])}.")
    if found["bytes_planned"] > found["bytes_least"]:
        extra = bytes_text(found["bytes_planned"])
        print_text(f"The dispatches move {extra}: at least {time_text(found['seconds_planned'])}.")


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, dict) and "strides" not in value:
        return _pairs(value)
    if isinstance(value, dict):
        strides = f", strides {_value(value['strides'])}" if value["strides"] else ""
        return f"{value['data_type']} {'x'.join(map(str, value['sizes']))}{strides}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)

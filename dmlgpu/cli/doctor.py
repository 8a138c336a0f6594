"""`dmlgpu doctor`: tests the adapter and its driver, and says what works and what to install.

Exit status 0: the operators work here. 1: something they need is broken. 2: no adapter.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from dmlgpu.cli.output import GREEN, RED, Table, print_fact, print_text
from dmlgpu.cli.parser import Commands, add_adapter, add_command, add_json, fail
from dmlgpu.device import Device
from dmlgpu.doctor import examine
from dmlgpu.doctor.verdicts import AVOIDED, BROKEN, Verdict, on_adapter, what_to_install
from dmlgpu.errors import DeviceError
from dmlgpu.gpu.adapters import adapters

OK, SICK, NO_ADAPTER = 0, 1, 2
LONGEST = "CUMULATIVE_SUMMATION"  # name of a check
EXAMPLES = """\
  dmlgpu doctor
  dmlgpu doctor --adapter llvmpipe       another adapter than the one chosen
  dmlgpu doctor --json
"""


def add_doctor(commands: Commands) -> None:
    """Adds the command."""
    text = "test the adapter and its driver, and say what works and what to install"
    parser = add_command(commands, "doctor", run, text, EXAMPLES)
    add_adapter(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """A table or JSON, and the status that sums it up."""
    try:
        device = Device(args.adapter)
    except DeviceError as error:
        return _no_adapter(str(error), args.json)
    with device:
        found = _as_data(device) if args.json else _as_table(device)
    return SICK if _broken(found) else OK


def _broken(found: list[Verdict]) -> list[str]:
    return [verdict.name for verdict in found if verdict.state == BROKEN]


def _advice(device: Device, found: list[Verdict]) -> list[str]:
    every = [*(verdict.advice for verdict in found), on_adapter(device.adapter)]
    return list(dict.fromkeys(filter(None, every)))


def _as_data(device: Device) -> list[Verdict]:
    found = list(examine(device))
    report = {
        "status": SICK if _broken(found) else OK,
        "adapter": asdict(device.adapter),
        "checks": [asdict(verdict) for verdict in found],
        "advice": _advice(device, found),
    }
    print(json.dumps(report, indent=2))
    return found


def _as_table(device: Device) -> list[Verdict]:
    print_text(str(device.adapter))
    print()
    table = Table({"result": [AVOIDED], "check": [LONGEST], "what was found": []})
    found = []
    for verdict in examine(device):
        found.append(verdict)
        style = RED if verdict.state == BROKEN else ""
        table.row(verdict.state, verdict.name, verdict.text, style=style)
    broken = _broken(found)
    if broken:
        said = f"Broken: {', '.join(broken)}. Results on this adapter cannot be trusted."
    else:
        said = "All right: everything that was tried gives the right answers on this adapter."
    print()
    print_text(said, RED if broken else GREEN)
    for advice in _advice(device, found):
        print_fact("-", f"{advice[0].upper()}{advice[1:]}.", 2)
    return found


def _no_adapter(sentence: str, as_json: bool) -> int:
    advice = [] if adapters() else [f"to install: {what_to_install(sys.platform)}"]
    if as_json:
        report = {"status": NO_ADAPTER, "error": sentence, "checks": [], "advice": advice}
        print(json.dumps(report, indent=2))
        return NO_ADAPTER
    return fail("; ".join([sentence, *advice]), NO_ADAPTER)

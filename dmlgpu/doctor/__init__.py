"""dmlgpu doctor: a self-test of the adapter and its driver, told in plain words.

Exit status 0: the operators work here. 1: something they need is broken. 2: no adapter.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

from dmlgpu.device import Device
from dmlgpu.doctor import answers, probes, verdicts
from dmlgpu.doctor.verdicts import BROKEN, Verdict, what_to_install
from dmlgpu.errors import DeviceError
from dmlgpu.gpu import Gpu, adapters

OK, SICK, NO_ADAPTER = 0, 1, 2
WIDTH = 100


def add_doctor(commands: Any) -> None:
    """Adds the command to the parsers of the command line."""
    text = "test this machine's adapter and driver, and say what works"
    parser = commands.add_parser("doctor", help=text, description=text)
    parser.add_argument("--adapter", metavar="NAME", help="part of an adapter's name")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def examine(device: Device) -> Iterator[Verdict]:
    """Every check, in an order that leaves the most dangerous one to the end."""
    gpu: Gpu = device.gpu
    facts = gpu.facts
    ask = {
        name: partial(probes.answer, partial(getattr(probes, name), gpu))
        for name in ("loops", "integers", "pack_halves", "unpack_halves", "subgroups", "binding")
    }
    yield from verdicts.operators(answers.run(device, case) for case in answers.cases())
    yield verdicts.loops(ask["loops"](), facts, gpu.info)
    yield from verdicts.integers(ask["integers"]())
    has_f16 = "shader-f16" in gpu.device.adapter.features
    yield from verdicts.halves(ask["pack_halves"](), ask["unpack_halves"](), facts, has_f16)
    yield verdicts.subgroups(ask["subgroups"](), facts)
    numbers = {name: getattr(gpu, name) for name in ("max_binding", "max_bindings", "max_buffer")}
    yield verdicts.limits(ask["binding"](), numbers)
    yield verdicts.timestamps(probes.answer(partial(probes.timestamps, device)))
    yield verdicts.bounds(probes.answer(partial(probes.bounds, gpu)))


def run(args: argparse.Namespace) -> int:
    """The command: a table or JSON, and the status that sums it up."""
    try:
        device = Device(args.adapter)
    except DeviceError as error:
        return _no_adapter(str(error), args.json)
    with device:
        if not args.json:
            print(f"{device.adapter}\n")
        found = []
        for verdict in examine(device):
            found.append(verdict)
            if not args.json:
                _print(verdict)
        advice = list(dict.fromkeys(v.advice for v in found if v.advice))
        advice += filter(None, [verdicts.on_adapter(device.adapter)])
        status = SICK if any(v.state == BROKEN for v in found) else OK
        if args.json:
            checks = [asdict(verdict) for verdict in found]
            report = {"adapter": asdict(device.adapter), "checks": checks, "advice": advice}
            print(json.dumps({"status": status, **report}, indent=2))
        else:
            print("\n" + "\n".join([_conclusion(found), *map(_wrapped, advice)]))
    return status


def _print(verdict: Verdict) -> None:
    lead = f"{verdict.state:8} {verdict.name:21} "
    print(textwrap.fill(verdict.text, WIDTH, initial_indent=lead, subsequent_indent=" " * 31))
    sys.stdout.flush()


def _conclusion(found: list[Verdict]) -> str:
    broken = [verdict.name for verdict in found if verdict.state == BROKEN]
    if broken:
        return f"Broken: {', '.join(broken)}. Results on this adapter cannot be trusted."
    return "All right: every operator gives the right answers on this adapter."


def _wrapped(advice: str) -> str:
    sentence = advice[0].upper() + advice[1:] + "."
    return textwrap.fill(sentence, WIDTH, initial_indent="- ", subsequent_indent="  ")


def _no_adapter(sentence: str, as_json: bool) -> int:
    advice = [] if adapters() else [f"to install: {what_to_install(sys.platform)}"]
    if as_json:
        report = {"status": NO_ADAPTER, "error": sentence, "checks": [], "advice": advice}
        print(json.dumps(report, indent=2))
    else:
        print("\n".join([f"dmlgpu: {sentence}", *map(_wrapped, advice)]), file=sys.stderr)
    return NO_ADAPTER

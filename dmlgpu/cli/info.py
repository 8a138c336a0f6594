"""`dmlgpu info`: what this machine has, which adapter is chosen and why, and what it can do."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
from dataclasses import asdict
from typing import Any

import numpy as np

import dmlgpu as dml
from dmlgpu.cli.output import Table, bytes_text, print_fact, print_text
from dmlgpu.cli.parser import Commands, add_adapter, add_command, add_json
from dmlgpu.gpu.adapters import choose
from dmlgpu.wgsl.source import shader_folder

EXAMPLES = """\
  dmlgpu info
  dmlgpu info --adapter llvmpipe         limits and features of another adapter
  DMLGPU_ADAPTER=integrated dmlgpu info  what that variable would choose
  dmlgpu info --json
"""


def add_info(commands: Commands) -> None:
    """Adds the command."""
    text = "adapters, drivers, features and limits; which adapter is chosen, and why"
    parser = add_command(commands, "info", run, text, EXAMPLES)
    add_adapter(parser)
    add_json(parser)


def chosen_because(
    chosen: dml.AdapterInfo, listed: list[dml.AdapterInfo], asked: str | None = None
) -> str:
    """Why a device made with this argument, or with none, gets this adapter."""
    if asked:
        return f"--adapter is {asked!r}"
    wanted = os.environ.get("DMLGPU_ADAPTER")
    if wanted:
        return f"DMLGPU_ADAPTER is {wanted!r}"
    if len(listed) == 1:
        return "it is the only adapter"
    others = sorted({a.kind for a in listed} - {chosen.kind})
    if not others:
        return f"it is the first of {len(listed)} {chosen.kind} adapters"
    return f"{chosen.kind} is preferred to {' and '.join(others)}; DMLGPU_ADAPTER is not set"


def machine(asked: str | None = None) -> dict[str, Any]:
    """Versions, adapters, and the limits and features of the one that would be chosen."""
    chosen, _ = choose(asked)
    listed = dml.adapters()
    with dml.Device(chosen) as device:
        gpu = device.context.gpu
        limits = {
            "max_buffer_bytes": gpu.max_buffer,
            "max_binding_bytes": gpu.max_binding,
            "max_bindings": gpu.max_bindings,
            "offset_alignment_bytes": gpu.offset_alignment,
            "max_workgroups_per_dimension": gpu.max_groups,
            "max_workgroup_size": gpu.max_workgroup_size,
            "max_workgroup_memory_bytes": gpu.max_workgroup_storage,
            "min_subgroup_size": gpu.subgroup_min,
            "max_subgroup_size": gpu.subgroup_max,
        }
        features = sorted(str(feature) for feature in gpu.device.features)
        offered = sorted({str(f) for f in gpu.device.adapter.features} - set(features))
    return {
        "versions": {
            "dmlgpu": dml.__version__,
            "wgpu": importlib.metadata.version("wgpu"),
            "numpy": np.__version__,
            "python": platform.python_version(),
            "system": platform.platform(terse=True),
        },
        "shaders": str(shader_folder()),
        "adapters": [asdict(adapter) for adapter in listed],
        "chosen": {
            "adapter": listed.index(chosen),
            "because": chosen_because(chosen, listed, asked),
        },
        "limits": limits,
        "features": features,
        "features_not_used": offered,
    }


def run(args: argparse.Namespace) -> int:
    """What this machine has, as text or as JSON."""
    found = machine(args.adapter)
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    print_text(", ".join(f"{name} {version}" for name, version in found["versions"].items()))
    print(f"shaders in {found['shaders']}\n")
    headings = ("name", "kind", "backend", "driver")
    rows = [
        ("*" if number == found["chosen"]["adapter"] else "", *(adapter[h] for h in headings))
        for number, adapter in enumerate(found["adapters"])
    ]
    table = Table({name: [row[i] for row in rows] for i, name in enumerate(("", *headings))})
    for row in rows:
        table.row(*row)
    print()
    print_text(f"* is chosen: {found['chosen']['because']}")
    print()
    for name, value in found["limits"].items():
        amount = bytes_text(value) if name.endswith("_bytes") else f"{value:,}"
        print_fact(name.removesuffix("_bytes").replace("_", " "), amount, 30)
    print_fact("features", ", ".join(found["features"]) or "none", 30)
    unused = len(found["features_not_used"])
    print_fact("features not used", f"{unused}, listed by --json", 30)
    return 0

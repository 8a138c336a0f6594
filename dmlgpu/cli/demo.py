"""`dmlgpu demo`: operators of each kind on this adapter, compared with NumPy and timed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial

import dmlgpu as dml
from dmlgpu.cli.cases import Case, demo_cases, print_why_numpy_is_faster, verdict
from dmlgpu.cli.output import GREEN, RED, Table, print_text
from dmlgpu.cli.parser import Commands, add_adapter, add_command, add_json, fail
from dmlgpu.measure.timing import Pace, time_wall

EXAMPLES = """\
  dmlgpu demo
  dmlgpu demo --adapter llvmpipe         on another adapter
  dmlgpu demo --json
"""


@dataclass(frozen=True, slots=True)
class Row:
    """What is told of one case."""

    operator: str
    task: str
    data_type: str
    result_shape: tuple[int, ...]
    gpu_ms: float
    numpy_ms: float
    agrees: bool
    against_numpy: str


def add_demo(commands: Commands) -> None:
    """Adds the command."""
    text = "run operators of each kind, compare with NumPy and time them"
    parser = add_command(commands, "demo", run, text, EXAMPLES)
    add_adapter(parser)
    add_json(parser)


def to_the_end(
    device: dml.Device, call: Callable[..., dml.Tensor], tensors: list[dml.Tensor]
) -> None:
    """One call, and the wait until the GPU has done it."""
    call(*tensors)
    device.wait()


def rows(device: dml.Device, cases: list[Case]) -> Iterator[Row]:
    """Runs the cases one by one."""
    pace = Pace.of(device.adapter.kind)
    for case in cases:
        tensors = [device.tensor(x) for x in case.inputs]
        result = case.gpu(*tensors)
        agrees, words = verdict(case, result.numpy())
        yield Row(
            operator=case.operator,
            task=case.task,
            data_type=result.desc.data_type.name,
            result_shape=result.shape,
            gpu_ms=1e3 * time_wall(partial(to_the_end, device, case.gpu, tensors), pace).seconds,
            numpy_ms=1e3 * time_wall(partial(case.numpy, *case.inputs), pace).seconds,
            agrees=agrees,
            against_numpy=words,
        )


def run(args: argparse.Namespace) -> int:
    """The cases as a table or as JSON; fails where a result differs from NumPy's."""
    with dml.Device(args.adapter) as device:
        cases = demo_cases()
        if args.json:
            found = list(rows(device, cases))
            report = {
                "dmlgpu": dml.__version__,
                "adapter": asdict(device.adapter),
                "rows": [asdict(row) for row in found],
            }
            print(json.dumps(report, indent=2))
        else:
            found = _print(device, cases)
    wrong = dict.fromkeys(row.operator for row in found if not row.agrees)
    if wrong:
        return fail(f"{' and '.join(wrong)} on this adapter differ from NumPy")
    return 0


def _print(device: dml.Device, cases: list[Case]) -> list[Row]:
    print_text(f"dmlgpu {dml.__version__} on {device.adapter}")
    print()
    columns = {
        "operator": [case.operator for case in cases],
        "task": [case.task for case in cases],
        "type": ["FLOAT32"],
        "result": ["3 x 1024 x 1024"],
        "dmlgpu ms": [],
        "NumPy ms": [],
        "against NumPy": ["within 2e-06"],
    }
    table = Table(columns, right=("dmlgpu ms", "NumPy ms"))
    found = []
    for row in rows(device, cases):
        table.row(
            row.operator,
            row.task,
            row.data_type,
            " x ".join(map(str, row.result_shape)),
            f"{row.gpu_ms:.2f}",
            f"{row.numpy_ms:.2f}",
            row.against_numpy,
            style=GREEN if row.agrees else RED,
        )
        found.append(row)
    print()
    print_text("dmlgpu ms: one call on tensors that are there, and the wait for its end; medians.")
    print_why_numpy_is_faster(device.adapter)
    return found

"""The command line: dmlgpu demo, info, operators and doctor.

An error is one sentence on standard error and exit status 1. Colour only on a terminal.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

import dmlgpu as dml
from dmlgpu import catalogue
from dmlgpu.doctor import add_doctor
from dmlgpu.gpu import choose
from dmlgpu.ops import OPERATORS
from dmlgpu.support import FeatureLevel, ranks_text
from dmlgpu.wgsl import shader_folder

Array = npt.NDArray[Any]

BOLD, GREEN, RED = "1", "32", "31"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # adapter names may hold any character
    parser = _parser()
    args = parser.parse_args(argv)
    try:
        if args.run is None:
            parser.print_help()
            return 0
        status: int = args.run(args)
        sys.stdout.flush()
    except dml.DmlError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has seen enough; nothing may be flushed at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise SystemExit(_fail(f"{message}; see {self.prog} --help"))


def _fail(sentence: str) -> int:
    print(f"dmlgpu: {sentence}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="dmlgpu", description="DirectML's operators on any GPU.")
    parser.add_argument("--version", action="version", version=f"dmlgpu {dml.__version__}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], text: str) -> _Parser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(run=run)
        return added

    command("demo", demo, "run every operator on the GPU, compare with NumPy")
    told = command("info", info, "what this machine has, and which adapter is chosen and why")
    told.add_argument("--json", action="store_true", help="print JSON")
    listed = command("operators", operators, "the operators: since which level, types, ranks")
    latest = catalogue.level_text(max(FeatureLevel))
    listed.add_argument("--level", default=latest, help="what this level allows, such as 3.0")
    shape = listed.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print JSON")
    shape.add_argument(
        "--markdown", action="store_true", help="print every level, as the README's table"
    )
    add_doctor(commands)
    return parser


def styled(text: str, code: str) -> str:
    """`text` in a terminal style; plain where the output is no terminal or wants none."""
    plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ
    if plain or (os.name == "nt" and "WT_SESSION" not in os.environ):
        return text
    return f"\033[{code}m{text}\033[0m"


class Table:
    """Rows under a header, printed one by one; columns in `right` hold numbers."""

    def __init__(self, widths: dict[str, int], right: tuple[str, ...] = ()) -> None:
        self._widths = {name: max(width, len(name)) for name, width in widths.items()}
        self._right = right
        print(styled(self._line(dict(zip(widths, widths, strict=True))), BOLD))

    def row(self, *cells: str, style: str = "") -> None:
        """Prints one row; `style` is that of the last cell."""
        line = self._line(dict(zip(self._widths, cells, strict=True)))
        if style:
            line = line.removesuffix(cells[-1]) + styled(cells[-1], style)
        print(line, flush=True)

    def _line(self, cells: dict[str, str]) -> str:
        padded = (
            f"{cell:>{self._widths[name]}}"
            if name in self._right
            else f"{cell:{self._widths[name]}}"
            for name, cell in cells.items()
        )
        return "  ".join(padded).rstrip()


def operators(args: argparse.Namespace) -> int:
    """The catalogue at one level, or at all of them."""
    level = catalogue.level_named(args.level)
    if args.json:
        print(json.dumps(catalogue.entries(level), indent=2))
    elif args.markdown:
        print(catalogue.markdown(), end="")
    else:
        _print_operators(level)
    return 0


def _print_operators(level: FeatureLevel) -> None:
    print(f"operators at feature level {catalogue.level_text(level)}\n")
    names = max(len(operator.name) for operator in OPERATORS)
    table = Table({"operator": names, "since": 5, "ranks": 6, "in place": 8, "data types": 0})
    later = []
    for operator in OPERATORS:
        row = catalogue.row_at(operator, level)
        since = catalogue.level_text(catalogue.since(operator))
        if row is None:
            later.append(f"{operator.name} comes with level {since}")
            continue
        data, indices = row["input_tensor"], row.get("indices_tensor")
        in_place = "yes" if operator.in_place else "no"
        types = catalogue.types_short(data.data_types)
        table.row(operator.name, since, ranks_text(data.ranks), in_place, types)
        if indices:
            table.row("  indices", "", "", "", catalogue.types_short(indices.data_types))
    if later:
        print("\n" + "\n".join(later))


def chosen_because(chosen: dml.AdapterInfo, listed: list[dml.AdapterInfo]) -> str:
    """Why a device made without naming an adapter gets this one."""
    wanted = os.environ.get("DMLGPU_ADAPTER")
    if wanted:
        return f"DMLGPU_ADAPTER is {wanted!r}"
    if len(listed) == 1:
        return "it is the only adapter"
    others = sorted({a.kind for a in listed} - {chosen.kind})
    if not others:
        return f"it is the first of {len(listed)} {chosen.kind} adapters"
    return f"{chosen.kind} is preferred to {' and '.join(others)}; DMLGPU_ADAPTER is not set"


def machine() -> dict[str, Any]:
    """Versions, adapters, and the limits and features of the one that would be chosen."""
    listed = dml.adapters()
    chosen, _ = choose(None)
    with dml.Device(chosen) as device:
        gpu = device.gpu
        limits = {
            "max_buffer_bytes": gpu.max_buffer,
            "max_binding_bytes": gpu.max_binding,
            "max_bindings": gpu.max_bindings,
            "offset_alignment_bytes": gpu.offset_alignment,
            "max_workgroups_per_dimension": gpu.max_groups,
            "max_workgroup_size": gpu.facts.max_workgroup_size,
            "max_workgroup_memory_bytes": gpu.facts.max_workgroup_storage,
            "min_subgroup_size": gpu.facts.subgroup_min,
            "max_subgroup_size": gpu.facts.subgroup_max,
        }
        features = sorted(str(feature) for feature in gpu.device.features)
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
            "because": chosen_because(chosen, listed),
        },
        "limits": limits,
        "features": features,
    }


def info(args: argparse.Namespace) -> int:
    """What this machine has, as text or as JSON."""
    found = machine()
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    print(", ".join(f"{name} {version}" for name, version in found["versions"].items()))
    print(f"shaders in {found['shaders']}\n")
    names = ("name", "kind", "backend", "driver")
    listed = found["adapters"]
    widths = {name: max(len(adapter[name]) for adapter in listed) for name in names}
    table = Table({"": 1} | widths)
    for number, adapter in enumerate(listed):
        mark = "*" if number == found["chosen"]["adapter"] else ""
        table.row(mark, *(adapter[name] for name in names))
    print(f"\n* is chosen: {found['chosen']['because']}\n")
    for name, value in found["limits"].items():
        amount = bytes_text(value) if name.endswith("_bytes") else f"{value:,}"
        print(f"{name.removesuffix('_bytes').replace('_', ' '):30}{amount}")
    print(f"{'features':30}{', '.join(found['features']) or 'none'}")
    return 0


def bytes_text(count: int) -> str:
    """A number of bytes in the largest unit it fills."""
    power = min(max(count.bit_length() - 1, 0) // 10, 3)
    return f"{count / 1024**power:.4g} {('bytes', 'KiB', 'MiB', 'GiB')[power]}"


@dataclass(frozen=True)
class Case:
    """One line of the demo: an operator at work, and NumPy's way to the same result."""

    operator: str
    task: str
    inputs: tuple[Array, ...]
    gpu: Callable[..., dml.Tensor]
    numpy: Callable[..., Array]
    # The error allowed where floats are added or multiplied in another order: steps of the scan.
    steps: int = 0


def demo_cases() -> list[Case]:
    """The six operators on arrays of the kinds they are used for."""
    rng = np.random.default_rng(1)
    rows, columns = np.mgrid[0:1024, 0:1024]
    rings = np.hypot(rows - 512, columns - 512) // 8 % 2
    image = np.stack([rings * 255, rows // 4, columns // 4]).astype(np.uint8)
    light = rng.random((1024, 1024), np.float32)
    words = rng.standard_normal((32768, 64)).astype(np.float16)
    tokens = rng.integers(0, len(words), (8192, 1))
    boxes = rng.random((8, 4096, 4), np.float32)
    best = rng.integers(-4096, 4096, (8, 1000, 1), np.int32)
    growth = rng.normal(1.0004, 0.01, (4096, 252)).astype(np.float32)
    return [
        Case(
            "SLICE",
            "every 2nd pixel",
            (image,),
            lambda x: dml.slice(x, (0, 0, 0), (3, 512, 512), (1, 2, 2)),
            lambda x: x[:, ::2, ::2].copy(),
        ),
        Case(
            "SLICE1",
            "an image, mirrored",
            (image,),
            lambda x: dml.slice1(x, (0, 0, 0), x.shape, (1, 1, -1)),
            lambda x: x[:, :, ::-1].copy(),
        ),
        Case(
            "GATHER_ND",
            "rows of an embedding",
            (words, tokens),
            dml.gather_nd,
            lambda x, i: x[i[:, 0]],
        ),
        Case(
            "GATHER_ND1",
            "boxes of each image",
            (boxes, best),
            lambda x, i: dml.gather_nd1(x, i, batch_dimension_count=1),
            lambda x, i: x[np.arange(len(x))[:, None], i[..., 0]],
        ),
        Case(
            "CUMULATIVE_SUMMATION",
            "light, down each column",
            (light,),
            lambda x: dml.cumulative_summation(x, 0),
            lambda x: np.cumsum(x, 0),
            steps=1024,
        ),
        Case(
            "CUMULATIVE_PRODUCT",
            "growth over 252 days",
            (growth,),
            lambda x: dml.cumulative_product(x, -1),
            lambda x: np.cumprod(x, -1),
            steps=252,
        ),
    ]


def verdict(case: Case, found: Array) -> tuple[bool, str]:
    """Whether the result is NumPy's, and in words; sums and products are held against FLOAT64."""
    if not case.steps:
        expected = case.numpy(*case.inputs)
        same = found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
        return same, "equal" if same else "DIFFERS"
    exact = case.numpy(*(x.astype(np.float64) for x in case.inputs))
    if found.shape != exact.shape:
        return False, "DIFFERS"
    error = float(np.max(np.abs(found / exact - 1)))
    same = error <= case.steps * float(np.finfo(found.dtype).eps)
    return same, f"within {error:.0e}" if same else f"DIFFERS by {error:.0e}"


def timed(run: Callable[[], object]) -> float:
    """Median seconds of up to nine runs after a first one, within about half a second."""
    run()
    times: list[float] = []
    while len(times) < 9 and sum(times) < 0.5:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def run_to_end(
    device: dml.Device, run: Callable[..., dml.Tensor], tensors: list[dml.Tensor]
) -> None:
    """One call, and the wait until the GPU has done it."""
    run(*tensors)
    device.wait()


def demo(_: argparse.Namespace) -> int:
    """Every operator on this machine's adapter, compared with NumPy and timed."""
    with dml.Device() as device:
        print(f"dmlgpu {dml.__version__} on {device.adapter}\n")
        cases = demo_cases()
        names = max(len(case.operator) for case in cases)
        tasks = max(len(case.task) for case in cases)
        widths = {"operator": names, "task": tasks, "type": 7, "result": 15}
        widths |= {"GPU ms": 7, "NumPy ms": 8, "against NumPy": 0}
        table = Table(widths, right=("GPU ms", "NumPy ms"))
        wrong = []
        for case in cases:
            tensors = [device.tensor(x) for x in case.inputs]
            result = case.gpu(*tensors)
            same, words = verdict(case, result.numpy())
            table.row(
                case.operator,
                case.task,
                result.desc.data_type.name,
                " x ".join(map(str, result.shape)),
                f"{1e3 * timed(partial(run_to_end, device, case.gpu, tensors)):.2f}",
                f"{1e3 * timed(partial(case.numpy, *case.inputs)):.2f}",
                words,
                style=GREEN if same else RED,
            )
            if not same:
                wrong.append(case.operator)
    print("\nGPU: one call on tensors already there, and the wait for its end; medians.")
    if wrong:
        return _fail(f"{' and '.join(wrong)} on this adapter differ from NumPy")
    return 0

"""`python -m benchmarks.random_layouts`: seeded random descriptions that nothing was tuned to.

Every kind of work is drawn over ranks, orders of axes, windows, steps, reversals, broadcasts,
element widths and sizes; what comes out is a distribution of frac, the share of the adapter's own
copy, with the worst descriptions in words. `alike` is the share of a copy of as many bytes, which
pays for the same launch. All are timed over many calls that are queued, by the host's clock, until
the last one is done: that is what a program pays. PyTorch, which keeps the layout of its operands
where it can, writes packed results here as well. Without --json or --save the file goes to
build/bench/.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import dmlgpu as dml
from benchmarks import report as reports
from benchmarks.data import Data
from benchmarks.limit import Limits
from benchmarks.measure import Prepared, judge_of, reference, side_by_side
from benchmarks.problem import Problem
from benchmarks.rivals import Library, rivals
from benchmarks.workload import Case, Operand, Shape, Workload
from benchmarks.workloads import MOVED, SUMMED, windowed
from dmlgpu.cli.progress import Progress
from dmlgpu.measure.timing import Call, Pace, Timed, time_queued

MIB = 1 << 20
BYTES = {"cpu": 2 * MIB}  # least bytes of the larger side of a case, by kind of adapter
BYTES_ELSEWHERE = 64 * MIB
LARGER = (1, 2, 4, 8)  # size classes: times the least bytes
INDEX_TYPES = ("int32", "int64", "uint32", "uint64")
BARE = (1, 2, 4, 8, 16, 32)  # bytes of pieces that a bare gather has code for
BARE_PIECES = 1 << 28  # whose positions, of 4 bytes each, go through one binding
WORST = 5
LEVEL = 1.02  # times a rival's time that is not behind it, as in the tables of rows
WAKING = 0.7  # seconds of work after which a GPU that waited for the host has its clocks back
MOST = 16  # times the least bytes that an operand may have: windows may be small parts of it

Random = np.random.Generator


def sizes(random: Random, elements: int, rank: int) -> Shape:
    """Sizes of this rank with at least so many elements, short and long axes in any order."""
    shares = random.dirichlet([0.7] * rank)
    found = [max(1, round(elements**share)) for share in shares]
    longest = int(np.argmax(found))
    found[longest] = 1
    found[longest] = -(-elements // prod(found))
    return tuple(found)


def count_of(random: Random, dtype: str, nbytes: int) -> int:
    """Elements of one of the size classes."""
    return nbytes * int(random.choice(LARGER)) // np.dtype(dtype).itemsize


def permuted(random: Random, shape: Shape) -> tuple[Shape, str]:
    """The sizes of a packed array, and the view of it whose sizes are `shape`."""
    axes = tuple(int(a) for a in random.permutation(len(shape)))
    if axes == tuple(range(len(shape))):
        return shape, "a"
    packed = tuple(shape[axes.index(a)] for a in range(len(shape)))
    return packed, f"a.transpose{axes}"


def layout(random: Random, name: str, shape: Shape) -> Operand:
    """An operand of these sizes: packed, permuted, with gaps, stepping, or broadcast."""
    kind = random.choice(["packed", "permuted", "gaps", "steps", "broadcast"])
    packed, view = shape, ""
    if kind == "permuted":
        packed, view = permuted(random, shape)
    elif kind == "gaps":
        extra = int(random.integers(1, 9))
        packed, view = (*shape[:-1], shape[-1] + extra), f"a[..., :{shape[-1]}]"
    elif kind == "steps":
        packed, view = (*shape[:-1], 2 * shape[-1]), "a[..., ::2]"
    elif kind == "broadcast":
        axis = int(random.integers(len(shape)))
        packed = (*shape[:axis], 1, *shape[axis + 1 :])
        view = f"np.broadcast_to(a, {shape})"
    return Operand(name, lambda s: packed, seen=view)


def workload(
    operator: str,
    shape: Shape,
    dtype: str,
    numpy: str,
    torch: str | tuple[str, ...] | None,
    inputs: Sequence[Operand],
    **more: Any,
) -> Workload:
    """A row with one size, named after what it does."""
    operands = ", ".join(
        f"{x.name} = {x.seen or 'a'} of {'x'.join(map(str, x.shape(shape)))}" for x in inputs
    )
    name = f"{operator} {dtype}: {numpy}; {operands}"
    return Workload(
        name, operator, {"bandwidth": shape}, (dtype,), numpy, torch, inputs=tuple(inputs), **more
    )


def move(random: Random, nbytes: int) -> Workload:
    """A window of a permuted view, axes stepped through forwards or backwards, or repeated."""
    dtype = str(random.choice(MOVED))
    out = sizes(random, count_of(random, dtype, nbytes), int(random.integers(1, 5)))
    stepped = set(random.permutation(len(out))[: int(random.integers(0, 3))].tolist())
    shape, index, forward, flips = [], [], [], []
    for axis, count in enumerate(out):
        step = int(random.integers(2, 4)) if axis in stepped else 1
        reach = (count - 1) * step + 1
        start, more = (int(random.integers(0, 8)) * int(random.random() < 0.4) for _ in range(2))
        shape.append(start + reach + more)
        forward.append(f"{start or ''}:{start + reach}" + (f":{step}" if step > 1 else ""))
        if random.random() < 0.25:
            flips.append(axis)
            index.append(f"{start + reach - 1}:{start - 1 if start else ''}:{-step}")
        else:
            index.append(forward[-1])
    if len(out) > 1 and random.random() < 0.15:  # an axis that stands still
        axis = int(random.integers(len(out)))
        packed = (*shape[:axis], 1, *shape[axis + 1 :])
        view = f"np.broadcast_to(a, {tuple(shape)})"
    else:
        packed, view = permuted(random, tuple(shape))
    taken = eval(f"np.s_[{', '.join(index)}]", {"np": np})
    asked = windowed(*(taken if isinstance(taken, tuple) else (taken,)))(tuple(shape))
    torch, cloned = f"x[{', '.join(forward)}]", "clone(memory_format=torch.contiguous_format)"
    # What flip returns has its axes in the order of what it is given: packed before, or behind.
    turned = (f"{torch}.flip({flips}).contiguous()", f"{torch}.{cloned}.flip({flips})")
    return workload(
        "SLICE1",
        out,
        dtype,
        f"x[{', '.join(index)}].copy()",
        turned if flips else f"{torch}.{cloned}",
        [Operand("x", lambda s: packed, seen="" if view == "a" else view)],
        attributes=asked,
    )


def scan(random: Random, nbytes: int) -> Workload:
    """A running sum along any axis of a permuted view."""
    dtype = str(random.choice(SUMMED))
    shape = sizes(random, count_of(random, dtype, nbytes), int(random.integers(1, 5)))
    packed, view = permuted(random, shape)
    axis = int(random.integers(len(shape)))
    operand = Operand("x", lambda s: packed, seen="" if view == "a" else view)
    how = f"np.cumsum(x, {axis}, dtype=t)"
    asked = {"axis": axis}
    return workload(
        "CUMULATIVE_SUMMATION", shape, dtype, how, None, [operand], attributes=asked, within=64
    )


def element_wise(random: Random, nbytes: int) -> Workload:
    """A function of two operands, each in a layout of its own."""
    dtype = str(random.choice(MOVED))
    shape = sizes(random, count_of(random, dtype, nbytes), int(random.integers(1, 5)))
    operator, how, torch, made = (
        ("ELEMENT_WISE_ADD", "x + y", "add", "t"),
        ("ELEMENT_WISE_MULTIPLY", "x * y", "mul", "t"),
        ("ELEMENT_WISE_MAX", "np.maximum(x, y)", "maximum", "t"),
        ("ELEMENT_WISE_LOGICAL_LESS_THAN", "x < y", "lt", "torch.bool"),
    )[int(random.integers(4))]
    operands = [layout(random, name, shape) for name in "xy"]
    into = f"torch.empty(s, dtype={made}, device=d)"  # packed, whatever layout the operands have
    return workload(operator, shape, dtype, how, f"torch.{torch}(x, y, out={into})", operands)


def reduction(random: Random, nbytes: int) -> Workload:
    """A sum or a maximum over any axes of a permuted view."""
    function, how, torch = (("SUM", "sum", "sum"), ("MAX", "max", "amax"))[int(random.integers(2))]
    dtype = str(random.choice(SUMMED if function == "SUM" else MOVED))
    shape = sizes(random, count_of(random, dtype, nbytes), int(random.integers(1, 5)))
    packed, view = permuted(random, shape)
    some = random.permutation(len(shape))[: int(random.integers(1, len(shape) + 1))]
    axes = tuple(sorted(int(axis) for axis in some))
    typed = ", dtype=t" if function == "SUM" else ""
    return workload(
        "REDUCE",
        shape,
        dtype,
        f"np.{how}(x, {axes}, keepdims=True{typed})",
        f"torch.{torch}(x, {axes}, keepdim=True{typed})",
        [Operand("x", lambda s: packed, seen="" if view == "a" else view)],
        attributes={"function": dml.ReduceFunction[function], "axes": axes},
        within=64,
    )


def gather(random: Random, nbytes: int) -> Workload:
    """Slices along any axis, picked by indices of any type."""
    dtype = str(random.choice(MOVED))
    shape = sizes(random, count_of(random, dtype, nbytes), int(random.integers(1, 4)))
    axis = int(random.integers(len(shape)))
    index_type = str(random.choice(INDEX_TYPES))
    index = Operand("i", lambda s: (s[axis],), index_type, "places", lambda s: s[axis])
    last = len(shape) - 1
    piece = 1 if axis == last else shape[-1]
    is_bare = axis >= last - 1 and piece * np.dtype(dtype).itemsize in BARE
    if is_bare and prod(shape) > BARE_PIECES * piece:
        return gather(random, nbytes)
    return workload(
        "GATHER",
        shape,
        dtype,
        f"np.take(x, i, {axis})",
        f"torch.index_select(x, {axis}, i)",
        [Operand("x"), index],
        attributes={"axis": axis},
        piece=piece if is_bare else 0,
    )


KINDS: dict[str, Callable[[Random, int], Workload]] = {
    "moves": move,
    "scans": scan,
    "element-wise": element_wise,
    "reductions": reduction,
    "gathers": gather,
}


@dataclass(frozen=True, slots=True)
class Found:
    """What is kept of one description."""

    description: str
    traffic_bytes: int
    ms: float
    frac: float
    alike: float
    torch_ms: float | None
    checked: str


def drawn(kind: str, seed: int, count: int, nbytes: int) -> Iterator[Workload]:
    """Descriptions of a kind; the same for the same seed."""
    random = np.random.default_rng([seed, list(KINDS).index(kind)])
    while count:
        asked = KINDS[kind](random, nbytes)
        (shape,) = asked.shapes.values()
        largest = max(prod(operand.shape(shape)) for operand in asked.inputs)
        if largest * np.dtype(asked.dtypes[0]).itemsize <= MOST * nbytes:
            yield asked
            count -= 1


class Measuring:
    """Descriptions of one kind of work, those of a data type one after the other.

    Operands are parts of arrays that are made once for each type: a GPU that waits for the host to
    make others lowers its clocks.
    """

    def __init__(
        self, device: dml.Device, asked: Iterable[Workload], others: Sequence[Library], pace: Pace
    ) -> None:
        self.asked = sorted(asked, key=lambda one: one.dtypes[0])
        self._device = device
        self._others = others
        self._pace = pace
        self._limits = Limits(device, pace, _queued)
        self._data = Data(device, [_problem(one) for one in self.asked])
        self._dtype = ""

    def found(self, asked: Workload, *, checked: bool) -> Found:
        """One description: run, held against the copy and against PyTorch, and checked if asked."""
        case, problem, data = Case(asked, asked.dtypes[0], "bandwidth"), _problem(asked), self._data
        has_waited = case.dtype != self._dtype
        if has_waited:
            self._dtype = case.dtype
            for library in self._others:
                library.drop()
                library.free()
        run = Prepared(self._device, problem, data)
        said = run.check(reference(problem, data, judge_of(case, self._others))) if checked else ""
        if has_waited or checked:
            self._wake(run)
        torch_ms = None
        for library in self._others:
            if library.name == "PyTorch" and library.where == "cuda":
                best = library.best(problem, data, [], self._pace, queued=True)
                torch_ms = None if best is None else 1e3 * best.timed.seconds
        limit, timed = side_by_side(run, self._limits, case, data)
        alike = self._limits.of(problem, "cache", run.traffic, data).seconds()
        frac, alike = (x / timed.seconds if timed.seconds else 0.0 for x in (limit, alike))
        return Found(asked.name, run.traffic, 1e3 * timed.seconds, frac, alike, torch_ms, said)

    def _wake(self, call: Call) -> None:
        """Keeps a GPU busy with a call until its clocks are up; a CPU has none to raise."""
        if self._device.adapter.kind != "cpu" and self._pace.warm_seconds < WAKING:
            _queued(self._device, call, replace(self._pace, warm_seconds=WAKING, runs=1))


def _queued(device: dml.Device, call: Call, pace: Pace) -> Timed:
    return time_queued(call, device.wait, pace)


def _problem(asked: Workload) -> Problem:
    return Problem(asked, asked.dtypes[0], asked.shapes["bandwidth"])


def distribution(found: Sequence[Found]) -> dict[str, Any]:
    """The figures of a kind."""
    fracs = [one.frac for one in found]
    rivals_ = [(one.ms, one.torch_ms) for one in found if one.torch_ms]
    behind = [mine > LEVEL * theirs for mine, theirs in rivals_]
    worst = sorted(found, key=lambda one: one.frac)[:WORST]
    return {
        "cases": len(found),
        "median": float(np.median(fracs)),
        "p5": float(np.quantile(fracs, 0.05)),
        "least": min(fracs),
        "alike": float(np.median([one.alike for one in found])),
        "checked": sum(bool(one.checked) for one in found),
        "compared": len(behind),
        "behind": sum(behind) / len(behind) if behind else None,
        "worst": [asdict(one) for one in worst],
    }


def arguments(words: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.random_layouts", description=__doc__
    )
    add = parser.add_argument
    add("--seed", type=int, default=1, help="the same seed draws the same descriptions")
    add("--count", type=int, default=80, help="descriptions of each kind (default: 80)")
    add("--kind", action="append", choices=tuple(KINDS), help="kinds (repeatable; default: all)")
    add("--bytes", type=int, help="least bytes of a case (default: 64 MiB, on a CPU 2 MiB)")
    add("--check", type=int, default=4, metavar="N", help="check every N-th result (default: 4)")
    add("--warm", type=float, default=0.5, help="seconds before each timed region (default: 0.5)")
    add("--without", action="append", choices=("torch",), default=[], help="not compared")
    add("--adapter", help="part of the adapter's name (default: the best one)")
    add("--json", type=Path, metavar="FILE", help="where the result goes")
    add("--save", action="store_true", help="add it to benchmarks/results/<adapter>.json")
    add("--commit", help="the commit measured, where there is no checkout to ask")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Runs what the command line says; 1 when a result was wrong."""
    args = arguments(words)
    try:
        device = dml.Device(args.adapter)
    except dml.DeviceError as error:
        print(f"Nothing can be measured: {error}.", file=sys.stderr)
        return 2
    with device:
        return run(device, args)


def run(device: dml.Device, args: argparse.Namespace) -> int:
    """Measures on an open device."""
    kind_of = device.adapter.kind
    nbytes = args.bytes or BYTES.get(kind_of, BYTES_ELSEWHERE)
    others, _ = rivals(kind_of, {"cupy", *args.without})
    pace = replace(Pace.of(kind_of, quick=True), warm_seconds=args.warm)
    kinds = args.kind or list(KINDS)
    progress = Progress(args.count * len(kinds))
    report = reports.begin(device, args.commit, {o.name.lower(): o.version for o in others})
    entry = {"date": report["date"], "commit": report["commit"], "kinds": {}}
    entry |= {"seed": args.seed, "count": args.count, "bytes": nbytes, "warm_seconds": args.warm}
    failures: list[str] = []
    for kind in kinds:
        found: list[Found] = []
        descriptions = drawn(kind, args.seed, args.count, nbytes)
        measuring = Measuring(device, descriptions, others, pace)
        for number, asked in enumerate(measuring.asked):
            progress.begin(asked.name)
            try:
                one = measuring.found(asked, checked=number % args.check == 0)
            except (AssertionError, dml.DmlError) as error:
                failures.append(f"{asked.name}: {error}")
                progress.done(f"FAILED {failures[-1]}")
                continue
            found.append(one)
            behind = f", PyTorch {one.torch_ms / one.ms:4.2f}" if one.torch_ms else ""
            progress.done(f"frac {one.frac:4.2f}{behind}  {one.description}")
        if found:
            entry["kinds"][kind] = distribution(found)
    progress.end()
    name = f"{reports.slug(device.adapter)}.json"
    path = args.json or (reports.RESULTS if args.save else Path("build") / "bench") / name
    report = reports.read(path) if args.save and path.exists() else report
    report["random"] = entry
    reports.write(report, path)
    print(
        f"{reports.heading(report)}\n\n{reports.random_tables(entry)}\n\nThe result is in {path}."
    )
    for sentence in failures:
        print(f"FAILED {sentence}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

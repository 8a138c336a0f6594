"""Plans of scans: which kernel walks the lines, in how many passes.

A scan is lines times steps. A backward scan is a forward one with negative steps, so no kernel
knows of directions.
"""

from __future__ import annotations

from dataclasses import dataclass

from dmlgpu.layout import Dim, count, fold
from dmlgpu.operator import Adapter, Dispatch, Plan, Value, eight
from dmlgpu.tensor import DataType

WG_SIZE = 64
SEGMENT = 4096  # steps one invocation walks; some drivers stop every loop at 65,535


@dataclass(frozen=True, slots=True)
class Scan:
    """Scans of `axis_size` steps along every line that the `lines` loops reach."""

    fold: str  # sum or product
    num: str  # arithmetic snippet
    bits: int
    lines: tuple[Dim, ...]
    axis_size: int
    in_base: int
    in_step: int
    out_base: int
    out_step: int
    exclusive: bool
    input: str = "input_tensor"
    output: str = "output_tensor"

    @classmethod
    def of(
        cls,
        *,
        fold: str,
        data_type: DataType,
        sizes: tuple[int, ...],
        in_strides: tuple[int, ...],
        out_strides: tuple[int, ...],
        axis: int,
        backward: bool,
        exclusive: bool,
    ) -> Scan:
        """The scan of a tensor along one of its axes."""
        last = sizes[axis] - 1 if backward else 0
        sign = -1 if backward else 1
        loops = [
            Dim(size, out, source)
            for d, (size, out, source) in enumerate(
                zip(sizes, out_strides, in_strides, strict=True)
            )
            if d != axis
        ]
        return cls(
            fold=fold,
            num=NUM[data_type],
            bits=data_type.bits,
            lines=fold_lines(loops),
            axis_size=sizes[axis],
            in_base=last * in_strides[axis],
            in_step=sign * in_strides[axis],
            out_base=last * out_strides[axis],
            out_step=sign * out_strides[axis],
            exclusive=exclusive,
        )


NUM = {
    DataType.FLOAT32: "f32",
    DataType.FLOAT16: "f16",
    DataType.UINT16: "u16",
    DataType.INT32: "u32",
    DataType.UINT32: "u32",
    DataType.INT64: "u64",
    DataType.UINT64: "u64",
}
RUNNING = {"f16": "f32", "u16": "u32"}  # what running values are kept as, where not as themselves


def fold_lines(loops: list[Dim]) -> tuple[Dim, ...]:
    """Loops over the lines; a broadcast output cannot occur, so ordering by it is total."""
    return fold(loops)


def plan_scan(scan: Scan, adapter: Adapter) -> Plan:
    """The dispatches of one scan, carries between segments included."""
    scratch: dict[str, int] = {}
    dispatches = _walks(scan, adapter, scratch)
    return Plan(tuple(dispatches), scratch)


def _walks(scan: Scan, adapter: Adapter, scratch: dict[str, int]) -> list[Dispatch]:
    lines = count(scan.lines)
    segments = -(-scan.axis_size // SEGMENT)
    if segments == 1:
        return [_walk(scan, "scan", lines, 1, "")]
    running = RUNNING.get(scan.num, scan.num)
    bits = 64 if running == "u64" else 32
    partials = f"partials{len(scratch)}"
    scratch[partials] = lines * segments * bits // 8
    carries = Scan(
        fold=scan.fold,
        num=running,
        bits=bits,
        lines=(Dim(lines, 1, 1),),
        axis_size=segments,
        in_base=0,
        in_step=lines,
        out_base=0,
        out_step=lines,
        exclusive=True,
        input=partials,
        output=partials,
    )
    return [
        _walk(scan, "reduce", lines, segments, partials),
        *_walks(carries, adapter, scratch),
        _walk(scan, "scan_carried", lines, segments, partials),
    ]


def _walk(scan: Scan, entry: str, lines: int, segments: int, partials: str) -> Dispatch:
    params: dict[str, Value] = {
        "lines": lines,
        "segments": segments,
        "segment_size": scan.axis_size if segments == 1 else SEGMENT,
        "axis_size": scan.axis_size,
        "in_base": scan.in_base,
        "in_step": scan.in_step & 0xFFFFFFFF,
        "out_base": scan.out_base,
        "out_step": scan.out_step & 0xFFFFFFFF,
        "sizes": eight([d.size for d in scan.lines]),
        "in_strides": eight([d.source for d in scan.lines]),
        "out_strides": eight([d.out for d in scan.lines]),
    }
    bindings = {"input": scan.input, "output": scan.output, "partials": partials}
    if entry == "scan":
        del bindings["partials"]
    if entry == "reduce":
        del bindings["output"]
    slots = {"num": f"num_{scan.num}", "fold": f"fold_{scan.fold}", "put": f"put_{scan.bits}"}
    constants = {"WG_SIZE": WG_SIZE, "RANK": len(scan.lines), "EXCLUSIVE": int(scan.exclusive)}
    groups = -(-lines * segments // WG_SIZE)
    return Dispatch("cumulative", groups, params, bindings, slots, constants, entry)

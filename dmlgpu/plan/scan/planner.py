"""Plans of scans: which kernel walks the lines, in how many passes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.plan.dispatch import Adapter, Plan
from dmlgpu.plan.loops import Dim, count, fold
from dmlgpu.plan.move import Move
from dmlgpu.plan.parts import in_turn, joined, split
from dmlgpu.plan.scan import box_code, boxes
from dmlgpu.plan.scan.choice import choose, suits_boxes
from dmlgpu.plan.scan.kernels import columns, columns_chain, rows, runs, segmented, stream
from dmlgpu.plan.scan.lines import (
    FRAMES,
    Scan,
    fits_packed,
    fits_units,
    is_run,
    walks,
    within,
)
from dmlgpu.plan.traffic import all_read, bytes_written

APART = {16: 400, 32: 800, 64: 400}  # by bits: steps of lines that are read in units anywhere
SUMS = "sums"  # scratch memory: of the segments that boxes are cut into


@dataclass(frozen=True, slots=True)
class AxisScan:
    """Running sums or products of every line along one axis."""

    fold: str  # sum or product
    source: TensorDesc
    output: TensorDesc
    axis: int
    backward: bool
    exclusive: bool

    def plan(self, adapter: Adapter) -> Plan:
        """The dispatches that scan all lines, where they lie or in a layout that suits them."""
        source, output = self.source, self.output
        largest = max(source.total_tensor_size_in_bytes, output.total_tensor_size_in_bytes)
        scan = self._between(source, output)
        if scan.axis_size == 1 and not scan.exclusive:
            return Move.between(source, output).plan(adapter)
        return plan_scan(scan, adapter, largest)

    def _between(self, source: TensorDesc, output: TensorDesc) -> Scan:
        return Scan.of(
            fold=self.fold,
            data_type=source.data_type,
            sizes=source.sizes,
            in_strides=source.effective_strides,
            out_strides=output.effective_strides,
            axis=self.axis,
            backward=self.backward,
            exclusive=self.exclusive,
        )

    def traffic(self) -> dict[str, int]:
        """Everything once."""
        return {"input_tensor": all_read(self.source), "output_tensor": bytes_written(self.output)}


def plan_counts(
    lines: int, size: int, counts: str, sums: str, adapter: Adapter
) -> tuple[Plan, dict[str, int]]:
    """The sums of all counters before each, along each of several lines; and the memory of both.

    No workgroup waits for another.
    """
    scan = Scan(
        fold="sum",
        num="u32",
        bits=32,
        lines=fold([Dim(lines, size, size)]),
        axis_size=size,
        in_base=0,
        in_step=1,
        out_base=0,
        out_step=1,
        exclusive=True,
        input=counts,
        output=sums,
    )
    nbytes = max(16, 4 * lines * size)
    made = plan_scan(scan, replace(adapter, forward_progress=False), nbytes)
    return made, dict.fromkeys((counts, sums), nbytes)


def plan_scan(scan: Scan, adapter: Adapter, largest: int = 0) -> Plan:
    """The dispatches of one scan, whose larger tensor has `largest` bytes.

    In place no workgroup waits for another: the input that it would compute a late value from may
    be overwritten by then. Nor does a unit hold elements of two lines.
    """
    # On a CPU units that begin anywhere are faster than elements only where those are halves.
    apart = scan.bits == 16 if adapter.is_cpu else scan.axis_size >= APART[scan.bits]
    scan = replace(scan, apart=apart)
    if suits_boxes(scan, adapter, largest):
        return _in_boxes(scan, adapter, largest)
    made = _in_parts(scan, adapter, largest)
    framed = any(d.slots.get("columns") == FRAMES for d in made.dispatches)
    shares_units = not fits_units(scan) and (fits_packed(scan) or is_run(scan))
    if not (made.shared or framed or shares_units):
        return made
    alone, patient = replace(scan, alone=False), replace(adapter, forward_progress=False)
    make = _in_boxes if suits_boxes(alone, patient, largest) else _in_parts
    in_place = make(alone, patient, largest)
    return made if in_place == made else replace(made, in_place=in_place)


def _in_boxes(scan: Scan, adapter: Adapter, largest: int) -> Plan:
    """Boxes of elements through workgroup memory, in one pass or three."""
    scan = _by_hardware(scan, adapter)
    cut = boxes.boxes_of(scan, adapter.max_workgroup_storage)
    made = _by_boxes(cut, scan, adapter)
    if not cut.overlap:
        return made
    return replace(made, in_place=_by_boxes(cut.apart, scan, adapter))


def _by_boxes(cut: boxes.Boxes, scan: Scan, adapter: Adapter) -> Plan:
    """The dispatches of a scan that is cut into boxes, carries between segments included."""
    if cut.segments == 1:
        return Plan((box_code.dispatch(cut, "scan", ""),))
    carries = scan.carries(SUMS, cut.segments, cut.segments, 1)
    passes = [
        Plan((box_code.dispatch(cut.apart, "reduce", SUMS),)),
        _plan(carries, replace(adapter, forward_progress=False)),
        Plan((box_code.dispatch(cut, "scan_carried", SUMS),)),
    ]
    room = {SUMS: count(carries.lines) * carries.axis_size * carries.bits // 8}
    return in_turn(passes, room)


def _by_hardware(scan: Scan, adapter: Adapter) -> Scan:
    """The scan with the adapter's own arithmetic, where that is exact."""
    if scan.num == "f16" and adapter.exact_floats:
        return replace(scan, num="f16_hardware")
    if scan.num == "u64" and scan.fold == "product" and adapter.wide_integers:
        return replace(scan, fold="product_wide")
    return scan


def _in_parts(scan: Scan, adapter: Adapter, largest: int) -> Plan:
    """Lines that together are too much for a binding are scanned some at a time."""
    too_large = largest > adapter.max_binding
    parts = split(*walks(scan), adapter.max_binding, len(scan.lines)) if too_large else None
    if not parts:
        return _plan(scan, adapter)
    plans = [_plan(within(scan, part), adapter) for part in parts]
    return joined(plans, [part.spans for part in parts])


def _plan(scan: Scan, adapter: Adapter) -> Plan:
    """The dispatches of one scan, carries between segments included."""
    scan = _by_hardware(scan, adapter)
    kernel = choose(scan, adapter)
    at_once = {"rows": rows, "runs": runs, "columns": columns}.get(kernel)
    if at_once is not None:
        return Plan((at_once(scan, adapter),))
    waits = {"columns_chain": columns_chain, "stream": stream}.get(kernel)
    if waits is None:
        scratch: dict[str, int] = {}
        return Plan(tuple(segmented(scan, kernel, adapter, scratch)), scratch)
    made = waits(scan, adapter)
    if made.shared["status"] > adapter.max_binding:  # what tiles publish through is one binding
        return _plan(scan, replace(adapter, forward_progress=False))
    return made

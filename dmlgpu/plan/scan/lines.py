"""Scans as lines times steps: the record, what fits its layout, and what kernels over lines share.

A backward scan is a forward one with negative steps, so no kernel knows of directions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dmlgpu.desc.tensor import DataType, packed_strides
from dmlgpu.plan.dispatch import Value, eight
from dmlgpu.plan.loops import Dim, count, resized
from dmlgpu.plan.loops import fold as fold_loops
from dmlgpu.plan.parts import Part, Walk


@dataclass(frozen=True, slots=True)
class Scan:
    """Scans of `axis_size` steps along every line that the `lines` loops reach."""

    fold: str  # sum, float_sum, product or product_wide
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
    alone: bool = True  # nothing else lies in the units it writes or is read there
    apart: bool = False  # lines are read in units wherever they begin; else only as results lie
    from_negative: bool = False  # sums of floats begin with -0.0, not with +0.0

    @property
    def per_unit(self) -> int:
        """Elements in 16 bytes."""
        return 128 // self.bits

    @property
    def axis_units(self) -> int:
        """16-byte units along a line, the first and the last one perhaps not full."""
        shifts = self.per_unit - 1 if count(self.lines) > 1 and fits_packed(self) else 0
        return -(-(self.axis_size + shifts) // self.per_unit)

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
        """The scan of a tensor along one of its axes.

        An exclusive sum begins with +0.0, and one that writes no beginning keeps the sign of zeros.
        """
        if fold == "sum" and data_type in FLOATS:
            fold = "float_sum"
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
            lines=fold_loops(loops),
            axis_size=sizes[axis],
            in_base=last * in_strides[axis],
            in_step=sign * in_strides[axis],
            out_base=last * out_strides[axis],
            out_step=sign * out_strides[axis],
            exclusive=exclusive,
            from_negative=not exclusive,
        )

    def carries(self, partials: str, segments: int, apart: int, step: int) -> Scan:
        """The scan of the sums of its lines' segments, in place.

        `partials` holds them: `apart` from one line to the next, `step` along a line.
        """
        running = RUNNING.get(self.num, self.num)
        return replace(
            self,
            num=running,
            bits=max(32, self.bits),
            lines=(Dim(count(self.lines), apart, apart),),
            axis_size=segments,
            in_base=0,
            in_step=step,
            out_base=0,
            out_step=step,
            exclusive=True,
            input=partials,
            output=partials,
            alone=False,
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
FLOATS = (DataType.FLOAT32, DataType.FLOAT16)
RUNNING = {
    "f16": "f32",
    "f16_hardware": "f32",
    "u16": "u32",
}  # what running values are kept as, where not as themselves


def fits_units(scan: Scan) -> bool:
    """Whether each line is adjacent elements that start and end on whole 16-byte units."""
    unit = scan.per_unit
    if scan.in_step != scan.out_step or abs(scan.in_step) != 1 or scan.axis_size % unit:
        return False
    ahead = 1 if scan.in_step < 0 else 0
    strides = [n for d in scan.lines if d.size > 1 for n in (d.source, d.out)]
    starts = (scan.in_base + ahead, scan.out_base + ahead)
    return all(n % unit == 0 for n in (*starts, *strides))


def fits_packed(scan: Scan) -> bool:
    """Whether results that do not fit units lie side by side, the first on a whole unit.

    The elements of a line are adjacent.
    """
    if fits_units(scan) or not scan.alone or scan.axis_size < scan.per_unit:
        return False
    return (scan.apart or is_alike(scan)) and _is_packed(scan)


def _is_packed(scan: Scan) -> bool:
    """Whether results lie in one piece from a whole unit on, and elements along each line."""
    low = scan.axis_size - 1 if scan.in_step < 0 else 0
    is_adjacent = scan.in_step == scan.out_step and abs(scan.in_step) == 1
    *packed, _ = packed_strides((*(d.size for d in scan.lines), scan.axis_size))
    return (
        is_adjacent
        and (scan.out_base - low) % scan.per_unit == 0
        and all(d.size == 1 or d.out == n for d, n in zip(scan.lines, packed, strict=True))
    )


def is_alike(scan: Scan) -> bool:
    """Whether lines lie as their results do, from the same place in a unit on."""
    is_same = all(d.size == 1 or d.source == d.out for d in scan.lines)
    return is_same and (scan.in_base - scan.out_base) % scan.per_unit == 0


def is_dense(scan: Scan) -> bool:
    """Whether lines follow each other as closely in both tensors."""
    last = scan.lines[-1]
    return last.size == 1 or last.source == last.out == scan.axis_size


def is_run(scan: Scan) -> bool:
    """Whether all lines lie in one piece, alike in both tensors, from a whole unit on.

    Units may be those of several lines, unless something else is read or written there.
    """
    owns_units = scan.alone or scan.axis_size % scan.per_unit == 0
    return owns_units and is_alike(scan) and _is_packed(scan)


PIECES_ACROSS = 32  # fewest of a row for which neighbours read neighbours, where not units
UNITS = "columns_of_units"
# Pieces in 16 bytes, by the snippet that takes them: the first that rows are whole numbers of.
PIECES = {UNITS: 1, "columns_of_pairs": 2, "columns_of_words": 4}
FRAMES = "columns_in_frames"  # takes rows of words or halves by whole units
WIDTH = 8  # units across a tile of columns
FRAME_ENDS = 2  # units of a frame that are not its own


@dataclass(frozen=True, slots=True)
class Columns:
    """Neighbouring lines that lie side by side, taken 16 bytes at a time.

    In the `scan` all numbers are pieces: units, or what rows are whole numbers of.
    """

    scan: Scan
    snippet: str
    per_unit: int  # pieces
    width: int = WIDTH  # units across a tile

    @property
    def pieces(self) -> int:
        """Units, pairs of words, words or halves of all lines."""
        return count(self.scan.lines)

    @property
    def units(self) -> int:
        """16 bytes each; as many invocations, but for frames."""
        return -(-self.pieces // self.per_unit)

    @property
    def is_whole(self) -> bool:
        """Whether rows are whole units."""
        return self.snippet == UNITS

    @property
    def is_framed(self) -> bool:
        """Whether they are not, and taken by whole units nevertheless."""
        return self.snippet == FRAMES

    @property
    def row(self) -> int:
        """Pieces side by side."""
        return self.scan.lines[-1].size

    @property
    def own(self) -> int:
        """Pieces across a frame that are its own."""
        return self.per_unit * (self.width - FRAME_ENDS)

    @property
    def tiles_of_row(self) -> int:
        """Frames that take a row."""
        return -(-self.row // self.own)

    @property
    def tiles_across(self) -> int:
        """Tiles side by side."""
        if self.is_framed:
            return self.pieces // self.row * self.tiles_of_row
        return -(-self.units // self.width)

    @property
    def in_units(self) -> int:
        """16-byte units of the input, up to the last element."""
        scan = self.scan
        loops = [*((d.size, d.source) for d in scan.lines), (scan.axis_size, scan.in_step)]
        last = scan.in_base + sum((size - 1) * max(0, step) for size, step in loops)
        return last // self.per_unit + 1


def columns_of(scan: Scan) -> Columns | None:
    """The columns of a scan along an outer axis; None where lines are not side by side."""
    last = scan.lines[-1]
    if (last.source, last.out) != (1, 1):
        return None
    for snippet, per_unit in PIECES.items():
        least = PIECES_ACROSS if per_unit > 1 else 1
        made = _in_pieces(scan, 128 // per_unit)
        if made is not None and made.lines[-1].size >= least:
            return Columns(made, snippet, per_unit)
    return None


def columns_in_frames(scan: Scan, width: int) -> Columns | None:
    """The columns of a scan in frames of so many units, which are no more than a subgroup's lanes.

    Where rows begin within words, the last word is written with the beginning of the next row, so
    they must follow each other.
    """
    last = scan.lines[-1]
    if (last.source, last.out) != (1, 1):
        return None
    made, per_unit = _in_pieces(scan, 32), 4
    if made is None and scan.bits == 16 and scan.alone and len(scan.lines) == 1:
        layout = (scan.in_base, scan.out_base, scan.in_step, scan.out_step)
        made, per_unit = (scan if layout == (0, 0, last.size, last.size) else None), 8
    if made is None or last.size * scan.bits < 32 * PIECES_ACROSS:
        return None
    return Columns(made, FRAMES, per_unit, width)


def _in_pieces(scan: Scan, bits: int) -> Scan | None:
    """A scan of columns in pieces of so many bits; None where rows are no whole numbers of them."""
    *outer, last = scan.lines
    strides = [n for d in outer for n in (d.source, d.out)]
    edges = [scan.in_base, scan.out_base, scan.in_step, scan.out_step, last.size, *strides]
    if any(n * scan.bits % bits for n in edges):
        return None
    return replace(
        scan,
        lines=(
            *(d.scaled(scan.bits, bits) for d in outer),
            Dim(last.size * scan.bits // bits, 1, 1),
        ),
        in_base=scan.in_base * scan.bits // bits,
        in_step=scan.in_step * scan.bits // bits,
        out_base=scan.out_base * scan.bits // bits,
        out_step=scan.out_step * scan.bits // bits,
    )


def walks(scan: Scan) -> tuple[tuple[int, ...], list[Walk]]:
    """The loops of a scan, the axis innermost, and how they step through its tensors."""
    sizes = (*(d.size for d in scan.lines), scan.axis_size)
    steps = (*(d.source for d in scan.lines), scan.in_step)
    out_steps = (*(d.out for d in scan.lines), scan.out_step)
    return sizes, [
        Walk(scan.input, scan.bits, scan.in_base, steps, based=True),
        Walk(scan.output, scan.bits, scan.out_base, out_steps, based=True),
    ]


def within(scan: Scan, part: Part) -> Scan:
    """A part of the scan, its tensors starting where the spans of the part do."""
    lines, steps = resized(scan.lines, part.sizes[:-1]), part.sizes[-1]
    starts = part.starts[scan.input], part.starts[scan.output]
    return replace(
        scan,
        lines=lines,
        axis_size=steps,
        in_base=starts[0],
        out_base=starts[1],
        alone=False,
    )


def line_params(scan: Scan) -> dict[str, Value]:
    """Params that every kernel over lines has."""
    return {
        "lines": count(scan.lines),
        "axis_size": scan.axis_size,
        "in_base": scan.in_base,
        "in_step": scan.in_step & 0xFFFFFFFF,
        "out_base": scan.out_base,
        "out_step": scan.out_step & 0xFFFFFFFF,
        "sizes": eight([d.size for d in scan.lines]),
        "in_strides": eight([d.source for d in scan.lines]),
        "out_strides": eight([d.out for d in scan.lines]),
        **fold_params(scan),
    }


def fold_params(scan: Scan) -> dict[str, Value]:
    """Params of what a scan calculates with."""
    return {"nothing": -0.0 if scan.from_negative else 0.0} if scan.fold == "float_sum" else {}


def arithmetic(scan: Scan) -> dict[str, str]:
    """Slots that say what a scan calculates with."""
    return {"num": f"num_{scan.num}", "fold": f"fold_{scan.fold}"}


def along_lines(scan: Scan) -> tuple[dict[str, str], dict[str, int]]:
    """Slots and constants of a kernel that walks along lines."""
    constants = {"RANK": len(scan.lines), "EXCLUSIVE": int(scan.exclusive)}
    backward = {"BACKWARD": int(scan.in_step < 0)}
    if fits_units(scan):
        return {**arithmetic(scan), "io": "io_units"}, constants | backward
    if fits_packed(scan):
        slots = {**arithmetic(scan), "io": "io_packed"}
        constants |= backward
        constants["SHIFTED"] = int(count(scan.lines) > 1 or scan.in_step < 0)
        return slots | {"source": "source_alike" if is_alike(scan) else "source_apart"}, constants
    elements = f"elements_of_{scan.bits}"
    return {**arithmetic(scan), "io": "io_elements", "elements": elements}, constants

"""Elements picked by index tuples or masks, and written where they say: what indexing runs.

DirectML's gathers and scatters take whole tensors, and scatters make new ones. These start within
a tensor, step through it as slices do, and write in place; the plans are the same. Where a tensor
is not zero, which NONZERO_COORDINATES says in memory for all elements, is found here in two steps:
the number of elements lies between them, so that what is made has no more than there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from dmlgpu.array.internal import Internal
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.plan.gather import Picked
from dmlgpu.plan.index_values import IndexValues
from dmlgpu.plan.loops import Dim
from dmlgpu.plan.move import Move
from dmlgpu.plan.move.packed import Gather
from dmlgpu.plan.nonzero import FLAGS, SUMS, Compress, Coordinates, Find, sums_of, words_of
from dmlgpu.plan.scatter import Scatter, table_of


class Picks(Internal):
    """Loops over a tensor from element `start` on, to which index tuples add coordinates."""

    indices: TensorDesc
    index_step: int  # elements of the indices from one coordinate of a tuple to the next
    sizes: tuple[int, ...]  # of the dimensions that the coordinates select from
    strides: tuple[int, ...]
    start: int

    def index_values(self) -> IndexValues:
        """The coordinates of a tuple select from the sizes in turn."""
        return IndexValues("indices_tensor", self.indices, self.sizes)


class Sliced(Internal, name="SLICE1"):
    """The elements that loops over a source reach from element `start` on, which its sizes and
    strides do not count."""

    source: TensorDesc
    output: TensorDesc
    loops: tuple[Dim, ...]
    start: int

    def inputs(self) -> Mapping[str, TensorDesc]:
        """By the name that plans have for it."""
        return {"input_tensor": self.source}

    def outputs(self) -> Mapping[str, TensorDesc]:
        """What is copied."""
        return {"output_tensor": self.output}

    def work(self) -> Move:
        """One copy."""
        return Move(self.source, self.output, self.loops, self.start)


class Take(Picks, name="take"):
    """The elements of a source, in the order of the loops."""

    source: TensorDesc
    output: TensorDesc
    loops: tuple[Dim, ...]
    kept: int  # how many of the last loops step through the block that one tuple picks

    def inputs(self) -> Mapping[str, TensorDesc]:
        """By the names that plans have for them."""
        return {"input_tensor": self.source, "indices_tensor": self.indices}

    def outputs(self) -> Mapping[str, TensorDesc]:
        """What is picked."""
        return {"output_tensor": self.output}

    def work(self) -> Picked:
        """One gather."""
        gather = Gather(self.indices, self.index_step, self.sizes, self.strides, self.kept)
        return Picked(self.source, self.output, self.loops, self.start, gather)


class Put(Picks, name="put"):
    """Updates written to a target, of whose elements the others stay as they are."""

    updates: TensorDesc
    target: TensorDesc
    positions: tuple[Dim, ...]  # over the index tuples
    kept: tuple[Dim, ...]  # over the block that one tuple names

    def inputs(self) -> Mapping[str, TensorDesc]:
        """By the names that plans have for them."""
        return {"indices_tensor": self.indices, "updates_tensor": self.updates}

    def outputs(self) -> Mapping[str, TensorDesc]:
        """What is written to."""
        return {"output_tensor": self.target}

    def work(self) -> Scatter:
        """A scatter without the copy."""
        table, entries = table_of(self.sizes)
        return Scatter(
            source=None,
            indices=self.indices,
            updates=self.updates,
            output=self.target,
            positions=self.positions or (Dim(1, 0, 0),),
            kept=self.kept,
            table_steps=(0,) * max(1, len(self.positions)),
            index_step=self.index_step,
            sizes=self.sizes,
            strides=self.strides,
            table_strides=table,
            table_size=entries,
            base=self.start,
        )


def _flags(elements: int) -> dict[str, TensorDesc]:
    """A bit for each element that says whether it is not zero, and sums of these."""
    sizes = {FLAGS: words_of(elements), SUMS: sums_of(elements)}
    return {name: TensorDesc(DataType.UINT32, (size,)) for name, size in sizes.items()}


class Flag(Internal, name="flag"):
    """Which elements of a tensor are not zero; the last of the sums is their number."""

    source: TensorDesc

    def inputs(self) -> Mapping[str, TensorDesc]:
        """What is looked at."""
        return {"input_tensor": self.source}

    def outputs(self) -> Mapping[str, TensorDesc]:
        """Flags and sums."""
        return _flags(self.source.element_count)

    def work(self) -> Find:
        """The first step."""
        return Find(self.source)


class Locate(Internal, name="nonzero"):
    """The coordinates of flagged elements of these sizes, a row of the output for each size."""

    sizes: tuple[int, ...]
    output: TensorDesc

    def inputs(self) -> Mapping[str, TensorDesc]:
        """Flags and sums."""
        return _flags(prod(self.sizes))

    def outputs(self) -> Mapping[str, TensorDesc]:
        """The coordinates."""
        return {"output_tensor": self.output}

    def work(self) -> Coordinates:
        """The second step."""
        column, row = self.output.effective_strides
        return Coordinates(self.sizes, prod(self.sizes), row, column, self.output)


class Extract(Internal, name="extract"):
    """The flagged elements of a packed tensor."""

    source: TensorDesc
    output: TensorDesc

    def inputs(self) -> Mapping[str, TensorDesc]:
        """The tensor, flags and sums."""
        return {"input_tensor": self.source, **_flags(self.source.element_count)}

    def outputs(self) -> Mapping[str, TensorDesc]:
        """The elements side by side."""
        return {"output_tensor": self.output}

    def work(self) -> Compress:
        """The second step."""
        return Compress(self.source, self.output)

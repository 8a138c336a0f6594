"""Random sizes, strides and tensors, for any operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import dmlgpu as dml
from dmlgpu import DataType as T
from support import oracle

Draw = Callable[[st.SearchStrategy[Any]], Any]
Kwargs = dict[str, Any]
RANKS = range(1, 9)


@st.composite
def sizes_of_rank(draw: Draw, rank: int, most: int = 4000) -> tuple[int, ...]:
    budget = draw(st.sampled_from(sorted({min(n, most) for n in (24, 300, most)})))
    limit = draw(st.sampled_from((5, 40, budget)))
    sizes = []
    for _ in range(rank):
        sizes.append(draw(st.integers(1, max(1, min(budget, limit)))))
        budget //= sizes[-1]
    if draw(st.booleans()):  # one long dimension
        sizes[-1] *= max(1, budget // draw(st.integers(1, 3)))
    return tuple(draw(st.permutations(sizes)))


def sizes(most: int = 4000, ranks: Sequence[int] = RANKS) -> st.SearchStrategy[tuple[int, ...]]:
    """Sizes of at most so many elements, few dimensions more often than many."""
    likely = [rank for rank in (1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8) if rank in ranks]
    return st.sampled_from(likely).flatmap(lambda rank: sizes_of_rank(rank, most))


def sized(name: str, shape: Sequence[int], out: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """The sizes of an input and of the output."""
    return {name: tuple(shape), "output_tensor": tuple(out)}


@st.composite
def nested_strides(draw: Draw, sizes: Sequence[int], pad: int) -> tuple[int, ...]:
    """Any order of dimensions, each with up to pad elements of padding inside it."""
    strides = [0] * len(sizes)
    step = 1
    for d in draw(st.permutations(range(len(sizes)))):
        step += draw(st.integers(0, pad)) if pad else 0
        strides[d] = step
        step *= sizes[d]
    return tuple(strides)


@st.composite
def input_strides(draw: Draw, sizes: Sequence[int]) -> tuple[int, ...] | None:
    kind = draw(st.sampled_from(("none", "none", "permuted", "padded", "broadcast", "any")))
    if kind == "none":
        return None
    if kind == "any":
        return tuple(draw(st.integers(0, 7)) for _ in sizes)
    strides = draw(nested_strides(sizes, 3 if kind == "padded" else 0))
    if kind == "broadcast":
        strides = tuple(s * draw(st.booleans()) for s in strides)
    return strides


@st.composite
def output_strides(draw: Draw, sizes: Sequence[int]) -> tuple[int, ...] | None:
    """No two elements share an address; the strides of size-1 dimensions are anything."""
    kind = draw(st.sampled_from(("none", "none", "permuted", "padded", "row", "loose")))
    if kind == "none":
        return None
    if kind == "row":  # packed but for an odd pitch of the rows
        return oracle.strides_of((*sizes[:-1], sizes[-1] + draw(st.integers(1, 5))), None)
    if kind == "loose":  # interleaved without nesting, such as sizes (2, 2) with strides (3, 2)
        tries = [tuple(draw(st.integers(1, 9)) for _ in sizes) for _ in range(4)]
        for strides in tries:
            places = oracle.addresses(sizes, strides)
            if np.unique(places).size == places.size:
                return strides
    strides = draw(nested_strides(sizes, 3 if kind == "padded" else 0))
    anything = st.sampled_from((0, 1, 7, 2**32 - 1))
    return tuple(
        draw(anything) if n == 1 and kind == "permuted" else s
        for n, s in zip(sizes, strides, strict=True)
    )


@st.composite
def tensor(
    draw: Draw, data_type: T, sizes: Sequence[int], *, output: bool = False
) -> dml.TensorDesc:
    strides = draw((output_strides if output else input_strides)(sizes))
    total = oracle.minimum_size(data_type, sizes, strides) + 4 * draw(st.sampled_from((0, 0, 1, 6)))
    return dml.TensorDesc(
        data_type,
        tuple(sizes),
        strides,
        total_tensor_size_in_bytes=total,
        guaranteed_base_offset_alignment=draw(st.sampled_from((0, 0, 0, 8, 16, 64))),
    )

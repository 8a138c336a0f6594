"""Feature-level tables of six operators, transcribed by hand: a check of the catalogue's data."""

from __future__ import annotations

from dmlgpu import DataType as T
from dmlgpu import FeatureLevel as L

Row = dict[str, tuple[range, frozenset[T]]]

T6 = frozenset({T.FLOAT32, T.FLOAT16, T.INT32, T.INT16, T.UINT32, T.UINT16})
T8 = T6 | {T.INT8, T.UINT8}
T11 = T8 | {T.FLOAT64, T.INT64, T.UINT64}
IDX1 = frozenset({T.UINT32})
IDX4 = frozenset({T.INT64, T.INT32, T.UINT64, T.UINT32})
SCAN5 = frozenset({T.FLOAT32, T.FLOAT16, T.INT32, T.UINT32, T.UINT16})
SCAN7 = SCAN5 | {T.INT64, T.UINT64}
D4, D45, D18 = range(4, 5), range(4, 6), range(1, 9)


def _two(ranks: range, types: frozenset[T]) -> Row:
    return {"input_tensor": (ranks, types), "output_tensor": (ranks, types)}


def _gather(ranks: range, types: frozenset[T], index: frozenset[T]) -> Row:
    return {**_two(ranks, types), "indices_tensor": (ranks, index)}


TABLES: dict[str, dict[L, Row]] = {
    "SLICE": {
        L.FL_1_0: _two(D45, T6),
        L.FL_2_1: _two(D45, T8),
        L.FL_3_0: _two(D18, T8),
        L.FL_4_1: _two(D18, T11),
    },
    "SLICE1": {
        L.FL_2_1: _two(D45, T8),
        L.FL_3_0: _two(D18, T8),
        L.FL_4_1: _two(D18, T11),
    },
    "GATHER_ND": {
        L.FL_2_1: _gather(D4, T8, IDX1),
        L.FL_3_0: _gather(D18, T8, IDX4),
        L.FL_4_1: _gather(D18, T11, IDX4),
    },
    "GATHER_ND1": {
        L.FL_3_0: _gather(D18, T8, IDX4),
        L.FL_4_1: _gather(D18, T11, IDX4),
    },
    "CUMULATIVE_SUMMATION": {
        L.FL_2_1: _two(D4, SCAN5),
        L.FL_4_0: _two(D18, SCAN5),
        L.FL_5_0: _two(D18, SCAN7),
    },
    "CUMULATIVE_PRODUCT": {
        L.FL_3_1: _two(D4, SCAN5),
        L.FL_4_0: _two(D18, SCAN5),
        L.FL_5_0: _two(D18, SCAN7),
    },
}


def row_at(operator: str, level: L) -> Row | None:
    """The effective row: that of the greatest level not above the one asked for."""
    known = [at for at in TABLES[operator] if at <= level]
    return TABLES[operator][max(known)] if known else None

"""Faults, stages and outcomes, as the tests found them: `pytest --fault-table` prints them."""

from __future__ import annotations

from collections import Counter

ROWS: dict[tuple[str, str], str] = {}


def note(fault: str, stage: str, outcomes: Counter[str]) -> None:
    """Keeps what a fault at every point of a stage led to."""
    ROWS[fault, stage] = ", ".join(f"{outcome} x {count}" for outcome, count in outcomes.items())


def lines() -> list[str]:
    """The table."""
    faults, stages = ({key[i]: None for key in ROWS} for i in (0, 1))
    wide = [max(map(len, names), default=0) + 2 for names in (faults, stages)]
    return [
        f"{fault:<{wide[0]}}{stage:<{wide[1]}}{ROWS[fault, stage]}"
        for fault in faults
        for stage in stages
        if (fault, stage) in ROWS
    ]

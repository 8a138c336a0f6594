"""Random programs about arrays: tensors give what NumPy gives, after every line, bit for bit.

`python -m tests.support.array_programs --seconds 3600` runs more of them.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from support import array_programs
from support.array_programs import FAMILIES, Program, Statement
from support.array_values import KINDS_OF_VALUES
from support.namespaces import WAYS, Tensors, opened

import dmlgpu as dml

BLOCKS = 16
PROGRAMS = 20  # of a block, which is a test


def quickly_some(blocks: range) -> list[Any]:
    """All blocks, of which a quick run has every fourth."""
    slow = pytest.mark.slow
    return [block if block % 4 == 0 else pytest.param(block, marks=slow) for block in blocks]


def checked(device: dml.Device, seeds: range, through: str, *, only_last: bool = False) -> None:
    """Runs a block of programs, and shows the first that differs."""
    xp = Tensors(through)
    with opened(device):
        for seed in seeds:
            program = array_programs.program_of(seed)
            found = array_programs.difference(program, xp, only_last=only_last)
            if found:
                pytest.fail(array_programs.report(seed, program, xp, found), pytrace=False)


@pytest.mark.gpu
@pytest.mark.facts
@pytest.mark.parametrize("block", quickly_some(range(BLOCKS)))
def test_programs_line_by_line(device: dml.Device, block: int) -> None:
    """All variables are read after each line."""
    checked(device, range(block * PROGRAMS, (block + 1) * PROGRAMS), WAYS[block // 4 % 2])


@pytest.mark.gpu
@pytest.mark.parametrize("block", quickly_some(range(BLOCKS, BLOCKS + 4)))
def test_programs_that_are_read_at_their_end(device: dml.Device, block: int) -> None:
    """Nothing is read in between, so that all lines of a program may be in one recording."""
    seeds = range(block * PROGRAMS, (block + 1) * PROGRAMS)
    checked(device, seeds, WAYS[block // 4 % 2], only_last=True)


def test_the_programs_hold_against_numpy_itself_and_have_every_kind_of_line() -> None:
    kinds: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for seed in range((BLOCKS + 4) * PROGRAMS):
        program = array_programs.program_of(seed)
        assert array_programs.difference(program, np) is None, array_programs.source(program)
        kinds.update(line.kind for line in program)
        refused.update(line.kind.partition(" ")[0] for line in program if line.refused)
    wanted = {f"{family} {kind}" for family, lines in FAMILIES.items() for kind in lines}
    assert {*wanted, "array", "del"} <= kinds.keys()
    assert refused["mistake"] == sum(n for kind, n in kinds.items() if kind.startswith("mistake"))
    assert sum(refused.values()) < sum(kinds.values()) / 10


def test_arrays_of_every_type_and_of_many_shapes_come_up() -> None:
    arrays = [
        array
        for seed in range(200)
        for array in array_programs.variables(
            array_programs.in_numpy(array_programs.program_of(seed))[1]
        ).values()
    ]
    assert {array.dtype.name for array in arrays} >= set(KINDS_OF_VALUES)
    assert {array.ndim for array in arrays} >= {0, 1, 2, 3, 4}
    assert any(array.size == 0 for array in arrays)
    assert any(array.size > 1000 for array in arrays)
    assert any(stride < 0 for array in arrays for stride in array.strides)
    offsets = {
        (array.ctypes.data - array.base.ctypes.data) % 16
        for array in arrays
        if array.base is not None and array.size and array.flags.c_contiguous
    }
    assert offsets >= {0, 2, 4, 8, 12}
    assert any(offset % 2 for offset in offsets)


def test_a_program_of_a_seed_is_the_same_every_time() -> None:
    assert array_programs.program_of(7) == array_programs.program_of(7)


WRITTEN = (
    Statement("array", "a = np.asarray([1, 2, 3], dtype=np.int32)"),
    Statement("array", "b = np.asarray([5, 6], dtype=np.int32)"),
    Statement("view an index", "c = a[1:]"),
    Statement("write fill", "b.fill(4)"),
    Statement("write fill", "c.fill(9)"),
    Statement("mistake an index out of range", "a[3] = 0", refused=True),
)


class Copying:
    """NumPy, but for arrays that are made of lists, whose views are copies."""

    class Array(np.ndarray[Any, Any]):
        def __getitem__(self, index: Any) -> Any:
            made = super().__getitem__(index)
            return np.array(made) if isinstance(made, np.ndarray) else made

    def asarray(self, values: object, dtype: type) -> Any:
        return np.array(values, dtype).view(Copying.Array)

    def __getattr__(self, name: str) -> object:
        return getattr(np, name)


def test_a_lost_write_is_found_and_shown_in_few_lines() -> None:
    xp = Copying()
    found = array_programs.difference(WRITTEN, xp)
    assert found is not None
    assert (found.number, found.what) == (4, "values")
    short = array_programs.shorter(WRITTEN, xp, found)
    assert [line.text for line in short] == [WRITTEN[n].text for n in (0, 2, 4)]
    assert "after `c.fill(9)`" in array_programs.report(0, WRITTEN, xp, found)


def test_what_is_shown_runs_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    program: Program = WRITTEN
    exec(array_programs.source(program), {})
    printed = capsys.readouterr().out
    assert printed.startswith("IndexError")
    assert printed.endswith("[1 9 9]\n[4 4]\n[9 9]\n")

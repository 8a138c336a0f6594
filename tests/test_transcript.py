"""An ordinary NumPy program, that of the page Arrays: on tensors it prints what it does on arrays.

Nothing but the numbers that it prints comes back to the CPU.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from support.documents import ROOT, blocks

import dmlgpu as dml
import dmlgpu.numpy as dnp

pytestmark = pytest.mark.gpu

(PROGRAM,) = (b.text for b in blocks(ROOT / "docs" / "arrays.md") if "np.mgrid" in b.text)
UPLOAD = "dml.tensor(picture)"


def printed(program: str, capsys: pytest.CaptureFixture[str], **names: Any) -> tuple[str, Any]:
    given = {"np": np, "dml": dml, "dnp": dnp, **names}
    exec(program, given)
    return capsys.readouterr().out, given


def test_the_program_prints_the_same_of_tensors_and_arrays(
    device: dml.Device, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, arrays = printed(PROGRAM.replace(UPLOAD, "picture"), capsys)
    read: list[int] = []
    transfer = device.read
    monkeypatch.setattr(device, "read", lambda x: (read.append(x.nbytes), transfer(x))[1])
    program = PROGRAM.replace(UPLOAD, "device.tensor(picture)")
    assert program != PROGRAM
    with device.profile() as p:
        out, tensors = printed(program, capsys, device=device)
    assert out == wanted
    # The place of the largest box, then what the four lines print: numbers, and one histogram.
    # Floats have 4 bytes, places and sums of integers 8.
    assert sorted(read) == [4] * 5 + [8] * 3 + [8 * 8]
    steps = Counter(call.name for call in p.calls)
    assert steps == {
        "SLICE1": 3,  # the mirror, where it is read, and numbers that are printed
        "CUMULATIVE_SUMMATION": 3,
        "cast": 1,
        "mean": 2,
        "std": 2,
        "subtract": 3,
        "add": 1,
        "divide": 1,
        "floor_divide": 1,
        "equal": 1,
        "greater": 2,
        "select": 1,
        "sum": 2,
        "argmax": 1,
        "min": 1,
        "max": 2,
    }
    for name in ("mirrored", "values", "normal", "bright", "histogram", "running", "boxes"):
        assert isinstance(tensors[name], dml.Tensor)
        assert tensors[name].shape == arrays[name].shape
        np.testing.assert_allclose(tensors[name].numpy(), arrays[name], rtol=1e-5, atol=1e-5)

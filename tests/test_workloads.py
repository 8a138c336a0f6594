"""The benchmark's table of rows and its random layouts: complete, valid, and right."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.plans import ADAPTERS

import dmlgpu as dml
from dmlgpu.measure.timing import Pace
from dmlgpu.ops import BY_NAME, operator_of
from dmlgpu.plan.move import layout
from dmlgpu.plan.scan import choice

sys.path.append(str(Path(__file__).resolve().parent.parent))  # the benchmarks are not installed
data: Any = import_module("benchmarks.data")
limit: Any = import_module("benchmarks.limit")
main: Any = import_module("benchmarks.__main__")
measure: Any = import_module("benchmarks.measure")
problem: Any = import_module("benchmarks.problem")
random_layouts: Any = import_module("benchmarks.random_layouts")
rivals: Any = import_module("benchmarks.rivals")
table: Any = import_module("benchmarks.workloads")
workload: Any = import_module("benchmarks.workload")

WORKLOADS = table.WORKLOADS
FEW = 1 << 14  # elements of a small case
SHADERS = Path(__file__).resolve().parents[1] / "shaders"


def small(asked: Any, dtype: str = "") -> Any:
    """A workload at its least size, or shrunk to one."""
    shape = workload.shrunk(next(iter(asked.shapes.values())), FEW)
    return problem.Problem(asked, dtype or asked.dtypes[0], shape)


def wanted(one: Any) -> list[Any]:
    """What NumPy gives for a problem."""
    found: list[Any] = measure.reference(one, data.Data(None, []), rivals.Numpy())
    return found


def fits(found: Any, tensor: dml.TensorDesc) -> bool:
    """Whether an array is an output, or all of it that means something."""
    if np.shape(found) == tensor.sizes or np.size(found) == tensor.element_count:
        return True
    return np.shape(found)[1:] == tensor.sizes[1:] and len(found) < tensor.sizes[0]


def test_every_operator_has_a_row() -> None:
    named = {w.operator for w in WORKLOADS}
    assert set(BY_NAME) - named == set()
    assert named - set(BY_NAME) == {""}, "what is not built is left out; programs have no operator"
    names = [w.name for w in WORKLOADS]
    assert len(names) == len(set(names))


# Each kernel but the plain ones, which are there to be right, says which row it is faster on.
PLAIN = {"walk", "sparse", "dense"}
# What no row needs: the doctor's questions, the check of indices on debug devices, and outputs that
# others have laid out with gaps. Counts are part of a program, whose plans are not looked at.
WITHOUT_A_ROW = {"move/index_check", "move/sparse", "count/values"}


def test_choices_of_kernels_name_rows() -> None:
    names = "|".join(re.escape(w.name) for w in WORKLOADS)
    types = "|".join(sorted({dtype for w in WORKLOADS for dtype in w.dtypes}))
    row = re.compile(rf"({names}) ({types}) ({'|'.join(workload.SIZES)})[,:]")
    for _, kernel, why in (*layout.CHOICES, *choice.CHOICES):
        assert kernel in PLAIN or row.match(why), why
    plans = Path(layout.__file__).parent.parent
    for module in plans.rglob("*.py"):  # choices of two, beside the condition
        for why in re.findall(r"# Row: (.*)", module.read_text(encoding="utf-8")):
            assert row.match(why), why


def sources(dispatch: Any) -> set[str]:
    """The files that a dispatch's shader is made of."""
    found, left = set(), [dispatch.shader]
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        folder = name.split("/")[0]
        text = (SHADERS / f"{name}.wgsl").read_text(encoding="utf-8")
        for asked in re.findall(r"^#import (\S+)", text, re.MULTILINE):
            asked = dispatch.slots.get(asked, asked)
            left.append(asked if "/" in asked else f"{folder}/{asked}")
    return found


def test_every_kernel_has_a_row() -> None:
    """A kernel that the benchmark never runs, whatever the adapter, earns its place nowhere."""
    used: set[str] = set()
    for facts in ADAPTERS.values():
        adapter = replace(facts, max_binding=1 << 31)
        for case in table.cases():
            one = problem.Problem.of(case, "cpu" if facts.is_cpu else "discrete")
            if one.operator is None:
                continue
            for dispatch in operator_of(one.desc).work(one.desc).plan(adapter).dispatches:
                used |= sources(dispatch) - used
    kernels = {
        path.relative_to(SHADERS).with_suffix("").as_posix()
        for path in SHADERS.rglob("*.wgsl")
        if "@compute" in path.read_text(encoding="utf-8") and path.parent.name != "doctor"
    }
    assert kernels - used == WITHOUT_A_ROW


def test_the_list_names_every_operator(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--list"]) == 0
    listed = set(capsys.readouterr().out.split())
    assert set(BY_NAME) <= listed


def test_an_operator_that_no_row_names_gets_one_by_its_record() -> None:
    made = table.by_record(BY_NAME["ELEMENT_WISE_POW"])
    assert (made.operator, made.dtypes) == ("ELEMENT_WISE_POW", ("float32",))
    dml.validate(small(made).desc)
    assert table.by_record(BY_NAME["JOIN"]) is None


@pytest.mark.parametrize("asked", WORKLOADS, ids=lambda w: w.name)
def test_rows_are_valid_and_numpy_gives_their_outputs(asked: Any) -> None:
    for dtype in asked.dtypes:
        one = small(asked, dtype)
        if not asked.operator:
            continue
        dml.validate(one.desc)
        outputs = list(one.desc.outputs().values())
        written = sum(tensor.total_tensor_size_in_bytes for tensor in outputs)
        read = sum(tensor.total_tensor_size_in_bytes for tensor in one.desc.inputs().values())
        assert written <= one.traffic(0) <= written + read
        if asked.numpy:
            found = wanted(one)
            assert len(found) == len(outputs)
            assert all(map(fits, found, outputs))


@pytest.mark.parametrize("size", workload.SIZES)
@pytest.mark.parametrize("kind", ["discrete", "cpu"])
def test_cases_keep_to_the_room_there_is(size: str, kind: str) -> None:
    for case in table.cases(sizes=[size]):
        one = problem.Problem.of(case, kind)
        most = 2 * workload.room(kind)  # indices may be wider than what they pick
        assert one.nbytes <= most, str(case)
        if case.workload.operator:
            dml.validate(one.desc)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["slice window", "split the last axis", "exp", "argmax last axis"])
def test_a_wrong_element_is_found(device: dml.Device, name: str) -> None:
    (asked,) = [w for w in WORKLOADS if w.name == name]
    one = small(asked)
    run = measure.Prepared(device, one, data.Data(device, []))
    expected = [array.copy() for array in wanted(one)]
    assert run.check(expected) == "all"
    assert run.check([]) == "two runs"
    expected[-1].reshape(-1)[-1] += 1
    with pytest.raises(AssertionError, match=f"^{name} float32 .* the reference has "):
        run.check(expected)
    with pytest.raises(AssertionError, match="the output has sizes"):
        run.check([*expected[:-1], expected[-1][:, :-1]])


@pytest.mark.gpu
def test_programs_are_rows_too(device: dml.Device) -> None:
    (fused,) = [w for w in WORKLOADS if w.name.startswith("relu(x * 2 + y)")]
    one = small(fused)
    run = measure.Prepared(device, one, data.Data(device, []))
    assert run.check(wanted(one)) == "all"
    assert run.traffic == 3 * 4 * np.prod(one.shape)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["gather rows of 16", "gather scalars", "gather elements of rows"])
def test_short_pieces_are_held_against_a_bare_gather(device: dml.Device, name: str) -> None:
    (asked,) = [w for w in WORKLOADS if w.name == name]
    one, held = small(asked, "uint8"), data.Data(device, [])
    assert one.is_bare_gather
    flat = limit.positions(one, held)
    pace = import_module("dmlgpu.measure.timing").Pace(0.0, 1, 1)
    with device.profile() as profile:
        seconds = limit.Limits(device, pace).of(one, "cache", 0, held).seconds()
    assert {call.name for call in profile.calls} == {"bare gather"}
    assert seconds in [call.seconds for call in profile.calls]
    x = held.flat(one, one.layouts[0])[: one.layouts[0].elements].reshape(-1, asked.piece)
    assert np.array_equal(x[flat].reshape(-1), wanted(one)[0].reshape(-1))


def test_a_difference_is_told_in_steps_of_the_type() -> None:
    a = np.array([1, 2, np.nan, np.inf, 0.0], np.float32)
    b = np.array([1 + 2**-23, 2, np.nan, np.inf, -0.0], np.float32)
    assert list(rivals.differs(a, b, 0)) == [True, False, False, False, True]
    assert not rivals.differs(a, b, 1).any()
    assert rivals.differs(a, b + 1, 4).tolist() == [True, True, False, False, True]


def test_random_moves_are_packed_by_pytorch_too() -> None:
    """What `flip` alone returns keeps the order of its operand's axes, which is less work."""
    written = [w.expressions("PyTorch") for w in random_layouts.drawn("moves", 3, 60, 1 << 14)]
    assert any("flip" in how for ways in written for how in ways)
    assert all("contiguous" in how for ways in written for how in ways)


@pytest.mark.parametrize("kind", list(random_layouts.KINDS))
def test_random_layouts_are_valid_and_the_same_for_a_seed(kind: str) -> None:
    drawn = list(random_layouts.drawn(kind, 3, 40, 1 << 14))
    assert [w.name for w in drawn] == [w.name for w in random_layouts.drawn(kind, 3, 40, 1 << 14)]
    assert len({w.name for w in drawn}) > 30
    for asked in drawn:
        one = problem.Problem(asked, asked.dtypes[0], asked.shapes["bandwidth"])
        dml.validate(one.desc)
        (output,) = one.desc.outputs().values()
        (found,) = wanted(one)
        assert found.shape == output.sizes
        assert max(one.nbytes, found.nbytes) >= 1 << 13


@pytest.mark.gpu
def test_random_layouts_end_in_a_distribution(
    device: dml.Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "random.json"
    words = ["--count", "2", "--bytes", "4096", "--check", "1", "--without", "torch"]
    kinds = ["--kind", "moves", "--kind", "gathers"]
    assert random_layouts.main([*words, *kinds, "--json", str(path)]) == 0
    entry = json.loads(path.read_text())["random"]
    assert (entry["seed"], entry["count"], entry["bytes"]) == (1, 2, 4096)
    assert list(entry["kinds"]) == ["moves", "gathers"]
    for found in entry["kinds"].values():
        assert (found["cases"], found["checked"], found["compared"]) == (2, 2, 0)
        assert 0 < found["least"] <= found["p5"] <= found["median"]
        assert found["behind"] is None
        assert found["worst"][0]["frac"] == found["least"]
    assert "| moves" in capsys.readouterr().out


def test_a_gpu_that_waited_for_the_host_is_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clocks are low: what is bound by instructions seemed up to four times as slow."""
    paces: list[Pace] = []
    monkeypatch.setattr(random_layouts, "_queued", lambda device, call, pace: paces.append(pace))
    for kind, warm, woken in (("discrete", 0.1, 1), ("discrete", 1.0, 0), ("cpu", 0.1, 0)):
        measuring = random_layouts.Measuring.__new__(random_layouts.Measuring)
        measuring._device = SimpleNamespace(adapter=SimpleNamespace(kind=kind))
        measuring._pace = Pace(warm, 3)
        measuring._wake(lambda: None)
        assert [pace.warm_seconds for pace in paces] == [random_layouts.WAKING] * woken
        paces.clear()

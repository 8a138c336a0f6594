"""dmlgpu doctor: what it finds on this machine's adapter, and what it says of made-up answers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.plans import ADAPTERS

import dmlgpu as dml
from dmlgpu import cli
from dmlgpu.cli.doctor import NO_ADAPTER
from dmlgpu.doctor import answers, probes, verdicts
from dmlgpu.doctor.answers import Outcome
from dmlgpu.doctor.probes import GUARD, LOOP_TURNS, Binding, Bounds
from dmlgpu.doctor.verdicts import ABSENT, AVOIDED, BROKEN, WORKS
from dmlgpu.gpu import adapters
from dmlgpu.ops import OPERATORS, operator_of
from dmlgpu.plan.dispatch import Adapter, Plan
from dmlgpu.runtime import forward_progress
from dmlgpu.runtime.forward_progress import TEAM, WORKGROUPS, Waits

ROOT = Path(__file__).resolve().parent.parent
CPU, CARD = ADAPTERS["software"], ADAPTERS["discrete"]
PATIENT = replace(CARD, forward_progress=False)
MESA = dml.AdapterInfo("llvmpipe", "cpu", "Vulkan", "Mesa 22.3.6", 0)
OTHER = replace(MESA, name="soft", driver="")
CASES = list(answers.cases())
LIMITS = {"max_binding": 128 << 20, "max_bindings": 32, "max_buffer": 2 << 30}


def lanes(size: int = 8) -> Any:
    """What 256 invocations in subgroups of `size` find."""
    number = np.arange(256)
    mine = number + 1000
    shuffled = (mine - 1, mine + 1, 1000 + (number ^ 1))
    columns = (np.full(256, size), number % size, number // size, mine, *shuffled)
    return np.stack(columns, 1).astype(np.uint32)


def changed(words: Any, column: int, row: int, value: int) -> Any:
    copy = words.copy()
    copy[row, column] = value
    return copy


def no_halves() -> Any:
    values = np.concatenate([probes.ROUNDED, probes.OVERFLOWING])
    with np.errstate(over="ignore"):
        return values.astype(np.float16).view(np.uint16)


@pytest.mark.parametrize(
    ("found", "facts", "info", "state", "words", "advice"),
    [
        ((LOOP_TURNS, True), CPU, MESA, WORKS, "that count .* 200,000", ""),
        ((65_535, True), CPU, MESA, AVOIDED, "65,535 of 200,000.*no kernel.*longer", "Mesa 25.0"),
        ((65_535, True), CPU, OTHER, AVOIDED, "no kernel", "newer driver"),
        ((65_535, True), CARD, MESA, BROKEN, "kernels for this adapter run longer", "newer"),
        ((1_000, True), CPU, MESA, BROKEN, "1,000 of 200,000", "newer"),
        ((LOOP_TURNS, False), CPU, MESA, BROKEN, "wrong result", "newer"),
        ("it does not compile", CPU, MESA, BROKEN, "it does not compile", "newer"),
    ],
)
def test_loops(found: Any, facts: Adapter, info: Any, state: str, words: str, advice: str) -> None:
    verdict = verdicts.loops(found, facts, info)
    assert verdict.state == state
    assert_says(verdict.text, words)
    assert advice in verdict.advice


ALL_SEEN = Waits(WORKGROUPS - TEAM, 0)


@pytest.mark.parametrize(
    ("found", "facts", "setting", "state", "words"),
    [
        (ALL_SEEN, CARD, "", WORKS, "4,064 workgroups saw .*; kernels wait for other workgroups"),
        (ALL_SEEN, PATIENT, "0", WORKS, "no kernel waits .*: DMLGPU_WAITING_KERNELS is 0"),
        (ALL_SEEN, PATIENT, "", WORKS, "no kernel waits .*: only discrete GPUs"),
        (ALL_SEEN, CPU, "", WORKS, "no kernel waits .*: software drivers may end a loop"),
        (Waits(4000, 64), PATIENT, "", AVOIDED, "64 workgroups did not see .*no kernel waits"),
        (Waits(10, 0), PATIENT, "", AVOIDED, "no kernel waits"),
        ("it does not compile", PATIENT, "", AVOIDED, "it does not compile; no kernel waits"),
    ],
)
def test_waits(found: Any, facts: Adapter, setting: str, state: str, words: str) -> None:
    verdict = verdicts.waits(found, facts, setting)
    assert verdict.state == state
    assert_says(verdict.text, words)


@pytest.mark.parametrize(
    ("kind", "backend", "setting", "tried"),
    [
        ("discrete", "Vulkan", "", True),
        ("discrete", "D3D12", "1", True),
        ("discrete", "Vulkan", "0", False),
        ("discrete", "Metal", "", False),
        ("integrated", "Vulkan", "", False),
        ("integrated", "Vulkan", "1", True),
    ],
)
def test_where_forward_progress_is_probed(
    kind: str, backend: str, setting: str, tried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DMLGPU_WAITING_KERNELS", setting)
    info = replace(MESA, kind=kind, backend=backend)
    assert forward_progress.is_candidate(info) == tried


@pytest.mark.gpu
@pytest.mark.parametrize("passes", [False, True])
def test_the_first_plan_that_waits_has_forward_progress_probed_once(
    passes: bool, device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    found = ALL_SEEN if passes else Waits(0, 1)
    monkeypatch.setattr(forward_progress, "probe", lambda gpu: (asked.append(gpu), found)[1])
    monkeypatch.setattr(forward_progress, "_found", {})
    line, short = (dml.TensorDesc(dml.DataType.FLOAT32, (n,)) for n in (1 << 20, 64))

    def plan(tensor: dml.TensorDesc) -> Plan:
        desc = dml.CumulativeSummationDesc(input_tensor=tensor, output_tensor=tensor, axis=0)
        return made.context.plan(operator_of(desc).work(desc).plan)

    for before in (0, 1):  # the second device asks no more
        with dml.Device(device.adapter) as made:
            made.context.facts = CARD
            plan(short)
            assert len(asked) == before
            assert plan(line).waits == passes
            assert plan(line).waits == passes
            assert made.context.facts.forward_progress == passes
    assert len(asked) == 1


@pytest.mark.gpu
def test_the_probe_counts_every_workgroup(device: dml.Device) -> None:
    found = forward_progress.probe(device.context.gpu)
    assert found.seen + found.missed == WORKGROUPS - TEAM


def assert_says(text: str, words: str) -> None:
    assert re.search(words, text), text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("column", "zero", "name", "state"),
    [
        (0, False, "integer division", BROKEN),
        (1, False, "integer division", BROKEN),
        (0, True, "division by 0", AVOIDED),
        (2, False, "shifts", BROKEN),
        (3, False, "shifts", BROKEN),
        (4, False, "shifts", BROKEN),
        (5, False, "products", BROKEN),
        (6, False, "signed division", AVOIDED),
        (7, True, "signed division", AVOIDED),
    ],
)
def test_arithmetic(column: int, zero: bool, name: str, state: str) -> None:
    right = verdicts.expected_integers()
    assert {v.state for v in verdicts.integers(right)} == {WORKS}
    row = int(np.argmax((probes.PAIRS[:, 1] == 0) == zero))
    wrong = changed(right, column, row, int(right[row, column]) ^ 1)
    found = {v.name: v for v in verdicts.integers(wrong)}
    assert found.pop(name).state == state
    assert {v.state for v in found.values()} == {WORKS}


def test_arithmetic_that_cannot_be_asked_for() -> None:
    (verdict,) = verdicts.integers("no")
    assert (verdict.state, verdict.text) == (BROKEN, "no")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (7, 0, (7, 0, 7, 7, 7, 0, 7, 0)),
        (2**31, 2**32 - 1, (0, 2**31, 0, 1, 2**32 - 1, 2**31, 2**31, 0)),
        (
            2**32 - 3,
            2,
            (2**31 - 2, 1, 2**32 - 12, 2**30 - 1, 2**32 - 1, 2**32 - 6, 2**32 - 1, 2**32 - 1),
        ),
    ],
)
def test_the_right_arithmetic_is_that_of_wgsl(
    a: int, b: int, expected: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "PAIRS", np.array([(a, b)], np.uint32))
    assert tuple(verdicts.expected_integers()[0].tolist()) == expected


@pytest.mark.parametrize("facts", [CPU, CARD], ids=["parts", "hardware"])
def test_fused_products(facts: Adapter) -> None:
    exact = [[Fraction(float(v)) for v in row] for row in probes.TRIPLES]
    once = np.array([float(a * b + c) for a, b, c in exact], np.float32)
    assert verdicts.fused(once.view(np.uint32), facts).state == WORKS
    a, b, c = probes.TRIPLES.T
    found = verdicts.fused((a * b + c).view(np.uint32), facts)
    assert found.state == (BROKEN if facts.exact_floats else AVOIDED)
    assert_says(found.text, f"{np.count_nonzero(once)} of 18 values")


@pytest.mark.parametrize("facts", [CPU, CARD], ids=["integer arithmetic", "hardware"])
def test_halves(facts: Adapter) -> None:
    packed = no_halves()
    made = probes.HALVES.view(np.float16).astype(np.float32).view(np.uint32)
    states = [v.state for v in verdicts.halves(packed, made, facts, False)]
    assert states == [WORKS, WORKS, ABSENT]
    fault = BROKEN if facts.exact_floats else AVOIDED
    off = packed.copy()
    off[0] += 1
    found = verdicts.halves(off, "refused", facts, True)
    assert [v.state for v in found] == [fault, fault, WORKS]
    assert_says(found[0].text, "1 of 22 values")
    assert_says(found[1].text, "refuses unpack2x16float: refused")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (changed(lanes(), 0, 9, 4), "sizes differ"),
        (lanes(256), "256 lanes; 4 to 128"),
        (changed(lanes(), 1, 3, 2), "lanes of a subgroup"),
        (changed(lanes(), 2, 255, 77), "subgroups of a workgroup"),
        (changed(lanes(), 4, 2, 5), "neighbour"),
        (changed(lanes(), 5, 2, 5), "neighbour"),
        (changed(lanes(), 6, 2, 5), "lane across"),
        ("refused", "refused"),
    ],
)
def test_subgroups(found: Any, words: str) -> None:
    card = replace(CPU, is_cpu=False)
    assert verdicts.subgroups(lanes(), card).state == WORKS
    assert verdicts.subgroups(None, card).state == ABSENT
    broken, avoided = (verdicts.subgroups(found, facts) for facts in (card, CPU))
    assert (broken.state, avoided.state) == (BROKEN, AVOIDED)
    assert_says(broken.text, words)


def test_lanes_that_do_not_divide_a_workgroup() -> None:
    assert_says(verdicts.subgroups(lanes(24), CPU).text, "do not divide")


def test_bounds() -> None:
    read, around = np.zeros(9, np.uint32), np.full(128, GUARD, np.uint32)
    assert verdicts.bounds(Bounds(read, around)).state == WORKS
    seen = verdicts.bounds(Bounds(np.full(9, GUARD, np.uint32), around))
    written = verdicts.bounds(Bounds(read, np.append(around, 0xBADBAD).astype(np.uint32)))
    assert (seen.state, written.state) == (BROKEN, BROKEN)
    assert_says(seen.text, "reads .* other memory")
    assert_says(written.text, "writes .* other memory")
    assert verdicts.bounds("lost").state == BROKEN


def test_limits() -> None:
    right = verdicts.limits(Binding(128 << 20, GUARD), LIMITS)
    assert right.state == WORKS
    assert_says(right.text, "128 MiB, 32 at once, in buffers of 2,048 MiB; tried with 128 MiB")
    assert verdicts.limits(Binding(128 << 20, 0), LIMITS).state == BROKEN
    assert verdicts.limits("no room", LIMITS).state == AVOIDED
    assert verdicts.mebibytes(4096) == "4,096 bytes"


def test_timestamps() -> None:
    assert verdicts.timestamps((10, 2_000_010)).text == "a call took 2,000 us"
    assert verdicts.timestamps(None).state == ABSENT
    assert verdicts.timestamps((0, 0)).state == AVOIDED
    assert verdicts.timestamps("no").state == AVOIDED


def test_operators() -> None:
    right = Outcome("SLICE", "a", frozenset({"units"}))
    wrong = Outcome("SLICE", "b", frozenset({"dense"}), "3 instead of 4 at [0]")
    (verdict,) = verdicts.operators([right])
    assert (verdict.state, verdict.text) == (WORKS, "1 answers right; kernels: units")
    (verdict,) = verdicts.operators([right, wrong])
    assert verdict.state == BROKEN
    assert_says(verdict.text, r"1 of 2 .*: b \(kernels: dense\): 3 instead of 4 at \[0\]")


@pytest.mark.parametrize(
    ("system", "words"),
    [("linux", "mesa-vulkan-drivers"), ("darwin", "Metal"), ("win32", "Direct3D 12")],
)
def test_what_to_install(system: str, words: str) -> None:
    assert words in verdicts.what_to_install(system)
    assert words in verdicts.on_adapter(MESA, system)
    assert "only OpenGL" in verdicts.on_adapter(replace(MESA, backend="OpenGL"), system)
    assert verdicts.on_adapter(replace(MESA, kind="discrete"), system) == ""


@pytest.mark.parametrize("adapter", [*ADAPTERS, "unknown"])
def test_the_cases_reach_every_kernel(adapter: str) -> None:
    """All that a plan can choose on an adapter of that kind."""
    facts = ADAPTERS.get(adapter, Adapter(subgroup_min=4, subgroup_max=128))
    along = {"runs", "rows", "groups"}
    scans = {
        "software": {"columns", "walk"},
        "least": {"boxes", "columns", "walk"},
        "discrete": {"boxes", "columns", "columns_chain", "stream", "walk"} | along,
    }.get(adapter, {"boxes", "columns", "walk"} | along)
    wanted = {
        "SLICE": {"packed", "tile"},
        "SLICE1": {"packed", "sparse", "tile"},
        "GATHER_ND": {"elements", "packed", "sparse", "words"},
        "GATHER_ND1": {"elements", "packed"},
        "CUMULATIVE_SUMMATION": scans,
        "CUMULATIVE_PRODUCT": scans,
    }
    if facts.is_cpu:
        long = {"rows", "short"}
        wanted["SLICE"] = {"copies", "dense", "units", "words"} | long
        wanted["SLICE1"] = {"dense", "sparse"} | long
        wanted["GATHER_ND"] = {"dense", "sparse", "tuples"} | long
        wanted["GATHER_ND1"] = {"dense", "rows", "units"}
    reached: dict[str, set[str]] = {name: set() for name in wanted}
    for case in CASES:
        reached[case.operator] |= answers.kernels(
            operator_of(case.desc).work(case.desc).plan(facts)
        )
    assert reached == wanted


@pytest.mark.parametrize("adapter", ["discrete", "integrated", "mobile"])
def test_the_cases_reach_every_pass_over_long_lines(adapter: str) -> None:
    plans = [operator_of(case.desc).work(case.desc).plan(ADAPTERS[adapter]) for case in CASES]
    passes = {d.entry for made in plans for d in made.dispatches if d.shader == "scan/groups"}
    several = {"scan", "reduce", "scan_carried"}
    assert passes == ({"scan"} if ADAPTERS[adapter].forward_progress else several)


def test_the_cases_are_valid_and_exact() -> None:
    answered = {case.operator for case in CASES}
    alone = {o.name for o in OPERATORS if o.name not in answered and answers.smallest(o) is None}
    assert alone == {"RANDOM_GENERATOR", "ONE_HOT"}  # need more than the record says
    for case in CASES:
        dml.validate(case.desc)
        if case.expected.dtype.kind == "f":
            assert np.abs(case.expected).max() <= 2048 or "whole rows" in case.what, case.what


def command(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    try:
        status = cli.main(["doctor", *argv])
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 1
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_this_adapter_is_all_right(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And every shader of the folder is asked for."""
    asked: set[str] = set()
    assemble = probes.assemble
    for module in (probes, forward_progress):
        monkeypatch.setattr(module, "assemble", lambda n, s: (asked.add(n), assemble(n, s))[1])
    status, out, err = command(capsys)
    assert (status, err) == (0, ""), out
    assert "All right" in out
    for name in {case.operator for case in CASES} | {"other operators"}:
        assert re.search(rf"^works +{name} ", out, re.M)
    files = {f"doctor/{p.stem}" for p in (ROOT / "shaders/doctor").glob("*.wgsl")}
    assert files - asked <= {"doctor/subgroups"}  # only where there are subgroups
    assert asked <= files


@pytest.mark.gpu
def test_json(device: dml.Device, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = command(capsys, "--json", "--adapter", device.adapter.name)
    report = json.loads(out)
    assert report["status"] == status == 0
    assert report["adapter"]["name"] == device.adapter.name
    assert {check["state"] for check in report["checks"]} <= {WORKS, AVOIDED, ABSENT}
    assert set(report["checks"][0]) == {"name", "state", "text", "advice"}


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_a_broken_driver_is_status_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = replace(CASES[0], expected=CASES[0].expected + 1)
    monkeypatch.setattr(answers, "cases", lambda: iter([wrong]))
    status, out, _ = command(capsys)
    assert status == 1
    assert re.search("^BROKEN +SLICE ", out, re.M)
    assert "7.0 instead of 8.0 at [0, 0, 0, 0]" in " ".join(out.split())
    assert "Broken: SLICE. Results on this adapter cannot be trusted." in out
    assert "newer driver" in out


@pytest.mark.gpu
def test_a_refused_description_is_a_fault(device: dml.Device) -> None:
    case = replace(CASES[0], desc=replace(CASES[0].desc, offsets=(0, 0, 3, 3)))
    assert_says(answers.run(device, case).fault, "^SLICE: offsets")


def test_no_adapter_is_status_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapters, "_listed", tuple)
    status, out, err = command(capsys)
    assert (status, out) == (2, "")
    assert err.startswith("dmlgpu: no GPU adapter found")
    assert "; to install: " in err
    status, out, _ = command(capsys, "--json")
    assert json.loads(out)["status"] == status == 2


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_an_unknown_adapter_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = command(capsys, "--adapter", "nobody has this")
    assert (status, out) == (2, "")
    assert err.startswith("dmlgpu: adapter is 'nobody has this'; this machine has: ")
    assert "install" not in err


@pytest.mark.skipif(sys.platform != "linux", reason="only there drivers are chosen by files")
def test_a_machine_without_drivers() -> None:
    nowhere = {
        "VK_DRIVER_FILES": "/nonexistent",
        "VK_ICD_FILENAMES": "/nonexistent",
        "__EGL_VENDOR_LIBRARY_FILENAMES": "/nonexistent",
    }
    done = subprocess.run(
        [sys.executable, "-m", "dmlgpu", "doctor"],
        cwd=ROOT,
        env=dict(os.environ) | nowhere,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (NO_ADAPTER, ""), done.stderr
    assert "; to install: on Debian and Ubuntu" in done.stderr

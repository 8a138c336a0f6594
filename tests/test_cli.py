"""The command line: what it prints, what it exits with, and how it fails."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import is_one_sentence, run

import dmlgpu as dml
from dmlgpu.cli import cases, catalogue, demo, info, output
from dmlgpu.gpu import adapters
from dmlgpu.measure.timing import Pace, Timed
from dmlgpu.ops import OPERATORS

ROOT = Path(__file__).resolve().parent.parent
NAMES = [operator.name for operator in OPERATORS]
CARD = dml.AdapterInfo("GeForce", "discrete", "Vulkan", "580", 0)
CHIP = dml.AdapterInfo("Iris", "integrated", "Vulkan", "25", 1)
SOFT = dml.AdapterInfo("llvmpipe", "cpu", "Vulkan", "Mesa 25", 2)


def test_without_a_command_it_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys)
    assert (status, err) == (0, "")
    assert all(command in out for command in ("bench", "demo", "explain", "info", "operators"))


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"dmlgpu {dml.__version__}\n", "")


@pytest.mark.parametrize("argv", [["nonsense"], ["demo", "--fast"], ["operators", "--level"]])
def test_a_wrong_command_line_is_one_sentence(
    capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    status, out, err = run(capsys, *argv)
    assert (status, out) == (2, "")
    assert is_one_sentence(err)


def test_operators_lists_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "operators")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()[3:] if line[0] != " "] == NAMES
    assert out.isascii()
    assert "\033" not in out


@pytest.mark.parametrize("level", ["3.0", "FL_3_0", "fl_3_0", "3_0"])
def test_operators_at_a_level(capsys: pytest.CaptureFixture[str], level: str) -> None:
    status, out, _ = run(capsys, "operators", "gather_nd", "cumulative", "--level", level)
    assert status == 0
    assert out == (
        "operators at feature level 3.0\n"
        "\n"
        "operator              since  in place  ranks   data types\n"
        "CUMULATIVE_SUMMATION  2.1    yes       4       FLOAT16/32, INT32, UINT16/32\n"
        "GATHER_ND             2.1    no        1 to 8  FLOAT16/32, INT8/16/32, UINT8/16/32; "
        "indices: INT32/64, UINT32/64\n"
        "GATHER_ND1            3.0    no        1 to 8  FLOAT16/32, INT8/16/32, UINT8/16/32; "
        "indices: INT32/64, UINT32/64\n"
        "\n"
        "From level 3.1: CUMULATIVE_PRODUCT.\n"
    )


@pytest.mark.parametrize("level", ["3.5", "7.0", "three", ""])
def test_a_level_that_is_none_is_refused(capsys: pytest.CaptureFixture[str], level: str) -> None:
    status, out, err = run(capsys, "operators", "--level", level)
    assert (status, out) == (2, "")
    rule = f"level is {level!r}; it must be one of 1.0, 2.0, 2.1, 3.0"
    assert err.startswith(f"dmlgpu: argument --level: {rule}")
    assert is_one_sentence(err)


@pytest.mark.parametrize("level", list(dml.FeatureLevel), ids=lambda level: level.name)
def test_operators_as_json_equals_the_tables(
    capsys: pytest.CaptureFixture[str], level: dml.FeatureLevel
) -> None:
    status, out, _ = run(capsys, "operators", "--json", "--level", level.name)
    assert status == 0
    found = {entry["name"]: entry for entry in json.loads(out)}
    assert set(found) == {o.name for o in OPERATORS if min(o.entry.support) <= level}
    for operator in OPERATORS:
        if operator.name not in found:
            continue
        entry = found[operator.name]
        assert entry["value"] == operator.entry.value
        assert entry["in_place"] == bool(operator.entry.alias)
        assert entry["since"] == min(operator.entry.support).name[3:].replace("_", ".")
        row = operator.entry.support[max(at for at in operator.entry.support if at <= level)]
        assert entry["tensors"] == {
            field: {
                "data_types": [t.name for t in sorted(allowed.data_types)],
                "ranks": list(allowed.ranks),
            }
            for field, allowed in row.items()
        }


def test_operators_can_be_asked_for_by_a_part_of_their_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = run(capsys, "operators", "--json", "softmax", "argm")
    names = [entry["name"] for entry in json.loads(out)]
    assert names == [name for name in NAMES if "SOFTMAX" in name or "ARGM" in name]
    _, out, _ = run(capsys, "operators", "nothing_like_it")
    assert len(out.splitlines()) == 3


def test_types_are_gathered_by_kind() -> None:
    types = frozenset({dml.DataType.INT8, dml.DataType.FLOAT32, dml.DataType.FLOAT16})
    assert catalogue.types_short(types) == "FLOAT16/32, INT8"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (256, "256 bytes"),
        (32768, "32 KiB"),
        (2**31 - 1, "2 GiB"),
        (2**40, "1024 GiB"),
    ],
)
def test_bytes_are_told_in_their_unit(count: int, text: str) -> None:
    assert output.bytes_text(count) == text


@pytest.mark.parametrize(
    ("listed", "wanted", "chosen", "because"),
    [
        ([SOFT], "", SOFT, "it is the only adapter"),
        ([SOFT, CARD], "", CARD, "discrete is preferred to cpu; DMLGPU_ADAPTER is not set"),
        (
            [SOFT, CHIP, CARD],
            "",
            CARD,
            "discrete is preferred to cpu and integrated; DMLGPU_ADAPTER is not set",
        ),
        ([CARD, replace(CARD, index=3)], "", CARD, "it is the first of 2 discrete adapters"),
        ([SOFT, CARD], "LLVM", SOFT, "DMLGPU_ADAPTER is 'LLVM'"),
    ],
)
def test_the_choice_is_explained(
    monkeypatch: pytest.MonkeyPatch,
    listed: list[dml.AdapterInfo],
    wanted: str,
    chosen: dml.AdapterInfo,
    because: str,
) -> None:
    monkeypatch.setattr(adapters, "_listed", lambda: tuple((info, None) for info in listed))
    monkeypatch.setenv("DMLGPU_ADAPTER", wanted)
    assert adapters.choose(None)[0] == chosen
    assert info.chosen_because(chosen, dml.adapters()) == because


@pytest.mark.parametrize("command", ["info", "demo"])
def test_without_an_adapter_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.setattr(adapters, "_listed", lambda: ())
    status, out, err = run(capsys, command)
    assert (status, out) == (1, "")
    assert "no GPU adapter found; install a Vulkan driver" in err
    assert is_one_sentence(err)


@pytest.mark.parametrize("command", ["info", "demo"])
def test_an_adapter_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.setattr(adapters, "_listed", lambda: ((SOFT, None),))
    monkeypatch.setenv("DMLGPU_ADAPTER", "GeForce")
    status, out, err = run(capsys, command)
    assert (status, out) == (1, "")
    assert err == (
        "dmlgpu: DMLGPU_ADAPTER is 'GeForce'; this machine has: llvmpipe (cpu, Vulkan, Mesa 25)\n"
    )


@pytest.mark.gpu
def test_info_names_the_adapter_in_use(
    capsys: pytest.CaptureFixture[str], device: dml.Device
) -> None:
    status, out, err = run(capsys, "info")
    assert (status, err) == (0, "")
    chosen = next(line for line in out.splitlines() if line.startswith("* "))
    for part in (device.adapter.name, device.adapter.kind, device.adapter.backend):
        assert part in chosen
    assert "* is chosen: " in out
    assert re.search(r"^features {2,}\S", out, re.M)


@pytest.mark.gpu
def test_info_as_json(capsys: pytest.CaptureFixture[str], device: dml.Device) -> None:
    status, out, _ = run(capsys, "info", "--json")
    assert status == 0
    found = json.loads(out)
    chosen = found["adapters"][found["chosen"]["adapter"]]
    assert dml.AdapterInfo(**chosen) == device.adapter
    assert found["versions"]["dmlgpu"] == dml.__version__
    assert found["limits"]["max_binding_bytes"] >= 128 << 20
    assert all(isinstance(value, int) for value in found["limits"].values())
    assert isinstance(found["features"], list)
    assert Path(found["shaders"]).is_dir()


@pytest.mark.gpu
def test_demo_runs_operators_of_each_kind_and_agrees(
    capsys: pytest.CaptureFixture[str], device: dml.Device
) -> None:
    status, out, err = run(capsys, "demo")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert str(device.adapter) in lines[0]
    rows = lines[3 : lines.index("", 3)]
    assert [line.split()[0] for line in rows] == [case.operator for case in cases.demo_cases()]
    assert {line.split()[0] for line in rows} <= set(NAMES)
    for line in rows:
        assert re.search(r" \d+\.\d\d +\d+\.\d\d  (equal|within \de-\d\d)$", line), line
    assert max(map(len, rows)) < 115
    assert ("This adapter is software" in out) == (device.adapter.kind == "cpu")


@pytest.mark.gpu
def test_demo_fails_where_a_result_differs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], device: dml.Device
) -> None:
    first, *_ = found = cases.demo_cases()
    last = next(case for case in found if case.operator == "CUMULATIVE_PRODUCT")
    wrong = replace(first, numpy=lambda x: x[:, 1::2, ::2].copy())
    worse = replace(last, numpy=lambda x: np.cumprod(x, -1) * 1.001)
    monkeypatch.setattr(demo, "demo_cases", lambda: [wrong, last, worse])
    status, out, err = run(capsys, "demo")
    assert status == 1
    assert "DIFFERS" in out
    assert err == "dmlgpu: SLICE and CUMULATIVE_PRODUCT on this adapter differ from NumPy\n"


def test_a_wrong_shape_is_no_agreement() -> None:
    case = next(case for case in cases.demo_cases() if case.steps)
    assert cases.verdict(case, np.ones((3, 3), np.float32)) == (False, "DIFFERS")


def test_colour_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert output.styled("text", output.BOLD) == "text"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("WT_SESSION", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert output.styled("text", output.BOLD) == "\033[1mtext\033[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert output.styled("text", output.BOLD) == "text"


def command(*argv: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dmlgpu", *argv],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


def test_as_a_module_from_outside() -> None:
    done = command("operators", "--level", "9.9")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "level is '9.9'" in done.stderr


@pytest.mark.gpu
def test_demo_as_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, device: dml.Device
) -> None:
    few = cases.demo_cases()[2:4]
    times = iter([0.0025, 0.001, 0.5, 0.04])  # of dmlgpu and of NumPy, in turn

    def timed(call: Callable[[], Any], pace: Pace) -> Timed:
        call()
        return Timed.of([next(times)], "wall")

    monkeypatch.setattr(demo, "demo_cases", lambda: few)
    monkeypatch.setattr(demo, "time_wall", timed)
    status, out, err = run(capsys, "demo", "--json", "--adapter", device.adapter.name)
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert dml.AdapterInfo(**found["adapter"]) == device.adapter
    assert [row["operator"] for row in found["rows"]] == ["GATHER_ND", "GATHER_ND1"]
    assert [row["agrees"] for row in found["rows"]] == [True, True]
    assert [(row["gpu_ms"], row["numpy_ms"]) for row in found["rows"]] == [(2.5, 1), (500, 40)]


@pytest.mark.parametrize("command", ["info", "demo", "bench"])
def test_an_adapter_can_be_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.setattr(adapters, "_listed", lambda: ((SOFT, None), (CARD, None)))
    status, out, err = run(capsys, command, "--adapter", "Radeon")
    assert (status, out) == (1, "")
    assert err.startswith("dmlgpu: adapter is 'Radeon'; this machine has: llvmpipe")
    assert info.chosen_because(CARD, [SOFT, CARD], "gef") == "--adapter is 'gef'"


@pytest.mark.parametrize("command", ["info", "operators", "explain", "demo", "bench"])
def test_every_command_has_help_with_examples(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    status, out, err = run(capsys, command, "--help")
    assert (status, err) == (0, "")
    assert f"examples:\n  dmlgpu {command}" in out
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.5 s"), (0.00125, "1.25 ms"), (134e-6, "134 us"), (8e-11, "0.08 ns"), (0.0, "0 ns")],
)
def test_times_are_told_in_their_unit(seconds: float, text: str) -> None:
    assert output.time_text(seconds) == text

"""DMLGPU_DUMP_WGSL: which files it leaves, that they compile, and how it fails."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import dmlgpu as dml
from dmlgpu.plan.dispatch import Dispatch
from dmlgpu.runtime.dump import VARIABLE, dumped
from dmlgpu.wgsl.assembly import Shader

NAME = re.compile(r"[a-z_]+(-[a-z0-9_]+)*-[0-9a-f]{8}\.wgsl")


def work(device: dml.Device) -> None:
    x = device.tensor(np.arange(48, dtype=np.float32).reshape(6, 8))
    dml.cumulative_summation(x, 0)
    dml.gather_nd(x, [[2], [4]])
    x[::-1, 1::2].numpy()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that does not exist yet, in one that does not either."""
    wanted = tmp_path / "made" / "shaders"
    monkeypatch.setenv(VARIABLE, str(wanted))
    return wanted


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_every_shader_is_written_once_and_compiles(folder: Path) -> None:
    with dml.Device() as made:
        work(made)
        files = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
        assert len(files) == len(made.context._pipelines)
        work(made)
        assert {path.name for path in folder.iterdir()} == set(files)
        for name, text in files.items():
            assert NAME.fullmatch(name)
            entry = re.match(
                r"// ([\w/]+)\.wgsl, entry point (\w+)\n// constants: .*\n// slots: ", text
            )
            assert entry
            assert name.startswith(entry[1].replace("/", "-"))
            assert f"fn {entry[2]}(" in text
            constants = re.findall(r"(\w+) = (-?\d+)", text.splitlines()[1])
            values = {constant: int(value) for constant, value in constants}
            made.context.gpu.pipeline(name, text, entry[2], values)
    with dml.Device() as again:  # another device leaves the same files
        work(again)
        assert {path.name for path in folder.iterdir()} == set(files)


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("value", [None, ""])
def test_without_the_variable_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    monkeypatch.chdir(tmp_path)
    with dml.Device() as made:
        work(made)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_a_folder_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "shaders"))
    with dml.Device() as made:
        x = made.tensor(np.ones(4, np.float32))
        with pytest.raises(dml.DeviceError) as caught:
            dml.cumulative_summation(x, 0)
        message = str(caught.value)
        assert message.startswith(f"{VARIABLE} is ")
        assert "cannot be written there: " in message
        assert "\n" not in message
        monkeypatch.delenv(VARIABLE)  # and nothing is left half made
        assert dml.cumulative_summation(x, 0).numpy().tolist() == [1, 2, 3, 4]


def test_constants_tell_files_apart() -> None:
    shader = Shader("slice.wgsl", "fn main() {}\n", (), (), 0, ())
    one = Dispatch("slice", 1, {}, {}, constants={"WG_SIZE": 64})
    two = Dispatch("slice", 1, {}, {}, constants={"WG_SIZE": 128})
    assert dumped(shader, one) != dumped(shader, two)
    assert dumped(shader, one).splitlines()[:3] == [
        "// slice.wgsl, entry point main",
        "// constants: WG_SIZE = 64",
        "// slots: none",
    ]

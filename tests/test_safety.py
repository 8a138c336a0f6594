"""What SECURITY.md promises: no network, no pickle, no files, and no caller's text in shaders."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.plans import every_plan

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc
from dmlgpu.desc.description import fields as fields_of
from dmlgpu.gpu.gpu import Gpu
from dmlgpu.ops import BY_DESC

ROOT = Path(__file__).resolve().parent.parent
SHADERS = ROOT / "shaders"
FORBIDDEN = {
    *("socket", "ssl", "http", "urllib", "ftplib", "smtplib", "multiprocessing"),
    *("pickle", "marshal", "shelve", "dill", "joblib", "tempfile", "subprocess", "pty"),
}
ALLOWED = {
    "bench.py": {"subprocess"},  # the project's own benchmarks
    "workers.py": {"subprocess"},  # nvidia-smi, which tells a Dask worker how large its GPU is
    "adapters.py": {"ctypes"},  # a reference for forked children, and the size of NVIDIA's GPUs
    "arguments.py": {"marshal"},  # arguments as bytes to compare, which nothing reads
}

# Records from the first line on whatever could leave the process; then uses everything.
SESSION = """\
import os, sys
found = []
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC

def hook(event, args):
    if event.startswith(("socket.", "urllib.", "http.", "ftplib.", "smtplib.", "subprocess.")):
        found.append((event, repr(args)))
    elif event in ("pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "os.fork"):
        found.append((event, repr(args)))
    elif event in ("os.mkdir", "os.rename", "os.remove", "tempfile.mkstemp", "tempfile.mkdtemp"):
        found.append((event, repr(args)))
    elif event == "open" and args[0] != os.devnull:
        mode, flags = args[1] or "", args[2] or 0
        if set(mode) & set("wax+") or flags & WRITES:
            found.append((event, repr(args)))

sys.addaudithook(hook)
import numpy as np
import dmlgpu as dml
from dmlgpu.doctor import examine

for debug in (False, True):
    with dml.Device(debug=debug) as device:
        x = device.tensor(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
        results = [
            x[::-1, 1:], dml.slice(x, (0, 0, 0), (1, 2, 3), (1, 1, 1)),
            dml.slice1(x, (0, 0, 0), (2, 3, 4), (1, -1, 2)),
            dml.gather_nd(x, [[0, 1], [1, 2]]), dml.gather_nd1(x, [[[0]], [[1]]], None, None, 1),
            dml.cumulative_summation(x, 1), dml.cumulative_product(x, 2),
        ]
        for result in results:
            result.numpy(), result.tobytes()
        with device.profile() as profile:
            dml.cumulative_summation(x, 1)
        str(profile), device.memory, device.flush(), device.wait()
        for bad in (lambda: x[9], lambda: dml.slice(x, 1, 2, 3), lambda: device.tensor("text")):
            try:
                bad()
            except dml.DmlError:
                pass
        if not debug:
            list(examine(device))
dml.adapters(), dml.default_device()
for line in found:
    print(*line)
print("events:", len(found))
"""


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_a_session_opens_no_socket_unpickles_nothing_and_writes_no_file() -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", SESSION],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "DMLGPU_DUMP_WGSL"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "events: 0\n"


def test_the_audit_sees_what_it_looks_for() -> None:
    program = SESSION.partition("import numpy")[0] + (
        "import pickle, socket, tempfile\n"
        "socket.socket().close()\n"
        "pickle.loads(b'cbuiltins\\nlen\\n.')\n"
        "tempfile.TemporaryFile().close()\n"
        "print(*sorted({event for event, _ in found}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], capture_output=True, text=True, timeout=60
    )
    seen = set(done.stdout.split())
    assert {"open", "pickle.find_class", "socket.__new__"} <= seen, done.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "dmlgpu").rglob("*.py")), ids=lambda p: p.stem)
def test_no_module_imports_what_could_break_the_promise(path: Path) -> None:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
            if node.module == "marshal":
                assert [alias.name for alias in node.names] == ["dumps"]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("eval", "exec", "compile", "__import__"), node.func.id
    assert names & FORBIDDEN <= ALLOWED.get(path.name, set())


EVIL = "}; fn evil() {} //"


class Evil(str):
    """A string that also passes for a number and a name."""

    def __index__(self) -> int:
        return 1


def hostile_calls(device: dml.Device) -> Iterator[Any]:
    """A string in every place that takes an argument."""
    line, evil = TensorDesc(T.FLOAT32, (8,)), Evil(EVIL)
    x = device.tensor(np.ones(8, np.float32))
    for desc in BY_DESC:
        names = [field.name for field in fields_of(desc)]
        fields: dict[str, Any] = {f: line for f in names if f.endswith("_tensor")}
        rest = [f for f in names if f not in fields]
        for field in names:
            for value in (evil, [evil], (evil,), {evil: evil}):
                given = fields | dict.fromkeys(rest, 0) | {field: value}
                yield lambda d=desc, g=given: device.compile(d(**g))(x)
    for field in ("data_type", "sizes", "strides", "total_tensor_size_in_bytes", "flags"):
        given = {"data_type": T.FLOAT32, "sizes": (8,), field: evil}
        yield lambda g=given: device.empty(TensorDesc(**g))
        yield lambda g=given | {field: [evil]}: device.empty(TensorDesc(**g))
    yield lambda: dml.Device(evil)
    yield lambda: x[evil]
    yield lambda: x[evil:]
    yield lambda: dml.slice(x, [evil], [evil], [evil])
    yield lambda: dml.slice1(x, evil, evil, evil)
    yield lambda: dml.gather_nd(x, [evil])
    yield lambda: dml.gather_nd(x, [[0]], evil, evil)
    yield lambda: dml.cumulative_summation(x, evil, evil, evil)
    yield lambda: device.tensor(evil)
    yield lambda: device.upload(line, evil)


@pytest.mark.gpu
def test_no_callers_text_reaches_a_shader(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []
    make = Gpu.pipeline

    def spy(self: Gpu, label: str, text: str, entry: str, constants: Any) -> Any:
        texts.append(f"{label} {text} {entry} {dict(constants)!r}")
        return make(self, label, text, entry, constants)

    monkeypatch.setattr(Gpu, "pipeline", spy)
    with dml.Device(device.adapter) as fresh:
        evil = replace(fresh.context.gpu.info, name=EVIL, driver=EVIL)
        monkeypatch.setattr(fresh.context.gpu, "info", evil)
        accepted = 0
        for call in hostile_calls(fresh):
            try:
                call()
                accepted += 1
            except dml.DmlError:
                pass
        dml.cumulative_summation(fresh.tensor(np.ones((3, 5), np.float32)), 0).numpy()
    assert texts
    assert accepted, "a string that passes for a number is one"
    assert not [text for text in texts if "evil" in text]


def test_shaders_are_made_of_files_and_numbers() -> None:
    """What a plan hands to the assembly of shaders: names of files, and numbers."""
    files = {p.relative_to(SHADERS).with_suffix("").as_posix() for p in SHADERS.rglob("*.wgsl")}
    for _, plan in every_plan():
        for dispatch in plan.dispatches:
            assert dispatch.shader in files
            folder = dispatch.shader.rpartition("/")[0]
            for name in dispatch.slots.values():
                assert {name, f"{folder}/{name}"} & files, name
            assert all(type(value) is int for value in dispatch.constants.values())
            for value in dispatch.params.values():
                for v in value if isinstance(value, tuple) else [value]:
                    assert type(v) in (int, float), v
            assert re.fullmatch(r"\w+", dispatch.entry)


def test_the_note_names_tests_that_exist() -> None:
    note = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/\w+\.py)`", note)
    assert len(named) >= 3
    assert all((ROOT / name).is_file() for name in named)

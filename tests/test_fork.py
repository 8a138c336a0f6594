"""After fork: the parent's device is the parent's; the child says so, and can have its own."""

from __future__ import annotations

import os

import pytest
from support.programs import says

import dmlgpu as dml
from dmlgpu.gpu import adapters, gpu

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("device"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
]

PROGRAM = """
device = dml.Device()
x = device.tensor(np.ones(1 << 18, np.float32))
op = device.compile(dml.CumulativeSummationDesc(input_tensor=x.desc, output_tensor=x.desc, axis=0))
y = op(x)
{before}
child = os.fork()
if not child:
    uses = (x.numpy, lambda: op(x), lambda: x[::2], lambda: device.tensor(np.ones(3)),
            device.wait, device.flush, device.profile, lambda: device.memory)
    for use in uses:
        try:
            use()
            print("no error")
        except dml.DeviceError as error:
            print(error)
    {child}
    sys.exit(7)
_, status = os.waitpid(child, 0)
print("child ended with", os.waitstatus_to_exitcode(status))
assert y.numpy()[-1] == 1 << 18
assert op(y).numpy()[1] == 3
print("parent works")
"""
SENTENCE = "this device was made in another process; make a new Device after fork"


@pytest.mark.parametrize("before", ["y.numpy()", "device.flush()"], ids=["idle", "in flight"])
@pytest.mark.parametrize(
    "child",
    ["pass", "del x, y, op, device", "device.close()", "sys.stdout.flush(); os._exit(7)"],
    ids=["end", "drop", "close", "hard end"],
)
def test_a_child_gets_a_sentence_and_disturbs_nobody(before: str, child: str) -> None:
    lines = says(PROGRAM.format(before=before, child=child), timeout=60).splitlines()
    assert lines[:8] == [SENTENCE] * 8
    assert lines[8:] == ["child ended with 7", "parent works"]


@pytest.mark.parametrize("before", ["y.numpy()", "device.flush()"], ids=["idle", "in flight"])
def test_a_child_has_a_device_of_its_own(device: dml.Device, before: str) -> None:
    child = """
    try:
        own = dml.Device()
        print("own", summed(own, 10, 1).numpy()[-1], op.device is device)
        print("default", dml.cumulative_summation(np.ones(11, np.float32), 0).numpy()[-1])
    except dml.DeviceError as error:
        print(error)
    """
    lines = says(PROGRAM.format(before=before, child=child), timeout=60).splitlines()
    if any(
        name in device.adapter.name for name in ("SwiftShader", "NVIDIA")
    ):  # drivers that refuse
        assert "cannot be opened in a process forked" in lines[8]
        assert lines[9:] == ["child ended with 7", "parent works"]
        return
    assert lines[8:10] == ["own 10.0 True", "default 11.0"]
    assert lines[10:] == ["child ended with 7", "parent works"]


def test_a_child_does_not_wait_for_a_thread_it_does_not_have(device: dml.Device) -> None:
    """Another thread is just making the default device."""
    program = """
    from dmlgpu import functions
    held = threading.Event()
    def hold():
        with functions._default_lock:
            held.set()
            time.sleep(0.3)
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        print("free", functions._default_lock.acquire(timeout=5))
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    thread.join()
    """
    assert says(program, timeout=60) == "free True\n"


def test_a_driver_that_refuses_a_child_is_named(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NVIDIA's driver reports a lost device."""

    def lost(*_: object, **__: object) -> None:
        raise RuntimeError("Parent device is lost")

    info, adapter = adapters.choose(device.adapter)
    monkeypatch.setattr(type(adapter), "request_device_sync", lost)
    monkeypatch.setattr(gpu, "forks", [os.getpid()])
    with pytest.raises(dml.DeviceError, match="cannot be opened in a process forked from one"):
        dml.Device(info)

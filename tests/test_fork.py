"""After fork: the parent's device is the parent's, and the child says so."""

from __future__ import annotations

import os

import pytest
from support.programs import says

import dmlgpu as dml

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
    uses = (x.numpy, lambda: op(x), x[::2].copy, lambda: device.tensor(np.ones(3)),
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
SENTENCE = (
    "this device was made in another process; open one there, in a process that was started with "
    "the method spawn"
)


@pytest.mark.parametrize("before", ["y.numpy()", "device.flush()"], ids=["idle", "in flight"])
@pytest.mark.parametrize(
    "child",
    ["pass", "del x, y, op, device", "device.close()", "sys.stdout.flush(); os._exit(7)"],
    ids=["end", "drop", "close", "hard end"],
)
def test_a_child_gets_a_sentence_and_disturbs_nobody(
    device: dml.Device, before: str, child: str
) -> None:
    if "_exit" not in child:
        ends_itself(device)
    lines = says(PROGRAM.format(before=before, child=child), timeout=60).splitlines()
    assert lines[:8] == [SENTENCE] * 8
    assert lines[8:] == ["child ended with 7", "parent works"]


def ends_itself(device: dml.Device) -> None:
    """Skips where a child of `os.fork` cannot end by `sys.exit`, as docs/reliability.md says."""
    if "NVIDIA" in device.adapter.name:
        pytest.skip("the driver waits at the end of a process for threads that a child lacks")


def test_a_child_opens_no_device(device: dml.Device) -> None:
    ends_itself(device)
    child = """
    for open_one in (dml.Device, dml.default_device):
        try:
            open_one()
            print("opened")
        except dml.DeviceError as error:
            print("spawn" in str(error))
    """
    lines = says(PROGRAM.format(before="y.numpy()", child=child), timeout=60).splitlines()
    assert lines[8:] == ["True", "True", "child ended with 7", "parent works"]


def test_a_child_of_a_process_that_used_no_gpu_opens_one(device: dml.Device) -> None:
    program = """
    child = os.fork()
    if not child:
        print(summed(dml.Device(), 10, 1).numpy()[-1])
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    """
    assert says(program, timeout=60) == "10.0\n"


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

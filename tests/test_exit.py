"""The interpreter ends in silence, whatever the device was doing."""

from __future__ import annotations

import pytest
from support.programs import says

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]

ENDINGS = {
    "work recorded": "y = summed(dml.Device())",
    "work in flight": """
        device = dml.Device()
        y = summed(device, 1 << 20, 40)
        device.flush()
    """,
    "default device": "y = dml.cumulative_summation(np.ones(1000, np.float32), 0)",
    "read back": "summed(dml.Device()).numpy()",
    "nothing used": "device = dml.Device()",
    "closed": """
        device = dml.Device()
        y = summed(device)
        device.close()
    """,
    "with block": """
        with dml.Device() as device:
            y = summed(device)
    """,
    "profile open": """
        device = dml.Device()
        profile = device.profile()
        profile.__enter__()
        y = summed(device)
    """,
    "used at exit": """
        device = dml.Device()
        y = summed(device)
        atexit.register(lambda: print(y.numpy()[0]))
    """,
    "a finalizer computes": """
        x = summed(dml.Device())
        class Computes:
            def __del__(self):
                x.cumsum(0).numpy()
        made = Computes()
        made.me = made
    """,
    "closed at exit": """
        device = dml.Device()
        y = summed(device)
        atexit.register(device.close)
    """,
    "a thread at work": """
        device = dml.Device()
        def work():
            while True:
                summed(device).numpy()
        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.5)
    """,
    "threads that wait for the GPU": """
        device = dml.Device()
        def work():
            while True:
                summed(device).numpy()
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.5)
    """,
    "a thread that opens devices": """
        def work():
            while True:
                with dml.Device() as device:
                    summed(device)
        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.5)
    """,
    "threads that end": """
        device = dml.Device()
        results = [None] * 4
        def work(n):
            results[n] = summed(device, 1000 + n)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        [t.start() for t in threads]
    """,
    "in a cycle": """
        device = dml.Device()
        loop = [device, summed(device)]
        loop.append(loop)
        device.me = loop
    """,
    "sys.exit in flight": """
        device = dml.Device()
        y = summed(device, 1 << 20, 40)
        device.flush()
        sys.exit(0)
    """,
    "out of memory": """
        device = dml.Device()
        y = summed(device)
        try:
            device.empty(dml.TensorDesc(dml.DataType.FLOAT64, (2**32 - 1,)))
        except dml.OutOfMemoryError:
            pass
    """,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_exit_is_silent(ending: str) -> None:
    says(ENDINGS[ending])


def test_the_end_waits_for_what_other_threads_have_asked() -> None:
    """Python ends threads so that wgpu-native, were it on their stack, would end the process."""
    program = """
    from dmlgpu.gpu.private import Question
    device = dml.Device()
    started = threading.Event()
    def work():
        with Question(device.wgpu_device):
            started.set()
            time.sleep(0.5)
            print("asked", flush=True)
        try:
            device.wait()
        except SystemExit:
            print("ended", flush=True)
    threading.Thread(target=work, daemon=True).start()
    started.wait()
    """
    assert says(program).startswith("asked\n")

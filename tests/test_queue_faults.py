"""Faults that people found in recording, submission, foreign buffers and read-back, one by one."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import cffi
import fuzz_foreign
import numpy as np
import pytest
import wgpu
from support.programs import run, says

import dmlgpu as dml
from dmlgpu.gpu import private, transfer
from dmlgpu.gpu.adapters import choose
from dmlgpu.runtime import index_checks

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]

INT32 = dml.DataType.INT32
LINE = dml.TensorDesc(INT32, (8,))
ROW = np.arange(8, dtype=np.int32)
SUMS = np.cumsum(ROW, dtype=np.int32)
USAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
LIBRARY = str(Path(dml.__file__).parent)


@pytest.fixture
def fresh() -> Iterator[dml.Device]:
    with dml.Device() as made:
        yield made


def counting(device: dml.Device) -> tuple[dml.Tensor, Callable[[], object]]:
    """A tensor, and a call that adds one to its last element each time that it runs."""
    x = device.tensor(np.array([1, 0], np.int32))
    desc = dml.CumulativeSummationDesc(input_tensor=x.desc, output_tensor=x.desc, axis=0)
    op = device.compile(desc)
    op(x, out=x)
    assert x.numpy()[1] == 1
    return x, lambda: op(x, out=x)


class AtStep:
    """Acts at the n-th step (bytecode) that the library reaches."""

    def __init__(self, n: int, act: Callable[[], object]) -> None:
        self.left = n
        self.act = act
        self.hit = False

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(LIBRARY):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and not self.hit:
            self.left -= 1
            if self.left == 0:
                self.hit = True
                sys.settrace(None)
                self.act()
                sys.settrace(self)
        return self

    def run(self, work: Callable[[], object]) -> None:
        before = sys.gettrace()
        sys._getframe().f_trace_opcodes = True  # or Python 3.12 has no such events the first time
        sys.settrace(self)
        try:
            work()
        finally:
            sys.settrace(before)


class Stop(BaseException):
    """What a signal handler raises."""


def stop() -> None:
    raise Stop


@pytest.mark.parametrize("what", ["flushes", "calls", "reads", "raises"])
def test_whatever_interrupts_a_call_or_a_submission_it_runs_once(
    fresh: dml.Device, what: str
) -> None:
    """A signal handler or a finalizer at every fifth step of recording and submitting."""
    x, call = counting(fresh)
    other = fresh.tensor(np.ones(4, np.int32))
    acts: dict[str, Callable[[], object]] = {
        "flushes": fresh.flush,
        "calls": call,
        "reads": lambda: other.cumsum(0).numpy(),
        "raises": stop,
    }
    other.cumsum(0).numpy()
    count = int(x.numpy()[1])

    returned: list[None] = []

    def work() -> None:
        call()
        returned.append(None)
        fresh.flush()
        call()
        returned.append(None)

    for n in range(1, 100_000, 5):
        returned.clear()
        at = AtStep(n, acts[what])
        raised = 0
        try:
            at.run(work)
        except Stop:
            raised = 1
        extra = 1 if what == "calls" and at.hit else 0
        sure = len(returned) + extra
        now = int(x.numpy()[1])
        assert sure <= now - count <= sure + raised, f"step {n}"
        count = now
        if not at.hit:
            break
    assert n > 300


def test_reading_in_place_is_interrupted_by_a_submission(fresh: dml.Device) -> None:
    """A CPU adapter's tensor is read where it lies, while what was submitted may change it."""
    values = np.zeros(1 << 16, np.int32)
    x = fresh.tensor(values)
    fresh.wait()

    def use() -> None:
        fresh.elementwise("add", x, 1, out=x)
        fresh.flush()

    for n in range(1, 100_000, 23):
        at = AtStep(n, use)
        got: list[Any] = []
        at.run(lambda: got.append(x.numpy()))  # noqa: B023
        assert np.all(got[0] == got[0][0])
        if not at.hit:
            break
    assert np.all(x.numpy() > 0)


@pytest.mark.parametrize("what", ["flushes", "raises", "reads and raises"])
def test_an_interrupted_upload_does_not_land_on_a_later_one(
    fresh: dml.Device, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Small uploads wait in the queue while the device is busy, whoever still wants them."""
    other = fresh.tensor(np.ones(4, np.int32))
    (other + other).numpy()
    act: Callable[[], object] = fresh.flush if what == "flushes" else stop
    queue = fresh.context.gpu.queue
    write = queue.write_buffer

    def read_before(*given: Any) -> None:
        trace = sys.gettrace()
        sys.settrace(None)
        fresh.context.transfers.submit()  # as reads do
        sys.settrace(trace)
        write(*given)

    for n in range(1, 100_000, 5 if what in ("flushes", "raises") else 1):
        at = AtStep(n, act)
        with monkeypatch.context() as busy, contextlib.suppress(Stop):
            busy.setattr(transfer, "is_idle", lambda *_: False)
            if what == "reads and raises":
                busy.setattr(queue, "write_buffer", read_before)
            at.run(lambda: fresh.tensor(np.full(100, 1, np.int32)))
        later = fresh.tensor(np.full(100, 2, np.int32))
        (other + other).numpy()
        assert np.all(later.numpy() == 2), f"step {n}"
        del later
        with monkeypatch.context() as done:  # a GPU that is given work at each read is never idle
            done.setattr(fresh.context.gpu, "flush_writes", stop)
            other.numpy()
        if not at.hit:
            break
    assert n > 300


def test_what_runs_inside_a_submission_submits_and_reads(fresh: dml.Device) -> None:
    """wgpu-native answers questions at its end, and Python runs finalizers and handlers there."""
    x, call = counting(fresh)
    ffi, lib = private.native().ffi, private.native().lib
    got: list[list[int]] = []

    def answered(*_: object) -> None:
        call()
        got.append(fresh.tensor(np.ones(7, np.int32)).cumsum(0).tolist())
        got.append(x.tolist())

    info = ffi.new("WGPUQueueWorkDoneCallbackInfo *")
    info.mode = lib.WGPUCallbackMode_AllowProcessEvents
    info.callback = callback = ffi.callback("WGPUQueueWorkDoneCallback", answered)
    fresh.wait()
    lib.wgpuQueueOnSubmittedWorkDone(private.handle(fresh.wgpu_device.queue), info[0])
    call()
    fresh.flush()
    assert callback
    assert got == [[1, 2, 3, 4, 5, 6, 7], [1, 3]]
    assert x.tolist() == [1, 3]


def test_finalizers_while_the_device_works_hang_nothing() -> None:
    program = """
    import gc
    device = dml.Device()
    x = device.tensor(np.array([1, 0], np.int32))
    desc = dml.CumulativeSummationDesc(input_tensor=x.desc, output_tensor=x.desc, axis=0)
    op = device.compile(desc)
    class Resource:
        def __init__(self):
            self.me = self
        def __del__(self):
            device.flush()
            assert device.tensor(np.ones(3, np.int32)).cumsum(0).numpy()[-1] == 3
    gc.set_threshold(20, 5, 5)
    made = 0
    for n in range(300):
        for _ in range(n % 9):
            Resource()
        for _ in range(n % 7):
            op(x, out=x)
            made += 1
        assert x.numpy()[1] == made
    """
    says(program, timeout=60)


def test_a_handler_uses_the_default_device_while_it_is_opened() -> None:
    for delay in (0.005, 0.05):
        program = f"""
        seen = []
        signal.signal(signal.SIGALRM, lambda *_: seen.append(dml.cumulative_summation([1, 2], 0)))
        signal.setitimer(signal.ITIMER_REAL, {delay})
        device = dml.default_device()
        while not seen:
            time.sleep(0.01)
        assert seen[0].tolist() == [1, 3] and dml.default_device().is_usable
        """
        says(program, timeout=60)


@pytest.mark.parametrize("own", [False, True], ids=["foreign", "own"])
@pytest.mark.parametrize("how", ["destroy", "map"])
def test_a_buffer_spoiled_after_its_tensor_was_dropped(own: bool, how: str) -> None:
    make = (
        "x = device.tensor(np.arange(8, dtype=np.int32)); buffer = x.buffer"
        if own
        else """
    U = wgpu.BufferUsage
    usage = U.STORAGE | U.COPY_SRC | U.COPY_DST
    if "mappable-primary-buffers" in device.wgpu_device.features: usage |= U.MAP_READ
    buffer = device.wgpu_device.create_buffer(size=64, usage=usage)
    x = device.wrap(buffer, dml.TensorDesc(dml.DataType.INT32, (8,)))"""
    )
    done = run(
        f"""
    import wgpu
    device = dml.Device()
    can_map = "mappable-primary-buffers" in device.wgpu_device.features
    {make}
    y = x.cumsum(0)
    del x
    if {how == "destroy"} or not can_map:
        buffer.destroy()
    else:
        buffer.map_async("READ").sync_wait()
    z = device.empty(dml.TensorDesc(dml.DataType.INT32, (999,)))
    try:
        print(y.numpy())
    except dml.BindingError as error:
        print("BindingError")
    if buffer.map_state == "mapped":
        buffer.unmap()
        y.numpy()
    """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "BindingError\n"


@pytest.mark.parametrize("wait", [".sync_wait()", ""], ids=["mapped", "pending"])
def test_a_mapped_buffer_is_not_handed_out_again(wait: str) -> None:
    done = run(
        f"""
    device = dml.Device()
    if "mappable-primary-buffers" not in device.wgpu_device.features:
        print("[1 2 3]"); sys.exit()
    x = device.tensor(np.arange(3, dtype=np.int32))
    other = device.tensor(np.ones(3, np.int32))
    device.wait()
    promise = x.buffer.map_async("READ"){wait}
    del x
    print(other.cumsum(0).numpy())
    """
    )
    assert (done.returncode, done.stdout) == (0, "[1 2 3]\n"), done.stderr


def test_holding_a_buffer_holds_its_memory(fresh: dml.Device) -> None:
    x = fresh.tensor(ROW)
    y = x.cumsum(0, np.int32)
    buffer = y.buffer  # submits what was to fill it
    del x, y
    for _ in range(5):
        fresh.tensor(np.full(8, 99, np.int32)).cumsum(0, np.int32).numpy()
    seen = fresh.wgpu_device.queue.read_buffer(buffer)
    assert np.array_equal(np.frombuffer(seen, np.int32)[:8], SUMS)
    assert np.array_equal(fresh.wrap(buffer, LINE).numpy(), SUMS)


def test_two_devices_over_one_wgpu_device_leave_each_others_buffers(fresh: dml.Device) -> None:
    first, second = (dml.Device.from_wgpu(fresh.wgpu_device) for _ in range(2))
    x = first.tensor(ROW)
    y = second.wrap(x.buffer, LINE)
    del x
    first.context.pool.clear()
    first.close()
    assert np.array_equal(y.cumsum(0).numpy(), SUMS)


def test_what_a_spoiled_tensor_leaves_is_nobody_elses_fault(fresh: dml.Device) -> None:
    x, other = fresh.tensor(ROW), fresh.tensor(ROW)
    buffer = x.buffer
    fresh.wait()
    y = x.cumsum(0)
    del y
    z = other.cumsum(0)
    buffer.destroy()
    assert np.array_equal(z.numpy(), SUMS)


def test_memory_that_waits_is_spoiled_for_nobody_else(fresh: dml.Device) -> None:
    """The tensor that was to be filled is gone before the submission in which it is spoiled."""
    x, other = fresh.tensor(ROW), fresh.tensor(ROW)
    buffer = x.buffer
    fresh.wait()
    y = x.cumsum(0, np.int32)
    storage = y.storage
    del y
    fresh.memory  # noqa: B018 - takes back what was dropped
    buffer.destroy()
    fresh.flush()
    z = other.cumsum(0, np.int32)
    assert z.storage is storage
    assert np.array_equal(z.numpy(), SUMS)


@pytest.mark.parametrize("spoil_source", [True, False])
def test_an_asynchronous_read_raises_what_a_read_raises(
    fresh: dml.Device, spoil_source: bool
) -> None:
    x = fresh.tensor(ROW)
    buffer = x.buffer
    y = x.cumsum(0) if spoil_source else x

    async def main() -> None:
        task = asyncio.create_task(y.numpy_async())
        held.acquire()
        await asyncio.sleep(0)  # the copy is recorded; its thread waits for the device
        buffer.destroy()
        held.release()
        await task

    held = fresh.context.lock
    with pytest.raises(dml.BindingError, match="the tensor cannot be used"):
        asyncio.run(main())


@pytest.mark.parametrize("debug", [False, True])
def test_an_asynchronous_read_sees_no_later_call(debug: bool) -> None:
    with dml.Device(debug=debug) as device:
        x, call = counting(device)
        stop_busy = threading.Event()
        big = device.tensor(np.ones((512, 512), np.float32))

        def busy() -> None:
            while not stop_busy.is_set():
                big.cumsum(0).numpy()

        async def main() -> list[int]:
            task = asyncio.create_task(x.numpy_async())
            await asyncio.sleep(0)
            call()
            return [int(v) for v in await task]

        thread = threading.Thread(target=busy)
        thread.start()
        try:
            for n in range(1, 20):
                assert asyncio.run(main())[1] == n
        finally:
            stop_busy.set()
            thread.join()


@pytest.mark.parametrize(
    "limits",
    [{"max-storage-buffer-binding-size": 256}, {"max-compute-workgroups-per-dimension": 0}],
    ids=["binding", "workgroups"],
)
def test_a_device_with_too_little_room_is_refused(limits: dict[str, int | None]) -> None:
    _, adapter = choose(None)
    made = adapter.request_device_sync(required_limits=limits)
    if any(made.limits[name] != value for name, value in limits.items()):
        pytest.skip("wgpu gives more than it is asked for")
    with pytest.raises(dml.DeviceError, match="at least"):
        dml.Device.from_wgpu(made)


def test_closing_gives_memory_back_and_leaves_no_trace(fresh: dml.Device) -> None:
    destroyed: list[object] = []
    shared = dml.Device.from_wgpu(fresh.wgpu_device)
    foreign = fresh.wgpu_device.create_buffer(size=64, usage=USAGE)
    wrapped = shared.wrap(foreign, LINE)
    live, pooled = shared.tensor(ROW), shared.tensor(ROW)
    buffers = [live.storage.buffer, pooled.storage.buffer]
    for buffer in buffers:
        vars(buffer)["destroy"] = partial(destroyed.append, buffer)
    del pooled
    before = set(vars(foreign)) - {"destroy", "map_async"}
    shared.close()
    assert destroyed == buffers or destroyed == buffers[::-1]
    assert set(vars(foreign)) == before
    assert wrapped.shape == (8,)


def test_a_debug_device_does_not_grow_while_nothing_is_read() -> None:
    with dml.Device(debug=True) as device:
        x = device.tensor(np.arange(16, dtype=np.float32))
        good = device.tensor(np.array([[1], [2]], np.int32))
        bad = device.tensor(np.array([[1], [99]], np.int32))
        dml.gather_nd(x, bad)
        dml.gather_nd(x, good)
        held = device.memory
        for _ in range(3 * index_checks.PLACES):
            dml.gather_nd(x, good)
        assert device.memory.in_use <= held.in_use
        assert device.memory.pooled <= held.pooled + 2 * index_checks.SIZE * index_checks.PLACES
        with pytest.raises(dml.IndexRangeError, match="99"):
            device.wait()
        device.wait()


def test_an_abandoned_profile(fresh: dml.Device) -> None:
    x, call = counting(fresh)
    profile = fresh.profile()
    profile.__enter__()
    for _ in range(2048):
        call()
    del profile
    gc.collect()
    call()
    assert x.numpy()[1] == 2050


def test_a_profile_cannot_be_pickled(fresh: dml.Device) -> None:
    with fresh.profile() as profile:
        counting(fresh)
    with pytest.raises(dml.InvalidDescError, match="pickle its calls"):
        pickle.dumps(profile)
    assert pickle.loads(pickle.dumps(profile.calls)) == profile.calls


def test_profiles_list_no_reads(fresh: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    for has_timestamps in (fresh.context.gpu.has_timestamps, False):
        monkeypatch.setattr(fresh.context.gpu, "has_timestamps", has_timestamps)
        x = fresh.tensor(ROW)
        with fresh.profile() as profile:
            asyncio.run(x.cumsum(0, np.int32).numpy_async())
            x.cumsum(0, np.int32).numpy()
        assert [call.name for call in profile.calls] == ["CUMULATIVE_SUMMATION"] * 2


@pytest.mark.parametrize("shape", [(2**31, 2**31), (10**7, 10**7)], ids=str)
def test_a_broadcast_that_no_memory_holds(fresh: dml.Device, shape: tuple[int, ...]) -> None:
    y = fresh.tensor(np.ones(1, np.float32)).broadcast_to(*shape)
    for read in (y.numpy, y.tolist, lambda: np.asarray(y), lambda: asyncio.run(y.numpy_async())):
        with pytest.raises(dml.OutOfMemoryError, match="no host memory"):
            read()


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this system has no fork")
def test_a_fork_inside_a_profile_while_a_thread_reads() -> None:
    program = """
    device = dml.Device()
    x = device.tensor(np.ones((512, 1024), np.float32))
    stop = threading.Event()
    def busy():
        while not stop.is_set():
            x.cumsum(0).numpy()
    thread = threading.Thread(target=busy)
    thread.start()
    time.sleep(0.2)
    class Left(Exception): pass
    try:
        with device.profile() as profile:
            for _ in range(3):
                child = os.fork()
                if not child:
                    raise Left
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    except Left:
        os._exit(7)  # without the handlers of a driver, which may wait for threads of the parent
    stop.set()
    thread.join()
    """
    says(program, timeout=60)


def test_opening_a_device_prints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    assert says("dml.Device(); print(os.environ.get('XDG_RUNTIME_DIR'))") == "None\n"


def test_a_handlers_timeout_is_not_taken_for_the_adapters(fresh: dml.Device) -> None:
    with pytest.raises(TimeoutError), fresh.context.gpu.doing("something"):
        raise TimeoutError


# What wgpu-py has no public name for: each of these fails when a version of it changes that name.


def test_wgpus_private_names(fresh: dml.Device) -> None:
    device = fresh.wgpu_device
    buffer = device.create_buffer(size=16, usage="COPY_DST|MAP_READ")
    assert private.device_of(buffer) is device
    assert not private.is_destroyed(device)
    assert private.poller(device)() is not None
    assert 0.1 <= private.timestamp_period(device.queue) <= 10_000, "nanoseconds of a tick"
    assert private.stays_mapped(device) is (fresh.adapter.backend == "Vulkan")
    other = choose(None)[1].request_device_sync()
    other.destroy()
    assert private.is_destroyed(other)


def test_a_tick_lasts_as_long_as_its_period_says(fresh: dml.Device) -> None:
    """Two calls begin as far apart on the adapter's clock as on the host's, within a hundredth."""
    if not fresh.context.gpu.has_timestamps:
        pytest.skip(f"{fresh.adapter.name} has no timestamps")
    x = fresh.tensor(ROW)
    dml.cumulative_summation(x, 0)
    fresh.wait()
    began, ended = [], []
    with fresh.profile() as profile:
        for _ in range(2):
            began.append(time.perf_counter_ns())
            dml.cumulative_summation(x, 0)
            fresh.wait()
            ended.append(time.perf_counter_ns())
            time.sleep(0.05)
    first, second = profile.calls
    apart = second.start - first.start
    assert 0.99 * (began[1] - ended[0]) <= apart <= 1.01 * (ended[1] - began[0])


def test_commands_are_submitted_once(fresh: dml.Device) -> None:
    device = fresh.wgpu_device
    permit, won = [True], []  # type: ignore[var-annotated]
    for attempt in ("first", "second"):
        encoder = device.create_command_encoder()
        commands = private.finished(private.handle(encoder))
        private.submit_once(device.queue, commands, permit, won, attempt)
    assert (permit, won) == ([], [(None, "first")])


def test_a_map_that_ends_twice_or_early(fresh: dml.Device) -> None:
    device = fresh.wgpu_device
    buffer = device.create_buffer(size=16, usage="COPY_DST|MAP_READ")
    target = np.ones(16, np.uint8)
    for early in (False, True):
        mapping = private.HostMap(device, buffer)
        mapping.wait(private.READ, 0, 16)
        if early:
            mapping.end()
        assert mapping.read(0, target) is not early
        mapping.end()
        mapping.end()
    private.wait_for_queue(device, device.queue)
    assert not target.any()


def test_nothing_is_read_for_the_first_time_after_a_device_is_open(fresh: dml.Device) -> None:
    """cffi holds a lock while it reads a C type, for which a signal handler would wait forever."""
    ffi = private.native().ffi
    before = set(ffi._parsed_types)
    x = fresh.tensor(ROW)
    with fresh.profile():
        x.cumsum(0).numpy()
    fresh.tensor(np.ones(1 << 20, np.float32))[::-1].numpy()
    fresh.wrap(x.buffer, LINE)
    fresh.wait()
    assert set(ffi._parsed_types) == before


def test_opening_a_device_reads_no_c_type_by_itself() -> None:
    """Each costs 25 ms; all are read at once before the adapters are listed."""
    program = """
dml.adapters()
from wgpu.backends.wgpu_native import ffi

before = set(ffi._parsed_types)
with dml.Device() as device:
    device.tensor(np.ones(1000, np.float32)).cumsum(0).numpy()
print(sorted(set(ffi._parsed_types) - before))
"""
    assert says(program) == "[]\n"


def test_types_read_at_once_are_those_cffi_reads_one_by_one() -> None:
    ffi = private.native().ffi
    names = [*private._ARRAYS, *private._OTHERS, "WGPUBufferDescriptor *", "WGPULimits *"]
    kept = {name: ffi._parsed_types.pop(name) for name in (*names, *private._FUNCTIONS)}
    for name, found in kept.items():
        with contextlib.suppress(cffi.CDefError):  # functions are no types to ask for
            ffi.typeof(name)
        read, ffi._parsed_types[name] = ffi._parsed_types[name], found
        assert read == found, name


def test_a_buffer_that_could_not_be_filled_is_not_given_out(fresh: dml.Device) -> None:
    """Whoever gets it has no other way to know."""
    buffer = fresh.wgpu_device.create_buffer(size=32, usage=USAGE)
    fresh.wgpu_device.queue.write_buffer(buffer, 0, ROW)
    sums = fresh.wrap(buffer, LINE).cumsum(0)
    buffer.destroy()
    with pytest.raises(dml.BindingError, match="destroyed"):
        sums.buffer  # noqa: B018


@pytest.mark.slow
def test_random_programs() -> None:
    cases, failed = fuzz_foreign.fuzz(seed=0, seconds=30, least=6)
    assert not failed, failed[0][-6000:]
    assert cases > 5


def test_a_finalizer_notes_a_use_while_uses_are_forgotten(fresh: dml.Device) -> None:
    context, serial = fresh.context, 10**9
    dropped: list[int] = []

    class Holder:
        def drop_call(self, key: Any) -> None:
            dropped.append(key)

    class Finalized:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            noted.append(1000 + len(noted))
            context.remember_use([serial], holder, noted[-1])
            if len(noted) < 200:
                Finalized()  # for the next collection

    holder: Any = Holder()
    noted: list[int] = []
    for key in range(100):
        context.remember_use([serial], holder, key)
    before = gc.get_threshold()
    Finalized()
    gc.set_threshold(1, 1, 1)
    try:
        context.forget(serial)
    finally:
        gc.set_threshold(*before)
    assert set(range(100)) <= set(dropped)


def test_what_a_handler_raised_in_a_callback_is_raised_by_the_same_submission(
    fresh: dml.Device,
) -> None:
    """C cannot pass it on, and calls back in submissions too, not only where someone waits."""
    x, call = counting(fresh)
    before = int(x.numpy()[1])
    call()
    private.Question._interrupted.append((threading.get_ident(), Stop()))
    with pytest.raises(Stop):
        fresh.flush()
    assert not private.Question._interrupted
    fresh.flush()
    assert int(x.numpy()[1]) == before + 1

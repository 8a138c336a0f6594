"""All that this library needs of wgpu-py and that has no public name, in one place.

Written for wgpu-py 0.32 with wgpu-native 29, and for cffi 1.17 to 2.x, whose record of the types
that it has read is looked at. `tests/test_private_names.py` holds all of these names, so that a
version that changes one of them is noticed by that name.

Most of it is the C interface below wgpu-py (webgpu.h and wgpu.h, which wgpu-py gives out as
`wgpu.backends.wgpu_native.lib`), called with the handle that each wgpu-py object keeps in
`_internal`. The reason is the same each time: a method of wgpu-py is Python, and a signal handler
or a finalizer may run between any two of its steps. When an exception comes out of
`GPUQueue.submit` nobody can tell whether the work was submitted, and `GPUBuffer.map_async` holds a
lock that a second map in a signal handler would wait for forever. A C function that is called by
another C function, as the iterators of itertools do, has nothing between.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import compress, count, starmap
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np

from dmlgpu.errors import DeviceError, DeviceLostError
from dmlgpu.gpu.copying import Bytes, Copying

if TYPE_CHECKING:
    from types import TracebackType

    from wgpu import classes

READ, WRITE = 1, 2  # WGPUMapMode
SUCCESS = 1  # WGPUMapAsyncStatus and WGPUQueueWorkDoneStatus
# Seconds of asking without a pause, on a GPU: the shortest pause lasts 60 us, a small read half of
# that, and pauses make the end of some milliseconds of work known up to half of one too late. Then
# pauses grow with the time waited, to this part of it. A CPU has better things to do.
SPIN = 20e-3
PAUSE = 1 / 32
LONGEST_PAUSE = 500e-6
LAST_WAIT = 10.0  # seconds that the end of the program waits for other threads' questions
# Times a device says it has nothing to do, and seconds, before an answer is taken for lost.
IDLE, LOST = 1000, 1.0


class Native(Protocol):
    """The part of wgpu.backends.wgpu_native that is used here; wgpu-py has no types for it."""

    lib: Any
    ffi: Any
    version_info: tuple[int, ...]


@cache
def native() -> Native:
    """wgpu-native; loaded when first needed, for that takes longer than all the rest together."""
    from wgpu.backends import wgpu_native

    with contextlib.suppress(Exception):  # without it all works, but starts later
        read_types(wgpu_native.ffi)
    return wgpu_native


# C types that are asked for until a device is open, as wgpu-py spells them.
_STRUCTS = """
    AdapterInfo BindGroupDescriptor BindGroupEntry BindGroupLayoutDescriptor BindGroupLayoutEntry
    BufferBindingLayout BufferDescriptor BufferMapCallbackInfo ChainedStruct CommandBufferDescriptor
    CommandEncoderDescriptor ComputePassDescriptor ComputePipelineDescriptor ComputeState
    ConstantEntry DeviceDescriptor DeviceExtras DeviceLostCallbackInfo InstanceDescriptor
    InstanceExtras Limits NativeLimits PassTimestampWrites QuerySetDescriptor QueueDescriptor
    QueueWorkDoneCallbackInfo RequestDeviceCallbackInfo ShaderModuleDescriptor ShaderSourceWGSL
    StringView UncapturedErrorCallbackInfo
""".split()  # noqa: SIM905  (one name to a line would be a page)
_ARRAYS = (
    *("WGPUAdapter[]", "WGPUBindGroupEntry[]", "WGPUBindGroupLayoutEntry[]", "WGPUCommandBuffer[]"),
    *("WGPUConstantEntry[]", "WGPUFeatureName[]", "char []", "uint32_t []", "uint8_t []"),
)
_FUNCTIONS = (
    "void(WGPUDevice const *, WGPUDeviceLostReason, WGPUStringView, void *, void *)",
    "void(WGPUDevice const *, WGPUErrorType, WGPUStringView, void *, void *)",
    "void(WGPURequestDeviceStatus, WGPUDevice, WGPUStringView, void *, void *)",
)
_OTHERS = (
    *("intptr_t", "uintptr_t", "void *", "uint8_t *", "WGPUChainedStruct * "),
    *("WGPUQueueWorkDoneCallback", "WGPUBufferMapCallback"),
)


def read_types(ffi: Any) -> None:
    """Reads the C types of `ffi` that are needed in one go.

    For each type that it is asked for by name, cffi runs a parser written in Python over all names
    of the header: 25 ms each, a second for those that opening a device needs. Here they are fields
    of one structure, which is read once, and go where cffi keeps those it has read.
    """
    plain = [*(f"WGPU{name} *" for name in _STRUCTS), *_OTHERS]
    fields = [f"{name} {{}}" for name in plain]
    fields += [name.replace("[]", " (*{})[]") for name in _ARRAYS]
    fields += [name.replace("(", " (*{})(", 1) for name in _FUNCTIONS]
    text = "".join(f"{field.format(f'f{i}')};" for i, field in enumerate(fields))
    ffi.cdef(f"struct dmlgpu_types {{ {text} }};")
    types = [field.type for _, field in ffi.typeof("struct dmlgpu_types").fields]
    for name, found in zip((*plain, *_ARRAYS, *_FUNCTIONS), types, strict=True):
        made = found.item if name in _ARRAYS else found
        ffi._parsed_types.setdefault(name, (made, name in _FUNCTIONS))


_asking: dict[int, int] = {}  # threads that are where C may call Python, by number
_numbers = count(1)
_ending: set[int] = set()  # threads that may still do so at the end of the program


def _asks() -> int:
    """Notes that this thread goes where C may call Python, under the number that is returned.

    At the end of the program Python ends every thread that wants to run, in a way that takes the
    process with it when there is Rust on the stack. So nobody is there by then: the program waits
    for those who are, and who comes later is ended here, in silence, as Python would do.
    """
    number, me = next(_numbers), threading.get_ident()
    _asking[number] = me
    if _ending and me not in _ending:
        del _asking[number]
        raise SystemExit
    return number


@atexit.register
def _end() -> None:
    """Waits for the questions of other threads."""
    _ending.add(threading.get_ident())
    end = time.monotonic() + LAST_WAIT
    while set(_asking.values()) - _ending and time.monotonic() < end:
        time.sleep(1e-3)


if hasattr(os, "register_at_fork"):  # a child has none of those threads
    os.register_at_fork(after_in_child=_asking.clear)


Made = TypeVar("Made")


def in_thread(function: Callable[[], Made]) -> Made:
    """What a function returns, run in a thread of its own, where no signal handler runs.

    cffi and Python's imports hold locks while they read something for the first time. A handler
    that interrupts them and needs the same lock would wait for itself; one that interrupts this
    waits for another thread, which goes on.
    """
    done = threading.Lock()
    done.acquire()
    made: list[Made] = []
    failed: list[BaseException] = []
    number = _asks()

    def run() -> None:
        try:
            if _ending:
                _ending.add(threading.get_ident())
            made.append(function())
        except BaseException as error:
            failed.append(error)
        finally:
            done.release()

    try:
        try:
            threading.Thread(target=run, daemon=True).start()
        except RuntimeError:  # there is no room for a thread, or the interpreter is about to end
            return function()
        done.acquire()
    finally:
        _asking.pop(number, None)
    if failed:
        raise failed.pop()
    return made.pop()


_warm: list[bool] = []


def warm_up(device: classes.GPUDevice) -> None:
    """Makes one of each object that the library makes, once per process; see `in_thread`."""
    if _warm:
        return
    _warm.append(True)
    with contextlib.suppress(Exception):  # what cannot be made on this device is made later
        text = """
            @group(0) @binding(0) var<storage, read_write> made: array<u32>;
            override ONE: u32 = 1;
            @compute @workgroup_size(1) fn main() { made[0] = ONE; }
        """
        module = device.create_shader_module(label="warm up", code=text)
        compute = {"module": module, "entry_point": "main", "constants": {"ONE": 1}}
        pipeline = device.create_compute_pipeline(layout="auto", compute=compute)
        storage = device.create_buffer_with_data(data=bytes(16), usage="STORAGE|COPY_SRC|COPY_DST")
        staging = device.create_buffer(size=16, usage="MAP_READ|COPY_DST")
        entry = {"binding": 0, "resource": {"buffer": storage, "offset": 0, "size": 16}}
        layout = pipeline.get_bind_group_layout(0)
        group = device.create_bind_group(layout=layout, entries=[entry])
        kind = {"binding": 0, "visibility": "COMPUTE", "buffer": {"type": "read-only-storage"}}
        layout = device.create_bind_group_layout(entries=[kind])
        device.create_bind_group(layout=layout, entries=[entry])
        encoder = device.create_command_encoder()
        writes = None
        if "timestamp-query" in device.features:
            queries = device.create_query_set(type="timestamp", count=2)
            writes = {
                "query_set": queries,
                "beginning_of_pass_write_index": 0,
                "end_of_pass_write_index": 1,
            }
        inside = encoder.begin_compute_pass(timestamp_writes=writes)
        inside.set_pipeline(pipeline)
        inside.set_bind_group(0, group)
        inside.dispatch_workgroups(1, 1)
        inside.end()
        encoder.copy_buffer_to_buffer(storage, 0, staging, 0, 16)
        device.queue.write_buffer(storage, 0, bytes(16))
        submit_once(device.queue, finished(handle(encoder)), [True], [], None)
        wait_for_queue(device, device.queue)
        mapping = HostMap(device, staging)
        mapping.wait(READ, 0, 16)
        mapping.read(0, np.empty(16, np.uint8))
        mapping.end()
        timestamp_period(device.queue)


def handle(made: classes.GPUObjectBase) -> Any:
    """The C handle of a wgpu-py object. wgpu-py shows it to nobody."""
    return made._internal


def poller(device: classes.GPUDevice) -> Callable[[], object]:
    """What returns None once a device is destroyed; asked on every call, so without any Python."""
    return partial(getattr, device, "_poller", None)


def is_destroyed(device: classes.GPUDevice) -> bool:
    """Whether someone has called `device.destroy()`. wgpu-py has no `device.lost` yet."""
    return getattr(device, "_poller", None) is None


def device_of(buffer: classes.GPUBuffer) -> classes.GPUDevice:
    """The device that made a buffer. WebGPU has no name for it; binding it elsewhere is fatal."""
    device: classes.GPUDevice = buffer._device
    return device


def forget_instance() -> None:
    """Lets the next question for adapters make a new instance.

    An instance has the backends it was made with. wgpu-py makes one and offers no second; this is
    needed only on machines whose sole adapter is OpenGL's.
    """
    from wgpu.backends.wgpu_native import _helpers

    _helpers._the_instance = None


def timestamp_period(queue: classes.GPUQueue) -> float:
    """Nanoseconds of one tick of a timestamp: 1 on some adapters, 10 or 83.3 on others."""
    return float(native().lib.wgpuQueueGetTimestampPeriod(handle(queue)))


def submit_once(
    queue: classes.GPUQueue,
    commands: Any,
    permit: list[bool],
    won: list[tuple[None, Any]],
    attempt: Any,
) -> None:
    """Submits the handle of a command buffer if `permit` still holds an entry.

    Then `won` gets (None, attempt). Taking the permit, submitting and noting it are one step: no
    Python runs in between, so that whatever interrupts the caller, `won` says truly whether the
    work is on its way.
    """
    lib, ffi = native().lib, native().ffi
    array = ffi.new("WGPUCommandBuffer[]", [commands])
    call = (handle(queue), 1, array)
    permitted = compress((call,), iter(permit.pop, None))
    with contextlib.suppress(IndexError):  # there is no permit left: it was submitted before
        won.extend(zip(starmap(lib.wgpuQueueSubmit, permitted), (attempt,), strict=False))
    raise_interrupted()


class Held:
    """The handle of an object of wgpu-native, where wgpu-py has one too; released with this."""

    __slots__ = ("_internal",)

    def __init__(self, made: Any, release: Any) -> None:
        self._internal = native().ffi.gc(made, release)


def bound(
    device: classes.GPUDevice,
    layout: classes.GPUBindGroupLayout,
    entries: Iterable[tuple[int, classes.GPUBuffer, int, int]],
) -> Held:
    """A bind group of (binding, buffer, offset, size); wgpu-py takes three times as long."""
    ffi = native().ffi
    given = [
        {"binding": binding, "buffer": handle(buffer), "offset": offset, "size": size}
        for binding, buffer, offset, size in entries
    ]
    array = ffi.new("WGPUBindGroupEntry[]", given)
    group = {"layout": handle(layout), "entryCount": len(given), "entries": array}
    desc = ffi.new("WGPUBindGroupDescriptor *", group)
    made = checked().wgpuDeviceCreateBindGroup(handle(device), desc)
    return Held(made, native().lib.wgpuBindGroupRelease)


def write_now(
    device: classes.GPUDevice, buffer: classes.GPUBuffer, offset: int, data: bytes
) -> None:
    """Writes few bytes before whatever is submitted next; wgpu-py takes three times as long."""
    queue, given = handle(device.queue), native().ffi.from_buffer(data)
    checked().wgpuQueueWriteBuffer(queue, handle(buffer), offset, given, len(data))


@cache
def checked() -> Any:
    """The functions of wgpu-native as wgpu-py calls them: raising the errors that they report."""
    from wgpu.backends.wgpu_native._api import libf

    return libf


def trusted_module(
    device: classes.GPUDevice, label: str, text: str, *, bounds: bool
) -> classes.GPUShaderModule:
    """A shader module to which wgpu adds no turn counters of loops and, without `bounds`, no checks
    of indices: what the text does is its own business.
    """
    from wgpu.backends.wgpu_native._api import GPUShaderModule

    lib, ffi = native().lib, native().ffi
    code, name = ffi.from_buffer(text.encode()), ffi.from_buffer(label.encode())
    source = ffi.new("WGPUShaderSourceWGSL *", {"code": {"data": code, "length": len(code)}})
    source.chain.sType = lib.WGPUSType_ShaderSourceWGSL
    described = {"nextInChain": ffi.addressof(source.chain), "label": (name, len(name))}
    given = ffi.new("WGPUShaderModuleDescriptor *", described)
    module = checked().wgpuDeviceCreateShaderModuleTrusted(handle(device), given, int(bounds))
    made: classes.GPUShaderModule = GPUShaderModule(label, module, device)  # type: ignore[no-untyped-call]
    return made


def encoder_of(device: classes.GPUDevice) -> Any:
    """The handle of a new command encoder."""
    made = native().lib.wgpuDeviceCreateCommandEncoder(handle(device), native().ffi.NULL)
    return native().ffi.gc(made, native().lib.wgpuCommandEncoderRelease)


def compute_pass(encoder: Any, dispatches: Iterable[tuple[Any, Any, int, int]]) -> None:
    """Adds a pass with these dispatches to an encoder."""
    lib, ffi = native().lib, native().ffi
    made = lib.wgpuCommandEncoderBeginComputePass(encoder, ffi.NULL)
    end_pass(ffi.gc(made, lib.wgpuComputePassEncoderRelease), dispatches)


def end_pass(inside: Any, dispatches: Iterable[tuple[Any, Any, int, int]]) -> None:
    """Adds dispatches to a pass, by its handle, and ends it."""
    lib, null, last = native().lib, native().ffi.NULL, None
    set_pipeline = lib.wgpuComputePassEncoderSetPipeline
    set_group = lib.wgpuComputePassEncoderSetBindGroup
    dispatch = lib.wgpuComputePassEncoderDispatchWorkgroups
    for pipeline, group, x, y in dispatches:
        if pipeline is not last:
            set_pipeline(inside, pipeline._internal)
            last = pipeline
        set_group(inside, 0, group._internal, 0, null)
        dispatch(inside, x, y, 1)
    lib.wgpuComputePassEncoderEnd(inside)


def copy_bytes(encoder: Any, copies: Iterable[tuple[Any, int, Any, int, int]]) -> None:
    """Adds copies between buffers, outside of any pass, to an encoder."""
    copy = native().lib.wgpuCommandEncoderCopyBufferToBuffer
    for source, start, target, to, size in copies:
        copy(encoder, handle(source), start, handle(target), to, size)


def finished(encoder: Any) -> Any:
    """The handle of an encoder's command buffer; errors of its commands are raised here."""
    made = checked().wgpuCommandEncoderFinish(encoder, native().ffi.NULL)
    return native().ffi.gc(made, native().lib.wgpuCommandBufferRelease)


def shown(device: classes.GPUDevice, encoder: Any) -> classes.GPUCommandEncoder:
    """The object of wgpu-py for the handle of an encoder."""
    from wgpu.backends.wgpu_native._api import GPUCommandEncoder

    native().lib.wgpuCommandEncoderAddRef(encoder)  # which the object gives back
    made: classes.GPUCommandEncoder = GPUCommandEncoder("", encoder, device)  # type: ignore[no-untyped-call]
    return made


class Question:
    """Something asked of the device, which answers by a callback while it is polled."""

    _open: ClassVar[dict[int, list[int]]] = {}  # where the answers go, by number
    # What signal handlers raised, and in which thread.
    _interrupted: ClassVar[list[tuple[int, BaseException]]] = []

    def __init__(self, device: classes.GPUDevice) -> None:
        self._device = device
        self._number = _asks()
        self.answer: list[int] = []

    def __enter__(self) -> Question:
        return self

    def __exit__(self, *_: object) -> None:
        _asking.pop(self._number, None)

    def arguments(self, given: tuple[Any, ...], kind: str) -> tuple[Any, ...]:
        """Arguments of a C function, with this question's callback at the end."""
        ffi = native().ffi
        info_type, pointer, mode, callback = _callback(kind)
        Question._open[self._number] = self.answer
        info = ffi.new(info_type)
        info.mode = mode
        info.callback = callback
        info.userdata1 = ffi.cast(pointer, self._number)
        return (*given, info[0])

    def wait(self, what: str) -> None:
        """Returns when it is answered, or the device has nothing to do and the answer was lost.

        Polls in this thread, so that Ctrl-C is heard meanwhile.
        """
        began = time.perf_counter()
        spin = 0 if self._device.adapter.info["adapter_type"] == "CPU" else SPIN
        idle, waited = 0, 0.0
        while not self.answer and (idle < IDLE or waited < LOST):
            if is_destroyed(self._device):
                raise DeviceLostError(f"the GPU device was lost while {what}")
            idle += poll(self._device)
            waited = time.perf_counter() - began
            if not self.answer and waited >= spin:
                time.sleep(min(PAUSE * waited, LONGEST_PAUSE))
        if self.answer and self.answer[0] != SUCCESS:
            if is_destroyed(self._device):
                raise DeviceLostError(f"the GPU device was lost while {what}")
            raise DeviceError(f"the adapter failed while {what}: status {self.answer[0]}")


def poll(device: classes.GPUDevice) -> bool:
    """Lets the device answer what it can; whether it has nothing left to do.

    wgpu-py polls in a thread of its own, in which finalizers of the program may run and wait for
    whoever waits for that thread.
    """
    found = native().lib.wgpuDevicePoll(handle(device), False, native().ffi.NULL)
    raise_interrupted()
    # Declared to return 32 bits, but made by a Rust function that sets the lowest 8.
    return bool(found & 0xFF)


def raise_interrupted() -> None:
    """Raises what a signal handler raised in this thread while C called back.

    To be called behind whatever may call back: polling, submitting, unmapping.
    """
    if Question._interrupted:
        mine = [entry for entry in Question._interrupted if entry[0] == threading.get_ident()]
        for entry in mine:
            with contextlib.suppress(ValueError):
                Question._interrupted.remove(entry)
            raise entry[1]


def _answered(status: int, _message: object, number: Any, _unused: object) -> None:
    """What C calls with an answer."""
    ffi = native().ffi
    Question._open.pop(int(ffi.cast("uintptr_t", number)), []).append(int(status))


def _interrupted(
    _kind: type[BaseException], value: BaseException, trace: TracebackType | None
) -> None:
    """A signal handler raised inside `_answered`: C cannot pass that on; raise_interrupted does."""
    Question._interrupted.append((threading.get_ident(), value))
    if trace is not None and trace.tb_frame.f_code is _answered.__code__:
        given = trace.tb_frame.f_locals
        _answered(given["status"], None, given["number"], None)


@cache
def _callback(kind: str) -> tuple[Any, ...]:
    """What questions of a kind are asked with: two C types, when to call back, and what.

    There is one callback for all, which is never freed: C may call it at any time.
    """
    lib, ffi = native().lib, native().ffi
    types = ffi.typeof(f"WGPU{kind}CallbackInfo *"), ffi.typeof("void *")
    callback = ffi.callback(f"WGPU{kind}Callback", _answered, onerror=_interrupted)
    return (*types, lib.WGPUCallbackMode_AllowProcessEvents, callback)


def is_idle(device: classes.GPUDevice, polls: int = 1) -> bool:
    """Whether a device has nothing to do, asked until it says so, but only so often."""
    with Question(device):
        for _ in range(polls):
            if is_destroyed(device):
                break
            if poll(device):
                return True
    return False


def wait_for_queue(device: classes.GPUDevice, queue: classes.GPUQueue) -> None:
    """Returns when all that was submitted so far is done."""
    with Question(device) as question:
        call = question.arguments((handle(queue),), "QueueWorkDone")
        native().lib.wgpuQueueOnSubmittedWorkDone(*call)
        question.wait("waiting for the GPU")


def stays_mapped(device: classes.GPUDevice) -> bool:
    """Whether the host goes on seeing memory where it was mapped once, for as long as it lasts.

    WebGPU does not say so. On Vulkan wgpu-native 29 maps memory whole when it gets it from the
    driver, always coherent; mapping a buffer there means to say where in it the buffer lies, and
    unmapping does nothing.
    """
    vulkan = device.adapter.info["backend_type"] == "Vulkan"
    return vulkan and native().version_info[0] == 29


def see(buffer: classes.GPUBuffer) -> None:
    """Notes where the host sees a buffer that is mapped; see `stays_mapped`."""
    lib, ffi = native().lib, native().ffi
    found = lib.wgpuBufferGetMappedRange(handle(buffer), 0, buffer.size)
    buffer._dmlgpu_seen = np.frombuffer(ffi.buffer(found, buffer.size), np.uint8)  # type: ignore[attr-defined]


def seen(buffer: classes.GPUBuffer) -> Bytes | None:
    """A buffer's bytes where the host sees them; valid until it is destroyed."""
    view: Bytes | None = getattr(buffer, "_dmlgpu_seen", None)
    return view


class HostMap(Copying):
    """Bytes of a staging buffer that the host reads or writes in place, until `end`.

    wgpu-py's own record of the buffer, `map_state`, is not touched.
    """

    def __init__(self, device: classes.GPUDevice, buffer: classes.GPUBuffer) -> None:
        super().__init__()
        self._device = device
        self._buffer = buffer
        self._requested: list[Any] = []  # has an entry from the request until the end

    def wait(self, mode: int, offset: int, size: int) -> None:
        """Maps the bytes, when the work submitted so far is done with them."""
        if is_destroyed(self._device):
            raise DeviceLostError("the GPU device was lost before a transfer")
        with Question(self._device) as question:
            self._ask(question, mode, offset, size)

    def _ask(self, question: Question, mode: int, offset: int, size: int) -> None:
        call = question.arguments((handle(self._buffer), mode, offset, size), "BufferMap")
        # The entry says that there is something to unmap; it is there as soon as C has been called.
        self._requested.extend(starmap(native().lib.wgpuBufferMapAsync, (call,)))
        try:
            question.wait(f"mapping {size} bytes")
            if not question.answer:
                raise DeviceError(f"the adapter did not answer while mapping {size} bytes")
        except DeviceError:
            if question.answer:  # refused: there is nothing to unmap
                self._requested.clear()
            raise

    def _view(self, offset: int, size: int) -> Bytes | None:
        """The bytes, or None after the end: C ends the process when asked for them then."""
        lib, ffi = native().lib, native().ffi
        call = (handle(self._buffer), offset, size)
        found = list(starmap(lib.wgpuBufferGetMappedRange, compress((call,), self._requested)))
        return np.frombuffer(ffi.buffer(found[0], size), np.uint8) if found else None

    def read(self, offset: int, target: Bytes) -> bool:
        """Copies bytes to host memory; False when the end came before all were copied."""
        view = self._view(offset, target.nbytes)
        return view is not None and self.copy(target, view)

    def write(self, offset: int, data: Bytes) -> bool:
        """Copies bytes from host memory; False when the end came before all were copied."""
        size = -(-data.nbytes // 4) * 4
        view = self._view(offset, size)
        return view is not None and self.copy(view[: data.nbytes], data)

    def end(self) -> None:
        """Unmaps, or calls off a map that is pending; does nothing the second time."""
        super().end()
        if not self._requested:
            return
        lib = native().lib
        call = (handle(self._buffer),)
        with contextlib.suppress(IndexError):  # something has interrupted this and ended it
            list(starmap(lib.wgpuBufferUnmap, compress((call,), iter(self._requested.pop, None))))
        raise_interrupted()

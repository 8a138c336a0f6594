"""Context: what executables, read-back and profiles need of an open device, and nothing more."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Protocol
from weakref import WeakSet

from dmlgpu.errors import DeviceError, DeviceLostError, OutOfMemoryError
from dmlgpu.gpu.adapters import memory_of
from dmlgpu.gpu.foreign import check
from dmlgpu.gpu.gpu import Gpu
from dmlgpu.gpu.memory import Lease, Memory, Pool, Storage
from dmlgpu.gpu.objects import Buffer, Pipeline
from dmlgpu.gpu.parameters import Parameters
from dmlgpu.gpu.recording import Call, Recording
from dmlgpu.gpu.transfer import Transfers
from dmlgpu.plan.dispatch import SMALL, Adapter, Dispatch, Plan
from dmlgpu.runtime import forward_progress
from dmlgpu.runtime.dump import dump_wgsl
from dmlgpu.wgsl.assembly import Access, Shader, assemble

PIPELINE_LIMIT = 512  # compiled shaders a device keeps: a software driver needs 1 to 6 MiB for each
# Parts of memory, of which one is kept for reuse: of a GPU's own, and of what the host has, too.
KEPT = {"discrete": 2, "cpu": 32}
KEPT_ELSEWHERE = 4
UNKNOWN = 16 << 30  # bytes of memory, where nobody tells


class Bound(Protocol):
    """Something that keeps calls bound to buffers and pipelines."""

    def drop_call(self, key: Hashable) -> None:
        """Forgets a bound call; the next one like it binds anew."""

    def drop_pipelines(self) -> None:
        """Forgets every bound call, and whatever else has pipelines."""


def facts_of(gpu: Gpu) -> Adapter:
    """What plans may know of a device."""
    return Adapter(
        is_cpu=gpu.is_cpu,
        subgroup_min=gpu.subgroup_min,
        subgroup_max=gpu.subgroup_max,
        exact_floats=gpu.exact_floats,
        wide_integers=gpu.wide_integers,
        # A guess, until the first plan that waits has it probed.
        forward_progress=forward_progress.is_candidate(gpu.info),
        max_workgroup_size=gpu.max_workgroup_size,
        max_workgroup_storage=gpu.max_workgroup_storage,
        max_binding=gpu.max_binding,
        shaped_from=0 if gpu.is_cpu else SMALL,
    )


class Context:
    """One open wgpu device with its memory, its queue, and the pipelines made for it."""

    def __init__(self, gpu: Gpu, debug: bool) -> None:
        self.gpu = gpu
        self.debug = debug
        gpu.checked |= debug
        self.lock = threading.RLock()
        self.recording = Recording(gpu)
        self.transfers = Transfers(gpu, self.recording)
        self.parameters = Parameters(gpu)
        # Takes a bound call; the lock must be held.
        self.record: Callable[[Call], None] = self.recording.append
        self.closed = ""
        self.facts = facts_of(gpu)
        self._process = os.getpid()
        # Those used last at the end, each with who binds calls to it.
        self._pipelines: OrderedDict[Hashable, tuple[Pipeline, Shader, WeakSet[Bound]]]
        self._pipelines = OrderedDict()
        self._scratch: dict[int | str, Lease] = {}
        self._uses: dict[int, dict[tuple[int, Hashable], Bound]] = {}
        self.pool = Pool(gpu.buffer, self, gpu.max_buffer)
        self.recording.trim = self.pool.trim
        # Room for so many bytes; the lock must be held.
        self.take: Callable[[int], Lease] = self.pool.take

    @property
    def is_usable(self) -> bool:
        """Whether the device is open and belongs to this process."""
        return not self.gpu.is_gone

    @property
    def is_of_this_process(self) -> bool:
        """Whether the device was opened by this process, not by one that forked it."""
        return os.getpid() == self._process

    def check_usable(self) -> None:
        """Raises when the device is closed, lost, or belongs to another process."""
        gpu = self.gpu
        if gpu.is_gone:
            if not self.closed and not gpu.lost:
                self.check_process()
            raise DeviceLostError(self.closed or gpu.lost or "the wgpu device was destroyed")

    def check_process(self) -> None:
        """Raises when the device belongs to another process."""
        if os.getpid() != self._process:
            raise DeviceError(
                "this device was made in another process; open one there, in a process that was "
                "started with the method spawn"
            )

    def probed_facts(self) -> Adapter:
        """What plans may know of the adapter, of which forward progress is no longer a guess."""
        if self.facts.forward_progress and not forward_progress.holds(self.gpu):
            self.facts = replace(self.facts, forward_progress=False)
        return self.facts

    def plan(self, planned: Callable[[Adapter], Plan]) -> Plan:
        """A plan for this adapter; before the first one that waits, forward progress is probed."""
        guessed = self.facts
        made = planned(guessed)
        if made.waits and self.probed_facts() is not guessed:
            made = planned(self.facts)
        return made

    def close(self, whole: bool) -> None:
        """Lets pipelines, recorded work, staging and tensor memory go.

        Buffers that were shown outside stay, unless the `whole` device goes.
        """
        self._pipelines.clear()
        self.recording.clear()
        self.transfers.close()
        self._uses.clear()
        self._scratch.clear()
        self.pool.close(whole)

    def memory(self) -> Memory:
        """Bytes held by tensors and kept for reuse."""
        self.check_process()
        with self.lock:
            return self.pool.memory()

    def room(self) -> int:
        """Bytes that may be kept for reuse: a part of what the adapter has."""
        info = self.gpu.info
        return (memory_of(info) or UNKNOWN) // KEPT.get(info.kind, KEPT_ELSEWHERE)

    def release(self) -> None:
        """Gives back what is kept for reuse, and the memory for the inside of calls."""
        self.finish()
        with self.lock:
            self._scratch.clear()
            self.pool.clear()

    def is_recorded(self, storage: Storage) -> bool:
        """Whether recorded but unsubmitted work uses it."""
        return storage.batch.is_waiting

    def check_intact(self, storage: Storage) -> None:
        """Raises when a tensor's bytes are known to be lost; more is known after a submission."""
        if storage.note is not None:
            check(storage, "the tensor")

    def show(self, lease: Lease) -> Buffer:
        """The buffer behind a tensor, for someone outside.

        What is recorded with it is submitted, so that what they submit comes after; and from now
        on the buffer is theirs as well: it is never used for another tensor. Raises where reading
        would: they could not know that the buffer does not hold what it should.
        """
        storage = lease.storage
        if not storage.shared and self.is_usable:
            with self.lock:
                if self.is_recorded(storage):
                    self.recording.mark_risky()
                    self.recording.submit()
                self.check_intact(storage)  # it may be known since an earlier submission
                self.pool.show(lease)
        return storage.buffer

    def finish(self) -> None:
        """Returns when the GPU is idle, or there is not even the memory to ask it."""
        with contextlib.suppress(OutOfMemoryError):
            self.transfers.wait()

    def probe(self, buffer: Buffer) -> None:
        """Raises when a buffer made elsewhere cannot be used."""
        self.gpu.probe(buffer)

    def scratch(self, place: int | str, size: int) -> Lease:
        """Memory for the inside of one call, which all share in turn; by name, zeros at first."""
        lease = self._scratch.get(place)
        if lease is None or lease.storage.size < size:
            if lease is not None:
                self.forget(lease.storage.serial)
            new = self.pool.take if isinstance(place, int) else self.pool.fresh
            lease = self._scratch[place] = new(size)
        return lease

    def pipeline(
        self, dispatch: Dispatch, access: Mapping[str, Access], user: Bound
    ) -> tuple[Pipeline, Shader]:
        """The pipeline of a dispatch whose tensors are reached as `access` says.

        It is kept for whoever asks again; where there are too many, those who use the one that was
        asked for longest ago forget it.
        """
        key = (
            dispatch.shader,
            tuple(sorted(dispatch.slots.items())),
            dispatch.code,
            dispatch.entry,
            tuple(sorted(dispatch.constants.items())),
            tuple(sorted(access.items(), key=lambda item: item[0])),
        )
        found = self._pipelines.get(key)
        if found is None:
            shader = assemble(dispatch.shader, dispatch.slots, access, dispatch.code)
            dump_wgsl(shader, dispatch)
            pipeline = self.gpu.pipeline(
                shader.label, shader.text, dispatch.entry, dispatch.constants
            )
            found = self._pipelines[key] = (pipeline, shader, WeakSet())
            if len(self._pipelines) > PIPELINE_LIMIT:
                _, (*_, users) = self._pipelines.popitem(last=False)
                for other in list(users):
                    other.drop_pipelines()
        else:
            self._pipelines.move_to_end(key)
        found[2].add(user)
        return found[:2]

    def remember_use(self, serials: Iterable[int], holder: Bound, key: Hashable) -> None:
        """Notes that a kept call uses these buffers, to be dropped when one of them goes."""
        for serial in serials:
            self._uses.setdefault(serial, {})[id(holder), key] = holder

    def forget_use(self, serials: Iterable[int], holder: Bound, key: Hashable) -> None:
        """The kept call is gone."""
        for serial in serials:
            self._uses.get(serial, {}).pop((id(holder), key), None)

    def forget(self, serial: int) -> None:
        """A buffer is gone: so are the calls that were bound to it.

        Finalizers that run meanwhile may note further uses. A copy is made in one step; a list of
        items is not, since it makes tuples, which Python may count as reason to collect garbage.
        """
        for (_, key), holder in self._uses.get(serial, {}).copy().items():
            holder.drop_call(key)
        self._uses.pop(serial, None)

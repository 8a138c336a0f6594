"""Workers with a device: which adapter each has, what it holds, and what a loss of it does."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, NamedTuple

import dask
import distributed
import numpy.typing as npt
import zict
from dask.sizeof import sizeof
from dask.utils import parse_bytes
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.system import MEMORY_LIMIT
from distributed.worker import Worker
from tornado.ioloop import PeriodicCallback

from dmlgpu.device import Device
from dmlgpu.errors import InvalidDescError
from dmlgpu.functions import default_device, tensor
from dmlgpu.gpu.adapters import AdapterInfo, adapters, choose, memory_of
from dmlgpu.tensor import Tensor

logger = logging.getLogger(__name__)
LIMIT = "dmlgpu.device-memory-limit"  # in Dask's configuration
SHARE = 0.8  # of a GPU's memory, for chunks: the rest is for the inside of calls
WATCH_MS = 200
RESTART = "180s"


class OnHost(NamedTuple):
    """A tensor that was moved to host memory, to be moved back when it is asked for."""

    values: npt.NDArray[Any]


sizeof.register(OnHost, lambda spilled: int(spilled.values.nbytes))


def to_host(x: Tensor) -> OnHost:
    """Spills a tensor; its bytes on the device are free when nobody else uses it."""
    return OnHost(x.numpy())


def to_device(x: OnHost) -> Tensor:
    """Brings a spilled tensor back."""
    return tensor(x.values)


MOST_HELD = 2  # times its own bytes that a chunk which is a view may hold


class DeviceHostFile(MutableMapping[Any, Any]):
    """The results that a worker keeps: tensors on the device, and the rest in another mapping.

    Where tensors need more than the limit, those used least recently move to host memory, and from
    there to disk where `host` is a mapping that spills, as Dask's is.
    """

    def __init__(self, host: MutableMapping[Any, Any], device_memory_limit: int) -> None:
        self.host = host
        self.device_memory_limit = device_memory_limit
        below: zict.Func[Any, Any, Any] = zict.Func(to_host, to_device, host)
        self.device: zict.Buffer[Any, Any] = zict.Buffer(
            {}, below, n=device_memory_limit, weight=lambda _, x: x.nbytes
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, Tensor):
            # A view holds all of its tensor's memory, which nobody would count.
            is_small = value.base is not None and value.storage.size > MOST_HELD * value.nbytes
            self.device[key] = value.copy() if value.size and is_small else value
        else:
            self.device.fast.pop(key, None)
            self.host[key] = value

    def __getitem__(self, key: Any) -> Any:
        if key in self.device.fast:
            return self.device[key]
        value = self.host[key]
        return self.device[key] if isinstance(value, OnHost) else value

    def __delitem__(self, key: Any) -> None:
        del self.device[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.device)

    def __len__(self) -> int:
        return len(self.device)

    def __contains__(self, key: object) -> bool:
        return key in self.device

    @property
    def device_bytes(self) -> int:
        """Bytes of the tensors that lie on the device."""
        return int(self.device.fast.total_weight)

    def evict_device(self) -> bool:
        """Moves the tensor that was used least recently to host memory, if there is one."""
        if not self.device.fast:
            return False
        self.device.fast.evict()
        return True

    @property
    def fast(self) -> Any:
        """What the worker moves to disk where its process needs too much memory."""
        return getattr(self.host, "fast", {})

    def evict(self) -> int:
        """Moves something from host memory to disk; returns its bytes, or -1."""
        return int(self.host.evict()) if hasattr(self.host, "evict") else -1

    @property
    def spilled_total(self) -> Any:
        """What lies on disk, for Dask's dashboard."""
        return getattr(self.host, "spilled_total", (0, 0))


def device_memory_limit(device: Device) -> int | None:
    """Bytes that a worker's chunks may have on its device, as Dask's configuration says."""
    asked = dask.config.get(LIMIT, "auto")
    if asked in (None, 0, "0", "none"):
        return None
    if asked != "auto":
        return int(parse_bytes(asked))
    if device.adapter.kind != "discrete":
        return None  # Dask watches the memory of the host
    known = memory_of(device.adapter)
    if known is None:
        logger.warning("the memory of %s is unknown; set %s", device.adapter, LIMIT)
    return None if known is None else int(known * SHARE)


class DevicePlugin(WorkerPlugin):
    """Opens the device of a worker, keeps its chunks within a limit, and watches over it.

    A worker whose device was lost ends its process before it reports an error: its nanny starts it
    again with a new device, and the scheduler computes anew what it held.
    """

    name = "dmlgpu"

    def setup(self, worker: Worker) -> None:
        """Called by the worker before it asks for tasks."""
        self.device = default_device()
        limit = device_memory_limit(self.device)
        self.data: DeviceHostFile | None = None
        if limit is not None:
            self.data = DeviceHostFile(worker.data, limit)
            worker.memory_manager.data = worker.state.data = self.data
        worker.metrics["dmlgpu"] = self.metrics
        watch = PeriodicCallback(self.watch, WATCH_MS)
        worker.periodic_callbacks["dmlgpu"] = watch

    def metrics(self, worker: Worker) -> dict[str, Any]:
        """What the scheduler is told of the device with every heartbeat."""
        memory = self.device.memory
        return {
            "adapter": str(self.device.adapter),
            "device-memory-in-use": memory.in_use,
            "device-memory-pooled": memory.pooled,
            "device-memory-limit": None if self.data is None else self.data.device_memory_limit,
        }

    def watch(self) -> None:
        """Ends the process of a lost device; spills while the device holds more than it may."""
        if not self.device.is_usable:
            restart("the device was lost")
        if self.data is not None:
            while self.device.memory.in_use > self.data.device_memory_limit:
                if not self.data.evict_device():
                    break

    def transition(self, key: Any, start: Any, finish: Any, **kwargs: Any) -> None:
        """Called before the scheduler hears of a task that has ended."""
        if finish == "error" and not self.device.is_usable:
            restart(f"the device was lost while {key!r} ran")
        if finish == "memory" and self.device.is_usable:
            self.device.flush()  # the GPU works on it while the worker prepares the next one


def restart(why: str) -> None:
    """Ends this process at once; a nanny starts it again."""
    logger.error("%s; the worker starts again with a new device", why)
    logging.shutdown()
    os._exit(1)


async def dask_setup(server: Any) -> None:
    """Called by `dask worker --preload dmlgpu.dask`; a scheduler has nothing to set up."""
    if isinstance(server, Worker):
        await server.plugin_add(DevicePlugin(), catch_errors=False)


def best_adapters() -> list[AdapterInfo]:
    """The adapters of the best kind on this machine, each once: those of one backend."""
    best, _ = choose(None)
    return [info for info in adapters() if (info.kind, info.backend) == (best.kind, best.backend)]


class LocalCluster(distributed.LocalCluster):
    """Dask's LocalCluster with a worker process for each adapter of this machine.

    `adapters` are parts of names or entries of `dml.adapters()`, one for each worker; by default
    all of the best kind. Several workers may share one: more workers than adapters take turns.
    `device_memory_limit` bounds the chunks that a worker has on its device, in bytes or as "8 GiB";
    what is above it goes to host memory, and from there to disk above `memory_limit`. "auto" is
    0.8 of a GPU's own memory; on a CPU adapter it is None, for there `memory_limit` sees it all.

    >>> cluster = dmlgpu.dask.LocalCluster()  # doctest: +SKIP
    """

    def __init__(
        self,
        adapters: Sequence[AdapterInfo | str] | None = None,
        *,
        n_workers: int | None = None,
        threads_per_worker: int = 1,
        device_memory_limit: int | str | None = "auto",
        **named: Any,
    ) -> None:
        chosen = best_adapters() if adapters is None else [choose(a)[0] for a in adapters]
        if not chosen:
            raise InvalidDescError("LocalCluster: adapters is empty; at least one is needed")
        if named.get("processes", True) is not True:
            raise InvalidDescError("LocalCluster: processes is False; a device has its own process")
        self.adapters = chosen
        self._limit = "none" if device_memory_limit is None else str(device_memory_limit)
        preload = [*named.pop("preload", ()), "dmlgpu.dask"]
        environment = named.pop("env", None) or {}
        count = len(chosen) if n_workers is None else n_workers
        named.setdefault("memory_limit", MEMORY_LIMIT // max(1, count))
        super().__init__(
            n_workers=0,
            threads_per_worker=threads_per_worker,
            preload=preload,
            env=environment,
            **named,
        )
        for _ in range(count):
            self.worker_spec.update(self.new_worker_spec())
        if not self.asynchronous:  # else `await` starts them
            self.sync(self._correct_state)

    def _update_worker_status(self, op: str, msg: Any) -> None:
        # A worker that starts again opens its device first, which may take longer than Dask waits.
        with dask.config.set({"distributed.deploy.lost-worker-timeout": RESTART}):
            super()._update_worker_status(op, msg)

    def new_worker_spec(self) -> dict[Any, Any]:
        """The next worker, bound to the next adapter."""
        ((name, spec),) = super().new_worker_spec().items()
        adapter = self.adapters[int(name) % len(self.adapters)]
        own = {
            "DMLGPU_ADAPTER": f"#{adapter.index}",
            "DASK_DMLGPU__DEVICE_MEMORY_LIMIT": self._limit,
        }
        options = {**spec["options"], "env": {**spec["options"]["env"], **own}}
        return {name: {**spec, "options": options}}

"""CompiledOperator: a validated description, its plan, and the calls it has been bound to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dmlgpu.array import Tensor, laid_out
from dmlgpu.errors import BindingError, DeviceError, UnsupportedError
from dmlgpu.memory import Lease
from dmlgpu.operator import Dispatch, Operator, Plan
from dmlgpu.reach import UNIT, Range, grid, reach, window
from dmlgpu.recording import Call
from dmlgpu.tensor import TensorDesc, as_array
from dmlgpu.traffic import traffic
from dmlgpu.watch import check as check_intact
from dmlgpu.wgsl import binds, pack_params

if TYPE_CHECKING:
    from dmlgpu.device import Device

CALL_LIMIT = 256  # bound calls one operator keeps
COPY_SRC, COPY_DST = 4, 8  # bits of a buffer's usage


class CompiledOperator:
    """Runs one description: `out = op(x)`. Made by `Device.compile`.

    Inputs come in the description's order, as tensors or arrays. `op(x, out=y)` writes into a
    tensor that exists, which may be the input where the operator can run in place.
    """

    def __init__(self, device: Device, operator: Operator[Any], desc: Any) -> None:
        self.device = device
        self.operator = operator
        self.desc = desc
        self.input_descs: tuple[TensorDesc, ...] = tuple(
            getattr(desc, name) for name in operator.inputs
        )
        self.output_desc: TensorDesc = getattr(desc, operator.tensors[-1])
        for name, tensor in zip(operator.inputs, self.input_descs, strict=True):
            if tensor.flags:
                raise UnsupportedError(
                    f"{operator.name}: {name} is OWNED_BY_DML, which needs an initializer; "
                    "this device binds every tensor at execution"
                )
        self.plan: Plan = device.gpu.plan(partial(operator.plan, desc))
        self._size = self.output_desc.total_tensor_size_in_bytes
        self._number = device.desc_number(self.output_desc)
        self.shown: dict[Any, TensorDesc] = {}  # of results that are seen in other sizes
        self._uniforms: dict[int, Any] = {}
        self._calls: dict[Any, Call] = {}

    def __repr__(self) -> str:
        return f"CompiledOperator({self.operator.name}, {self.desc!r})"

    def __call__(self, *inputs: Any, out: Tensor | None = None) -> Tensor:
        device = self.device
        device.check_usable()
        with device.lock:
            if out is None:
                out = Tensor(
                    device, device.take(self._size), self.output_desc, 0, True, self._number
                )
            try:
                key = (*[tensor.key for tensor in inputs], out.key)
                call = self._calls.get(key)
            except (AttributeError, TypeError):  # an array among them, or what is no tensor
                inputs = self._as_tensors(inputs, out)
                key = (*[tensor.key for tensor in inputs], out.key)
                call = self._calls.get(key)
            if call is None:
                call = self._bind(key, inputs, out)
            if device.debug and self.operator.check_indices is not None:
                checked, lease = self._with_check(call, inputs)
                device.record(checked)
                device.reports.expect(self, lease)
            else:
                device.record(call)
        return out

    def _as_tensors(self, inputs: tuple[Any, ...], out: Any) -> tuple[Tensor, ...]:
        self._check_count(inputs)
        if not isinstance(out, Tensor):
            raise BindingError(
                f"{self.operator.name}: out is {type(out).__name__}; it must be a Tensor"
            )
        tensors = []
        for name, desc, given in zip(self.operator.inputs, self.input_descs, inputs, strict=True):
            if isinstance(given, Tensor):
                tensors.append(given)
                continue
            label = f"{self.operator.name}: {name}"
            values = as_array(label, given)
            counts = [n for n in values.shape if n != 1]
            if values.dtype != desc.data_type.numpy or counts != [n for n, _ in desc.steps]:
                raise BindingError(
                    f"{label} is an array of {values.dtype} with shape {values.shape}; the "
                    f"description says {desc.data_type.numpy} with sizes {desc.sizes}"
                )
            values = values.reshape(desc.sizes)
            if self.operator.check_values is not None:
                self.operator.check_values(self.desc, name, values)
            tensors.append(self.device.upload(desc, laid_out(values, desc)))
        return tuple(tensors)

    def _check_count(self, inputs: tuple[Any, ...]) -> None:
        names = self.operator.inputs
        if len(inputs) != len(names):
            raise BindingError(
                f"{self.operator.name}: {len(inputs)} inputs given; it takes {len(names)}: "
                + ", ".join(names)
            )

    def _check(self, inputs: tuple[Any, ...], out: Any) -> None:
        """The binding rules."""
        name = self.operator.name
        self._check_count(inputs)
        fields = (*self.operator.inputs, "out")
        descs = (*self.input_descs, self.output_desc)
        for field, desc, tensor in zip(fields, descs, (*inputs, out), strict=True):
            where = f"{name}: {field}"
            if not isinstance(tensor, Tensor):
                raise BindingError(f"{where} is {type(tensor).__name__}; it must be a Tensor")
            if tensor.device is not self.device:
                raise BindingError(f"{where} belongs to another device; copy it through NumPy")
            if self.device.notes:
                check_intact(self.device.notes, tensor.buffer, tensor.storage.serial, where)
            _check_fits(where, tensor.desc, desc)
            if tensor.offset % desc.alignment:
                raise BindingError(
                    f"{where} starts at byte {tensor.offset} of its buffer; the description "
                    f"guarantees a multiple of {desc.alignment}"
                )
        for field, desc, tensor in zip(fields, self.input_descs, inputs, strict=False):
            self._check_overlap(field, desc, tensor, out)

    def _check_overlap(self, field: str, desc: TensorDesc, tensor: Tensor, out: Tensor) -> None:
        if tensor.buffer is not out.buffer:
            return
        mine = (tensor.offset, tensor.offset + desc.total_tensor_size_in_bytes)
        other = (out.offset, out.offset + self.output_desc.total_tensor_size_in_bytes)
        if mine[1] <= other[0] or other[1] <= mine[0]:
            return
        name = self.operator.name
        if not self.operator.in_place:
            raise BindingError(
                f"{name}: out overlaps {field} (bytes {mine[0]} to {mine[1]}); this operator "
                "cannot run in place"
            )
        if mine != other:
            raise BindingError(
                f"{name}: out takes bytes {other[0]} to {other[1]} and {field} bytes {mine[0]} to "
                f"{mine[1]} of one buffer; in place the two must be identical"
            )
        if desc.steps != self.output_desc.steps:
            raise BindingError(
                f"{name}: out has strides {self.output_desc.effective_strides} and {field} "
                f"{desc.effective_strides}; in place the two must be equal"
            )

    def _bind(self, key: Any, inputs: tuple[Tensor, ...], out: Tensor) -> Call:
        """Makes pipelines and bind groups for these tensors, and keeps them."""
        self._check(inputs, out)
        tensors = dict(zip(self.operator.tensors, (*inputs, out), strict=True))
        descs = dict(zip(self.operator.tensors, (*self.input_descs, self.output_desc), strict=True))
        places = {
            name: Range(t.storage, t.offset, descs[name].total_tensor_size_in_bytes, t.whole)
            for name, t in tensors.items()
        }
        held = []
        plan, first = self._plan_for(inputs[0], out)
        for i, (name, size) in enumerate(plan.scratch.items()):
            lease = self.device.scratch(i, size)
            held.append(lease)
            places[name] = Range(lease.storage, 0, -(-size // UNIT) * UNIT, True)
        for name, size in plan.shared.items():
            lease = self.device.scratch(name, size)
            held.append(lease)
            size = min(lease.storage.size, self.device.gpu.max_binding // UNIT * UNIT)
            places[name] = Range(lease.storage, 0, size, True)
        dispatches: tuple[tuple[Any, Any, int, int], ...] = ()
        copies: tuple[tuple[Any, int, Any, int, int], ...] = ()
        if plan.copies and _copyable(inputs[0].buffer, out.buffer):
            copies = tuple(
                (inputs[0].buffer, inputs[0].offset + source, out.buffer, out.offset + to, size)
                for source, to, size in plan.copies
            )
        else:
            dispatches = tuple(
                self._bind_dispatch(i, dispatch, places)
                for i, dispatch in enumerate(plan.dispatches, first)
            )
        storages = tuple({p.storage.serial: p.storage for p in places.values()}.values())
        nbytes = sum(traffic(self.desc).values())
        name, target = self.operator.name, places[self.operator.tensors[-1]].storage
        call = Call(name, dispatches, storages, nbytes, target, tuple(held), copies)
        if len(self._calls) >= CALL_LIMIT:
            self.drop_calls()
        self.device.keep(self)
        self.device.remember_use((s.serial for s in storages), self, key)
        self._calls[key] = call
        return call

    def _plan_for(self, given: Tensor, out: Tensor) -> tuple[Plan, int]:
        """The plan for these tensors, and the number of its first dispatch among all."""
        if self.plan.in_place is None or given.buffer is not out.buffer:
            return self.plan, 0
        return self.plan.in_place, len(self.plan.dispatches)

    def drop_calls(self) -> None:
        """Forgets every bound call."""
        for key in list(self._calls):
            self.drop_call(key)

    def drop_call(self, key: Any) -> None:
        """Forgets a bound call; the next one like it binds anew."""
        call = self._calls.pop(key, None)
        if call is not None:
            self.device.forget_use((s.serial for s in call.storages), self, key)

    def _bind_dispatch(
        self, number: int, dispatch: Dispatch, places: Mapping[str, Range]
    ) -> tuple[Any, Any, int, int]:
        gpu = self.device.gpu
        modes = binds(dispatch.shader, dispatch.slots)
        named = {
            name: places[field].part(dispatch.spans.get(field))
            for name, field in dispatch.bindings.items()
        }
        access, spans = reach(named, modes, gpu.offset_alignment, gpu.max_binding)
        if sum(how.windows for how in access.values() if not how.alias) > gpu.max_bindings:
            sizes = ", ".join(f"{n} {r.size} bytes" for n, r in named.items())
            raise DeviceError(
                f"{self.operator.name}: {sizes} need more than the {gpu.max_bindings} bindings of "
                f"{gpu.max_binding} bytes that {gpu.info.name} allows"
            )
        pipeline, shader = self.device.pipeline(dispatch, access)
        if number not in self._uniforms:
            data = pack_params(shader.label, shader.text, dispatch.params)
            self._uniforms[number] = gpu.uniform(data)
        uniforms = [(0, self._uniforms[number])]
        if shader.ranges:
            words = np.zeros((len(shader.ranges), 4), np.uint32)
            for i, name in enumerate(shader.ranges):
                start = spans[access[name].alias or name][0]
                words[i, :2] = (named[name].offset - start) // UNIT, named[name].size // 4
            uniforms.append((shader.ranges_binding, gpu.uniform(words.tobytes())))
        ranges = [
            (slot.binding, named[slot.name].storage.buffer, *window(spans, access, slot))
            for slot in shader.slots
            if slot.name in named
        ]
        group = gpu.bind_group(pipeline, uniforms, ranges)
        return (pipeline, group, *grid(dispatch.workgroups, gpu.max_groups, self.operator.name))

    def _with_check(self, call: Call, inputs: tuple[Tensor, ...]) -> tuple[Call, Lease]:
        """A call and the debug check of its index values, and the memory that reports into."""
        check = self.operator.check_indices
        assert check is not None
        lease = self.device.reports.room()
        places = {
            name: Range(t.storage, t.offset, d.total_tensor_size_in_bytes, t.whole)
            for name, d, t in zip(self.operator.inputs, self.input_descs, inputs, strict=True)
        }
        places["report"] = Range(lease.storage, 0, UNIT, True)
        dispatches = tuple(
            self._bind_dispatch(-1 - i, dispatch, places)
            for i, dispatch in enumerate(check(self.desc))
        )
        both = replace(
            call,
            dispatches=call.dispatches + dispatches,
            storages=(*call.storages, lease.storage),
        )
        return both, lease

    def raise_report(self, words: np.ndarray[Any, Any]) -> None:
        """Raises when a debug check found an index value out of range."""
        if self.operator.raise_report is not None:
            self.operator.raise_report(self.desc, words)


def _check_fits(where: str, given: TensorDesc, wanted: TensorDesc) -> None:
    """A bound tensor must be what the description says, in at least as many bytes.

    Dimensions of size 1 do not count: a tensor may be bound with or without them.
    """
    if given is wanted:
        return
    if (
        given.data_type != wanted.data_type
        or given.steps != wanted.steps
        or given.total_tensor_size_in_bytes < wanted.total_tensor_size_in_bytes
    ):
        raise BindingError(
            f"{where} is {_in_words(given)}; the description says {_in_words(wanted)}"
        )


def _copyable(source: Any, target: Any) -> bool:
    """Whether plain copies can go from one buffer to the other; foreign ones may lack the usage."""
    return source is not target and bool(source.usage & COPY_SRC and target.usage & COPY_DST)


def _in_words(desc: TensorDesc) -> str:
    return (
        f"{desc.data_type.name} with sizes {desc.sizes} and strides {desc.effective_strides} in "
        f"{desc.total_tensor_size_in_bytes} bytes"
    )

"""Executable: a validated description, its plan, and the calls it has been bound to."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dmlgpu.desc.description import Description
from dmlgpu.desc.layout import Layout
from dmlgpu.desc.tensor import TENSOR_ALIGNMENT, TensorDesc
from dmlgpu.errors import BindingError, DeviceError, UnsupportedError
from dmlgpu.gpu.foreign import check as check_intact
from dmlgpu.gpu.memory import Lease, Storage
from dmlgpu.gpu.objects import (
    BindGroup,
    Buffer,
    Pipeline,
    can_be_copied,
    can_be_written,
)
from dmlgpu.gpu.objects import (
    Layout as BindGroupLayout,
)
from dmlgpu.gpu.parameters import Parameters, Place
from dmlgpu.gpu.recording import Call
from dmlgpu.plan.dispatch import Dispatch, Plan, Value
from dmlgpu.plan.index_values import REPORT, IndexValues
from dmlgpu.plan.operator import Operator
from dmlgpu.plan.parts import UNIT_BYTES
from dmlgpu.runtime.context import Context
from dmlgpu.runtime.reach import Range, grid, reach, window
from dmlgpu.runtime.region import Region
from dmlgpu.wgsl.assembly import binds
from dmlgpu.wgsl.params import pack_params, pack_value

CALL_LIMIT = 640  # bound calls one operator keeps: twice what a batch has, each with its own upload
BINDINGS_LIMIT = 64  # ways in which the tensors of one operator lie
VARIED_LIMIT = 64  # ways to call one operator with other values of parameters
MOST_VARIED = 256  # calls of each, which may all wait to be submitted


@dataclass(frozen=True, slots=True)
class Binding:
    """How a dispatch reaches tensors that lie in a certain way: all of a bind group but them."""

    told: str
    pipeline: Pipeline
    layout: BindGroupLayout
    packed: bytes  # the parameters
    offsets: Mapping[str, int]  # of each of these
    uniforms: list[tuple[int, Buffer, int, int]]  # binding, buffer, offset, size
    ranges: list[tuple[int, str, int, int]]  # the same of tensors, from where each begins
    grid: tuple[int, int]


PlacesOf: TypeAlias = "Callable[[Binding], Place]"  # for the parameters of a dispatch


@dataclass(frozen=True, slots=True)
class Varied:
    """A call whose parameters are written for each time that it is recorded."""

    call: Call
    used: Storage  # stands for its parameters: by the batch in which they are used
    places: list[tuple[Place, Binding]]

    def write(self, parameters: Parameters, values: Mapping[str, Value]) -> None:
        """The parameters, some of them with other values than the plan's."""
        for place, way in self.places:
            data = bytearray(way.packed)
            for name, value in values.items():
                pack_value(data, way.offsets[name], value)
            parameters.write(place, bytes(data))


class Executable:
    """What runs one description on one device."""

    def __init__(self, context: Context, operator: Operator[Any], desc: Description) -> None:
        self.context = context
        self.operator = operator
        self.desc = desc
        self.inputs: Mapping[str, TensorDesc] = desc.inputs()
        self.outputs: Mapping[str, TensorDesc] = desc.outputs()
        for name, tensor in self.inputs.items():
            if tensor.flags:
                raise UnsupportedError(
                    f"{operator.name}: {name} is OWNED_BY_DML, which needs an initializer; "
                    "this device binds every tensor at execution"
                )
        work = operator.work(desc)
        self.plan: Plan = context.plan(work.plan)
        self.nbytes = sum(work.traffic().values())
        self.index_values: IndexValues | None = (
            None if operator.index_values is None else operator.index_values(desc)
        )
        told = f"{_told(self.inputs.values())} -> {_told(self.outputs.values())}"
        self._told = told.removeprefix(" ")
        self._uniforms: dict[int, Buffer] = {}
        self._bindings: dict[Hashable, list[Binding]] = {}
        self._alike: dict[Hashable, list[Binding]] = {}
        self._names = (*self.inputs, *self.outputs)
        described = (*self.inputs.values(), *self.outputs.values())
        self._room = [
            -(-d.total_tensor_size_in_bytes // UNIT_BYTES) * UNIT_BYTES for d in described
        ]
        self.calls: dict[Hashable, Call] = {}
        self._varied: dict[Hashable, deque[Varied]] = {}

    def bind(self, key: Hashable, inputs: Sequence[Region], outputs: Sequence[Region]) -> Call:
        """Makes pipelines and bind groups for these tensors, and keeps them."""
        call = self.bound(inputs, outputs)
        if len(self.calls) >= CALL_LIMIT:
            self.drop_calls()
        self.context.remember_use((s.serial for s in call.storages), self, key)
        self.calls[key] = call
        return call

    def bound(
        self,
        inputs: Sequence[Region],
        outputs: Sequence[Region],
        places_of: PlacesOf | None = None,
    ) -> Call:
        """A call of these tensors, with parameters at other places if these are given.

        Of tensors that lie as others did before, in buffers of their own, only where is looked at.
        """
        lie = self._how_they_lie((*inputs, *outputs))
        if lie is not None and lie in self._alike:
            return self._bound_alike(self._alike[lie], inputs, outputs, places_of)
        self._check(inputs, outputs)
        regions = dict(zip((*self.inputs, *self.outputs), (*inputs, *outputs), strict=True))
        descs = {**self.inputs, **self.outputs}
        places = {
            name: Range(r.storage, r.offset, descs[name].total_tensor_size_in_bytes, r.whole)
            for name, r in regions.items()
        }
        held = []
        plan, first = self._plan_for(inputs, outputs)
        for i, (name, size) in enumerate(plan.scratch.items()):
            lease = self.context.scratch(i, size)
            held.append(lease)
            places[name] = Range(lease.storage, 0, -(-size // UNIT_BYTES) * UNIT_BYTES, True)
        for name, size in plan.shared.items():
            lease = self.context.scratch(name, size)
            held.append(lease)
            size = min(lease.storage.size, self.context.gpu.max_binding // UNIT_BYTES * UNIT_BYTES)
            places[name] = Range(lease.storage, 0, size, True)
        dispatches: tuple[tuple[Pipeline, BindGroup, int, int], ...] = ()
        copies: tuple[tuple[Buffer, int, Buffer, int, int], ...] = ()
        if plan.copies and _copyable(plan, regions):
            copies = tuple(
                (
                    regions[c.source].storage.buffer,
                    regions[c.source].offset + c.start,
                    regions[c.target].storage.buffer,
                    regions[c.target].offset + c.to,
                    c.size,
                )
                for c in plan.copies
            )
        else:
            dispatches = self._dispatched(plan.dispatches, first, places, places_of)
            if lie is not None and not held:
                if len(self._alike) >= BINDINGS_LIMIT:
                    self._alike.clear()
                self._alike[lie] = self._ways(plan.dispatches, first, places)
        storages = tuple({p.storage.serial: p.storage for p in places.values()}.values())
        targets = tuple(region.storage for region in outputs)
        name = self.operator.name
        return Call(
            name,
            dispatches,
            storages,
            self.nbytes,
            targets,
            tuple(held),
            copies,
            tensors=self._told,
        )

    def _how_they_lie(self, regions: Sequence[Region]) -> Hashable:
        """All that bindings depend on but the buffers and where they begin in these.

        None where that is not all: where buffers are shared, or something is wrong with one.
        """
        alignment = self.context.gpu.offset_alignment
        serials = set()
        lie = []
        for x, nbytes in zip(regions, self._room, strict=False):
            serial, offset, layout, whole = x.key
            storage = x.lease.storage
            if storage.special or x.context is not self.context or offset % TENSOR_ALIGNMENT:
                return None
            serials.add(serial)
            lie.append((layout, whole, offset % alignment, offset + nbytes <= storage.size))
        return tuple(lie) if len(serials) == len(regions) == len(self._room) else None

    def _bound_alike(
        self,
        ways: list[Binding],
        inputs: Sequence[Region],
        outputs: Sequence[Region],
        places_of: PlacesOf | None,
    ) -> Call:
        alignment = self.context.gpu.offset_alignment
        regions = (*inputs, *outputs)
        storages = tuple([x.lease.storage for x in regions])
        places = {
            name: (storage.buffer, x.offset // alignment * alignment)
            for name, x, storage in zip(self._names, regions, storages, strict=True)
        }
        dispatches = self._with_groups(ways, places, places_of)
        targets = storages[len(inputs) :]
        name = self.operator.name
        return Call(name, dispatches, storages, self.nbytes, targets, tensors=self._told)

    def varied(
        self, inputs: Sequence[Region], outputs: Sequence[Region], values: Mapping[str, Value]
    ) -> Varied:
        """A call with other values of parameters, to be given back once it is recorded."""
        kept = self._varied.get(_varied_key(inputs, outputs))
        made = None
        with contextlib.suppress(IndexError):
            if kept and not kept[0].used.batch.is_waiting:
                made = kept.popleft()
        if made is None:
            places: list[tuple[Place, Binding]] = []

            def places_of(way: Binding) -> Place:
                place = self.context.parameters.place(len(way.packed))
                places.append((place, way))
                return place

            call = self.bound(inputs, outputs, places_of)
            used = Storage(places[0][0].buffer, 0, own=False)
            made = Varied(replace(call, storages=(*call.storages, used)), used, places)
        made.write(self.context.parameters, values)
        return made

    def give_back(self, inputs: Sequence[Region], outputs: Sequence[Region], made: Varied) -> None:
        """Keeps a call for other values, behind those that were recorded before it."""
        key = _varied_key(inputs, outputs)
        if key not in self._varied:
            if len(self._varied) >= VARIED_LIMIT:
                for other in list(self._varied):
                    self.drop_call(other)
            self._varied[key] = deque(maxlen=MOST_VARIED)
            storages = made.call.storages[:-1]
            self.context.remember_use((s.serial for s in storages), self, key)
        self._varied[key].append(made)

    def drop_calls(self) -> None:
        """Forgets every bound call."""
        for key in list(self.calls):
            self.drop_call(key)

    def drop_pipelines(self) -> None:
        """Forgets every bound call, and how tensors that lie like those of another are bound."""
        self._bindings.clear()
        self._alike.clear()
        self.drop_calls()
        for key in list(self._varied):
            self.drop_call(key)

    def drop_call(self, key: Hashable) -> None:
        """Forgets a bound call; the next one like it binds anew."""
        call = self.calls.pop(key, None)
        if call is None:
            varied = self._varied.pop(key, None)
            call = varied[0].call if varied else None
        if call is not None:
            self.context.forget_use((s.serial for s in call.storages), self, key)

    def with_check(self, call: Call, inputs: Sequence[Region], report: Lease, offset: int) -> Call:
        """A call and the debug check of its index values, which reports into this memory."""
        assert self.index_values is not None
        places = {
            name: Range(r.storage, r.offset, d.total_tensor_size_in_bytes, r.whole)
            for (name, d), r in zip(self.inputs.items(), inputs, strict=True)
        }
        places[REPORT] = Range(report.storage, offset, UNIT_BYTES, True)
        checks = self.index_values.dispatches()
        dispatches = self._dispatched(checks, -len(checks), places)
        return replace(
            call,
            dispatches=call.dispatches + dispatches,
            storages=(*call.storages, report.storage),
        )

    def raise_report(self, words: npt.NDArray[Any]) -> None:
        """Raises when a debug check found an index value out of range."""
        if self.index_values is not None:
            self.index_values.raise_report(self.operator.name, words)

    def _check(self, inputs: Sequence[Region], outputs: Sequence[Region]) -> None:
        """The binding rules."""
        described = [*self.inputs.items(), *self.outputs.items()]
        for (field, desc), region in zip(described, (*inputs, *outputs), strict=True):
            named = field if field in self.inputs else self._out(field)
            where = f"{self.operator.name}: {named}"
            if region.context is not self.context:
                raise BindingError(
                    f"{where} belongs to another device; x.to_device(device) copies it"
                )
            if region.storage.note is not None:
                check_intact(region.storage, where)
            _check_fits(where, region.layout, desc)
            if region.offset % desc.alignment:
                raise BindingError(
                    f"{where} starts at byte {region.offset} of its buffer; the description "
                    f"guarantees a multiple of {desc.alignment}"
                )
        made = list(zip(self.outputs.items(), outputs, strict=True))
        for i, ((field, desc), region) in enumerate(made):
            for (name, source), given in zip(self.inputs.items(), inputs, strict=True):
                self._check_overlap(name, source, given, field, desc, region)
            for (other, wanted), second in made[:i]:
                if _overlap(region, desc, second, wanted):
                    raise BindingError(
                        f"{self.operator.name}: {self._out(field)} overlaps {self._out(other)}; "
                        "each output needs bytes of its own"
                    )

    def _out(self, field: str) -> str:
        """An output as callers know it."""
        return "out" if len(self.outputs) == 1 else f"out for {field}"

    def _check_overlap(
        self, name: str, desc: TensorDesc, given: Region, field: str, made: TensorDesc, out: Region
    ) -> None:
        if not _overlap(given, desc, out, made):
            return
        operator, told = self.operator.name, self._out(field)
        mine = (given.offset, given.offset + desc.total_tensor_size_in_bytes)
        other = (out.offset, out.offset + made.total_tensor_size_in_bytes)
        alias = self.operator.entry.alias.get(field, ())
        if name not in alias:
            only = f"it runs in place on {' or '.join(alias)} alone" if alias else ""
            raise BindingError(
                f"{operator}: {told} overlaps {name} (bytes {mine[0]} to {mine[1]}); "
                + (only or "this operator cannot run in place")
            )
        if mine != other:
            raise BindingError(
                f"{operator}: {told} takes bytes {other[0]} to {other[1]} and {name} bytes "
                f"{mine[0]} to {mine[1]} of one buffer; in place the two must be identical"
            )
        if desc.steps != made.steps:
            raise BindingError(
                f"{operator}: {told} has strides {made.effective_strides} and {name} "
                f"{desc.effective_strides}; in place the two must be equal"
            )

    def _plan_for(self, inputs: Sequence[Region], outputs: Sequence[Region]) -> tuple[Plan, int]:
        """The plan for these tensors, and the number of its first dispatch among all."""
        if self.plan.in_place is not None:
            written = {region.storage.serial for region in outputs}
            if any(region.storage.serial in written for region in inputs):
                return self.plan.in_place, len(self.plan.dispatches)
        return self.plan, 0

    def _dispatched(
        self,
        dispatches: Sequence[Dispatch],
        first: int,
        places: Mapping[str, Range],
        places_of: PlacesOf | None = None,
    ) -> tuple[tuple[Pipeline, BindGroup, int, int], ...]:
        """Dispatches with bind groups; `first` is the number of the first of them among all."""
        begins = self._begins(places.values())
        where = {f: (r.storage.buffer, begins[r.storage.serial]) for f, r in places.items()}
        return self._with_groups(self._ways(dispatches, first, places), where, places_of)

    def _ways(
        self, dispatches: Sequence[Dispatch], first: int, places: Mapping[str, Range]
    ) -> list[Binding]:
        """How dispatches reach their tensors, kept for others that lie in the same way.

        Where in a buffer its first binding begins makes no difference.
        """
        begins = self._begins(places.values())
        order: dict[int, int] = {}
        where = [
            (
                r.offset - begins[r.storage.serial],
                r.size,
                r.whole,
                r.has_room,
                order.setdefault(r.storage.serial, len(order)),
            )
            for r in places.values()
        ]
        key = (first, *where)
        found = self._bindings.get(key)
        if found is None:
            if len(self._bindings) >= BINDINGS_LIMIT:
                self._bindings.clear()
            found = [self._binding(i, d, places, begins) for i, d in enumerate(dispatches, first)]
            self._bindings[key] = found
        return found

    def _with_groups(
        self,
        ways: Sequence[Binding],
        places: Mapping[str, tuple[Buffer, int]],
        places_of: PlacesOf | None,
    ) -> tuple[tuple[Pipeline, BindGroup, int, int], ...]:
        """Dispatches with bind groups of buffers, in which bindings begin at these bytes."""
        bind = self.context.gpu.bind
        made = []
        for way in ways:
            entries = list(way.uniforms)
            if places_of is not None:
                place = places_of(way)
                entries[0] = (0, place.buffer, place.offset, len(way.packed))
            for binding, name, start, size in way.ranges:
                buffer, begin = places[name]
                entries.append((binding, buffer, begin + start, size))
            made.append((way.pipeline, bind(way.told, way.layout, entries), *way.grid))
        return tuple(made)

    def _begins(self, places: Iterable[Range]) -> dict[int, int]:
        """Where the first binding of each storage may begin, by its serial."""
        alignment = self.context.gpu.offset_alignment
        begins: dict[int, int] = {}
        for r in places:
            begin = r.offset // alignment * alignment
            begins[r.storage.serial] = min(begin, begins.get(r.storage.serial, begin))
        return begins

    def _binding(
        self,
        number: int,
        dispatch: Dispatch,
        places: Mapping[str, Range],
        begins: Mapping[int, int],
    ) -> Binding:
        gpu = self.context.gpu
        modes = binds(dispatch.shader, dispatch.slots, dispatch.code)
        named = {
            name: places[field].part(dispatch.spans.get(field))
            for name, field in dispatch.bindings.items()
        }
        access, spans = reach(
            named,
            modes,
            gpu.offset_alignment,
            gpu.max_binding,
            in_pairs=gpu.is_cpu and gpu.wide_integers,
            stores_words=gpu.stores_words,
        )
        if sum(how.windows for how in access.values() if not how.alias) > gpu.max_bindings:
            sizes = ", ".join(f"{n} {r.size} bytes" for n, r in named.items())
            raise DeviceError(
                f"{self.operator.name}: {sizes} need more than the {gpu.max_bindings} bindings of "
                f"{gpu.max_binding} bytes that {gpu.info.name} allows"
            )
        pipeline, shader = self.context.pipeline(dispatch, access, self)
        if number not in self._uniforms:
            data = pack_params(shader.label, shader.params, dispatch.params)
            self._uniforms[number] = gpu.uniform(data)
        uniforms = [(0, self._uniforms[number], 0, self._uniforms[number].size)]
        if shader.ranges:
            words = np.zeros((len(shader.ranges), 4), np.uint32)
            for i, name in enumerate(shader.ranges):
                start = spans[access[name].alias or name][0]
                words[i, :2] = (named[name].offset - start) // UNIT_BYTES, named[name].size // 4
            uniforms.append((shader.ranges_binding, gpu.uniform(words.tobytes()), 0, words.nbytes))
        ranges = []
        for bound in shader.bindings:
            if bound.name in named:
                start, size = window(spans, access, bound)
                field = dispatch.bindings[bound.name]
                start -= begins[places[field].storage.serial]
                ranges.append((bound.binding, field, start, size))
        groups = grid(dispatch.workgroups, gpu.max_groups, self.operator.name)
        told = f"binding tensors of {', '.join(str(size) for *_, size in ranges)} bytes"
        layout = gpu.layout(pipeline)
        packed = pack_params(shader.label, shader.params, dispatch.params)
        offsets = {param.name: param.offset for param in shader.params}
        return Binding(told, pipeline, layout, packed, offsets, uniforms, ranges, groups)


def _varied_key(inputs: Sequence[Region], outputs: Sequence[Region]) -> Hashable:
    return ("varied", *[x.key for x in inputs], *[x.key for x in outputs])


def _told(tensors: Iterable[TensorDesc]) -> str:
    """Types and sizes, as `dmlgpu explain` writes them."""
    return ", ".join(f"{t.data_type.name} {'x'.join(map(str, t.sizes))}" for t in tensors)


def _overlap(a: Region, a_desc: TensorDesc, b: Region, b_desc: TensorDesc) -> bool:
    """Whether two tensors have bytes in common."""
    return (
        a.storage.buffer is b.storage.buffer
        and a.offset < b.offset + b_desc.total_tensor_size_in_bytes
        and b.offset < a.offset + a_desc.total_tensor_size_in_bytes
    )


def _check_fits(where: str, layout: Layout, wanted: TensorDesc) -> None:
    """A bound tensor must be what the description says, in at least as many bytes.

    Dimensions of size 1 do not count: a tensor may be bound with or without them.
    """
    given = layout.desc
    if given is wanted:
        return
    if given is None:
        raise BindingError(f"{where}: {layout.untold}")
    if (
        given.data_type != wanted.data_type
        or given.steps != wanted.steps
        or given.total_tensor_size_in_bytes < wanted.total_tensor_size_in_bytes
    ):
        raise BindingError(
            f"{where} is {_in_words(given)}; the description says {_in_words(wanted)}"
        )


def _copyable(plan: Plan, regions: Mapping[str, Region]) -> bool:
    """Whether plain copies can do a plan's work: buffers made elsewhere may lack the usage."""
    pairs = {(c.source, c.target) for c in plan.copies}
    return all(
        regions[source].storage.buffer is not regions[target].storage.buffer
        and can_be_copied(regions[source].storage.buffer)
        and can_be_written(regions[target].storage.buffer)
        for source, target in pairs
    )


def _in_words(desc: TensorDesc) -> str:
    return (
        f"{desc.data_type.name} with sizes {desc.sizes} and strides {desc.effective_strides} in "
        f"{desc.total_tensor_size_in_bytes} bytes"
    )

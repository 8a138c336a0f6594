"""What `explain` tells of a description, as plain data."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, fields
from enum import IntEnum
from typing import Any

from dmlgpu.desc.description import Description, entry_of
from dmlgpu.desc.description import fields as fields_of
from dmlgpu.desc.enumerations import ScaleBias, Size2D
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.plan.dispatch import Adapter, Dispatch, Value
from dmlgpu.plan.operator import Operator
from dmlgpu.runtime.reach import grid
from dmlgpu.wgsl.assembly import assemble


@dataclass(frozen=True, slots=True)
class Target:
    """The adapter that a description is explained for."""

    title: str
    facts: Adapter
    max_groups: int
    gb_per_s: float | None  # None: how fast its memory is is not known
    gb_per_s_from: str


def explained(
    operator: Operator[Any], desc: Any, target: Target, told: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The plan of a valid description, the bytes it moves, and the least time for them.

    `told` is what is said of the description, where that is not its fields.
    """
    if told is None:
        told = {f.name: getattr(desc, f.name) for f in fields(desc)}
    work = operator.work(desc)
    plan, moved = work.plan(target.facts), dict(work.traffic())
    sizes = moved | dict(plan.scratch) | dict(plan.shared)
    dispatches = [_dispatch(operator, d, sizes, target) for d in plan.dispatches]
    least = sum(moved.values())
    planned = sum(dispatch["bytes"] for dispatch in dispatches)
    rate = target.gb_per_s
    return {
        "operator": operator.name,
        "adapter": target.title,
        "facts": asdict(target.facts),
        "description": {name: _field(value) for name, value in told.items()},
        "dispatches": dispatches,
        "scratch": dict(plan.scratch),
        "shared": dict(plan.shared),
        "in_place": [
            {"shader": d.shader, "entry": d.entry, "slots": dict(d.slots)}
            for d in (plan.in_place.dispatches if plan.in_place else ())
        ],
        "copies": {"count": len(plan.copies), "bytes": plan.copies[0].size}
        if plan.copies
        else None,
        "bytes": moved,
        "bytes_least": least,
        "bytes_planned": planned,
        "bandwidth_gb_per_s": rate,
        "bandwidth_from": target.gb_per_s_from,
        "seconds_least": least / rate / 1e9 if rate else None,
        "seconds_planned": planned / rate / 1e9 if rate else None,
    }


def _dispatch(
    operator: Operator[Any], dispatch: Dispatch, sizes: dict[str, int], target: Target
) -> dict[str, Any]:
    text = assemble(dispatch.shader, dispatch.slots, code=dispatch.code).text
    return {
        "shader": dispatch.shader,
        "entry": dispatch.entry,
        "slots": dict(dispatch.slots),
        "constants": dict(dispatch.constants),
        "bindings": dict(dispatch.bindings),
        "workgroups": dispatch.workgroups,
        "workgroup_size": _workgroup_size(text, dispatch),
        "grid": list(grid(dispatch.workgroups, target.max_groups, operator.name)),
        "uniforms": {name: _uniform(name, value) for name, value in dispatch.params.items()},
        "spans": {field: list(span) for field, span in dispatch.spans.items()},
        "bytes": sum(_reached(sizes, field, dispatch) for field in dispatch.bindings.values()),
    }


def _reached(sizes: dict[str, int], field: str, dispatch: Dispatch) -> int:
    """Bytes of a tensor that a dispatch moves: its share, where it is bound to a part."""
    if field not in dispatch.spans:
        return sizes[field]
    start, end = dispatch.spans[field]
    return min(end - start, sizes[field])


def _workgroup_size(text: str, dispatch: Dispatch) -> int:
    """Invocations of a workgroup, which a shader says with a number or with a constant."""
    size = re.findall(rf"@workgroup_size\((\w+)\)\s*fn {dispatch.entry}\b", text)[0]
    if size in dispatch.constants:
        return dispatch.constants[size]
    defaults = dict(re.findall(r"override (\w+): u32 = (\d+)", text))
    return int(defaults.get(size, size))


def _uniform(name: str, value: Value) -> float | list[int]:
    """A value as it is meant: steps backward are negative, zeros that only fill up are left out."""
    if isinstance(value, float):
        return value
    words = list(value) if isinstance(value, tuple) else [value]
    if "stride" in name or "step" in name:
        words = [word - 2**32 if word >= 2**31 else word for word in words]
    if not isinstance(value, tuple):
        return words[0]
    while len(words) > 1 and words[-1] == 0:
        words.pop()
    return words


def _field(value: Any) -> Any:
    if isinstance(value, tuple) and value and isinstance(value[0], TensorDesc):
        return [_field(tensor) for tensor in value]
    if isinstance(value, (ScaleBias, Size2D)):
        return asdict(value)
    if isinstance(value, Description):
        given = {f.name: _field(getattr(value, f.name)) for f in fields_of(type(value))}
        return {"operator": entry_of(type(value)).name} | {
            name: field for name, field in given.items() if field is not None
        }
    if isinstance(value, TensorDesc):
        return {
            "data_type": value.data_type.name,
            "sizes": list(value.sizes),
            "strides": None if value.is_packed else list(value.effective_strides),
            "bytes": value.total_tensor_size_in_bytes,
        }
    if isinstance(value, IntEnum):
        return value.name
    return list(value) if isinstance(value, tuple) else value

"""Whose facts the planners of a test run go by, as `pytest --facts` says.

- own: those of the adapter that is found.
- large: a large GPU's. It has subgroups, exact floats, and workgroups that go on while others wait.
- small: a small GPU's. It has no subgroups, no 64-bit integers and 16 KiB of workgroup memory.

Planners go by sizes in bytes as well. Random tensors are small, so what is called large, and what a
small GPU binds at once, is smaller in the same measure.

A software adapter runs the kernels of a GPU just as well: subgroups have the lanes that it has, 16
on lavapipe, and where its arithmetic is not exact, the shaders that rely on it are the others.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache

import pytest

from dmlgpu.gpu.gpu import Gpu
from dmlgpu.plan import dispatch
from dmlgpu.plan.reduce import accumulators, meeting
from dmlgpu.plan.reduce import planner as reductions
from dmlgpu.plan.scan import choice, kernels
from dmlgpu.runtime import context, forward_progress
from dmlgpu.wgsl import source

NAMES = ("own", "large", "small")
LAUNCH = 64  # bytes that count as moved in the time in which a dispatch begins
BINDING = 16384  # bytes that a small GPU binds at once
WORKGROUP_STORAGE = 49152  # bytes that a large GPU has
LAVAPIPE_BITS = "512"  # 16 lanes, the most that it can
SUBGROUP = """
@group(0) @binding(0) var<storage, read_write> lanes: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(subgroup_size) size: u32) { lanes[0] = size; }
"""
# Shaders of exact floats, and those that do the same in another way.
INEXACT = {"number/rest_fused": "number/rest", "number/float16_hardware": "number/float16"}


def choose(name: str) -> None:
    """Every device that is opened from now on has these facts."""
    if name == "own":
        return
    patch = pytest.MonkeyPatch()
    own = context.facts_of
    if name == "small":
        patch.setattr(context, "facts_of", lambda gpu: _small(own(gpu), gpu))
        return
    os.environ.setdefault("LP_NATIVE_VECTOR_WIDTH", LAVAPIPE_BITS)
    patch.setattr(context, "facts_of", lambda gpu: _large(own(gpu), gpu))


def _small(own: dispatch.Adapter, gpu: Gpu) -> dispatch.Adapter:
    gpu.max_binding = min(BINDING, gpu.max_binding)
    return replace(
        own,
        is_cpu=False,
        subgroup_min=0,
        subgroup_max=0,
        exact_floats=False,
        wide_integers=False,
        forward_progress=False,
        max_workgroup_size=256,
        max_workgroup_storage=16384,
        max_binding=gpu.max_binding,
        shaped_from=dispatch.SMALL,
        launch=LAUNCH,
    )


def _large(own: dispatch.Adapter, gpu: Gpu) -> dispatch.Adapter:
    if gpu.is_cpu:
        lanes = _lanes(gpu)
        _as_software_can(lanes)
        own = replace(
            own,
            is_cpu=False,
            subgroup_min=lanes,
            subgroup_max=lanes,
            exact_floats=True,
            forward_progress=True,
            max_workgroup_storage=min(WORKGROUP_STORAGE, own.max_workgroup_storage),
        )
    return replace(own, shaped_from=LAUNCH, launch=LAUNCH)


@cache
def _as_software_can(lanes: int) -> None:
    """What is planned for subgroups of 32 and for exact floats runs on an adapter that has neither.

    Workgroups that wait soon do without: software runs few at a time.
    """
    patch = pytest.MonkeyPatch()
    patch.setattr(accumulators, "BLOCK", min(accumulators.BLOCK, lanes))
    patch.setattr(choice, "WAITING_LANES", min(choice.WAITING_LANES, lanes))
    patch.setattr(forward_progress, "holds", lambda gpu: True)
    for module in (kernels, meeting, reductions):
        patch.setattr(module, "LOOKS", 16)
    read = source.read
    patch.setattr(source, "read", lambda name: read(INEXACT.get(name, name)))


_known: dict[str, int] = {}


def _lanes(gpu: Gpu) -> int:
    """Lanes of a subgroup; 0 where there are none."""
    if not gpu.subgroup_max:
        return 0
    if str(gpu.info) not in _known:
        _known[str(gpu.info)] = int(gpu.run_apart("lanes", SUBGROUP, 1, 1)[0])
    return _known[str(gpu.info)]

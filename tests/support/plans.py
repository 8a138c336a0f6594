"""Descriptions and adapters that between them reach every way of planning."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from types import ModuleType
from typing import Any

import pytest

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc
from dmlgpu.ops import BY_NAME, operator_of
from dmlgpu.plan.dispatch import Adapter, Dispatch, Plan

PORTABLE = Adapter()
_ROOMY: dict[str, Any] = {"max_workgroup_size": 1024, "max_workgroup_storage": 32768}
ADAPTERS = {
    "least": PORTABLE,
    "software": Adapter(is_cpu=True, subgroup_min=4, subgroup_max=128, **_ROOMY),
    "discrete": Adapter(
        subgroup_min=32,
        subgroup_max=32,
        exact_floats=True,
        forward_progress=True,
        **_ROOMY,
    ),
    "integrated": Adapter(subgroup_min=8, subgroup_max=32, **_ROOMY),
    "mobile": Adapter(subgroup_min=32, subgroup_max=64, **_ROOMY),
}


def retune(patch: pytest.MonkeyPatch, planner: ModuleType, **values: Any) -> None:
    """Other numbers, or functions, in every module of a planner's package that goes by them."""
    modules = [
        import_module(f"{planner.__name__}.{found.name}")
        for found in pkgutil.iter_modules(planner.__path__)
    ]
    for name, value in values.items():
        known = [module for module in modules if hasattr(module, name)]
        assert known, f"no module of {planner.__name__} has a {name}"
        for module in known:
            patch.setattr(module, name, value)


def plan(desc: Any, adapter: Adapter = PORTABLE) -> Plan:
    dml.validate(desc)
    made: Plan = operator_of(desc).work(desc).plan(adapter)
    return made


def one(desc: Any, adapter: Adapter = PORTABLE) -> Dispatch:
    (dispatch,) = plan(desc, adapter).dispatches
    return dispatch


def copy(
    source: TensorDesc,
    *,
    offsets: tuple[int, ...] | None = None,
    windows: tuple[int, ...] | None = None,
    steps: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> dml.Slice1Desc:
    """SLICE1 of all reachable elements into an output with these strides."""
    windows = windows or source.sizes
    steps = steps or (1,) * source.rank
    sizes = tuple(1 + (n - 1) // abs(s) for n, s in zip(windows, steps, strict=True))
    return dml.Slice1Desc(
        input_tensor=source,
        output_tensor=TensorDesc(source.data_type, sizes, strides),
        input_window_offsets=offsets or (0,) * source.rank,
        input_window_sizes=windows,
        input_window_strides=steps,
    )


def rows(
    source: TensorDesc,
    index_sizes: tuple[int, ...],
    index_type: T,
    strides: tuple[int, ...] | None = None,
) -> dml.GatherNdDesc:
    """GATHER_ND of what the last size of the indices leaves."""
    rank = source.rank
    sizes = index_sizes[:-1] + source.sizes[index_sizes[-1] :]
    return dml.GatherNdDesc(
        input_tensor=source,
        indices_tensor=TensorDesc(index_type, (1,) * (rank - len(index_sizes)) + index_sizes),
        output_tensor=TensorDesc(source.data_type, (1,) * (rank - len(sizes)) + sizes, strides),
        input_dimension_count=rank,
        indices_dimension_count=len(index_sizes),
    )


def running(
    kind: str, source: TensorDesc, axis: int, output: TensorDesc | None = None, **flags: Any
) -> Any:
    desc: Any = dml.CumulativeSummationDesc if kind == "sum" else dml.CumulativeProductDesc
    made = output or TensorDesc(source.data_type, source.sizes)
    return desc(input_tensor=source, output_tensor=made, axis=axis, **flags)


def descriptions() -> Iterator[Any]:
    """Descriptions that between them reach every way of planning."""
    support = BY_NAME["SLICE1"].entry.support
    types = sorted(support[max(support)]["input_tensor"].data_types)
    for data_type in types:
        source = TensorDesc(data_type, (3, 5, 64))
        yield copy(source)
        yield copy(source, offsets=(0, 1, 3), windows=(3, 4, 60))
        yield copy(source, steps=(1, -1, -1))
        yield copy(source, steps=(2, 1, 3))
        yield copy(source, strides=(1, 3, 15))
        yield copy(source, strides=(400, 80, 1))
        yield copy(source, strides=(64 * 1000, 64, 1))
        yield copy(source, strides=(1, 600, 9))
        for index_type in (T.INT32, T.UINT32, T.INT64, T.UINT64):
            yield rows(source, (7, 1), index_type)
            yield rows(source, (2, 7, 2), index_type)
            yield rows(source, (9, 3), index_type)
            yield rows(TensorDesc(data_type, (9, 7)), (40, 2), index_type)
            yield rows(TensorDesc(data_type, (2, 3, 2, 3)), (9, 4), index_type)
    for data_type, backward, kind in product(
        (T.FLOAT32, T.FLOAT16, T.UINT16, T.INT32, T.UINT32, T.INT64, T.UINT64),
        (0, 1),
        ("sum", "product"),
    ):
        flags: dict[str, Any] = {"axis_direction": backward, f"has_exclusive_{kind}": not backward}
        for axis, sizes in product(
            (0, 1, 2),
            ((2, 3, 5), (64, 64, 16), (5000, 1, 64), (4, 70000, 1), (3, 500, 1), (500, 5, 3)),
        ):
            yield running(kind, TensorDesc(data_type, sizes), axis, **flags)
        yield running(kind, TensorDesc(data_type, (1, 1 << 24)), 1, **flags)
        source = TensorDesc(data_type, (4, 6, 8), (0, 1, 6))
        output = TensorDesc(data_type, (4, 6, 8), (100, 1, 12))
        for axis in (0, 1, 2):
            yield running(kind, source, axis, output, **flags)


def every_plan() -> Iterator[tuple[Any, Plan]]:
    """Plans of all those descriptions for all kinds of adapter, debug checks included."""
    for desc in descriptions():
        operator = operator_of(desc)
        operator.validate(desc, dml.FeatureLevel.FL_6_4)
        for adapter in ADAPTERS.values():
            made = operator.work(desc).plan(adapter)
            yield desc, made
            if made.in_place is not None:
                yield desc, made.in_place
        if operator.index_values is not None:
            yield desc, Plan(operator.index_values(desc).dispatches())

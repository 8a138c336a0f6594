"""Descriptions of what arrays ask for and DirectML has no operator for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dmlgpu.desc.catalogue import Entry
from dmlgpu.desc.description import Description, Field
from dmlgpu.desc.levels import FeatureLevel
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.plan.operator import Operator


class Internal(Description):
    """A description that is no one's but the library's: its values are not read but taken."""

    _entry: ClassVar[Entry]
    _fields: ClassVar[tuple[Field, ...]] = ()

    def __init_subclass__(cls, name: str = "") -> None:
        super().__init_subclass__()
        cls._entry = Entry(name, 0, FeatureLevel.FL_1_0, "array", (), {}, {}, (), {})
        cls._fields = ()


def nothing(given: Any) -> Mapping[str, TensorDesc]:
    """What is inferred of a description that says its outputs itself."""
    return {}


def record(desc: Any, **more: Any) -> Operator[Any]:
    """The operator of such a description."""
    return Operator(desc, nothing, desc.work, **more)

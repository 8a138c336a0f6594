"""Descriptions of what arrays ask for and DirectML has no operator for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dmlgpu.desc.catalogue import Entry
from dmlgpu.desc.description import Description, Field
from dmlgpu.desc.levels import FeatureLevel
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.plan.operator import Operator, Work


class Internal(Description):
    """A description that only the library makes: its values are not read but taken."""

    _entry: ClassVar[Entry]
    _fields: ClassVar[tuple[Field, ...]] = ()
    index_values: ClassVar[Any] = None  # a method, where there are indices to be checked

    def __init_subclass__(cls, name: str = "") -> None:
        super().__init_subclass__()
        cls._entry = Entry(name, 0, FeatureLevel.FL_1_0, "array", (), {}, {}, (), {})
        cls._fields = ()

    def work(self) -> Work:
        """What it asks for."""
        raise NotImplementedError

    def record(self) -> Operator[Any]:
        """The operator that the runtime knows it by."""
        kind = type(self)
        return Operator(kind, nothing, kind.work, index_values=kind.index_values)


def nothing(given: Any) -> Mapping[str, TensorDesc]:
    """What is inferred of a description that says its outputs itself."""
    return {}

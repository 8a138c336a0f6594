"""Rules of descriptions that several families have."""

from __future__ import annotations

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import InvalidDescError
from dmlgpu.plan.operator import Given


def require(given: Given, *names: str) -> None:
    """Refuses fields that are missing and that nothing else says."""
    for name in names:
        if getattr(given, name, None) is None:
            raise InvalidDescError(f"{given.operator}: {name} is missing")


def check_axis(operator: str, axis: int, rank: int, name: str = "axis") -> None:
    """The rule of axes: they are the tensors'."""
    if axis >= rank:
        raise InvalidDescError(
            f"{operator}: {name} is {axis}; with tensors of {rank} dimensions it must be in "
            f"[0, {rank})"
        )


def check_axes(operator: str, axes: tuple[int, ...], rank: int) -> None:
    """Axes are distinct, at least one, and the tensor's."""
    if not axes:
        raise InvalidDescError(f"{operator}: axes is empty; at least one axis is needed")
    for i, axis in enumerate(axes):
        check_axis(operator, axis, rank, f"axes[{i}]")
    if len(set(axes)) != len(axes):
        raise InvalidDescError(f"{operator}: axes {axes} has an axis twice")


def check_sizes(operator: str, name: str, tensor: TensorDesc, wanted: tuple[int, ...]) -> None:
    """The rule that the other fields say a tensor's sizes."""
    if tensor.sizes != wanted:
        raise InvalidDescError(
            f"{operator}: {name} has sizes {tensor.sizes}; the other fields give {wanted}"
        )


def per_dimension(operator: str, name: str, values: tuple[int, ...], rank: int) -> None:
    """The rule of array fields: one entry for each dimension."""
    if len(values) != rank:
        raise InvalidDescError(
            f"{operator}: {name} has {len(values)} entries; the tensors have {rank} dimensions"
        )


def check_value_type(operator: str, name: str, given: DataType, wanted: DataType) -> None:
    """The rule of scalar unions: they are read as the tensor's data type."""
    if given is not wanted:
        raise InvalidDescError(
            f"{operator}: {name} is {given.name}; it must be that of the tensor, {wanted.name}"
        )

"""DML_OPERATOR_NONZERO_COORDINATES: where the elements are that are not zero.

https://learn.microsoft.com/windows/win32/api/directml/ns-directml-dml_nonzero_coordinates_operator_desc
"""

from __future__ import annotations

from typing import Any

from dmlgpu.desc.description import Description, Output
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.errors import InvalidDescError
from dmlgpu.plan.nonzero import NonZero
from dmlgpu.plan.operator import Given, Operator

OPERATOR = "NONZERO_COORDINATES"


class NonzeroCoordinatesDesc(Description):
    """DML_NONZERO_COORDINATES_OPERATOR_DESC: the coordinates of elements that are not zero.

    Fields:
        input_tensor (tensor): what is looked at; -0.0 counts as zero, NaN does not.
        output_count_tensor (tensor): one element: how many were found.
        output_coordinates_tensor (tensor): {M, N}: a row of N coordinates for each one found, in
            the order of the elements; rows behind the last one found are left as they were.

    Rules:
        - M is the number of the input's elements, and N at most its rank; the input's dimensions
          before the last N have size 1, and the outputs' leading dimensions too.

    Example:
        >>> x = np.int32([[0, 12, 0], [21, 0, 23]])
        >>> count, coordinates = dml.nonzero_coordinates(x)
        >>> print(count.numpy())
        [3]
        >>> print(coordinates[: count.item()].numpy())
        [[0 1]
         [1 0]
         [1 2]]
    """

    input_tensor: TensorDesc
    output_count_tensor: Output
    output_coordinates_tensor: Output


def check(d: NonzeroCoordinatesDesc) -> None:
    """The rules that the catalogue does not say."""
    source, rows = d.input_tensor, d.output_coordinates_tensor
    if d.output_count_tensor.element_count != 1:
        raise InvalidDescError(
            f"{OPERATOR}: output_count_tensor has sizes {d.output_count_tensor.sizes}; it must "
            "have one element"
        )
    wanted = (1,) * (rows.rank - 2) + (source.element_count, rows.sizes[-1])
    if rows.sizes != wanted:
        raise InvalidDescError(
            f"{OPERATOR}: output_coordinates_tensor has sizes {rows.sizes}; input_tensor has "
            f"{source.element_count} elements, and the sizes must be {wanted}"
        )
    least = next((source.rank - i for i, n in enumerate(source.sizes) if n > 1), 1)
    if not least <= rows.sizes[-1] <= source.rank:
        raise InvalidDescError(
            f"{OPERATOR}: output_coordinates_tensor has {rows.sizes[-1]} coordinates per row; "
            f"input_tensor has sizes {source.sizes}, and they must be in [{least}, {source.rank}]"
        )


def infer(given: Given) -> dict[str, TensorDesc]:
    """A row of all coordinates for every element."""
    source: TensorDesc = given.input_tensor
    return {
        "output_count_tensor": TensorDesc(DataType.UINT32, (1,)),
        "output_coordinates_tensor": TensorDesc(
            DataType.UINT32, (source.element_count, source.rank)
        ),
    }


def work(d: NonzeroCoordinatesDesc) -> NonZero:
    """A stable compaction."""
    return NonZero(d.input_tensor, d.output_coordinates_tensor)


OPERATORS: tuple[Operator[Any], ...] = (Operator(NonzeroCoordinatesDesc, infer, work, check),)

"""DirectML's enumerations and small structs, as fields of descriptions use them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from dmlgpu.desc.values import exact


class AxisDirection(IntEnum):
    """DML_AXIS_DIRECTION."""

    INCREASING = 0
    DECREASING = 1


class ConvolutionDirection(IntEnum):
    """DML_CONVOLUTION_DIRECTION."""

    FORWARD = 0
    BACKWARD = 1


class ConvolutionMode(IntEnum):
    """DML_CONVOLUTION_MODE."""

    CONVOLUTION = 0
    CROSS_CORRELATION = 1


class DepthSpaceOrder(IntEnum):
    """DML_DEPTH_SPACE_ORDER."""

    DEPTH_COLUMN_ROW = 0
    COLUMN_ROW_DEPTH = 1


class InterpolationMode(IntEnum):
    """DML_INTERPOLATION_MODE."""

    NEAREST_NEIGHBOR = 0
    LINEAR = 1


class IsInfinityMode(IntEnum):
    """DML_IS_INFINITY_MODE."""

    EITHER = 0
    POSITIVE = 1
    NEGATIVE = 2


class MatrixTransform(IntEnum):
    """DML_MATRIX_TRANSFORM."""

    NONE = 0
    TRANSPOSE = 1


class MultiheadAttentionMaskType(IntEnum):
    """DML_MULTIHEAD_ATTENTION_MASK_TYPE."""

    NONE = 0
    KEY_SEQUENCE_LENGTH = 1
    KEY_SEQUENCE_END_START = 2
    KEY_QUERY_SEQUENCE_LENGTH_START_END = 3
    BOOLEAN = 4


class PaddingMode(IntEnum):
    """DML_PADDING_MODE."""

    CONSTANT = 0
    EDGE = 1
    REFLECTION = 2
    SYMMETRIC = 3
    WRAP = 4


class QuantizationType(IntEnum):
    """DML_QUANTIZATION_TYPE."""

    NONE = 0
    SCALE = 1
    SCALE_ZERO_POINT = 2


class RandomGeneratorType(IntEnum):
    """DML_RANDOM_GENERATOR_TYPE."""

    PHILOX_4X32_10 = 0


class RecurrentNetworkDirection(IntEnum):
    """DML_RECURRENT_NETWORK_DIRECTION."""

    FORWARD = 0
    BACKWARD = 1
    BIDIRECTIONAL = 2


class ReduceFunction(IntEnum):
    """DML_REDUCE_FUNCTION."""

    ARGMAX = 0
    ARGMIN = 1
    AVERAGE = 2
    L1 = 3
    L2 = 4
    LOG_SUM = 5
    LOG_SUM_EXP = 6
    MAX = 7
    MIN = 8
    MULTIPLY = 9
    SUM = 10
    SUM_SQUARE = 11


class RoundingMode(IntEnum):
    """DML_ROUNDING_MODE."""

    HALVES_TO_NEAREST_EVEN = 0
    TOWARD_ZERO = 1
    TOWARD_INFINITY = 2


@dataclass(frozen=True, slots=True, eq=False)
class ScaleBias:
    """DML_SCALE_BIAS: x is replaced by x * scale + bias before the function."""

    scale: float
    bias: float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScaleBias) and self._exact == other._exact

    def __hash__(self) -> int:
        return hash(self._exact)

    @property
    def _exact(self) -> tuple[Any, ...]:
        key: tuple[Any, ...] = exact((self.scale, self.bias))
        return key


@dataclass(frozen=True, slots=True)
class Size2D:
    """DML_SIZE_2D."""

    width: int
    height: int


ENUMERATIONS: dict[str, type[IntEnum]] = {
    (made.__doc__ or "").split(".")[0]: made
    for made in IntEnum.__subclasses__()
    if made.__module__ == __name__
}

"""DirectML's operators on any GPU: WGSL compute shaders through wgpu, with NumPy in and out."""

from typing import Any as _Any

from dmlgpu import functions, ops
from dmlgpu import numpy as numpy  # tensors answer NumPy through it
from dmlgpu.compiled import CompiledOperator
from dmlgpu.desc.catalogue import desc_names as _desc_names
from dmlgpu.desc.catalogue import names as _all_names
from dmlgpu.desc.description import Description
from dmlgpu.desc.enumerations import (
    AxisDirection,
    ConvolutionDirection,
    ConvolutionMode,
    DepthSpaceOrder,
    InterpolationMode,
    IsInfinityMode,
    MatrixTransform,
    MultiheadAttentionMaskType,
    PaddingMode,
    QuantizationType,
    RandomGeneratorType,
    RecurrentNetworkDirection,
    ReduceFunction,
    RoundingMode,
    ScaleBias,
    Size2D,
)
from dmlgpu.desc.levels import FeatureLevel
from dmlgpu.desc.tensor import DataType, TensorDesc, TensorFlags
from dmlgpu.device import Device, validate
from dmlgpu.errors import (
    AxisError,
    BindingError,
    DeviceError,
    DeviceLostError,
    DmlError,
    IndexRangeError,
    InvalidDescError,
    InvalidIndexError,
    InvalidTypeError,
    OutOfMemoryError,
    UnsupportedError,
)
from dmlgpu.functions import (
    cast,
    cumulative_product,
    cumulative_summation,
    default_device,
    from_dlpack,
    gather_nd,
    gather_nd1,
    infer,
    set_default_device,
    slice1,
    tensor,
)
from dmlgpu.functions import slice as slice
from dmlgpu.fuse import fuse
from dmlgpu.gpu.adapters import AdapterInfo, adapters
from dmlgpu.ops.cumulative import CumulativeProductDesc, CumulativeSummationDesc
from dmlgpu.ops.gather_nd import GatherNd1Desc, GatherNdDesc
from dmlgpu.ops.slice import Slice1Desc, SliceDesc
from dmlgpu.tensor import Tensor

__version__ = "0.1.0"

# `slice` is left out: `from dmlgpu import *` must not hide Python's own.
__all__ = [
    "AdapterInfo",
    "AxisDirection",
    "AxisError",
    "BindingError",
    "CompiledOperator",
    "ConvolutionDirection",
    "ConvolutionMode",
    "CumulativeProductDesc",
    "CumulativeSummationDesc",
    "DataType",
    "DepthSpaceOrder",
    "Description",
    "Device",
    "DeviceError",
    "DeviceLostError",
    "DmlError",
    "FeatureLevel",
    "GatherNd1Desc",
    "GatherNdDesc",
    "IndexRangeError",
    "InterpolationMode",
    "InvalidDescError",
    "InvalidIndexError",
    "InvalidTypeError",
    "IsInfinityMode",
    "MatrixTransform",
    "MultiheadAttentionMaskType",
    "OutOfMemoryError",
    "PaddingMode",
    "QuantizationType",
    "RandomGeneratorType",
    "RecurrentNetworkDirection",
    "ReduceFunction",
    "RoundingMode",
    "ScaleBias",
    "Size2D",
    "Slice1Desc",
    "SliceDesc",
    "Tensor",
    "TensorDesc",
    "TensorFlags",
    "UnsupportedError",
    "__version__",
    "adapters",
    "cast",
    "cumulative_product",
    "cumulative_summation",
    "default_device",
    "from_dlpack",
    "fuse",
    "gather_nd",
    "gather_nd1",
    "infer",
    "set_default_device",
    "slice1",
    "tensor",
    "validate",
]


def __getattr__(name: str) -> _Any:
    """Descriptions and functions of all operators, made from their records when asked for."""
    found: _Any = ops.description_named(name) or functions.function_named(name)
    if found is None:
        leads = "the functions of arrays are in dmlgpu.numpy"
        if name.upper() in _all_names():
            leads = f"the operator {name.upper()} can be described, but is not built yet"
        raise AttributeError(f"module 'dmlgpu' has no attribute {name!r}; {leads}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *functions.function_names(), *_desc_names()})

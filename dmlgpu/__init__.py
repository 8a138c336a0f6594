"""DirectML's operators on any GPU: WGSL compute shaders through wgpu, with NumPy in and out."""

from types import ModuleType as _ModuleType
from typing import Any as _Any

from dmlgpu import functions, ops
from dmlgpu.desc.catalogue import desc_names as _desc_names
from dmlgpu.desc.catalogue import names as _all_names

# Names are imported as themselves, which says to type checkers that they are public.
# isort: off
from dmlgpu import numpy as numpy  # tensors answer NumPy through it
from dmlgpu.compiled import CompiledOperator as CompiledOperator
from dmlgpu.desc.description import Description as Description
from dmlgpu.desc.enumerations import (
    AxisDirection as AxisDirection,
    ConvolutionDirection as ConvolutionDirection,
    ConvolutionMode as ConvolutionMode,
    DepthSpaceOrder as DepthSpaceOrder,
    InterpolationMode as InterpolationMode,
    IsInfinityMode as IsInfinityMode,
    MatrixTransform as MatrixTransform,
    MultiheadAttentionMaskType as MultiheadAttentionMaskType,
    PaddingMode as PaddingMode,
    QuantizationType as QuantizationType,
    RandomGeneratorType as RandomGeneratorType,
    RecurrentNetworkDirection as RecurrentNetworkDirection,
    ReduceFunction as ReduceFunction,
    RoundingMode as RoundingMode,
    ScaleBias as ScaleBias,
    Size2D as Size2D,
)
from dmlgpu.desc.levels import FeatureLevel as FeatureLevel
from dmlgpu.desc.tensor import DataType as DataType, TensorDesc as TensorDesc
from dmlgpu.desc.tensor import TensorFlags as TensorFlags
from dmlgpu.device import Device as Device, validate as validate
from dmlgpu.errors import (
    AxisError as AxisError,
    BindingError as BindingError,
    DeviceError as DeviceError,
    DeviceLostError as DeviceLostError,
    DmlError as DmlError,
    IndexRangeError as IndexRangeError,
    InvalidDescError as InvalidDescError,
    InvalidIndexError as InvalidIndexError,
    InvalidTypeError as InvalidTypeError,
    NumberRangeError as NumberRangeError,
    OutOfMemoryError as OutOfMemoryError,
    UnsupportedError as UnsupportedError,
)
from dmlgpu.functions import (
    cast as cast,
    cumulative_product as cumulative_product,
    cumulative_summation as cumulative_summation,
    default_device as default_device,
    from_dlpack as from_dlpack,
    gather_nd as gather_nd,
    gather_nd1 as gather_nd1,
    infer as infer,
    set_default_device as set_default_device,
    slice as slice,
    slice1 as slice1,
    tensor as tensor,
)
from dmlgpu.fuse import fuse as fuse
from dmlgpu.gpu.adapters import AdapterInfo as AdapterInfo, adapters as adapters
from dmlgpu.kernels import Kernel as Kernel, elementwise as elementwise
from dmlgpu.ops.cumulative import CumulativeProductDesc as CumulativeProductDesc
from dmlgpu.ops.cumulative import CumulativeSummationDesc as CumulativeSummationDesc
from dmlgpu.ops.gather_nd import GatherNd1Desc as GatherNd1Desc, GatherNdDesc as GatherNdDesc
from dmlgpu.ops.slice import Slice1Desc as Slice1Desc, SliceDesc as SliceDesc
from dmlgpu.tensor import Tensor as Tensor
# isort: on

__version__ = "0.1.0"

# `slice` is left out: `from dmlgpu import *` must not hide Python's own.
__all__ = sorted(
    name
    for name, value in globals().items()
    if (not name.startswith("_") or name == "__version__")
    and not isinstance(value, _ModuleType)
    and name != "slice"
)


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

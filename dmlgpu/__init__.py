"""DirectML's operators on any GPU: WGSL compute shaders through wgpu, with NumPy in and out."""

from dmlgpu.array import Tensor
from dmlgpu.compiled import CompiledOperator
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
    cumulative_product,
    cumulative_summation,
    default_device,
    from_dlpack,
    gather_nd,
    gather_nd1,
    slice,
    slice1,
)
from dmlgpu.gpu import AdapterInfo, adapters
from dmlgpu.ops.cumulative import AxisDirection, CumulativeProductDesc, CumulativeSummationDesc
from dmlgpu.ops.gather_nd import GatherNd1Desc, GatherNdDesc
from dmlgpu.ops.slice import Slice1Desc, SliceDesc
from dmlgpu.support import FeatureLevel
from dmlgpu.tensor import DataType, TensorDesc, TensorFlags

__version__ = "0.1.0"

__all__ = [
    "AdapterInfo",
    "AxisDirection",
    "AxisError",
    "BindingError",
    "CompiledOperator",
    "CumulativeProductDesc",
    "CumulativeSummationDesc",
    "DataType",
    "Device",
    "DeviceError",
    "DeviceLostError",
    "DmlError",
    "FeatureLevel",
    "GatherNd1Desc",
    "GatherNdDesc",
    "IndexRangeError",
    "InvalidDescError",
    "InvalidIndexError",
    "InvalidTypeError",
    "OutOfMemoryError",
    "Slice1Desc",
    "SliceDesc",
    "Tensor",
    "TensorDesc",
    "TensorFlags",
    "UnsupportedError",
    "__version__",
    "adapters",
    "cumulative_product",
    "cumulative_summation",
    "default_device",
    "from_dlpack",
    "gather_nd",
    "gather_nd1",
    "slice",
    "slice1",
    "validate",
]

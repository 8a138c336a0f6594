"""DirectML's operators on any GPU: WGSL compute shaders through wgpu, with NumPy in and out."""

from dmlgpu import ops
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
    cumulative_product,
    cumulative_summation,
    default_device,
    from_dlpack,
    gather_nd,
    gather_nd1,
    slice,
    slice1,
)
from dmlgpu.gpu.adapter import AdapterInfo
from dmlgpu.gpu.gpu import adapters
from dmlgpu.ops.cumulative import *  # noqa: F403
from dmlgpu.ops.gather_nd import *  # noqa: F403
from dmlgpu.ops.slice import *  # noqa: F403
from dmlgpu.runtime.compiled import CompiledOperator
from dmlgpu.tensor import Tensor

__version__ = "0.1.0"

__all__ = [
    "AdapterInfo",
    "AxisError",
    "BindingError",
    "CompiledOperator",
    "DataType",
    "Device",
    "DeviceError",
    "DeviceLostError",
    "DmlError",
    "FeatureLevel",
    "IndexRangeError",
    "InvalidDescError",
    "InvalidIndexError",
    "InvalidTypeError",
    "OutOfMemoryError",
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
__all__ += ops.cumulative.__all__
__all__ += ops.gather_nd.__all__
__all__ += ops.slice.__all__

"""NumPy's `lib.stride_tricks`: views of windows and of repeated elements."""

from dmlgpu.numpy.manipulation import broadcast_arrays as broadcast_arrays
from dmlgpu.numpy.manipulation import broadcast_to as broadcast_to
from dmlgpu.numpy.windows import sliding_window_view as sliding_window_view

__all__ = ["broadcast_arrays", "broadcast_to", "sliding_window_view"]

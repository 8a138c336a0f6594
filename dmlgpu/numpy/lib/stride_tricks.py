"""NumPy's `lib.stride_tricks`: views of windows."""

from dmlgpu.numpy.windows import sliding_window_view as sliding_window_view

__all__ = ["sliding_window_view"]

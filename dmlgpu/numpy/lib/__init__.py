"""NumPy's `lib`: views of windows."""

from dmlgpu.numpy.lib import stride_tricks as stride_tricks

__all__ = ["stride_tricks"]

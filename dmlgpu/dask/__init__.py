"""Tensors in Dask."""

from dmlgpu.dask.backend import from_array, register

register()

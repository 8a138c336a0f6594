"""Tensors in Dask: data larger than a GPU, several GPUs, several machines.

`import dmlgpu.dask` makes tensors chunks of dask.array, as CuPy's arrays are; `dask worker
--preload dmlgpu.dask` does so on a worker.
"""

from dmlgpu.dask.backend import from_array, register
from dmlgpu.dask.operators import (
    cumulative_product,
    cumulative_summation,
    gather,
    gather_nd,
    gather_nd1,
    slice,
    slice1,
)
from dmlgpu.dask.workers import LocalCluster, dask_setup

__all__ = [
    "LocalCluster",
    "cumulative_product",
    "cumulative_summation",
    "dask_setup",
    "from_array",
    "gather",
    "gather_nd",
    "gather_nd1",
    "slice",
    "slice1",
]

register()

"""A user's program with every public name, for type checkers: see test_types.py.

Annotations are what a user may rely on, and hold under `mypy --strict` and pyright.
"""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import numpy.typing as npt

import dmlgpu as dml

ERRORS: tuple[type[dml.DmlError], ...] = (
    dml.AxisError,
    dml.BindingError,
    dml.DeviceError,
    dml.DeviceLostError,
    dml.IndexRangeError,
    dml.InvalidDescError,
    dml.InvalidIndexError,
    dml.InvalidTypeError,
    dml.NumberRangeError,
    dml.OutOfMemoryError,
    dml.UnsupportedError,
)


def attributes(x: dml.Tensor) -> None:
    shape: tuple[int, ...] = x.shape
    strides: tuple[int, ...] = x.strides
    numbers: list[int] = [x.ndim, x.size, x.nbytes, x.itemsize, x.offset, len(x)]
    dtype: np.dtype[Any] = x.dtype
    desc: dml.TensorDesc = x.desc
    device: dml.Device = x.device
    assert (desc.rank, desc.element_count) == (len(shape), x.size)
    assert tuple(n * x.itemsize for n in desc.effective_strides) == strides
    assert desc.minimum_size_in_bytes <= desc.total_tensor_size_in_bytes
    assert min(numbers) >= 0
    assert dml.DataType.from_numpy(dtype) is desc.data_type
    assert desc.data_type.numpy == dtype
    assert device.adapter.name
    text: str = repr(x)
    raw: bytes = x.tobytes()
    assert text
    assert raw


def arrays(x: dml.Tensor) -> npt.NDArray[Any]:
    made: list[dml.Tensor] = [
        x[0],
        x[..., None, ::-1],
        x[[[0], [1]], x.argmax(0)],
        x[np.array([0, -1]), None],
        x[x > 0],
        x.T,
        x.copy(),
        x.reshape(-1),
        x.reshape((4, -1)),
        x.ravel(),
        x.flatten(),
        x.transpose(),
        x.transpose(1, 0),
        x.transpose((1, 0)),
        x.swapaxes(0, 1),
        x.squeeze(),
        x.expand_dims(0),
        x.broadcast_to(2, *x.shape),
        x.flip(),
        x.flip((0, 1)),
        x.take([0, 1], axis=1),
        x.take(np.array(3)),
        x.gather_nd([[0, 1]]),
        x.cumsum(),
        x.cumsum(1, exclusive=True, reverse=True),
        x.cumprod(0),
        x.view(dml.TensorDesc(dml.DataType.FLOAT32, (x.size,))),
    ]
    one = x[0, 0]
    value: int | float = one.item()
    rows: list[Any] = x.tolist()
    assert float(one) == value == rows[0][0]
    assert int(one) == int(value)
    assert bool(one) is bool(value)
    assert all(tensor.device is x.device for tensor in made)
    return np.asarray(x)


def functions(x: dml.Tensor | npt.ArrayLike) -> list[dml.Tensor]:
    down: dml.AxisDirection = dml.AxisDirection.DECREASING
    return [
        dml.slice(x, (0, 0), (1, 1), (1, 1)),
        dml.slice1(x, [0, 0], [2, 2], [1, -1], output_sizes=(2, 1)),
        dml.gather_nd(x, [[0, 1]]),
        dml.gather_nd1(x, np.array([[0], [1]]), batch_dimension_count=1),
        dml.cumulative_summation(x, -1),
        dml.cumulative_product(x, axis=0, axis_direction=down, exclusive=True),
        dml.from_dlpack(np.asarray(x)),
        dml.cast(x, np.float32),
        dml.fuse(lambda v: v + 1)(x),
    ]


def descriptions(level: dml.FeatureLevel) -> None:
    f32 = dml.TensorDesc(
        dml.DataType.FLOAT32,
        (1, 1, 2, 2),
        (4, 4, 2, 1),
        total_tensor_size_in_bytes=32,
        guaranteed_base_offset_alignment=16,
        flags=dml.TensorFlags.NONE,
    )
    one = dml.TensorDesc(dml.DataType.FLOAT32, (1, 1, 1, 1))
    at = dml.TensorDesc(dml.DataType.UINT32, (1, 1, 1, 4))
    four = (0, 0, 0, 0)
    ones = (1, 1, 1, 1)
    descs: list[Any] = [
        dml.SliceDesc(input_tensor=f32, output_tensor=one, offsets=four, sizes=ones, strides=ones),
        dml.Slice1Desc(
            input_tensor=f32,
            output_tensor=one,
            input_window_offsets=four,
            input_window_sizes=ones,
            input_window_strides=ones,
        ),
        dml.GatherNdDesc(
            input_tensor=f32,
            indices_tensor=at,
            output_tensor=one,
            input_dimension_count=4,
            indices_dimension_count=1,
        ),
        dml.GatherNd1Desc(
            input_tensor=f32,
            indices_tensor=at,
            output_tensor=one,
            input_dimension_count=4,
            indices_dimension_count=1,
            batch_dimension_count=0,
        ),
        dml.CumulativeSummationDesc(input_tensor=f32, output_tensor=f32, axis=3),
        dml.CumulativeProductDesc(
            input_tensor=f32,
            output_tensor=f32,
            axis=3,
            axis_direction=dml.AxisDirection.INCREASING,
            has_exclusive_product=True,
        ),
    ]
    for desc in descs:
        dml.validate(desc, level)
    inferred: dml.Description = dml.infer(dml.CumulativeSummationDesc, input_tensor=f32, axis=3)
    assert inferred.outputs()["output_tensor"].sizes == f32.sizes
    later: type[dml.Description] = dml.ConvolutionDesc
    assert later.__name__ == "ConvolutionDesc"


def enumerations() -> list[int]:
    """What descriptions of other operators take."""
    size: dml.Size2D = dml.Size2D(2, 3)
    before: dml.ScaleBias = dml.ScaleBias(2.0, 0.5)
    assert size.width < size.height
    assert before.scale > before.bias
    return [
        dml.ConvolutionDirection.FORWARD,
        dml.ConvolutionMode.CROSS_CORRELATION,
        dml.DepthSpaceOrder.DEPTH_COLUMN_ROW,
        dml.InterpolationMode.LINEAR,
        dml.IsInfinityMode.EITHER,
        dml.MatrixTransform.TRANSPOSE,
        dml.MultiheadAttentionMaskType.BOOLEAN,
        dml.PaddingMode.EDGE,
        dml.QuantizationType.SCALE,
        dml.RandomGeneratorType.PHILOX_4X32_10,
        dml.RecurrentNetworkDirection.BIDIRECTIONAL,
        dml.ReduceFunction.SUM,
        dml.RoundingMode.TOWARD_ZERO,
    ]


def devices(array: npt.NDArray[np.float32]) -> None:
    found: list[dml.AdapterInfo] = dml.adapters()
    with dml.Device(found[0], feature_level=dml.FeatureLevel.FL_6_4, debug=False) as device:
        x = device.tensor(array)
        same = device.upload(x.desc, x.tobytes())
        out = device.empty(x.desc)
        desc = dml.CumulativeSummationDesc(input_tensor=x.desc, output_tensor=x.desc, axis=1)
        op: dml.CompiledOperator = device.compile(desc)
        result: dml.Tensor = op(same, out=out)
        op(array)
        part: dml.Tensor = device.wrap(result.buffer, x.desc, offset=0)
        held: int = device.memory.in_use
        device.flush()
        device.wait()
        assert held
        assert device.from_dlpack(array).tolist() == x.tolist()
        assert np.array_equal(part.numpy(), np.cumsum(array, 1))
    try:
        x.numpy()
    except dml.DmlError as error:
        code: int = error.hresult
        assert code


def own_kernels(x: dml.Tensor) -> None:
    doubled: dml.Tensor = dml.elementwise("x * k", x, 2.0)
    assert np.array_equal(doubled.numpy(), x.numpy() * 2)
    kernel: dml.Kernel = dml.Kernel(
        "@group(0) @binding(0) var<storage, read_write> y: array<f32>;\n"
        "@compute @workgroup_size(1) fn main() { y[0] = 7.0; }"
    )
    kernel(doubled, workgroups=1)
    assert doubled.reshape(-1)[0].item() == 7


async def later(x: dml.Tensor) -> npt.NDArray[Any]:
    first, second = await asyncio.gather(x.numpy_async(), x.T.numpy_async())
    assert first.shape == second.shape[::-1]
    return first


def main() -> None:
    array = np.arange(16, dtype=np.float32).reshape(4, 4)
    device: dml.Device = dml.default_device()
    dml.set_default_device(device)
    x: dml.Tensor = dml.tensor(array, device)
    attributes(x)
    assert enumerations()
    arrays(x)
    functions(x[:2])
    functions([[1, 2], [3, 4]])
    descriptions(dml.FeatureLevel.FL_6_4)
    devices(array)
    own_kernels(x)
    asyncio.run(later(x))
    version: str = dml.__version__
    assert version


if __name__ == "__main__":
    main()

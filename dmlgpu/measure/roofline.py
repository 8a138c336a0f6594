"""The adapter's own copy: the speed that nothing bound by memory can beat."""

from __future__ import annotations

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.device import Device
from dmlgpu.gpu.objects import BindGroup, Buffer, Pipeline
from dmlgpu.gpu.recording import Call
from dmlgpu.measure.timing import Pace, time_gpu
from dmlgpu.runtime.reach import grid
from dmlgpu.tensor import Tensor

WG_SIZE = 256

COPY = """
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> made: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
    let i = id.x + id.y * n.x * 256u;
    if (i < arrayLength(&made)) {
        made[i] = source[i];
    }
}
"""


class BareKernel:
    """A WGSL kernel over whole buffers, called like an operator."""

    def __init__(self, device: Device, name: str, code: str, outputs: int) -> None:
        self._device = device
        self._name = name
        self._pipeline = device.context.gpu.pipeline(name, code, "main", {})
        self._grid = grid(-(-outputs // WG_SIZE), device.context.gpu.max_groups, name)
        self._group: BindGroup | None = None
        self._nbytes = 0

    def bind(self, *ranges: tuple[Buffer, int]) -> None:
        """Binds (buffer, bytes) in order."""
        places = [(i, buffer, 0, size) for i, (buffer, size) in enumerate(ranges)]
        self._group = self._device.context.gpu.bind_group(self._pipeline, [], places)
        self._nbytes = sum(size for _, size in ranges)

    def __call__(self) -> None:
        """Appends one dispatch to the device's recording."""
        dispatch = (*self.parts, *self._grid)
        self._device.context.record(Call(self._name, (dispatch,), (), self._nbytes))

    @property
    def parts(self) -> tuple[Pipeline, BindGroup]:
        """The pipeline and the bind group."""
        assert self._group is not None, "bind comes first"
        return self._pipeline, self._group


def copy_kernel(device: Device, nbytes: int) -> tuple[BareKernel, list[Tensor]]:
    """A kernel that copies `nbytes`, one vec4<u32> per invocation, and the tensors it uses."""
    nbytes = -(-nbytes // 16) * 16
    desc = TensorDesc(DataType.UINT8, (nbytes,))
    tensors = [device.empty(desc), device.empty(desc)]
    kernel = BareKernel(device, "copy", COPY, nbytes // 16)
    kernel.bind(*((tensor.buffer, nbytes) for tensor in tensors))
    return kernel, tensors


def copy_rate(device: Device, nbytes: int) -> float:
    """Bytes read and written per second by a copy of `nbytes`; the best of three looks."""
    nbytes = min(nbytes, device.context.gpu.max_binding // 16 * 16)
    kernel, tensors = copy_kernel(device, nbytes)
    pace = Pace.of(device.adapter.kind, quick=True)
    seconds = min(time_gpu(device, kernel, pace).seconds for _ in range(3))
    del tensors
    return 2 * nbytes / seconds

"""One GPU device for plain wgpu-py code and dmlgpu: their buffers and their work meet on the GPU.

python examples/share_device.py
"""

import numpy as np
import wgpu

import dmlgpu as dml

N = 100_000
ROLL = """
@group(0) @binding(0) var<storage, read_write> dice: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    var h = id.x * 747796405u + 2891336453u;  // PCG hash
    h = ((h >> ((h >> 28u) + 4u)) ^ h) * 277803737u;
    if (id.x < arrayLength(&dice)) { dice[id.x] = ((h >> 22u) ^ h) % 6u + 1u; }
}
"""


def rolled() -> np.ndarray:
    """What the shader writes, by NumPy."""
    h = np.arange(N, dtype=np.uint32) * np.uint32(747796405) + np.uint32(2891336453)
    h = ((h >> ((h >> np.uint32(28)) + np.uint32(4))) ^ h) * np.uint32(277803737)
    return ((h >> np.uint32(22)) ^ h) % np.uint32(6) + np.uint32(1)


def main() -> None:
    """A shader of ours fills a buffer, dmlgpu scans it, and wgpu-py reads the result's buffer."""
    gpu = wgpu.utils.get_default_device()
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    buffer = gpu.create_buffer(size=4 * N, usage=usage)
    module = gpu.create_shader_module(code=ROLL)
    pipeline = gpu.create_compute_pipeline(layout="auto", compute={"module": module})
    entries = [{"binding": 0, "resource": {"buffer": buffer}}]
    group = gpu.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
    encoder = gpu.create_command_encoder()
    work = encoder.begin_compute_pass()
    work.set_pipeline(pipeline)
    work.set_bind_group(0, group)
    work.dispatch_workgroups(-(-N // 64))
    work.end()
    gpu.queue.submit([encoder.finish()])  # submitted before dmlgpu's work: done before it

    device = dml.Device.from_wgpu(gpu)
    dice = device.wrap(buffer, dml.TensorDesc(dml.DataType.UINT32, (N,)))
    score = dml.cumulative_summation(dice, axis=0)
    device.flush()  # submitted before the read below
    read = np.frombuffer(gpu.queue.read_buffer(score.buffer, score.offset, 4 * N), np.uint32)

    assert (read == rolled().cumsum(dtype=np.uint32)).all()
    print(f"{N} dice, {read[-1]} points, {read[-1] / N:.3f} each: equal to NumPy")


if __name__ == "__main__":
    main()

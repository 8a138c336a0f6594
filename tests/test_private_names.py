"""What dmlgpu/gpu/private.py needs of wgpu-py, wgpu-native and cffi without a public name.

A version that lacks one of these names fails here, by that name, and not somewhere in a call.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import wgpu
from wgpu.backends.wgpu_native import _api, _helpers

import dmlgpu as dml
from dmlgpu.gpu import gpu, private

SOURCE = Path(private.__file__).read_text(encoding="utf-8")


def test_these_versions_were_read() -> None:
    assert wgpu.version_info[:2] == (0, 32), "read gpu/private.py again for this version"
    assert private.native().version_info[0] == 29, "does memory stay mapped there too?"


@pytest.mark.parametrize(
    "name",
    sorted(
        {
            node.attr
            for node in ast.walk(ast.parse(SOURCE))
            if isinstance(node, ast.Attribute) and node.attr.startswith("wgpu")
        }
        - {"wgpu_native"}
    ),
)
def test_the_c_library_has_the_function(name: str) -> None:
    assert callable(getattr(private.native().lib, name))


@pytest.mark.gpu
def test_objects_of_wgpu_have_these_attributes(device: dml.Device) -> None:
    made = device.wgpu_device
    buffer = made.create_buffer(size=16, usage="COPY_DST|MAP_READ")
    assert buffer._device is made
    assert private.native().ffi.typeof(buffer._internal).cname == "struct WGPUBufferImpl *"
    assert made._poller is not None
    assert callable(_api.libf.wgpuCommandEncoderFinish)
    assert private.native().ffi._parsed_types


@pytest.mark.gpu
def test_an_encoder_shown_to_others_is_the_same_one(device: dml.Device) -> None:
    encoder = private.encoder_of(device.wgpu_device)
    shown = private.shown(device.wgpu_device, encoder)
    assert isinstance(shown, _api.GPUCommandEncoder)
    assert private.handle(shown) == encoder


@pytest.mark.gpu
def test_a_forgotten_instance_is_made_anew(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _helpers.get_wgpu_instance()
    monkeypatch.setattr(_helpers, "_the_instance", first)  # put back when the test is over
    private.forget_instance()
    assert _helpers.get_wgpu_instance() != first


@pytest.mark.gpu
def test_wgpus_checks_are_kept_where_they_are_asked_for(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted: list[str] = []

    def made(*given: Any, bounds: bool) -> Any:
        trusted.append(given[1])
        return private.trusted_module(*given, bounds=bounds)

    monkeypatch.setattr(gpu, "trusted_module", made)

    def run(**asked: Any) -> bool:
        with dml.Device(device.adapter, **asked) as one:
            del trusted[:]
            assert (one.tensor([1, 2, 3]) * 2).tolist() == [2, 4, 6]
        return bool(trusted)

    assert run()
    assert not run(debug=True)
    monkeypatch.setenv(gpu.CHECKED, "1")
    assert not run()


@pytest.mark.gpu
def test_a_refused_shader_is_told_as_with_checks(device: dml.Device) -> None:
    """By its line, and with the error of the driver."""
    with dml.Device(device.adapter) as made:
        for checked in (False, True):
            made.context.gpu.checked = checked
            with pytest.raises(dml.DeviceError, match="wrong line 2, `fn main"):
                made.context.gpu.pipeline(
                    "wrong",
                    "@compute @workgroup_size(1)\nfn main() { let x: u32 = 1.5; }",
                    "main",
                    {},
                )

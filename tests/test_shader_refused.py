"""A shader that a driver refuses: the error names shader, line and driver."""

from __future__ import annotations

import pytest

import dmlgpu as dml

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("fn f() -> u32 {\n    let x = ;\n    return x;\n}", 2, "expected expression"),
        ("fn f() -> u32 {\n    return 1.5;\n}", 2, "cannot convert"),
        ("\n\n@compute @workgroup_size(1) fn main() { y = 1; }", 3, "y"),
    ],
)
def test_the_line_is_named(device: dml.Device, text: str, line: int, reason: str) -> None:
    with pytest.raises(dml.DeviceError) as caught:
        device.context.gpu.pipeline("broken.wgsl", text, "main", {})
    message = str(caught.value)
    quoted = text.splitlines()[line - 1].strip()
    assert message.startswith(f"broken.wgsl line {line}, `{quoted}`, does not compile on ")
    assert str(device.adapter) in message
    assert reason in message
    assert "\n" not in message


def test_a_pipeline_that_cannot_be_made_names_shader_and_driver(device: dml.Device) -> None:
    text = "@compute @workgroup_size(1) fn main() {}"
    with pytest.raises(dml.DeviceError, match=r"^broken\.wgsl does not compile on .*'nothing'$"):
        device.context.gpu.pipeline("broken.wgsl", text, "nothing", {})
    with pytest.raises(dml.DeviceError, match=r"^broken\.wgsl does not compile on "):
        device.context.gpu.pipeline("broken.wgsl", text.replace("(1)", "(4096)"), "main", {})
    assert device.is_usable

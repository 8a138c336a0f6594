"""DMLGPU_DUMP_WGSL=folder: every shader as the driver gets it, in a file of its own."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

from dmlgpu.errors import DeviceError
from dmlgpu.plan.dispatch import Dispatch
from dmlgpu.wgsl.assembly import Shader

VARIABLE = "DMLGPU_DUMP_WGSL"


def dump_wgsl(shader: Shader, dispatch: Dispatch) -> None:
    """Writes the shader of a new pipeline where the variable says; does nothing without it.

    The name holds a hash of all that is written: the same shader is the same file on every run.
    """
    folder = os.environ.get(VARIABLE)
    if not folder:
        return
    text = dumped(shader, dispatch)
    words = (dispatch.shader, *dispatch.slots.values(), dispatch.entry)
    parts = [word.replace("/", "-") for word in words]
    path = Path(folder) / f"{'-'.join(parts)}-{sha256(text.encode()).hexdigest()[:8]}.wgsl"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DeviceError(
            f"{VARIABLE} is {folder!r}; {path.name} cannot be written there: {error.strerror}"
        ) from None


def dumped(shader: Shader, dispatch: Dispatch) -> str:
    """The shader's text under a comment that says what else the pipeline is made of."""
    constants = ", ".join(f"{name} = {value}" for name, value in dispatch.constants.items())
    slots = ", ".join(f"{slot} = {snippet}" for slot, snippet in dispatch.slots.items())
    head = [
        f"// {shader.label}, entry point {dispatch.entry}",
        f"// constants: {constants or 'none'}",
        f"// slots: {slots or 'none'}",
        "// A driver's messages count lines from the one after this comment.",
    ]
    return "\n".join([*head, shader.text])

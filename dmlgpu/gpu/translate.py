"""Errors of wgpu as errors of this library, so that none reaches a caller."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from wgpu import classes

from dmlgpu.errors import BindingError, DeviceError, DeviceLostError, DmlError, OutOfMemoryError


@contextlib.contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turns whatever wgpu raises while `doing` something into an error of this library."""
    try:
        yield
    except (DmlError, RecursionError, TimeoutError, InterruptedError):
        raise  # the last two come from signal handlers, never from wgpu
    except (classes.GPUOutOfMemoryError, MemoryError) as error:
        raise OutOfMemoryError(f"out of memory while {doing}: {reason(str(error))}") from None
    except (classes.GPUError, RuntimeError, ValueError, OSError) as error:
        raise _as_dml_error(doing, error) from None


def _as_dml_error(doing: str, error: Exception) -> DmlError:
    text = str(error).lower()
    if "device is lost" in text or "device lost" in text:
        return DeviceLostError(f"the GPU device was lost while {doing}")
    if "not enough memory" in text:  # some drivers do not say it with wgpu's class for it
        return OutOfMemoryError(f"out of memory while {doing}: {reason(str(error))}")
    if "buffer" in text and "has been destroyed" in text:
        return BindingError(f"a buffer that its owner has destroyed was used while {doing}")
    return DeviceError(f"the adapter failed while {doing}: {reason(str(error))}")


def reason(text: str) -> str:
    """The innermost cause that a message of wgpu names, on one line."""
    lines = [line.strip().rstrip(".") for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("Caused by", "In wgpu"))]
    named = [line for line in lines if line != "Validation Error"]
    return (named or lines or ["no reason given"])[-1]

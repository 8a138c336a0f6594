"""Errors of wgpu as errors of this library, so that none reaches a caller."""

from __future__ import annotations

from wgpu import classes

from dmlgpu.errors import BindingError, DeviceError, DeviceLostError, DmlError, OutOfMemoryError


class translated:  # noqa: N801 - reads as a word of the sentence: with translated("...")
    """Turns whatever wgpu raises while `doing` something into an error of this library."""

    __slots__ = ("_doing",)

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None:
            made = translation(self._doing, error)
            if made is not None:
                raise made from None


def translation(doing: str, error: BaseException) -> DmlError | None:
    """The error of this library that stands for one of wgpu; None where it stands for itself."""
    if isinstance(error, (DmlError, RecursionError, TimeoutError, InterruptedError)):
        return None  # the last two come from signal handlers, never from wgpu
    if isinstance(error, (classes.GPUOutOfMemoryError, MemoryError)):
        return OutOfMemoryError(f"out of memory while {doing}: {reason(str(error))}")
    if isinstance(error, (classes.GPUError, RuntimeError, ValueError, OSError)):
        return _as_dml_error(doing, error)
    return None


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

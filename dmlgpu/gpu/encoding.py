"""Encoding: dispatches and copies as one command buffer, by the functions below wgpu-py.

wgpu-py's methods do the same. They make an object for each step and look for errors behind it: 7 us
for a dispatch, and 30 us for the rest of a submission. Errors of commands are reported when their
encoder is finished, in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wgpu import classes

from dmlgpu.errors import DeviceLostError
from dmlgpu.gpu.objects import Copy, Dispatch, Encode, QuerySet
from dmlgpu.gpu.private import (
    compute_pass,
    copy_bytes,
    encoder_of,
    end_pass,
    finished,
    handle,
    is_destroyed,
    shown,
)


class Encoding:
    """One command encoder. Dispatches wait in a list until their pass ends."""

    def __init__(self, device: classes.GPUDevice) -> None:
        self._device = device
        self._check()
        self._encoder = encoder_of(device)
        self._dispatches: list[Dispatch] = []

    def add(self, dispatches: Sequence[Dispatch], copies: Sequence[Copy]) -> None:
        """Adds the commands of a call."""
        self._dispatches += dispatches
        if copies:
            self._end()
            self._copy(copies)

    def add_timed(
        self, dispatches: Sequence[Dispatch], copies: Sequence[Copy], queries: QuerySet, first: int
    ) -> None:
        """Adds a call between two timestamps, of which the first has this place."""
        self._end()
        begin = {"query_set": queries, "beginning_of_pass_write_index": first}
        end = {"query_set": queries, "end_of_pass_write_index": first + 1}
        if not copies:
            self._pass(dispatches, {**begin, **end})
            return
        # Copies happen outside any pass: they go between two passes, each with one timestamp.
        self._pass((), begin)
        self._copy(copies)
        self._pass((), end)

    def add_other(self, encode: Encode) -> None:
        """Adds what a function does to the encoder."""
        self._end()
        encode(shown(self._device, self._encoder))

    def finish(self) -> Any:
        """The handle of the command buffer."""
        self._end()
        self._check()
        return finished(self._encoder)

    def _check(self) -> None:
        """Raises on a destroyed device: wgpu-native keeps for good what it cannot finish."""
        if is_destroyed(self._device):
            raise DeviceLostError("the GPU device was lost while submitting work")

    def _end(self) -> None:
        if self._dispatches:
            dispatches, self._dispatches = self._dispatches, []
            self._pass(dispatches)

    def _pass(self, dispatches: Sequence[Dispatch], stamps: dict[str, Any] | None = None) -> None:
        if stamps is None:
            compute_pass(self._encoder, dispatches)
        else:
            encoder = shown(self._device, self._encoder)
            timed = encoder.begin_compute_pass(timestamp_writes=stamps)  # lives as long as its name
            end_pass(handle(timed), dispatches)

    def _copy(self, copies: Sequence[Copy]) -> None:
        copy_bytes(self._encoder, copies)

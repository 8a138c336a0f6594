"""Plans: what a call runs on the GPU, as plain records that no GPU is needed to make or to test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dmlgpu.desc.tensor import MAX_RANK

Value = int | float | tuple[int, ...]  # of a parameter; tuples have eight entries

SMALL = 1 << 18  # bytes that a GPU moves in less time than it takes to begin
VECTOR = 8  # invocations that a software driver runs at once
# Looks of an invocation at what other workgroups have not published yet: milliseconds, where that
# takes microseconds.
LOOKS = 1 << 14
BANKS = 32  # of workgroup memory, from each of which a word is reached at once


@dataclass(frozen=True, slots=True)
class Adapter:
    """What a plan may know of the adapter it will run on; the defaults are WebGPU's least."""

    is_cpu: bool = False
    subgroup_min: int = 0  # 0: no subgroup operations
    subgroup_max: int = 0
    exact_floats: bool = False  # fma and conversions of FLOAT16 do what IEEE 754 says
    wide_integers: bool = False  # shaders may have 64-bit integers
    forward_progress: bool = False  # a workgroup goes on while others wait for it
    max_workgroup_size: int = 256
    max_workgroup_storage: int = 16384
    max_binding: int = 1 << 27  # bytes of a buffer that a shader reaches through one binding
    shaped_from: int = 0  # bytes from which on it is worth compiling a kernel for one shape
    launch: int = SMALL  # bytes that are moved in the time in which a dispatch begins

    @property
    def worth_a_dispatch(self) -> int:
        """Bytes from which on another dispatch costs less than it saves where layouts differ."""
        return 4 * self.launch


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One run of one shader: everything the device needs to know of it.

    `bindings` maps a name the shader declares with #bind to a tensor field of the description, or
    to a name in the plan's `scratch` or `shared`. `workgroups` is a count; the device folds it into
    the grid. `spans` are the bytes of a tensor field that the dispatch reaches, where not all.
    `code` is WGSL that joins the shader's text: functions made from a table of expressions.
    """

    shader: str
    workgroups: int
    params: Mapping[str, Value]
    bindings: Mapping[str, str]
    slots: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, int] = field(default_factory=dict)
    entry: str = "main"
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    code: str = ""


@dataclass(frozen=True, slots=True)
class Copy:
    """A plain copy of bytes from one tensor to another."""

    source: str  # field
    start: int
    target: str  # field
    to: int
    size: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The dispatches of one operator call, in order, and the bytes of scratch memory they share.

    `shared` is memory that all calls of a device share: zeros at first, then what the call before
    left there. `in_place`, where there is one, takes over when an output lies in the buffer of an
    input. `copies`, where there are any, do the same as the dispatches with plain buffer copies,
    between buffers that are different and allow it.
    """

    dispatches: tuple[Dispatch, ...]
    scratch: Mapping[str, int] = field(default_factory=dict)
    copies: tuple[Copy, ...] = ()
    shared: Mapping[str, int] = field(default_factory=dict)
    in_place: Plan | None = None

    @property
    def waits(self) -> bool:
        """Whether workgroups wait for what others publish, which shared memory is for."""
        return bool(self.shared)


def eight(values: Sequence[int], fill: int = 0) -> tuple[int, ...]:
    """`values` as the eight 32-bit words a shader reads, two's complement where negative."""
    words = [v & 0xFFFFFFFF for v in values]
    return tuple(words + [fill] * (MAX_RANK - len(words)))


def of_eight(array: str, d: int) -> str:
    """WGSL of entry `d` of a parameter that has eight."""
    return f"params.{array}[{d // 4}][{d % 4}]"

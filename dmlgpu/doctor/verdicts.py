"""What the answers of the probes mean, in plain words: pure functions, no GPU.

A verdict is one of four states. BROKEN is for what the operators need; a driver's other faults are
avoided, and say so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlgpu.doctor import probes
from dmlgpu.doctor.answers import Outcome
from dmlgpu.doctor.probes import Answer
from dmlgpu.gpu.adapters import AdapterInfo
from dmlgpu.plan.dispatch import Adapter
from dmlgpu.runtime.forward_progress import VARIABLE

WORKS, AVOIDED, ABSENT, BROKEN = "works", "avoided", "absent", "BROKEN"
DIVISION, SHIFTS, PRODUCT, SIGNED = slice(0, 2), slice(2, 5), slice(5, 6), slice(6, 8)


@dataclass(frozen=True)
class Verdict:
    """One line of the doctor's report."""

    name: str
    state: str
    text: str
    advice: str = ""  # what to install or to do, where something can be done


def operators(outcomes: Iterable[Outcome]) -> list[Verdict]:
    """One verdict for each operator, over all its cases."""
    grouped: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        grouped.setdefault(outcome.operator, []).append(outcome)
    return [_operator(name, found) for name, found in sorted(grouped.items())]


def others(outcomes: Iterable[Outcome]) -> Verdict:
    """One verdict for all operators whose answers are not known here."""
    found = list(outcomes)
    wrong = [outcome for outcome in found if outcome.fault]
    if not wrong:
        text = f"{len(found)} compile, run, and give the same bits twice"
        return Verdict("other operators", WORKS, text)
    first = wrong[0]
    text = f"{len(wrong)} of {len(found)} do not work; first: {first.operator}: {first.fault}"
    return Verdict("other operators", BROKEN, text, NEWER_DRIVER)


def _operator(name: str, outcomes: list[Outcome]) -> Verdict:
    reached = ", ".join(sorted(frozenset().union(*(o.kernels for o in outcomes))))
    wrong = [o for o in outcomes if o.fault]
    if not wrong:
        return Verdict(name, WORKS, f"{len(outcomes)} answers right; kernels: {reached}")
    first = wrong[0]
    kernels = ", ".join(sorted(first.kernels)) or "none reached"
    text = (
        f"{len(wrong)} of {len(outcomes)} answers wrong; first: {first.what} "
        f"(kernels: {kernels}): {first.fault}"
    )
    return Verdict(name, BROKEN, text, NEWER_DRIVER)


NEWER_DRIVER = (
    "install a newer driver for this adapter, or choose another adapter with DMLGPU_ADAPTER"
)


def loops(found: Answer, facts: Adapter, info: AdapterInfo) -> Verdict:
    """Software adapters run no long loop, so one that is cut short harms only other programs."""
    if isinstance(found, str):
        return Verdict("loops", BROKEN, found, NEWER_DRIVER)
    turns, fits = found
    if turns == probes.LOOP_TURNS and fits:
        return Verdict("loops", WORKS, f"those that count run their {turns:,} turns")
    if not fits or turns > probes.LOOP_TURNS:
        text = f"lose count: {turns:,} turns of {probes.LOOP_TURNS:,}, with a wrong result"
        return Verdict("loops", BROKEN, text, NEWER_DRIVER)
    text = f"stop after {turns:,} of {probes.LOOP_TURNS:,} turns"
    if facts.is_cpu and turns >= 65_535:
        advice = (
            "Mesa 22.3 stops every shader loop after 65,535 turns; a newer one, such as Mesa 25.0, "
            "does not (on Debian 12: the package mesa-vulkan-drivers of bookworm-backports)"
        )
        fix = advice if "mesa" in info.driver.lower() else NEWER_DRIVER
        return Verdict("loops", AVOIDED, f"{text}; no kernel for this adapter runs longer", fix)
    return Verdict(
        "loops", BROKEN, f"{text}, and kernels for this adapter run longer", NEWER_DRIVER
    )


def waits(found: Answer, facts: Adapter, setting: str) -> Verdict:
    """Forward progress: kernels wait for other workgroups only where the probe has found it.

    `setting` is what DMLGPU_WAITING_KERNELS says. Some drivers also end a loop that waits for long,
    the one of Mesa 25.0 among them, whose loops that count all run to their end.
    """
    name = "forward progress"
    if isinstance(found, str):
        return Verdict(name, AVOIDED, f"not known: {found}; no kernel waits for other workgroups")
    if not found.all_seen:
        text = (
            f"{found.missed:,} workgroups did not see in time what an earlier one had published; "
            "no kernel waits for other workgroups"
        )
        return Verdict(name, AVOIDED, text)
    text = f"{found.seen:,} workgroups saw in time what an earlier one had published"
    if facts.forward_progress and not facts.is_cpu:
        return Verdict(name, WORKS, f"{text}; kernels wait for other workgroups")
    if setting == "0":
        why = f"{VARIABLE} is 0"
    elif facts.is_cpu:
        why = "software drivers may end a loop that waits for long"
    else:
        why = f"only discrete GPUs on Vulkan and Direct3D 12 are used so, or with {VARIABLE}=1"
    return Verdict(name, WORKS, f"{text}; still no kernel waits for other workgroups: {why}")


def integers(found: Answer) -> list[Verdict]:
    """Arithmetic of words: what kernels calculate addresses with, and the rest."""
    if isinstance(found, str):
        return [Verdict("integer division", BROKEN, found, NEWER_DRIVER)]
    expected = expected_integers()
    wrong = found != expected
    whole = probes.PAIRS[:, 1] != 0
    return [
        _arithmetic("integer division", wrong[whole, DIVISION], "quotients and remainders", True),
        _arithmetic("shifts", wrong[:, SHIFTS], "shifts of both kinds", True),
        _arithmetic("products", wrong[:, PRODUCT], "products modulo 2^32", True),
        _arithmetic("division by 0", wrong[~whole, DIVISION], "quotients and remainders", False),
        _arithmetic("signed division", wrong[:, SIGNED], "quotients and remainders", False),
    ]


def _arithmetic(name: str, wrong: Any, what: str, needed: bool) -> Verdict:
    count = int(wrong.sum())
    if not count:
        return Verdict(name, WORKS, f"{wrong.size} {what} right")
    text = f"{count} of {wrong.size} {what} wrong"
    if needed:
        return Verdict(name, BROKEN, text, NEWER_DRIVER)
    return Verdict(name, AVOIDED, f"{text}; no kernel uses it")


def expected_integers() -> probes.Words:
    """What WGSL says: division by 0 gives the dividend, its remainder is 0."""
    rows = []
    for a, b in probes.PAIRS.tolist():
        s, t = (v - 2**32 if v >= 2**31 else v for v in (a, b))
        quotient = s if t == 0 else abs(s) // abs(t) * (1 if (s < 0) == (t < 0) else -1)
        unsigned = (a, 0) if b == 0 else divmod(a, b)
        shifted = (a << (b & 31), a >> (b & 31), s >> (b & 31))
        rows.append((*unsigned, *shifted, a * b, quotient, 0 if t == 0 else s - quotient * t))
    return np.array([[v & 0xFFFFFFFF for v in row] for row in rows], np.uint32)


def fused(found: Answer, facts: Adapter) -> Verdict:
    """Sums of products, which only adapters known to be exact are asked for by kernels."""
    a, b, c = probes.TRIPLES.astype(np.float64).T
    wanted = (a * b + c).astype(np.float32).view(np.uint32)
    return _exact("fused products", "fma", found, wanted, facts, "multiply parts of numbers")


def halves(packed: Answer, unpacked: Answer, facts: Adapter, has_f16: bool) -> list[Verdict]:
    """Conversions of FLOAT16; only adapters known to be exact are asked for them by kernels."""
    values = np.concatenate([probes.ROUNDED, probes.OVERFLOWING])
    with np.errstate(over="ignore"):
        wanted = values.astype(np.float16).view(np.uint16)
    made = probes.HALVES.view(np.float16).astype(np.float32).view(np.uint32)
    instead = "convert with integer arithmetic"
    kernels = "has" if has_f16 else "does not have"
    return [
        _exact("FLOAT16 packing", "pack2x16float", packed, wanted, facts, instead),
        _exact("FLOAT16 unpacking", "unpack2x16float", unpacked, made, facts, instead),
        Verdict(
            "shader-f16",
            WORKS if has_f16 else ABSENT,
            f"the adapter {kernels} it; no kernel needs it",
        ),
    ]


def _exact(
    name: str, function: str, found: Answer, wanted: Any, facts: Adapter, instead: str
) -> Verdict:
    if isinstance(found, str):
        text = f"the driver refuses {function}: {found}"
    else:
        wrong = int((found != wanted).sum())
        if not wrong:
            return Verdict(name, WORKS, f"{function} does what IEEE 754 says, {wanted.size} times")
        text = f"{function} differs from IEEE 754 in {wrong} of {wanted.size} values"
    if facts.exact_floats:
        return Verdict(name, BROKEN, f"{text}, and kernels for this adapter use it", NEWER_DRIVER)
    return Verdict(name, AVOIDED, f"{text}; kernels {instead}")


def subgroups(found: Answer, facts: Adapter) -> Verdict:
    """Kernels of GPUs count on whole subgroups, numbered lanes, and shuffles to the neighbour."""
    name = "subgroups"
    if found is None:
        return Verdict(name, ABSENT, "operators take the kernels that do without")
    fault = found if isinstance(found, str) else _subgroup_fault(found, facts)
    unused = "no kernel for software adapters uses them"
    if not fault:
        used = unused if facts.is_cpu else "scans, reductions and softmax use them"
        return Verdict(name, WORKS, f"{int(found[0, 0])} lanes, as expected; {used}")
    if facts.is_cpu:
        return Verdict(name, AVOIDED, f"{fault}; {unused}")
    return Verdict(name, BROKEN, fault, NEWER_DRIVER)


def _subgroup_fault(found: probes.Words, facts: Adapter) -> str:
    size, lane, group, mine, before, after, across = found.astype(np.int64).T
    lanes = int(size[0])
    if (size != lanes).any():
        return f"sizes differ within one workgroup: {sorted(set(size.tolist()))}"
    if not facts.subgroup_min <= lanes <= facts.subgroup_max:
        return f"{lanes} lanes; {facts.subgroup_min} to {facts.subgroup_max} were expected"
    if 256 % lanes:
        return f"{lanes} lanes do not divide a workgroup of 256"
    order = np.lexsort((lane, group))
    if (lane[order] != np.arange(256) % lanes).any():
        return "the lanes of a subgroup are not numbered 0, 1, 2 ..."
    if (group[order] != np.arange(256) // lanes).any():
        return "the subgroups of a workgroup are not numbered 0, 1, 2 ..."
    rows = [values[order].reshape(-1, lanes) for values in (mine, before, after)]
    if (rows[1][:, 1:] != rows[0][:, :-1]).any() or (rows[2][:, :-1] != rows[0][:, 1:]).any():
        return "subgroupShuffleUp and subgroupShuffleDown do not give the neighbour's value"
    pairs = [values[order].reshape(-1, 2) for values in (mine, across)] if lanes > 1 else []
    if pairs and (pairs[1] != pairs[0][:, ::-1]).any():
        return "subgroupShuffleXor does not give the value of the lane across"
    return ""


def bounds(found: Answer) -> Verdict:
    """Kernels read past the ends of a tensor where they throw away what they read."""
    name = "robust access"
    if isinstance(found, str):
        return Verdict(name, BROKEN, found, NEWER_DRIVER)
    if (found.around != probes.GUARD).any():
        return Verdict(name, BROKEN, "writes outside a binding change other memory", NEWER_DRIVER)
    if (found.read == probes.GUARD).any():
        return Verdict(name, BROKEN, "reads outside a binding see other memory", NEWER_DRIVER)
    text = f"{found.read.size} reads and writes outside a binding reach nothing else"
    return Verdict(name, WORKS, text)


def limits(found: Answer, numbers: Mapping[str, int]) -> Verdict:
    """Bindings and buffers: beyond one binding, a tensor takes several."""
    told = (
        f"bindings of {mebibytes(numbers['max_binding'])}, {numbers['max_bindings']} at once, in "
        f"buffers of {mebibytes(numbers['max_buffer'])}"
    )
    if isinstance(found, str):
        return Verdict("limits", AVOIDED, f"{told}, as the driver says; not tried: {found}")
    if found.last != probes.GUARD:
        text = f"the end of a binding of {mebibytes(found.size)} is not reached; {told}"
        return Verdict("limits", BROKEN, text, NEWER_DRIVER)
    return Verdict("limits", WORKS, f"{told}; tried with {mebibytes(found.size)}")


def mebibytes(count: int) -> str:
    """A size in MiB, or bytes below one."""
    return f"{count >> 20:,} MiB" if count >= 1 << 20 else f"{count:,} bytes"


def timestamps(found: Answer) -> Verdict:
    """Only device.profile() needs them."""
    if found is None:
        return Verdict("timestamps", ABSENT, "device.profile() is not available on this adapter")
    if isinstance(found, str) or not 0 < found[0] <= found[1]:
        detail = found if isinstance(found, str) else f"from {found[0]} to {found[1]}"
        return Verdict("timestamps", AVOIDED, f"{detail}; only device.profile() uses them")
    return Verdict("timestamps", WORKS, f"a call took {(found[1] - found[0]) / 1e3:,.0f} us")


def on_adapter(info: AdapterInfo, system: str = sys.platform) -> str:
    """What could be better than this adapter; empty where nothing is known to be."""
    if info.backend.startswith("OpenGL"):
        why = "only OpenGL was found, which no test covers; for Vulkan on the GPU"
    elif info.kind == "cpu":
        why = "this adapter is software on the CPU: right but slow; where there is a GPU"
    else:
        return ""
    return f"{why}, install its driver: {what_to_install(system)}"


def what_to_install(system: str) -> str:
    """Where the driver of a GPU comes from on an operating system (`sys.platform`)."""
    if system == "win32":
        return "the graphics driver of the card's maker; Windows 10 and newer bring Direct3D 12"
    if system == "darwin":
        return "macOS 11 or newer, which brings Metal; virtual machines need a paravirtual GPU"
    return (
        "on Debian and Ubuntu libvulkan1 and mesa-vulkan-drivers (AMD, Intel, and software), on "
        "Fedora vulkan-loader and mesa-vulkan-drivers, on Arch vulkan-icd-loader with "
        "vulkan-radeon, vulkan-intel or vulkan-swrast; for NVIDIA the maker's driver"
    )

"""The doctor: a self-test of an adapter and its driver, told in plain words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from dmlgpu.device import Device
from dmlgpu.doctor import answers, probes, verdicts
from dmlgpu.doctor.verdicts import Verdict
from dmlgpu.runtime import forward_progress

ASKED = (
    *("loops", "waits", "integers", "fused", "pack_halves", "unpack_halves", "subgroups"),
    "binding",
)


def examine(device: Device) -> Iterator[Verdict]:
    """Every check, in an order that leaves the most dangerous one to the end."""
    context = device.context
    gpu, facts = context.gpu, context.facts
    ask = {name: partial(probes.answer, partial(getattr(probes, name), context)) for name in ASKED}
    yield from verdicts.operators(answers.run(device, case) for case in answers.cases())
    yield verdicts.others(answers.others(device))
    yield verdicts.loops(ask["loops"](), facts, gpu.info)
    setting = os.environ.get(forward_progress.VARIABLE, "")
    yield verdicts.waits(ask["waits"](), context.probed_facts(), setting)
    yield from verdicts.integers(ask["integers"]())
    yield verdicts.fused(ask["fused"](), facts)
    has_f16 = "shader-f16" in gpu.device.adapter.features
    yield from verdicts.halves(ask["pack_halves"](), ask["unpack_halves"](), facts, has_f16)
    yield verdicts.subgroups(ask["subgroups"](), facts)
    numbers = {name: getattr(gpu, name) for name in ("max_binding", "max_bindings", "max_buffer")}
    yield verdicts.limits(ask["binding"](), numbers)
    yield verdicts.timestamps(probes.answer(partial(probes.timestamps, device)))
    yield verdicts.bounds(probes.answer(partial(probes.bounds, context)))

"""Which shaders the runs of a test suite have run with a GPU's facts, and which they have not.

Each run of pytest notes them in its cache. The last of the three runs of `make test` fails where a
shader is in none of the notes: what users run has then no test.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from dmlgpu.plan.dispatch import Dispatch
from dmlgpu.runtime.context import Context
from dmlgpu.wgsl import source
from support import facts

# Shaders that only software adapters run, and those in whose place software runs others.
ELSEWHERE = frozenset(
    {
        *("move/dense", "move/rearrange", "move/rows", "move/short", "move/tuple_words"),
        *("move/tuples", "move/units", "move/divide_by_product", "move/indices_units"),
        *("move/resolve_loop", "nonzero/words_loop", "scatter/put_runs", "sort/counted_loop"),
        "number/split",
        # Run by tests that lay plans for a GPU and run them with the adapter's own facts.
        *("move/part_units", "scan/lift_vector"),
        *facts.INEXACT,
    }
)
ran: set[str] = set()


def listen() -> None:
    """Notes what is run from now on."""
    pipeline = Context.pipeline

    def noting(self: Context, dispatch: Dispatch, *given: Any) -> Any:
        if not self.facts.is_cpu:
            ran.update(shaders_of(dispatch))
        return pipeline(self, dispatch, *given)

    pytest.MonkeyPatch().setattr(Context, "pipeline", noting)


def shaders_of(dispatch: Dispatch) -> set[str]:
    """The files that make up a shader."""
    folder = dispatch.shader.rpartition("/")[0]
    _, imported = source.expanded(dispatch.shader, dispatch.slots, dispatch.code)
    found = (dispatch.slots.get(name, name) for name in imported)
    return {dispatch.shader, *(n if "/" in n or not folder else f"{folder}/{n}" for n in found)}


def missing(known: Iterable[str]) -> list[str]:
    """Shaders that a GPU runs and that are not among these."""
    root = source.shader_folder()
    every = {path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.wgsl")}
    probes = {name for name in every if name.startswith("doctor/")}
    return sorted(every - probes - ELSEWHERE - set(known))


def keep(config: pytest.Config) -> list[str]:
    """Notes this run, and after the last of three whole ones says what none of them has run."""
    name, cache = config.getoption("--facts"), getattr(config, "cache", None)
    if cache is None:
        return []
    cache.set(f"shaders/{name}", sorted(ran))
    is_whole = not (config.getoption("keyword") or config.getoption("file_or_dir"))
    if name != facts.NAMES[-1] or not is_whole:
        return []
    notes = [cache.get(f"shaders/{each}", None) for each in facts.NAMES]
    return [] if None in notes else missing(one for note in notes for one in note)

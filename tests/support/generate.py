"""Random valid descriptions of any operator, single faults in them, and the check of a run.

What is common to all operators is derived from the fields of a description class and from its
entry in the catalogue; what is an operator's own, from tests/expected.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from expected import EXPECTED
from hypothesis import strategies as st

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import FeatureLevel as L
from dmlgpu.desc.catalogue import Entry
from dmlgpu.desc.description import Description, Field, entry_of, fields
from dmlgpu.desc.enumerations import ENUMERATIONS
from dmlgpu.desc.levels import Allowed, Support
from dmlgpu.ops import BY_NAME
from support import oracle
from support.cases import Case, Own
from support.draws import RANKS, Draw, Kwargs, sizes, tensor

TYPE = "enum DML_TENSOR_DATA_TYPE"  # of a number in an attribute: always the output's
EVERY_TYPE = tuple(sorted(oracle.NUMPY_TYPES))


def attribute(draw: Draw, field: Field, rank: int) -> Any:
    """A value of an attribute that needs no more than its kind to be valid."""
    if field.optional and (field.kind == "operator desc" or draw(st.booleans())):
        return None
    if field.name == "axis":
        return draw(st.integers(0, rank - 1))
    if field.kind.startswith("enum "):
        return draw(st.sampled_from(list(ENUMERATIONS[field.kind.removeprefix("enum ")])))
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "bool": st.booleans(),
        "float": st.sampled_from((0.0, 1.0, -2.5, 0.5, 3.0)),
        "uint": st.integers(0, 3),
        "int": st.integers(-3, 3),
        "scalar union": st.integers(0, 3),
        "scale bias": st.builds(
            dml.ScaleBias, st.sampled_from((1.0, -0.5, 2.0)), st.sampled_from((0.0, 1.5))
        ),
    }
    if field.kind not in kinds:
        raise NotImplementedError(f"{field.name} is {field.kind}: tests/expected.py has to draw it")
    return draw(kinds[field.kind])


def grouped(
    entry: Entry, names: Collection[str], row: Mapping[str, Allowed] | None = None
) -> list[set[str]]:
    """Tensor fields that must share a data type, together; others alone.

    Where the table is an attribute's, so is this: tensors share a type if all may have the same.
    """
    if entry.support_by and row and len({row[name].data_types for name in names}) == 1:
        return [set(names)]
    groups = [{name} for name in names]
    for fact in entry.same:
        if "data_type" in fact.of:
            one = set().union(*(g for g in groups if g & set(fact.tensors)))
            groups = [g for g in groups if not g & set(fact.tensors)] + ([one] if one else [])
    return groups


@st.composite
def data_types(
    draw: Draw, entry: Entry, row: dict[str, Allowed], names: Collection[str], wanted: Collection[T]
) -> dict[str, T]:
    """A type for each tensor, of those `wanted` where the table has one of them."""
    found = {}
    for group in grouped(entry, names, row):
        allowed = set(EVERY_TYPE).intersection(
            *(row[name].data_types for name in group if name in row)
        )
        chosen = draw(st.sampled_from(sorted(allowed & set(wanted) or allowed)))
        found |= dict.fromkeys(group, chosen)
    return found


def top_row(entry: Entry, attributes: Kwargs) -> dict[str, Allowed]:
    """What each tensor may be at the highest level."""
    support = entry.support_of(SimpleNamespace(**attributes))
    return dict(support[max(support)])


@st.composite
def descriptions(
    draw: Draw,
    desc_type: type[Description],
    own: Own | None = None,
    *,
    most: int = 4000,
    types: Collection[T] = EVERY_TYPE,
) -> tuple[Kwargs, str]:
    """The fields of a valid description, and the input that its output lies on, if any."""
    entry, listed = entry_of(desc_type), fields(desc_type)
    given = [f for f in listed if f.is_tensor and not (f.optional and draw(st.booleans()))]
    names = [f.name for f in given]
    attributes: Kwargs = {}
    if entry.support_by:
        ranks: Sequence[int] = RANKS
    else:
        row = top_row(entry, {})
        ranks = sorted(set(RANKS).intersection(*(row[n].ranks for n in names if n in row)))
    if own is None:
        equal = draw(sizes(most, ranks))
        shapes: dict[str, Any] = dict.fromkeys(names, equal)
        for field in listed:
            if not field.is_tensor and field.kind != TYPE:
                attributes[field.name] = attribute(draw, field, len(equal))
    else:
        attributes, shapes = own(draw, ranks, most)
        for field in listed:
            if not field.is_tensor and field.kind != TYPE and field.name not in attributes:
                attributes[field.name] = attribute(draw, field, len(shapes[names[0]]))
    of = draw(data_types(entry, top_row(entry, attributes), names, types))
    made_type = next(of[f.name] for f in given if f.direction == "out")
    attributes |= {f.name: made_type for f in listed if f.kind == TYPE}
    if made_type is T.FLOAT64:  # which is not calculated with
        attributes |= {f.name: None for f in listed if f.kind == "scale bias"}
    pairs = [
        (target, source)
        for target, sources in entry.alias.items()
        for source in sources
        if {target, source} <= set(names)
        and (of[target], shapes[target]) == (of[source], shapes[source])
    ]
    target, source = draw(st.sampled_from([("", ""), *pairs]))
    made: Kwargs = {}
    for field in given:
        for_output = field.direction == "out" or field.name == source
        shape = shapes[field.name]
        if isinstance(shape, list):
            each = (tensor(of[field.name], s, output=for_output) for s in shape)
            made[field.name] = tuple(draw(one) for one in each)
            continue
        one = tensor(of[field.name], shape, output=for_output)
        if field.is_array:
            made[field.name] = tuple(draw(st.lists(one, min_size=1, max_size=3)))
        else:
            made[field.name] = draw(one)
    if target:
        made[target] = made[source]
    return {f.name: made.get(f.name) if f.is_tensor else attributes[f.name] for f in listed}, source


@st.composite
def cases(draw: Draw, name: str, types: Collection[T] = EVERY_TYPE, most: int = 0) -> Case:
    """A random valid description of an operator, and where its tensors lie."""
    own = EXPECTED[name]
    kwargs, in_place = draw(
        descriptions(BY_NAME[name].desc, own.draw, most=most or own.elements, types=types)
    )
    gap = st.integers(0, 40).map(lambda n: 16 * n)
    return Case(
        name,
        kwargs,
        seed=draw(st.integers(0, 2**32 - 1)),
        gaps=tuple(draw(st.lists(gap, min_size=3, max_size=3))),
        one_buffer=draw(st.booleans()),
        in_place=in_place,
        mode=draw(st.sampled_from(own.modes)),
    )


def check(case: Case, execute: Any) -> None:
    """Runs a case, and holds what comes out against NumPy."""
    own, desc = EXPECTED[case.operator], case.desc
    data = {name: own.content(case, name, t) for name, t in desc.inputs().items()}
    out = execute(
        desc,
        list(data.values()),
        gaps=case.gaps,
        one_buffer=case.one_buffer,
        in_place=case.in_place,
    )
    own.agree(case, own.arrays(desc, data), out)


class Fault:
    """A description that breaks one rule; a tensor may be a callable that makes the TensorDesc."""

    def __init__(
        self,
        operator: str,
        kwargs: Kwargs,
        error: type[dml.DmlError] = dml.InvalidDescError,
        level: L = L.FL_6_4,
    ) -> None:
        self.operator, self.kwargs, self.error, self.level = operator, kwargs, error, level

    def __repr__(self) -> str:
        return f"Fault({self.operator}, {self.kwargs}, {self.error.__name__}, {self.level.name})"

    def validate(self) -> None:
        """Makes the description and validates it: one of the two is refused."""
        made = {k: v() if callable(v) else v for k, v in self.kwargs.items()}
        dml.validate(BY_NAME[self.operator].desc(**made), self.level)


def change(desc: dml.TensorDesc, **changes: Any) -> Callable[[], dml.TensorDesc]:
    """The same tensor with other fields, made when called; size and alignment start afresh."""
    fields = {"data_type": desc.data_type, "sizes": desc.sizes, "strides": desc.strides}
    return partial(dml.TensorDesc, **(fields | changes))


@st.composite
def tensor_fault(draw: Draw, desc: dml.TensorDesc, output: bool) -> Callable[[], dml.TensorDesc]:
    least = oracle.minimum_size(desc.data_type, desc.sizes, desc.strides)
    strides = oracle.strides_of(desc.sizes, desc.strides)
    d = draw(st.integers(0, desc.rank - 1))

    def swap(values: Sequence[int], value: int) -> tuple[int, ...]:
        return (*values[:d], value, *values[d + 1 :])

    changes: list[Kwargs] = [
        {"sizes": swap(desc.sizes, draw(st.sampled_from((0, -1, 2**32)))), "strides": None},
        {"strides": swap(strides, draw(st.sampled_from((-1, 2**32))))},
        {"strides": draw(st.sampled_from(((*strides, 1), strides[:-1])))},
        {"total_tensor_size_in_bytes": least - 4},
        {"total_tensor_size_in_bytes": least + draw(st.integers(1, 3))},
        {"guaranteed_base_offset_alignment": draw(st.sampled_from((24, 48, -16, 2**32)))},
        {"data_type": T.UNKNOWN},
    ]
    if oracle.item_size(desc) > 1:
        changes.append({"guaranteed_base_offset_alignment": oracle.item_size(desc) // 2})
    if desc.sizes[d] > 1:
        changes.append({"strides": swap(strides, 2**32 - 1)})
        changes += [{"strides": swap(strides, 0)}] * output
    if output:
        changes.append({"flags": dml.TensorFlags.OWNED_BY_DML})
    return change(desc, **draw(st.sampled_from(changes)))


def too_low(desc: Description) -> list[L]:
    """The levels that do not allow a description."""
    support = entry_of(type(desc)).support_of(desc)

    def allows(level: L) -> bool:
        known = [at for at in support if at <= level]
        row = support[max(known)] if known else {}
        return bool(known) and all(
            name.partition("[")[0] not in row
            or (
                t.rank in row[name.partition("[")[0]].ranks
                and t.data_type in row[name.partition("[")[0]].data_types
            )
            for name, t in desc.tensors().items()
        )

    return [level for level in L if not allows(level)]


WRONG: dict[str, tuple[Any, ...]] = {
    "uint": (-1, 2**32, 1.5, "x", None),
    "int": (-(2**31) - 1, 2**31, 1.5, "x", None),
    "float": ("x", None, [1]),
    "bool": ("yes", 0.5, None),
    "scalar union": ("x", None),
    "uint array": (5, "ab", [1.5], [-1], [2**32], None),
    "int array": (5, "ab", [1.5], [2**31], None),
    "float array": (5, "ab", ["x"], None),
    "scale bias": ((1,), "x", 5),
    "size 2d": ((1,), "x", (-1, 1)),
    "operator desc": (5, "x"),
}


def disagreements(draw: Draw, desc: Description) -> list[Kwargs]:
    """Tensors of which one no longer shares what the catalogue says they share."""
    entry = entry_of(type(desc))
    row = top_row(entry, vars(desc))
    found = []
    for fact in entry.same:
        shared = [n for n in fact.tensors if isinstance(getattr(desc, n), dml.TensorDesc)]
        if len(shared) < 2:
            continue
        name = draw(st.sampled_from(shared))
        one: dml.TensorDesc = getattr(desc, name)
        types = sorted(row[name].data_types - {one.data_type}) if name in row else []
        if "data_type" in fact.of and types:
            other = draw(st.sampled_from(types))
            found.append({name: change(one, data_type=other, strides=None)})
        if "rank" in fact.of and (name not in row or one.rank + 1 in row[name].ranks):
            found.append({name: change(one, sizes=(1, *one.sizes), strides=None)})
        if "sizes" in fact.of:
            grown = (one.sizes[0] + 1, *one.sizes[1:])
            found.append({name: change(one, sizes=grown, strides=None)})
    return found


@st.composite
def faults(draw: Draw, name: str) -> Fault:
    """Breaks one rule that every operator has: a tensor's, a type's, a level's, a field's."""
    case = draw(cases(name))
    desc, kwargs = case.desc, case.kwargs
    entry, listed = entry_of(type(desc)), fields(type(desc))
    single = [f for f in listed if isinstance(kwargs[f.name], dml.TensorDesc)]
    field = draw(st.sampled_from(single))
    one = kwargs[field.name]
    row = top_row(entry, kwargs)
    never = sorted(set(T) - row[field.name].data_types - {T.UNKNOWN})
    low = too_low(desc)
    odd = disagreements(draw, desc)
    attributes = [f for f in listed if not f.is_tensor]
    kinds = ["tensor", "no tensor"] + ["type"] * bool(never) + ["level"] * bool(low)
    kinds += ["disagree"] * bool(odd) + ["attribute"] * bool(attributes)
    kind = draw(st.sampled_from(kinds))
    if kind == "level":
        return Fault(name, kwargs, dml.UnsupportedError, draw(st.sampled_from(low)))
    changes: Kwargs
    if kind == "tensor":
        changes = {field.name: draw(tensor_fault(one, field.direction == "out"))}
    elif kind == "no tensor":
        nothing = [5, "x", (1, 2)] + [None] * (not field.optional)
        changes = {field.name: draw(st.sampled_from(nothing))}
    elif kind == "type":
        wrong = draw(st.sampled_from(never))
        changes = {field.name: change(one, data_type=wrong, strides=None)}
    elif kind == "disagree":
        changes = draw(st.sampled_from(odd))
    else:
        given = draw(st.sampled_from(attributes))
        values = WRONG.get(given.kind, (99, "x", None))
        values = tuple(v for v in values if not (v is None and given.optional))
        changes = {given.name: draw(st.sampled_from(values))}
    return Fault(name, kwargs | changes)


@st.composite
def own_faults(draw: Draw, name: str, own: Callable[[Draw, Kwargs], list[Kwargs]]) -> Fault:
    """Breaks a rule of the operator's own."""
    case = draw(cases(name))
    return Fault(name, case.kwargs | draw(st.sampled_from(own(draw, case.kwargs))))


def smallest_support(entry: Entry) -> Support:
    """The table of the smallest description, where each enumeration has its first value."""
    first = {
        name: next(iter(ENUMERATIONS[kind.removeprefix("enum ")]))
        for name, kind, _ in entry.fields
        if kind.startswith("enum ") and kind != TYPE
    }
    return entry.support_of(SimpleNamespace(**first))


def smallest(name: str, rank: int, types: dict[str, T]) -> Description:
    """One element in each tensor, of this rank and these types."""
    operator = BY_NAME[name]
    least: dict[str, Any] = {"bool": False, "float": 1.0, "uint": 1, "int": 1, "scalar union": 1}
    needed = EXPECTED[name].least
    own = needed(rank) if callable(needed) else needed
    made: Kwargs = {}
    for field in operator.fields:
        if field.is_tensor:
            if field.name in own or (field.direction == "in" and not field.optional):
                one = partial(dml.TensorDesc, types[field.name])
                shape = own.get(field.name, [(1,) * rank] if field.is_array else (1,) * rank)
                made[field.name] = tuple(map(one, shape)) if field.is_array else one(shape)
        elif field.name in own:
            made[field.name] = own[field.name]
        elif field.required and not field.optional:
            if field.name == "axis":
                made[field.name] = 0
            elif field.kind == TYPE:
                made[field.name] = types[operator.outputs[0].name]
            elif field.kind.startswith("enum "):
                made[field.name] = next(iter(ENUMERATIONS[field.kind.removeprefix("enum ")]))
            elif field.kind in least:
                made[field.name] = least[field.kind]
    desc = operator.complete(made)
    for field in operator.outputs:  # inference gives types of its own
        if not field.is_array and getattr(desc, field.name) is not None:
            sized = getattr(desc, field.name).sizes
            made |= {field.name: dml.TensorDesc(types[field.name], sized)}
    return operator.complete(made)

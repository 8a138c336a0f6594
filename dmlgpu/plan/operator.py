"""The record an operator is: one place says what it is, and everything else is derived from it.

Names, numbers, feature levels, equal-size facts and in-place execution come from the catalogue,
fields from the description's annotations. What only code can say is in the record: the shape of
the outputs, the rules that no table holds, and what kind of work a description asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Generic, Protocol, TypeVar

from dmlgpu.desc.cached import cached_property
from dmlgpu.desc.catalogue import Entry
from dmlgpu.desc.description import Description, Field, entry_of, fields
from dmlgpu.desc.levels import FeatureLevel, check_support
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.desc.views import axes_of, axis_of
from dmlgpu.errors import InvalidDescError, shown
from dmlgpu.plan.dispatch import Adapter, Plan
from dmlgpu.plan.index_values import IndexValues
from dmlgpu.plan.parts import in_turn

D = TypeVar("D", bound=Description)
Given = SimpleNamespace  # the fields of a description without its outputs


class Work(Protocol):
    """What a description asks for, as one of the kinds of work that have a planner."""

    def plan(self, adapter: Adapter) -> Plan:
        """The dispatches that do it on such an adapter."""

    def traffic(self) -> Mapping[str, int]:
        """The least bytes that must be read or written, by tensor field."""


@dataclass(frozen=True, slots=True)
class Together:
    """Several works of one call, one after the other, none of which needs another's results."""

    works: tuple[Work, ...]

    def plan(self, adapter: Adapter) -> Plan:
        """All dispatches in a row; plain copies where every work has some."""
        plans = [work.plan(adapter) for work in self.works]
        made = in_turn(plans)
        if not all(plan.copies for plan in plans):
            return made
        return replace(made, copies=tuple(copy for plan in plans for copy in plan.copies))

    def traffic(self) -> Mapping[str, int]:
        """What the works move together."""
        total: dict[str, int] = {}
        for work in self.works:
            for field, size in work.traffic().items():
                total[field] = total.get(field, 0) + size
        return total


def no_rules(desc: Any) -> None:
    """Says nothing: for operators whose rules are all in the catalogue."""


def no_level_rules(desc: Any, level: FeatureLevel) -> None:
    """For operators whose levels are all in the catalogue."""


@dataclass(frozen=True)
class Operator(Generic[D]):
    """One DirectML operator that the library runs."""

    desc: type[D]
    infer: Callable[[Given], Mapping[str, TensorDesc | tuple[TensorDesc, ...]]]
    work: Callable[[D], Work]
    check: Callable[[D], None] = no_rules
    # Tensors whose values select elements: checked in arrays, and on debug devices.
    index_values: Callable[[D], IndexValues] | None = None
    # The output's sizes without leading 1s that only DirectML's rule of equal ranks puts there.
    natural_sizes: Callable[[D], tuple[int, ...]] | None = None
    # Values of attributes that came with a later level than the operator.
    check_level: Callable[[D, FeatureLevel], None] = no_level_rules

    @cached_property
    def entry(self) -> Entry:
        """What the catalogue says of it."""
        return entry_of(self.desc)

    @property
    def name(self) -> str:
        """Without DML_OPERATOR_."""
        return self.entry.name

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The fields of its description."""
        return fields(self.desc)

    @cached_property
    def inputs(self) -> tuple[Field, ...]:
        """The fields whose tensors are read, in order."""
        return tuple(field for field in self.fields if field.direction == "in")

    @cached_property
    def outputs(self) -> tuple[Field, ...]:
        """The fields whose tensors are written, in order."""
        return tuple(field for field in self.fields if field.direction == "out")

    @cached_property
    def equal_inputs(self) -> tuple[str, ...]:
        """Inputs whose sizes must be equal: the ones that functions broadcast."""
        for fact in self.entry.same:
            if "sizes" in fact.of:
                names = [f.name for f in self.inputs if f.name in fact.tensors and not f.is_array]
                return tuple(names) if len(names) > 1 else ()
        return ()

    @cached_property
    def alike(self) -> Mapping[str, frozenset[str]]:
        """The other tensors that must have a tensor's data type, by its name."""
        found: dict[str, set[str]] = {}
        for fact in (fact for fact in self.entry.same if "data_type" in fact.of):
            for name in fact.tensors:
                found.setdefault(name, set()).update(fact.tensors)
        return {name: frozenset(others - {name}) for name, others in found.items()}

    @cached_property
    def keeps_sizes(self) -> bool:
        """Whether the one output has the sizes that all inputs must have, and no axis is named."""
        if any(field.name in ("axis", "axes") for field in self.fields):
            return False
        names = {field.name for field in (*self.inputs, *self.outputs)}
        same = (set(fact.tensors) for fact in self.entry.same if "sizes" in fact.of)
        return len(self.outputs) == 1 and any(names <= tensors for tensors in same)

    def validate(self, desc: D, level: FeatureLevel) -> None:
        """Raises unless `desc` obeys every rule at `level`."""
        validate(desc, level)
        self.check_level(desc, level)
        self.check(desc)

    def complete(self, given: Mapping[str, Any]) -> D:
        """The description of these fields, its outputs inferred where they are not given.

        An axis may count from the end. `output_sizes` replaces the sizes of the one output.
        """
        known = {field.name: field for field in self.fields}
        made = dict(given)
        sizes, data_type = made.pop("output_sizes", None), made.pop("output_data_type", None)
        for name, value in given.items():
            if name in known:
                field = known[name]
                if value is None and (field.optional or field.direction == "out"):
                    del made[name]
            elif name in made:
                raise InvalidDescError(
                    f"{self.name}: there is no field {name}; its fields are " + ", ".join(known)
                )
        # A fused activation has no tensors, so that its class does not ask for them.
        if any(
            f.name not in made and not f.optional and (f.required or f.is_tensor)
            for f in self.fields
        ):
            made = self._inferred(made, sizes, data_type)
        for field in self.fields:
            if field.required and field.name not in made:
                if not field.optional:
                    raise InvalidDescError(f"{self.name}: {field.name} is missing")
                made[field.name] = None
        return self.desc(**made)

    def _inferred(self, given: Mapping[str, Any], sizes: Any, data_type: Any) -> dict[str, Any]:
        """What is given, and what inference adds: outputs, counts, ranks made equal."""
        missing = [f.name for f in self.outputs if f.name not in given and not f.optional]
        read = self._read(given)
        read.output_sizes, read.output_data_type = sizes, data_type
        try:
            outputs = dict(self.infer(read))
            if data_type is not None:
                outputs = {name: _of_type(desc, data_type) for name, desc in outputs.items()}
        except InvalidDescError as error:
            where = f"{self.name}: {missing[0]}:" if missing else f"{self.name}:"
            raise InvalidDescError(str(error).replace("TensorDesc:", where)) from None
        if sizes is not None and len(missing) == 1:
            like = outputs[missing[0]]
            if isinstance(like, TensorDesc):
                outputs = {missing[0]: self._sized(like, sizes)}
        known = {field.name for field in self.fields}
        added = {name: value for name, value in vars(read).items() if name in known}
        return {
            **given,
            **{name: value for name, value in added.items() if value is not None},
            **{name: outputs[name] for name in missing},
        }

    def _sized(self, like: TensorDesc, sizes: Any) -> TensorDesc:
        try:
            return TensorDesc(like.data_type, sizes)
        except InvalidDescError as error:
            detail = str(error).removeprefix("TensorDesc: ")
            raise InvalidDescError(
                f"{self.name}: output_sizes {shown(sizes)} cannot be an output: {detail}"
            ) from None

    def _read(self, given: Mapping[str, Any]) -> Given:
        """The fields as a description would hold them, without one of them to hold."""
        read = Given(operator=self.name)
        for field in self.fields:
            value = given.get(field.name, getattr(self.desc, field.name, None))
            where = f"{self.name}: {field.name}"
            if field.direction == "in":
                if field.is_array and isinstance(value, list):
                    value = tuple(value)
                if not (field.optional and value is None):
                    _check_tensors(where, value, field)
            elif field.read is not None and (value is not None or field.name in given):
                if field.name in ("axis", "axes"):
                    value = self._axes(field.name, value, given)
                value = field.read(where, value)
            setattr(read, field.name, value)
        return read

    def _axes(self, name: str, value: Any, given: Mapping[str, Any]) -> Any:
        """Axes counted from the start, by the rank of the first input."""
        first = given.get(self.inputs[0].name)
        first = first[0] if isinstance(first, (list, tuple)) else first
        if not isinstance(first, TensorDesc):
            return value
        if name == "axis":
            return axis_of(self.name, value, first.rank)
        return axes_of(self.name, value, first.rank)


def _of_type(
    desc: TensorDesc | tuple[TensorDesc, ...], data_type: Any
) -> TensorDesc | tuple[TensorDesc, ...]:
    """An inferred output with elements of another type."""
    if isinstance(desc, tuple):
        return tuple(TensorDesc(data_type, d.sizes) for d in desc)
    return TensorDesc(data_type, desc.sizes)


def validate(desc: Description, level: FeatureLevel) -> None:
    """Raises unless `desc` obeys what the catalogue says, for operators that are not built too."""
    facts = entry_of(type(desc))
    for field in fields(type(desc)):
        if field.is_tensor:
            value = getattr(desc, field.name)
            if not (field.optional and value is None):
                _check_tensors(f"{facts.name}: {field.name}", value, field)
    tensors = desc.tensors()
    check_support(facts.name_of(desc), facts.support_of(desc), tensors, level)
    for name, output in desc.outputs().items():
        if output.overlaps_itself:
            raise InvalidDescError(
                f"{facts.name}: {name} has strides {output.effective_strides} over "
                f"sizes {output.sizes}, which let two elements share an address; an output must "
                "not overlap itself"
            )
        if output.flags:
            raise InvalidDescError(
                f"{facts.name}: {name} has flags {output.flags!s}; only inputs may be OWNED_BY_DML"
            )
    _check_same(facts, tensors)
    _check_scalars(facts.name, desc)


def _check_scalars(operator: str, desc: Description) -> None:
    """The rule of scalar unions: each is a number of the data type that stands beside them."""
    known = fields(type(desc))
    for union in (field.name for field in known if field.kind == "scalar union"):
        (type_field,) = (f.name for f in known if f.kind == "enum DML_TENSOR_DATA_TYPE")
        value, data_type = getattr(desc, union), getattr(desc, type_field)
        told = f"{operator}: {union} is {shown(value)}; {type_field} is {data_type.name}, and"
        if data_type.name.startswith("FLOAT"):
            if isinstance(value, int) and abs(value) >= 2**1024:
                raise InvalidDescError(f"{told} the value must be one that a float can hold")
            continue
        if not isinstance(value, int):
            raise InvalidDescError(f"{told} the value must be an integer")
        count, signed = 2**data_type.bits, data_type.name.startswith("INT")
        least, most = (-count // 2, count // 2 - 1) if signed else (0, count - 1)
        # A step wraps as the sequence does, which may so go down in an unsigned type.
        if union != "value_delta" and not least <= value <= most:
            raise InvalidDescError(f"{told} the value must be in [{least}, {most}]")


def _check_tensors(where: str, value: Any, field: Field) -> None:
    given = value if field.is_array else (value,)
    if field.is_array and not isinstance(value, tuple):
        raise InvalidDescError(f"{where} is {shown(value)}; it must be a sequence of TensorDesc")
    if field.is_array and not value:
        raise InvalidDescError(f"{where} is empty; it must hold at least one TensorDesc")
    for i, tensor in enumerate(given):
        if not isinstance(tensor, TensorDesc):
            place = f"{where}[{i}]" if field.is_array else where
            raise InvalidDescError(f"{place} is {shown(tensor)}; it must be a TensorDesc")


def _check_same(facts: Entry, tensors: Mapping[str, TensorDesc]) -> None:
    """The rules that tensors share a data type, a rank or all sizes."""
    for of in ("data_type", "rank", "sizes"):
        for fact in facts.same:
            if of not in fact.of:
                continue
            listed = [
                (name, tensor)
                for field in fact.tensors
                for name, tensor in tensors.items()
                if name.partition("[")[0] == field
            ]
            for name, tensor in listed[1:]:
                first, wanted = listed[0]
                mine, theirs = getattr(tensor, of), getattr(wanted, of)
                if mine == theirs:
                    continue
                if of == "data_type":
                    told = f"{name} is {mine.name}; {first} is {theirs.name}"
                elif of == "rank":
                    told = f"{name} has {mine} dimensions; {first} has {theirs}"
                else:
                    told = f"{name} has sizes {mine}; {first} has {theirs}"
                end = "" if of == "rank" else ", and the two must be equal"
                raise InvalidDescError(f"{facts.name}: {told}{end}")

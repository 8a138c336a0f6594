"""Descriptions of what arrays ask for beyond TOP_K: sorts of every type, and searches.

TOP_K has no FLOAT64 and, before level 5.0, no 64-bit types; sorting needs only the order of bits,
so arrays of every type can be sorted.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmlgpu.array.internal import Internal
from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.plan.elementwise import ElementWise
from dmlgpu.plan.mapped import coordinate
from dmlgpu.plan.sort import Sort, key_rule
from dmlgpu.plan.values import Expression, Operand, Parameter, truth


class SortDesc(Internal, name="sort"):
    """Every line along an axis in order: the elements, if they are wanted, and their places."""

    x: TensorDesc
    values: TensorDesc | None
    places: TensorDesc
    axis: int
    descending: bool

    def inputs(self) -> Mapping[str, TensorDesc]:
        """The tensor."""
        return {"x": self.x}

    def outputs(self) -> Mapping[str, TensorDesc]:
        """The elements come first."""
        values = {} if self.values is None else {"values": self.values}
        return {**values, "places": self.places}

    def work(self) -> Sort:
        """A sort like any other."""
        fields = ("x", "values", "places")
        return Sort(self.x, self.values, self.places, self.axis, self.descending, *fields)


class SearchDesc(Internal, name="searchsorted"):
    """Where in a sorted line each value would be put: before all equal elements, or behind them.

    Places have 64 bits. The line is in the order that `sorter` names, where there is one.
    """

    line: TensorDesc
    sorter: TensorDesc | None
    values: TensorDesc
    places: TensorDesc
    behind: bool

    def inputs(self) -> Mapping[str, TensorDesc]:
        """The values come last."""
        sorter = {} if self.sorter is None else {"sorter": self.sorter}
        return {"line": self.line, **sorter, "values": self.values}

    def outputs(self) -> Mapping[str, TensorDesc]:
        """The one output."""
        return {"places": self.places}

    def work(self) -> ElementWise:
        """A binary search for each value, by keys whose order is that of the elements."""
        line = self.line
        lookups = {"line": Operand.of("line", line, raw=True)}
        parameters = [
            Parameter("p_length", DataType.UINT32, line.sizes[0]),
            Parameter("p_step", DataType.UINT32, line.effective_strides[0]),
        ]
        at = "middle"
        if self.sorter is not None:
            lookups["sorter"] = Operand.of("sorter", self.sorter, raw=True)
            step = self.sorter.effective_strides[0]
            parameters.append(Parameter("p_sorter_step", DataType.UINT32, step))
            word = ".x" if self.sorter.data_type.bits == 64 else ""
            at = f"min(sorter_at(middle * p_sorter_step){word}, p_length - 1u)"
        less = "u64_lt({}, {})" if line.data_type.bits == 64 else "{} < {}"
        goes_on = less.format("other", "key")
        if self.behind:
            goes_on = f"!({less.format('key', 'other')})"
        steps = (
            f"let key = {_key('value', line.data_type)}; var low = 0u; var high = p_length; "
            "while (low < high) { "
            "let middle = low + (high - low) / 2u; "
            f"let other = {_key(f'line_at({at} * p_step)', line.data_type)}; "
            f"if ({goes_on}) {{ low = middle + 1u; }} else {{ high = middle; }} }}"
        )
        values = {"value": Operand.of("values", self.values, raw=True)}
        made = Operand.of("places", self.places, raw=True)
        return ElementWise(
            values, ((made, Expression("vec2<u32>(low, 0u)", steps)),), tuple(parameters), lookups
        )


class RunsDesc(Internal, name="runs"):
    """1 where a run of equal elements begins in a sorted line, else 0."""

    line: TensorDesc
    begins: TensorDesc
    equal_nan: bool

    def inputs(self) -> Mapping[str, TensorDesc]:
        """The line."""
        return {"line": self.line}

    def outputs(self) -> Mapping[str, TensorDesc]:
        """The one output."""
        return {"begins": self.begins}

    def work(self) -> ElementWise:
        """Each element looks at the one before it."""
        data_type = self.line.data_type
        wide = data_type.bits == 64
        differs = "any(key != before)" if wide else "key != before"
        if data_type.name.startswith("FLOAT") and not self.equal_nan:
            unordered = key_rule(data_type, False)["unordered"]
            differs += f" || {'key.y' if wide else 'key'} == {unordered}u"
        steps = (
            f"let key = {_key('line_at(c * p_step)', data_type)}; "
            f"let before = {_key('line_at((max(c, 1u) - 1u) * p_step)', data_type)};"
        )
        step = Parameter("p_step", DataType.UINT32, self.line.effective_strides[0])
        made = Operand.of("begins", self.begins, raw=True)
        text = Expression(truth(f"c == 0u || {differs}"), steps)
        lookups = {"line": Operand.of("line", self.line, raw=True)}
        return ElementWise({"c": coordinate(self.line.sizes, 0)}, ((made, text),), (step,), lookups)


def _key(bits: str, data_type: DataType) -> str:
    """The key of an element, as WGSL over its bits."""
    rule = ", ".join(f"{value}u" for value in key_rule(data_type, False).values())
    return f"key_{'pair' if data_type.bits == 64 else 'word'}({bits}, key_rule({rule}))"

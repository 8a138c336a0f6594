"""CompiledOperator: a description that runs, called with tensors or arrays."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from dmlgpu.desc.description import Description, Field
from dmlgpu.desc.host import as_array, as_bytes, laid_out
from dmlgpu.errors import BindingError, InvalidTypeError
from dmlgpu.plan.dispatch import Plan
from dmlgpu.plan.operator import Operator
from dmlgpu.runtime.executable import Executable
from dmlgpu.tensor import Tensor

if TYPE_CHECKING:
    from dmlgpu.device import Device


class CompiledOperator:
    """Runs one description: `out = op(x)`. Made by `Device.compile`.

    Inputs come in the description's order, as tensors or arrays; None stands for an optional one
    that the description leaves out, a list for an array of tensors. One output is returned as a
    tensor, several as a tuple, the pieces of SPLIT always as a tuple. `op(x, out=y)` writes into a
    tensor that exists, which may be an input where the operator can run in place; `out` is a tuple
    where a tuple is returned, with None for those to be allocated.
    """

    def __init__(self, device: Device, operator: Operator[Any], desc: Description) -> None:
        self.device = device
        self._context = device.context
        self._executable = Executable(self._context, operator, desc)
        self._reports = device.reports
        outputs = self._executable.outputs.values()
        self._outputs = [
            (d, d.total_tensor_size_in_bytes, self._context.desc_number(d)) for d in outputs
        ]
        # A field of several outputs makes a tuple, however many it has.
        several = len(self._outputs) != 1 or any(f.is_array for f in operator.outputs)
        self._single = None if several else self._outputs[0]
        # Whether a call's arguments are the tensors one by one, with none left out or in a list.
        self._plain = not any(f.is_array or f.optional for f in operator.inputs)
        self._checks = self._context.debug and self._executable.index_values is not None

    @property
    def operator(self) -> Operator[Any]:
        """The record of the operator."""
        return self._executable.operator

    @property
    def desc(self) -> Any:
        """The description that is run."""
        return self._executable.desc

    @property
    def plan(self) -> Plan:
        """What a call runs on the GPU."""
        return self._executable.plan

    def __repr__(self) -> str:
        return f"CompiledOperator({self.operator.name}, {self.desc!r})"

    def __reduce__(self) -> Any:
        raise InvalidTypeError(
            "a CompiledOperator belongs to a device and cannot be pickled; pickle its desc"
        )

    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        context = self._context
        context.check_usable()
        if not self._plain:
            inputs = self._flat(inputs)
        with context.lock:
            if out is None and self._single is not None:
                desc, size, number = self._single
                out = Tensor(self.device, context.take(size), desc, 0, True, number)
                outs: tuple[Any, ...] = (out,)
            else:
                outs = self._given(out)
            try:
                key = (*[tensor.key for tensor in inputs], *[tensor.key for tensor in outs])
                call = self._executable.calls.get(key)
            except (AttributeError, TypeError):  # an array among them, or what is no tensor
                inputs = self._as_tensors(inputs, outs)
                key = (*[tensor.key for tensor in inputs], *[tensor.key for tensor in outs])
                call = self._executable.calls.get(key)
            if call is None:
                call = self._bind(key, inputs, outs)
            if self._checks:
                lease, slot = self._reports.room(self._executable)
                context.record(self._executable.with_check(call, inputs, lease, slot))
            else:
                context.record(call)
        return outs[0] if self._single is not None else outs

    def _bind(self, key: Hashable, inputs: Sequence[Any], outs: Sequence[Any]) -> Any:
        self._check_count(inputs)
        names = self._executable.inputs
        for name, tensor in zip((*names, *("out" for _ in outs)), (*inputs, *outs), strict=True):
            if not isinstance(tensor, Tensor):
                raise BindingError(
                    f"{self.operator.name}: {name} is {type(tensor).__name__}; it must be a Tensor"
                )
        self.device.keep(self)
        return self._executable.bind(key, inputs, outs)

    def drop_calls(self) -> None:
        """Forgets every bound call."""
        self._executable.drop_calls()

    def _given(self, out: Any) -> tuple[Tensor, ...]:
        """The tensors that are written: those given, and new ones for the rest."""
        if self._single is not None:
            return (out,)
        given = [None] * len(self._outputs) if out is None else out
        if isinstance(out, Tensor) and len(self._outputs) == 1:
            given = [out]
        if not isinstance(given, (list, tuple)) or len(given) != len(self._outputs):
            raise BindingError(
                f"{self.operator.name}: out must be a sequence of {len(self._outputs)} tensors, "
                "or None for those to be allocated"
            )
        context = self._context
        return tuple(
            Tensor(self.device, context.take(size), desc, 0, True, number)
            if tensor is None
            else tensor
            for tensor, (desc, size, number) in zip(given, self._outputs, strict=True)
        )

    def _flat(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The tensors of a call one by one, without those that the description leaves out."""
        fields = self.operator.inputs
        while len(inputs) < len(fields) and fields[len(inputs)].optional:
            inputs = (*inputs, None)
        if len(inputs) != len(fields):
            raise BindingError(self._count_message(len(inputs), [f.name for f in fields]))
        flat: list[Any] = []
        for field, given in zip(fields, inputs, strict=True):
            flat += self._of_field(field, given)
        return tuple(flat)

    def _of_field(self, field: Field, given: Any) -> Sequence[Any]:
        wanted = getattr(self.desc, field.name)
        where = f"{self.operator.name}: {field.name}"
        if field.is_array:
            if not isinstance(given, (list, tuple)) or len(given) != len(wanted):
                raise BindingError(f"{where} must be a list of {len(wanted)} tensors")
            return given
        if (given is None) != (wanted is None):
            have = "given" if given is not None else "missing"
            raise BindingError(
                f"{where} is {have}; the description {'has' if wanted else 'leaves out'} it"
            )
        return () if given is None else (given,)

    def _as_tensors(self, inputs: tuple[Any, ...], outs: Sequence[Any]) -> tuple[Tensor, ...]:
        self._check_count(inputs)
        operator = self.operator.name
        for out in outs:
            if not isinstance(out, Tensor):
                raise BindingError(f"{operator}: out is {type(out).__name__}; it must be a Tensor")
        tensors = []
        for (name, desc), given in zip(self._executable.inputs.items(), inputs, strict=True):
            if isinstance(given, Tensor):
                tensors.append(given)
                continue
            label = f"{operator}: {name}"
            values = as_bytes(as_array(label, given))
            counts = [n for n in values.shape if n != 1]
            if values.dtype != desc.data_type.numpy or counts != [n for n, _ in desc.steps]:
                raise BindingError(
                    f"{label} is an array of {values.dtype} with shape {values.shape}; the "
                    f"description says {desc.data_type.numpy} with sizes {desc.sizes}"
                )
            values = values.reshape(desc.sizes)
            checked = self._executable.index_values
            if checked is not None and checked.field == name:
                checked.check_array(operator, values)
            tensors.append(self.device.upload(desc, laid_out(values, desc)))
        return tuple(tensors)

    def _check_count(self, inputs: Sequence[Any]) -> None:
        names = list(self._executable.inputs)
        if len(inputs) != len(names):
            raise BindingError(self._count_message(len(inputs), names))

    def _count_message(self, given: int, names: list[str]) -> str:
        return f"{self.operator.name}: {given} inputs given; it takes {len(names)}: " + ", ".join(
            names
        )

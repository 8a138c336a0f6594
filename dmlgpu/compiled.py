"""CompiledOperator: a description that runs, called with tensors or arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import starmap
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from dmlgpu.array.promotion import BOOL, DType
from dmlgpu.desc.description import Description, Field
from dmlgpu.desc.host import as_array, as_bytes, laid_out
from dmlgpu.desc.layout import Layout, layout_of
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.errors import BindingError, InvalidTypeError
from dmlgpu.gpu.memory import Shelf
from dmlgpu.gpu.recording import Call
from dmlgpu.plan.dispatch import Plan, Value
from dmlgpu.plan.operator import Operator
from dmlgpu.runtime.executable import Executable
from dmlgpu.runtime.region import Key
from dmlgpu.tensor import NEW, Tensor

if TYPE_CHECKING:
    from dmlgpu.device import Device


KEY = attrgetter("key")


class View(NamedTuple):
    """How a call sees a tensor that it is given: all of its bytes, or those from `start` on."""

    layout: Layout
    start: int = 0
    is_all: bool = True

    def key_of(self, x: Tensor) -> Key:
        """The key of the tensor that is seen."""
        serial, begin, _, whole = x.key
        return serial, begin + self.start, self.layout, whole and self.is_all

    def of(self, x: Tensor) -> Tensor:
        """The tensor that is seen."""
        whole = x.whole and self.is_all
        return Tensor(x.device, x.lease, self.layout, x.begin + self.start, whole)

    @classmethod
    def of_memory(cls, layout: Layout) -> View:
        """All bytes of tensors of a layout, of which places say where the elements are."""
        return cls(layout_of(layout.memory))


Views = tuple[View | None, ...]


class Form(NamedTuple):
    """What a call makes: where its memory comes from, and how the tensor over it is seen."""

    shelf: Shelf
    layout: Layout
    views: Views  # of the inputs; () where all are seen as they are


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
        self._outputs = [self._form(desc) for desc in outputs]
        # A field of several outputs makes a tuple, however many it has.
        several = len(self._outputs) != 1 or any(f.is_array for f in operator.outputs)
        self._single = None if several else self._outputs[0]
        # Whether a call's arguments are the tensors one by one, with none left out or in a list.
        self._plain = not any(f.is_array or f.optional for f in operator.inputs)
        self._checks = self._context.debug and self._executable.index_values is not None
        # Calls that are ready to be recorded, by the keys of their tensors.
        self._ready: dict[Hashable, Call] = {} if self._checks else self._executable.calls

    @property
    def operator(self) -> Operator[Any]:
        """The record of the operator."""
        return self._executable.operator

    @property
    def makes_one(self) -> bool:
        """Whether a call returns one tensor, not a tuple."""
        return self._single is not None

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

    def prepared(
        self,
        shape: tuple[int, ...] = (1,),
        dtype: DType | None = None,
        seen: TensorDesc | None = None,
        views: Views = (),
    ) -> Callable[..., Tensor]:
        """What runs this on tensors and makes one; methods remember it.

        The result is seen as `seen` says, the inputs as `views` say. Its shape and type are the
        description's, unless it has no dimensions or is of bool.
        """
        assert self._single is not None
        return partial(
            self._run, self._form(seen or self._single.layout.memory, shape, dtype, views)
        )

    def copying(self, layout: Layout) -> Callable[..., Tensor]:
        """What makes a packed copy of tensors of a layout, where this copies its memory so."""
        view = None if layout.desc is layout.memory else View.of_memory(layout)
        return self.prepared(layout.shape, layout.dtype, views=(view,))

    def _form(
        self,
        desc: TensorDesc,
        shape: tuple[int, ...] = (1,),
        dtype: DType | None = None,
        views: Views = (),
    ) -> Form:
        shelf = self._context.pool.shelf(desc.total_tensor_size_in_bytes)
        views = views if any(v is not None for v in views) else ()
        kind = BOOL if dtype == BOOL else None
        return Form(shelf, layout_of(desc, None if shape else shape, kind), views)

    def _run(self, form: Form, *inputs: Any) -> Tensor:
        """A call that makes one tensor: all that most calls go through."""
        context = self._context
        gpu = context.gpu
        if gpu.gone or gpu.poller() is None:
            context.check_usable()
        shelf, layout, views = form
        if not self._plain:
            inputs, views = self._flat(self._viewed(inputs, views)), ()
        with context.lock:
            out = NEW(Tensor)
            out.device = self.device
            out.base = None
            out.lease = lease = context.pool.take_from(shelf)
            out.key = made = (lease.storage.serial, 0, layout, True)
            try:
                keys = map(_seen_key, inputs, views) if views else map(KEY, inputs)
                call = self._ready.get((*keys, made))
            except (AttributeError, TypeError):  # an array among them, or what is no tensor
                call = None
            if call is None:
                call = self._bound(self._viewed(inputs, views), (out,))
            context.record(call)
        return out

    def once(self, out: Tensor, values: Mapping[str, Value], *inputs: Tensor) -> None:
        """A call that writes a tensor, with parameters that no other call may have."""
        self._context.check_usable()
        with self._context.lock:
            made = self._executable.varied(inputs, (out,), values)
            self._context.record(made.call)
            self._executable.give_back(inputs, (out,), made)

    def _viewed(self, inputs: tuple[Any, ...], views: Views) -> tuple[Any, ...]:
        """The inputs as a call sees them; arrays among those that have a view are uploaded."""
        if not views:
            return inputs
        given = [
            x if view is None or isinstance(x, Tensor) else self.device.tensor(x)
            for x, view in zip(inputs, views, strict=True)
        ]
        pairs = zip(given, views, strict=True)
        return tuple(x if view is None else view.of(x) for x, view in pairs)

    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        if out is None and self._single is not None:
            return self._run(self._single, *inputs)
        context = self._context
        context.check_usable()
        if not self._plain:
            inputs = self._flat(inputs)
        with context.lock:
            given = self._given(out)
            outs = tuple(map(self._own, given, self._outputs))
            try:
                call = self._ready.get((*map(KEY, inputs), *map(KEY, outs)))
            except (AttributeError, TypeError):
                call = None
            if call is None:
                call = self._bound(inputs, outs)
            context.record(call)
        for target, made in zip(given, outs, strict=True):
            if target is not made:
                target[...] = made
        return given[0] if self._single is not None else given

    def _own(self, out: Any, form: Form) -> Any:
        """A tensor to write; a new one for a view among whose bytes elements of others lie."""
        if not isinstance(out, Tensor) or out.layout.is_own:
            return out
        wanted = form.layout
        if out.shape != wanted.shape or out.layout.memory.data_type != wanted.memory.data_type:
            return out  # which is refused
        return Tensor(self.device, self._context.pool.take_from(form.shelf), wanted, 0, True)

    def _bound(self, inputs: tuple[Any, ...], outs: tuple[Any, ...]) -> Call:
        """The call of these tensors, or arrays among them, with its check where it has one."""
        if not all(isinstance(x, Tensor) for x in (*inputs, *outs)):
            inputs = self._as_tensors(inputs, outs)
        pairs = zip(inputs, self._executable.inputs.values(), strict=False)
        inputs = (*starmap(_as_described, pairs), *inputs[len(self._executable.inputs) :])
        key = (*map(KEY, inputs), *map(KEY, outs))
        call = self._executable.calls.get(key)
        if call is None:
            self._check_count(inputs)
            self.device.keep(self)
            call = self._executable.bind(key, inputs, outs)
        if not self._checks:
            return call
        return self._executable.with_check(call, inputs, *self._reports.room(self._executable))

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
        take = self._context.pool.take_from
        return tuple(
            Tensor(self.device, take(form.shelf), form.layout, 0, True)
            if tensor is None
            else tensor
            for tensor, form in zip(given, self._outputs, strict=True)
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
            if given is None:
                raise BindingError(f"{label} is None; it must be a Tensor or an array")
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


def _as_described(x: Tensor, wanted: TensorDesc) -> Tensor:
    """An input, or its copy where it does not lie as a packed description says."""
    given = x.layout.desc
    if given is None:
        return x.copy()
    is_other = given.steps != wanted.steps and given.data_type is wanted.data_type
    sizes = [[n for n, _ in desc.steps] for desc in (given, wanted)]
    return x.copy() if is_other and wanted.is_packed and sizes[0] == sizes[1] else x


def _seen_key(x: Tensor, view: View | None) -> Key:
    return x.key if view is None else view.key_of(x)

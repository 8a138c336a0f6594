"""CompiledOperator: a description that runs, called with tensors or arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from dmlgpu.array.promotion import BOOL, DType
from dmlgpu.desc.description import Description, Field
from dmlgpu.desc.host import as_array, as_bytes, laid_out
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.errors import BindingError, InvalidTypeError
from dmlgpu.gpu.memory import Shelf
from dmlgpu.gpu.recording import Call
from dmlgpu.plan.dispatch import Plan, Value
from dmlgpu.plan.operator import Operator
from dmlgpu.runtime.executable import Executable
from dmlgpu.runtime.region import Key
from dmlgpu.tensor import Tensor

if TYPE_CHECKING:
    from dmlgpu.device import Device


KEY = attrgetter("key")
NEW = object.__new__


class View(NamedTuple):
    """How a call sees a tensor that it is given: all of its bytes, or those from `start` on."""

    desc: TensorDesc
    number: int  # of the layout
    start: int = 0
    is_all: bool = True

    def key_of(self, x: Tensor) -> Key:
        """The key of the tensor that is seen."""
        serial, offset, _, whole = x.key
        return serial, offset + self.start, self.number, whole and self.is_all

    def of(self, x: Tensor) -> Tensor:
        """The tensor that is seen."""
        whole = x.whole and self.is_all
        return Tensor(x.device, x.lease, self.desc, x.offset + self.start, whole)


Views = tuple[View | None, ...]


class Form(NamedTuple):
    """What a call makes: where its memory comes from, and how the tensor over it is seen."""

    shelf: Shelf
    desc: TensorDesc
    number: int  # of the layout
    shape: tuple[int, ...] | None  # where it is not the description's sizes
    dtype: DType | None  # where it is not the description's type
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
        return partial(self._run, self._form(seen or self._single.desc, shape, dtype, views))

    def prepared_anywhere(
        self, part: TensorDesc, shape: tuple[int, ...], dtype: DType, seen: TensorDesc
    ) -> Callable[[int], Callable[[Tensor], Tensor]]:
        """From the byte at which a part of a tensor begins, what runs this on that part."""
        view = self.view(part, is_all=False)
        form = self._form(seen, shape, dtype, (view,))

        def at(start: int) -> Callable[[Tensor], Tensor]:
            return partial(self._run, form._replace(views=(view._replace(start=start),)))

        return at

    def view(self, desc: TensorDesc, start: int = 0, *, is_all: bool = True) -> View:
        """How a call of this sees a tensor: under another description, which needs no more bytes.

        Without `is_all` something else of the tensor lies before or behind what is seen.
        """
        return View(desc, self._context.number(desc, None, None), start, is_all)

    def _form(
        self,
        desc: TensorDesc,
        shape: tuple[int, ...] = (1,),
        dtype: DType | None = None,
        views: Views = (),
    ) -> Form:
        context = self._context
        mark = None if shape else shape
        kind = BOOL if dtype == BOOL else None
        shelf = context.pool.shelf(desc.total_tensor_size_in_bytes)
        views = views if any(v is not None for v in views) else ()
        return Form(shelf, desc, context.number(desc, mark, kind), mark, kind, views)

    def _run(self, form: Form, *inputs: Any) -> Tensor:
        """A call that makes one tensor: all that most calls go through."""
        context = self._context
        gpu = context.gpu
        if gpu.gone or gpu.poller() is None:
            context.check_usable()
        shelf, desc, number, shape, dtype, views = form
        if not self._plain:
            inputs, views = self._flat(self._viewed(inputs, views)), ()
        with context.lock:
            out = NEW(Tensor)
            out.device = self.device
            out.lease = lease = context.pool.take_from(shelf)
            out.desc = desc
            out._shape = shape
            out._dtype = dtype
            out.key = made = (lease.storage.serial, 0, number, True)
            try:
                keys = map(_seen_key, inputs, views) if views else map(KEY, inputs)
                call = self._ready.get((*keys, made))
            except (AttributeError, TypeError):  # an array among them, or what is no tensor
                call = None
            if call is None:
                call = self._bound(self._viewed(inputs, views), (out,))
            context.record(call)
        tape = context.tape
        if tape is not None:
            tape.called(self, inputs, views, (out,), (out,))
        return out

    def once(self, out: Tensor, values: Mapping[str, Value], *inputs: Tensor) -> None:
        """A call that writes a tensor, with parameters that no other call may have."""
        self._context.check_usable()
        context = self._context
        with context.lock:
            self.record_once(inputs, (out,), values)
        tape = context.tape
        if tape is not None:
            tape.called(self, inputs, (), (out,), (), values)

    def record_once(
        self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], values: Mapping[str, Value]
    ) -> None:
        """Records a call with parameters that no other call may have; the lock must be held."""
        made = self._executable.varied(inputs, outputs, values)
        self._context.record(made.call)
        self._executable.give_back(inputs, outputs, made)

    @property
    def ready(self) -> Mapping[Hashable, Call]:
        """Calls that are bound, by the keys of their tensors."""
        return self._ready

    def call_of(
        self,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
    ) -> Call:
        """The call of these tensors."""
        return self._bound(tuple(inputs), tuple(outputs))

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
            outs = self._given(out)
            try:
                call = self._ready.get((*map(KEY, inputs), *map(KEY, outs)))
            except (AttributeError, TypeError):
                call = None
            if call is None:
                call = self._bound(inputs, outs)
            context.record(call)
        tape = context.tape
        if tape is not None:
            given = [id(x) for x in (out if isinstance(out, (list, tuple)) else (out,))]
            tape.called(self, inputs, (), outs, [x for x in outs if id(x) not in given])
        return outs[0] if self._single is not None else outs

    def _bound(self, inputs: tuple[Any, ...], outs: tuple[Any, ...]) -> Call:
        """The call of these tensors, or arrays among them, with its check where it has one."""
        if not all(isinstance(x, Tensor) for x in (*inputs, *outs)):
            inputs = self._as_tensors(inputs, outs)
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
            Tensor(self.device, take(form.shelf), form.desc, 0, True) if tensor is None else tensor
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


def _seen_key(x: Tensor, view: View | None) -> Key:
    return x.key if view is None else view.key_of(x)

"""Replays: what an array function did once, done again for tensors that lie in the same way.

An array function such as `np.concatenate` reads its arguments, makes views and looks up what runs
each of its steps, and all of that comes out the same wherever the layouts of its tensors and its
other arguments are the same. So the second time that it is called like this its steps are noted,
and from the third time on nothing but these steps is done: which operators run on which bytes.

A function is never replayed that has asked for values, that has been given arrays or tensors of
another device, or whose result is anything but tensors. The arguments of a replay are all that it
depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np

from dmlgpu.arguments import number_key
from dmlgpu.compiled import NEW, CompiledOperator, View
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.gpu.memory import Lease, Shelf
from dmlgpu.gpu.recording import Call
from dmlgpu.plan.dispatch import Value
from dmlgpu.tensor import Tensor
from dmlgpu.waiting import Waiting

if TYPE_CHECKING:
    from dmlgpu.device import Device

MOST_CONSTANT = 1 << 16  # bytes of an upload that a program keeps
MOST_PARTS = 256  # of a list among the arguments
NEVER = "never replayed"
NOTHING: Mapping[str, Any] = {}
PLAIN = frozenset({int, bool, str, type(None), type(...)})

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Place(NamedTuple):
    """A tensor of a program: bytes of one of its memories, seen in a layout."""

    memory: int
    start: int  # bytes, from where the argument begins that the memory belongs to
    number: int  # of the layout
    whole: bool
    desc: TensorDesc
    shape: tuple[int, ...] | None
    dtype: np.dtype[Any] | None


@dataclass(slots=True)
class Step:
    """One call of an operator, with memories that are taken before it and let go behind it."""

    operator: CompiledOperator | None
    values: Mapping[str, Value] | None  # parameters of this call alone
    inputs: tuple[Place, ...]
    outputs: tuple[Place, ...]
    taken: list[tuple[int, Shelf]]
    left: list[int] = field(default_factory=list)
    places: tuple[Place, ...] = field(init=False)
    bound: Mapping[Hashable, Call] = field(init=False)  # calls that are ready to be recorded

    def __post_init__(self) -> None:
        self.places = (*self.inputs, *self.outputs)
        self.bound = {} if self.operator is None else self.operator.ready


# Where a memory lies: its lease, its storage's serial, and the byte at which its argument begins.
Memory = tuple[Lease, int, int]


@dataclass(frozen=True, slots=True)
class Program:
    """The steps of a function, for tensors that lie as those did for which it was noted."""

    device: Device
    memories: int
    constants: tuple[tuple[int, Tensor], ...]
    steps: tuple[Step, ...]
    result: Any  # places, the numbers of arguments, lists and tuples of these, or None

    def run(self, given: Sequence[Tensor]) -> Any:
        """Does all steps with these tensors."""
        context = self.device.context
        gpu = context.gpu
        if gpu.gone or gpu.poller() is None:
            context.check_usable()
        memories: list[Any] = [None] * self.memories
        for number, x in enumerate(given):
            memories[number] = (x.lease, x.key[0], x.key[1])
        for number, x in self.constants:
            memories[number] = (x.lease, x.key[0], x.key[1])
        with context.lock:
            take = context.pool.take_from
            for step in self.steps:
                for number, shelf in step.taken:
                    lease = take(shelf)
                    memories[number] = (lease, lease.storage.serial, 0)
                if step.values is not None:
                    self._record_once(step, memories)
                elif step.operator is not None:
                    keys = [_key_at(memories, place) for place in step.places]
                    call = step.bound.get(tuple(keys))
                    if call is None:
                        call = self._called(step, memories)
                    context.record(call)
                for number in step.left:
                    memories[number] = None
        return self._made(self.result, memories, given)

    def _called(self, step: Step, memories: Sequence[Memory]) -> Call:
        assert step.operator is not None
        return step.operator.call_of(*self._tensors_of(step, memories))

    def _record_once(self, step: Step, memories: Sequence[Memory]) -> None:
        assert step.operator is not None
        assert step.values is not None
        step.operator.record_once(*self._tensors_of(step, memories), step.values)

    def _tensors_of(
        self, step: Step, memories: Sequence[Memory]
    ) -> tuple[list[Tensor], list[Tensor]]:
        tensors = [self._tensor(memories, place) for place in step.places]
        count = len(step.inputs)
        return tensors[:count], tensors[count:]

    def _tensor(self, memories: Sequence[Memory], place: Place) -> Tensor:
        made = NEW(Tensor)
        made.device = self.device
        made.lease = memories[place.memory][0]
        made.desc = place.desc
        made._shape = place.shape
        made._dtype = place.dtype
        made.key = _key_at(memories, place)
        return made

    def _made(self, result: Any, memories: Sequence[Memory], given: Sequence[Tensor]) -> Any:
        if result.__class__ is Place:
            return self._tensor(memories, result)
        if result.__class__ is int:
            return given[result]
        if result is None:
            return None
        return result.__class__([self._made(each, memories, given) for each in result])


def _key_at(memories: Sequence[Memory], place: Place) -> tuple[int, int, int, bool]:
    _, serial, offset = memories[place.memory]
    return serial, offset + place.start, place.number, place.whole


class Tape:
    """Notes what a function does while it runs."""

    def __init__(self, device: Device, given: Sequence[Tensor]) -> None:
        self._device = device
        self._thread = get_ident()
        self._given = given
        self._memories: dict[int, tuple[int, int]] = {}  # number and first byte, by serial
        self._constants: dict[int, Tensor] = {}
        self._steps: list[Step] = []
        self._taken: list[tuple[int, Shelf]] = []
        self._count = len(given)
        self._is_known = True  # whether all that was done is noted
        self._is_aside = False
        for number, x in enumerate(given):
            self._memories.setdefault(x.key[0], (number, x.key[1]))

    @property
    def _is_listening(self) -> bool:
        return get_ident() == self._thread and not self._is_aside

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Around what is no part of the function, though it runs meanwhile."""
        if not self._is_listening:
            yield
            return
        self._is_aside = True
        try:
            yield
        finally:
            self._is_aside = False

    def spoil(self) -> None:
        """The function has done what no program does again."""
        if self._is_listening:
            self._is_known = False

    def took(self, x: Tensor, *, is_written: bool) -> None:
        """A tensor was made, with elements from host memory or with none yet."""
        if not self._is_listening:
            return
        number = self._count
        self._count += 1
        self._memories[x.key[0]] = number, 0
        if is_written:
            self._constants[number] = x
            self._is_known &= x.nbytes <= MOST_CONSTANT
        else:
            size = x.desc.total_tensor_size_in_bytes
            self._taken.append((number, self._device.context.pool.shelf(size)))

    def called(
        self,
        operator: CompiledOperator,
        inputs: Sequence[Any],
        views: Sequence[View | None],
        outputs: Sequence[Tensor],
        made: Sequence[Tensor],
        values: Mapping[str, Value] | None = None,
    ) -> None:
        """An operator was called; those of its outputs that are `made` are new."""
        if not self._is_listening or not self._is_known:
            return
        if not all(isinstance(x, Tensor) for x in inputs):
            self._is_known = False  # an array: its elements are not part of a program
            return
        seen = zip(inputs, views or (None,) * len(inputs), strict=True)
        sources = tuple(self._place(x if view is None else view.of(x)) for x, view in seen)
        for x in made:
            self.took(x, is_written=False)
        targets = tuple(self._place(x) for x in outputs)
        places = [place for place in (*sources, *targets) if place is not None]
        self._is_known = len(places) == len(sources) + len(targets)
        self._is_known &= not any(p.memory in self._constants for p in places[len(sources) :])
        inward, outward = tuple(places[: len(sources)]), tuple(places[len(sources) :])
        self._steps.append(Step(operator, values, inward, outward, self._taken))
        self._taken = []

    def program(self, result: Any) -> Program | str:
        """What does the same again, if that can be done."""
        made = self._result(result)
        if not self._is_known:
            return NEVER
        if self._taken:
            self._steps.append(Step(None, None, (), (), self._taken))
        self._let_go(made)
        constants = tuple(self._constants.items())
        return Program(self._device, self._count, constants, tuple(self._steps), made)

    def _place(self, x: Tensor) -> Place | None:
        """Where a tensor lies; None where that is not known."""
        found = self._memories.get(x.key[0])
        if found is None:
            return None
        memory, begin = found
        _, offset, number, whole = x.key
        return Place(memory, offset - begin, number, whole, x.desc, x._shape, x._dtype)

    def _result(self, result: Any) -> Any:
        if result is None:
            return None
        if result.__class__ in (list, tuple):
            return result.__class__(self._result(each) for each in result)
        for number, x in enumerate(self._given):
            if x is result:
                return number
        if isinstance(result, Waiting):
            Waiting.read(result)
        is_tensor = result.__class__ is Tensor and result.size and result.device is self._device
        place = self._place(result) if is_tensor else None
        self._is_known &= place is not None and place.memory not in self._constants
        return place

    def _let_go(self, result: Any) -> None:
        """Memories that nobody reads any more are let go, as they were when this was noted."""
        kept = _memories_of(result) | set(range(len(self._given))) | set(self._constants)
        for step in reversed(self._steps):
            used = {p.memory for p in (*step.inputs, *step.outputs)} | {n for n, _ in step.taken}
            step.left += sorted(used - kept)
            kept |= used


def _memories_of(result: Any) -> set[int]:
    if result.__class__ is Place:
        return {result.memory}
    if result.__class__ in (list, tuple):
        return set[int]().union(*map(_memories_of, result))
    return set()


def replay(
    device: Device,
    name: Hashable,
    function: Callable[..., Any],
    args: Sequence[Any],
    named: Mapping[str, Any] = NOTHING,
) -> Any:
    """What a function returns, whose name stands for all that it does with its arguments."""
    context = device.context
    if context.tape is not None or context.debug:
        return function(*args, **named)
    given: list[Tensor] = []
    try:
        key: Hashable = (name, *[_key(each, given) for each in args])
        if named:
            key = (key, *[(other, _key(each, given)) for other, each in named.items()])
        if len(given) > 1:
            key = (key, _shared(given))
        known = device.remembered.get(key)
    except TypeError:  # what no program is made for
        known = NEVER
    if any(x.device is not device for x in given):  # whose layouts have other numbers
        known = NEVER
    if known.__class__ is Program:
        return known.run(given)
    if known is NEVER or not device.met_before(key):
        return function(*args, **named)
    with context.lock:
        if context.tape is not None:
            return function(*args, **named)
        context.tape = tape = Tape(device, given)
    try:
        made = function(*args, **named)
        known = tape.program(made)
    finally:
        context.tape = None
    device.remember(key, known)
    return made


def replayed(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """An array function that is replayed on the device of its first tensor."""

    @wraps(function)
    def called(*args: Arguments.args, **named: Arguments.kwargs) -> Result:
        device = _device_among(args)
        if device is None:
            return function(*args, **named)
        return cast(Result, device.replay(function, function, args, named))

    return called


def _device_among(args: Sequence[Any]) -> Device | None:
    for each in args:
        if isinstance(each, Tensor):
            return each.device
        if each.__class__ in (list, tuple) and each and isinstance(each[0], Tensor):
            return each[0].device
    return None


def _key(argument: Any, given: list[Tensor]) -> Hashable:
    """An argument as what a function may depend on; tensors are collected."""
    if isinstance(argument, Waiting):
        Waiting.read(argument)
    kind = argument.__class__
    if kind is Tensor:
        serial, _, number, whole = argument.key
        if serial < 0:
            raise TypeError("a tensor without elements is quick anyway")
        given.append(argument)
        return number, whole
    if kind in PLAIN:
        return kind, argument
    if kind is float:
        return number_key(argument)
    if (kind is tuple or kind is list) and len(argument) <= MOST_PARTS:
        return kind, *[_key(each, given) for each in argument]
    if kind is dict:
        return kind, *[(name, _key(each, given)) for name, each in argument.items()]
    if kind is slice:
        return kind, *[_key(each, given) for each in (argument.start, argument.stop, argument.step)]
    if isinstance(argument, np.generic):
        return kind, argument.dtype, argument.tobytes()
    if isinstance(argument, (type, np.dtype)) or argument is np._NoValue:
        return kind, argument
    raise TypeError(f"{kind.__name__} is no argument of a program")


def _shared(given: Sequence[Tensor]) -> Hashable:
    """Which tensors lie in one buffer, and how far apart."""
    firsts: dict[int, tuple[int, int]] = {}
    found = []
    for number, x in enumerate(given):
        serial, offset, _, _ = x.key
        first, begin = firsts.setdefault(serial, (number, offset))
        if first != number:
            found.append((number, first, offset - begin))
    return tuple(found)

"""Random programs about arrays, run with NumPy and with tensors, and compared line by line.

A program is a few lines of Python about `np` and variables of one letter. It is drawn while NumPy
runs it, so that it is known to be exact in every type: what tensors give is compared bit for bit.

    python -m tests.support.array_programs --seconds 3600 --seed 1

runs programs of seeds from 1 on, and prints the first that differs, as short as it can be made.
"""

from __future__ import annotations

import argparse
import re
import string
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from .array_statements import DEFAULT_INTEGER_IS_INT64, FUNCTIONS, VIEWS, Draw
from .array_values import (
    KINDS_OF_VALUES,
    NAMED,
    SAME_WIDTH,
    Array,
    Random,
    is_plain,
    sums_are_exact,
)
from .array_values import numbers as some_numbers
from .array_writes import MISTAKES, WRITES
from .namespaces import WAYS, Tensors, in_host_memory

Scope = dict[str, Any]
Refused = (ValueError, IndexError, TypeError)
MOST_ELEMENTS = 6000
MOST_DIMENSIONS = 6
TRIES = 40  # drawn lines of which one should suit
FAMILIES = {"view": VIEWS, "function": FUNCTIONS, "write": WRITES, "mistake": MISTAKES}
HOW_OFTEN = {"view": 40, "function": 20, "write": 36, "mistake": 5, "del": 3}


@dataclass(frozen=True)
class Statement:
    """One line of a program, the kind it is of, and whether NumPy refuses it."""

    kind: str
    text: str
    refused: bool = False


Program = tuple[Statement, ...]


@lru_cache(maxsize=1 << 12)
def compiled(text: str) -> CodeType:
    return compile(text, text, "exec")


# --- running ---------------------------------------------------------------------------------


def begun(xp: Any) -> Scope:
    """The variables of a program before its first line."""
    return {"np": xp, "__builtins__": __builtins__}


def variables(scope: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are arrays: all with names of one letter."""
    return {name: value for name, value in scope.items() if len(name) == 1}


def execute(statement: Statement, scope: Scope) -> Exception | None:
    """Runs one line, and gives what it raised."""
    try:
        exec(compiled(statement.text), scope)
    except Exception as error:
        return error
    finally:
        scope.pop("row", None)
    return None


@dataclass(frozen=True)
class State:
    """What a program has made of its variables after a line."""

    raised: Exception | None
    contents: dict[str, tuple[str, tuple[int, ...], bytes]]


def contents(scope: Scope) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Types, shapes and bits of all variables."""
    arrays = {name: in_host_memory(value) for name, value in variables(scope).items()}
    return {name: (a.dtype.name, a.shape, a.tobytes()) for name, a in arrays.items()}


def states(program: Program, scope: Scope, *, only_last: bool = False) -> Iterator[State]:
    """Runs a program; the contents are read after each line, or after the last one alone."""
    for number, statement in enumerate(program):
        raised = execute(statement, scope)
        skipped = only_last and number + 1 < len(program)
        yield State(raised, {} if skipped else contents(scope))


@lru_cache(maxsize=64)
def in_numpy(program: Program) -> tuple[tuple[State, ...], Scope]:
    """All that NumPy makes of a program."""
    scope = begun(np)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return tuple(states(program, scope)), scope


@dataclass(frozen=True)
class Difference:
    """Where tensors differ from NumPy's arrays."""

    number: int  # of the line after which it shows
    what: str  # in a word, for two programs with the same fault
    details: str


def difference(program: Program, xp: Any, *, only_last: bool = False) -> Difference | None:
    """The first difference between a program over `xp` and over NumPy."""
    wanted, numpys = in_numpy(program)
    scope = begun(xp)
    made = states(program, scope, only_last=only_last)
    for number, (want, got) in enumerate(zip(wanted, made, strict=True)):
        found = unlike(want, got, compare_contents=not only_last or number + 1 == len(program))
        if found:
            return Difference(number, *found)
    found = unlike_memory(variables(numpys), variables(scope), xp)
    return found and Difference(len(program) - 1, *found)


def unlike(want: State, got: State, *, compare_contents: bool) -> tuple[str, str] | None:
    """What is different after a line, and the details."""
    if want.raised is None and got.raised is not None:
        return "raises", f"{type(got.raised).__name__}: {got.raised}"
    if want.raised is not None and not isinstance(got.raised, Refused):
        told = "nothing" if got.raised is None else f"{type(got.raised).__name__}: {got.raised}"
        name = type(want.raised).__name__
        return "does not refuse", f"NumPy raises {name}: {want.raised}; here {told} is raised"
    if not compare_contents:
        return None
    if want.contents.keys() != got.contents.keys():
        return "variables", f"{sorted(got.contents)} instead of {sorted(want.contents)}"
    for name, (dtype, shape, raw) in want.contents.items():
        has_dtype, has_shape, has_raw = got.contents[name]
        if (has_dtype, has_shape) != (dtype, shape):
            return "type or shape", f"{name} is {has_dtype}{has_shape} instead of {dtype}{shape}"
        if has_raw != raw:
            arrays = [np.frombuffer(each, dtype).reshape(shape) for each in (raw, has_raw)]
            return "values", f"{name} should be\n{arrays[0]}\nand is\n{arrays[1]}"
    return None


def unlike_memory(
    want: Mapping[str, Array], got: Mapping[str, Any], xp: Any
) -> tuple[str, str] | None:
    """Which variables share memory, lie on which other, and with which strides."""
    for first in want:
        for second in want:
            shared = np.shares_memory(want[first], want[second])
            if bool(xp.shares_memory(got[first], got[second])) != shared:
                which = f"np.shares_memory({first}, {second})"
                return "shared memory", f"{which} should be {shared}"
            if want[first].base is want[second] and not lies_on(got[first], got[second]):
                return "base", f"{first}.base should be {second}"
    for name, array in want.items():
        if steps(array) != steps(got[name]):
            return "strides", f"{name}.strides is {got[name].strides}, NumPy's {array.strides}"
    return None


def lies_on(view: Any, array: Any) -> bool:
    """Whether a view's base is an array, or what that array is a view of itself.

    A function of tensors may give a view of what it made where NumPy's gives that.
    """
    base = getattr(view, "base", None)
    return base is array or (base is not None and base is getattr(array, "base", None))


def steps(array: Any) -> list[int]:
    """Strides of axes that have one: NumPy leaves those of a single element open."""
    if 0 in array.shape:
        return []
    return [stride for size, stride in zip(array.shape, array.strides, strict=True) if size > 1]


# --- drawing ---------------------------------------------------------------------------------


class Writer:
    """Draws a program, line by line, and knows what NumPy makes of it so far."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.program: list[Statement] = []
        self.scope = begun(np)
        self.unused = iter(string.ascii_lowercase)

    def names(self, wanted: Callable[[Array], bool] = lambda array: True) -> list[str]:
        return [name for name, array in variables(self.scope).items() if wanted(array)]

    def __getitem__(self, name: str) -> Array:
        array: Array = self.scope[name]
        return array

    def add(self, kind: str, text: str) -> bool:
        """Takes a line into the program if it suits, and says so."""
        statement = Statement(kind, text)
        scope = self.run(self.program)
        before = variables(scope)
        plain = {name for name, array in before.items() if is_plain(array)}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            raised = execute(statement, scope)
        if raised is not None:
            return self.add_refused(statement, raised)
        if kind.startswith("mistake"):
            return False
        after = variables(scope)
        for name in after.keys() - before.keys():
            array = after[name]
            if not isinstance(array, np.ndarray):  # a number, which tensors have no need of
                if not kind.startswith("function"):
                    return False
                called, _, expression = text.partition(" = ")
                return self.add(kind, f"{called} = np.asarray({expression})")
            if not has_room(array):
                return False
            if array.base is None and not array.flags.c_contiguous:  # an order tensors leave open
                return not text.endswith(".copy()") and self.add(kind, with_copy(text))
            if kind.startswith("function") and not self.is_exact(text, array, kind):
                return False
        if not all(is_plain(after[name]) for name in plain & after.keys()):
            return False
        if not all(a.view(np.uint8).max(initial=0) < 2 for a in after.values() if a.dtype == bool):
            return False
        if kind.startswith("write") and not self.is_as_if_copied(text, scope):
            return False
        self.program.append(statement)
        self.scope = scope
        return True

    def is_as_if_copied(self, text: str, scope: Scope) -> bool:
        """Whether NumPy writes what it would write if the value were a copy.

        It does not where a line is written into itself with another step of the same sign, as in
        `x[8:0:-2] = x[5:1:-1]`.
        """
        copied = re.sub(r"^(\w\[.*\]) = (\w\[.*\]|[a-z])$", r"\1 = np.copy(\2)", text)
        copied = re.sub(r"^(np.copyto\(.*), ([a-z])\)$", r"\1, np.copy(\2))", copied)
        other = self.run([*self.program, Statement("write", copied)])
        return copied == text or contents(other) == contents(scope)

    def add_refused(self, statement: Statement, raised: Exception) -> bool:
        """Takes most mistakes, and a few of the lines that turn out to be one."""
        often = 1.0 if statement.kind.startswith("mistake") else 0.05
        if not isinstance(raised, Refused) or self.random.random() > often:
            return False
        refused = Statement(statement.kind, statement.text, refused=True)
        after = [*self.program, refused]
        if contents(self.run(after)) != contents(self.scope):
            return False
        self.program = after
        self.scope = self.run(after)
        return True

    def run(self, program: list[Statement]) -> Scope:
        scope = begun(np)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for statement in program:
                execute(statement, scope)
        return scope

    def is_exact(self, text: str, array: Array, kind: str) -> bool:
        """Whether a function gives numbers that every order of its steps gives too."""
        operands = [self[n] for n in re.findall(r"\b[a-z]\b", text) if n in self.scope]
        if kind in ("function copy", "function take", "function stack", "function concatenate"):
            return True
        if array.dtype.name not in KINDS_OF_VALUES or not is_plain(array):
            return False
        if kind in ("function sum", "function cumsum"):
            return all(sums_are_exact(each) for each in operands)
        if array.dtype == np.int64 and not DEFAULT_INTEGER_IS_INT64:
            return "int64" in text or any(each.dtype == np.int64 for each in operands)
        return True

    def new_array(self) -> None:
        """One of the arrays that a program begins with."""
        name = next(self.unused)
        dtype = self.random.choice((*KINDS_OF_VALUES, "float32", "int32"))
        if self.random.random() < 0.08:
            shape = self.random.choice([(3000,), (40, 75), (10, 11, 31), (2047,), (1, 4099)])
            count = int(np.prod(shape))
            ramp = f"(np.arange({count}, dtype=np.int32) * 7 + {self.random.randint(0, 9)}) % 11"
            text = f"({ramp}).astype({NAMED[dtype]}).reshape({shape}).copy()"
        else:
            shape = self.shape()
            count = int(np.prod(shape))
            if count:
                values = some_numbers(self.random, np.dtype(dtype), count)
                nested = np.array(values).reshape(shape).tolist()
                text = f"np.asarray({nested}, dtype={NAMED[dtype]})"
            else:
                text = f"np.zeros({shape}, dtype={NAMED[dtype]})"
        assert self.add("array", f"{name} = {text}"), text

    def shape(self) -> tuple[int, ...]:
        """Of 0 to 4 dimensions, and of 0 to about 40 elements."""
        rank = self.random.choice([0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4])
        most = {0: 0, 1: 40, 2: 7, 3: 4, 4: 3}[rank]
        sizes = [self.random.randint(1, most) for _ in range(rank)]
        if rank > 1 and self.random.random() < 0.25:
            sizes[:2] = [sizes[0]] * 2
        if rank and self.random.random() < 0.06:
            sizes[self.random.randrange(rank)] = 0
        return tuple(sizes)

    def new_line(self) -> None:
        """One more line, of a kind that the variables allow."""
        for _ in range(TRIES):
            family = drawn(self.random, HOW_OFTEN)
            if family == "del":
                if len(names := self.names()) > 2 and self.add(
                    "del", f"del {self.random.choice(names)}"
                ):
                    return
                continue
            kind, draw = self.kind_of(FAMILIES[family])
            text = draw(self)
            if not text:
                continue
            if family in ("view", "function"):
                name = next(n for n in string.ascii_lowercase if n not in self.used())
                text = f"{name} = {text}"
            if self.add(f"{family} {kind}", text):
                return

    def used(self) -> set[str]:
        """Names that some line has, so that each name is one array for the whole program."""
        return {name for line in self.program for name in re.findall(r"\b[a-z]\b", line.text)}

    def kind_of(self, family: Mapping[str, tuple[int, Draw]]) -> tuple[str, Draw]:
        kind = drawn(self.random, {name: often for name, (often, _) in family.items()})
        return kind, family[kind][1]


def drawn(random: Random, how_often: Mapping[str, int]) -> str:
    return random.choices(list(how_often), list(how_often.values()))[0]


def has_room(array: Array) -> bool:
    known = {*SAME_WIDTH, *KINDS_OF_VALUES}
    return (
        array.size <= MOST_ELEMENTS and array.ndim <= MOST_DIMENSIONS and array.dtype.name in known
    )


def with_copy(text: str) -> str:
    """The same line, whose result lies in the order of its elements."""
    name, _, expression = text.partition(" = ")
    return f"{name} = ({expression}).copy()"


def program_of(seed: int) -> Program:
    """The program of a seed: 1 to 3 arrays, then 3 to 12 lines."""
    writer = Writer(seed)
    for _ in range(writer.random.choice([1, 1, 2, 3])):
        writer.new_array()
    for _ in range(writer.random.randint(3, 12)):
        writer.new_line()
    return tuple(writer.program)


# --- showing ---------------------------------------------------------------------------------


def source(program: Program) -> str:
    """A program as a file that runs by itself."""
    lines = ["import numpy as np", ""]
    for statement in program:
        if statement.refused:
            lines += ["try:", f"    {statement.text}", "except Exception as error:"]
            lines += ["    print(type(error).__name__, error)"]
        else:
            lines.append(statement.text)
    live = ", ".join(variables(in_numpy(program)[1]))
    return "\n".join([*lines, f"for each in ({live},):", "    print(each)"])


def shorter(program: Program, xp: Any, found: Difference, most: int = 60) -> Program:
    """The program with all lines dropped that the difference does not need."""
    program = program[: found.number + 1]
    last = program[-1]
    tried = 0
    for line in reversed(program[:-1]):
        fewer = tuple(each for each in program if each is not line)
        if tried == most:
            break
        if not is_sound(fewer):
            continue
        tried += 1
        again = difference(fewer, xp)
        if again and (again.what, fewer[again.number]) == (found.what, last):
            program = fewer
    return program


def is_sound(program: Program) -> bool:
    """Whether each line would be taken into a program, and NumPy refuses those that it refused."""
    writer = Writer(0)
    for number, line in enumerate(program):
        if line.refused:
            raised = in_numpy(program)[0][number].raised
            if not isinstance(raised, Refused):
                return False
            writer.program.append(line)
        elif not writer.add(line.kind, line.text) or writer.program[number] != line:
            return False
    return True


def report(seed: int, program: Program, xp: Any, found: Difference) -> str:
    """What is printed of a program that differs."""
    short = shorter(program, xp, found)
    shown = difference(short, xp) or found
    line = short[-1].text
    return f"seed {seed}, {shown.what}, after `{line}`:\n\n{source(short)}\n\n{shown.details}"


def main() -> int:
    parser = argparse.ArgumentParser(description="random programs about arrays, as in NumPy")
    parser.add_argument("--seconds", type=float, default=60, help="how long it runs")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--through", choices=WAYS, default=WAYS[0], help="whose functions")
    parser.add_argument("--only-last", action="store_true", help="compare at the end alone")
    parser.add_argument("--all", action="store_true", help="go on after one that differs")
    options = parser.parse_args()
    xp, end = Tensors(options.through), time.monotonic() + options.seconds
    count, differing = 0, Counter[str]()
    while time.monotonic() < end:
        seed = options.seed + count
        program = program_of(seed)
        found = difference(program, xp, only_last=options.only_last)
        count += 1
        if found:
            differing[f"{found.what}: {program[found.number].kind}"] += 1
            print(report(seed, program, xp, found), flush=True)
            if not options.all:
                break
    print(f"{count} programs, {differing.total()} of which differ")
    for kind, times in differing.most_common():
        print(f"{times:6} {kind}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())

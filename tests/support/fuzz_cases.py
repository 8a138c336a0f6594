"""What the fuzzer does with the values: descriptions, functions, indices, bindings, call order.

Each function draws one case, runs it and compares what comes out with NumPy; an error of the
library is left to `Tally`, which judges it.
"""

from __future__ import annotations

import faulthandler
import operator
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from expected import EXPECTED
from hypothesis import strategies as st

import dmlgpu as dml
from dmlgpu import DataType as T
from dmlgpu import TensorDesc
from dmlgpu.ops import BY_NAME
from support import oracle
from support.cases import Case
from support.execution import arguments
from support.fuzz_values import DTYPES, SCANNED, SHAPES, arrays, garbage, inputs, lists, numbers
from support.generate import descriptions

PATIENCE = 120  # seconds after which a case counts as a hang
ROOM = 1 << 16  # bytes of the tensors that a random description is run with


class Tally:
    """Counts cases and what became of them; refuses any error that is not the library's."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Counter[str]] = {}

    def run(self, kind: str, case: Callable[[], object]) -> None:
        """One case: NumPy's answer, or one sentence."""
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try:
            case()
            outcome = "answer"
        except dml.DmlError as error:
            outcome = type(error).__name__
            message = str(error)
            assert message, outcome
            assert not re.search(r"[\n\r]|\.$|wgpu_core|panicked", message), message
            assert len(message) < 800, message
        finally:
            faulthandler.cancel_dump_traceback_later()
        self.outcomes.setdefault(kind, Counter())[outcome] += 1

    def count(self, kind: str) -> int:
        """Cases of one kind."""
        return sum(self.outcomes.get(kind, Counter()).values())

    def lines(self) -> list[str]:
        """A table: kinds of case, answers and refusals by class."""
        totals = sum(self.outcomes.values(), Counter[str]())
        rows = {**self.outcomes, "all": totals}
        return [
            f"fuzz: {kind:13}{sum(found.values()):7} cases: "
            + ", ".join(f"{n} {name}" for name, n in found.most_common())
            for kind, found in rows.items()
        ]


@st.composite
def tensor_makers(draw: Callable[[Any], Any], base: TensorDesc) -> Callable[[], Any]:
    """Makes a TensorDesc near `base` when called, or is no description at all."""
    if draw(st.integers(0, 5)) == 0:
        value = draw(garbage())
        return lambda: value
    fields: dict[str, Any] = {"data_type": base.data_type, "sizes": base.sizes}
    strange = {
        "data_type": st.sampled_from(T) | garbage(),
        "sizes": lists() | st.just([*base.sizes, 1]) | st.just(base.sizes[::-1]),
        "strides": lists() | st.just((0,) * base.rank) | st.just((7,) * base.rank),
        "total_tensor_size_in_bytes": numbers() | st.sampled_from((48, 64, 1 << 40)),
        "guaranteed_base_offset_alignment": numbers() | st.sampled_from((16, 64)),
        "flags": numbers(),
    }
    for name in draw(st.lists(st.sampled_from(sorted(strange)), max_size=2, unique=True)):
        fields[name] = draw(strange[name])
    return lambda: TensorDesc(**fields)


def describe(draw: Callable[[Any], Any], device: dml.Device) -> Callable[[], object]:
    """A description with up to three fields replaced; run where it is still valid."""
    name = draw(st.sampled_from(sorted(BY_NAME)))
    operator = BY_NAME[name]
    types = {T.from_numpy(dtype) for dtype in DTYPES}
    small = descriptions(operator.desc, EXPECTED[name].draw, most=24, types=types)
    base, _ = draw(small)
    kwargs = dict(base)
    most = draw(st.sampled_from((0, 1, 1, 2, 3)))
    chosen = draw(st.lists(st.sampled_from(operator.fields), max_size=most, unique=True))
    for field in chosen:
        if isinstance(base[field.name], TensorDesc):
            kwargs[field.name] = draw(tensor_makers(base[field.name]))
        elif field.is_array:
            kwargs[field.name] = draw(lists())
        else:
            kwargs[field.name] = draw(numbers())
    made_late = {f.name for f in chosen if isinstance(base[f.name], TensorDesc)}
    levels = st.just(dml.FeatureLevel.FL_6_4) | st.sampled_from(dml.FeatureLevel) | numbers()
    level = draw(st.just(dml.FeatureLevel.FL_6_4) | levels)

    def case() -> None:
        made = {k: v() if k in made_late else v for k, v in kwargs.items()}
        desc = operator.desc(**made)
        dml.validate(desc, level)
        run_description(device, name, desc)

    return case


def run_description(device: dml.Device, name: str, desc: Any) -> None:
    """Runs a valid description on small numbers, or asks for more than the adapter holds."""
    op = device.compile(desc)
    tensors = [*op.desc.tensors().values()]
    if max(t.total_tensor_size_in_bytes for t in tensors) > ROOM:
        for t in tensors:
            if t.total_tensor_size_in_bytes > ROOM:
                device.empty(t)
        return
    bound, data = {}, {}
    for field, t in op.desc.inputs().items():
        image = bytearray(t.total_tensor_size_in_bytes)
        values = np.arange(t.element_count).reshape(t.sizes) % 3
        oracle.write(image, t, values.astype(oracle.NUMPY_TYPES[t.data_type]))
        data[field] = bytes(image)
        bound[field] = device.upload(t, data[field])
    made = op(*arguments(desc, bound))
    outs = made if isinstance(made, tuple) else (made,)
    found = {n: one.tobytes() for n, one in zip(op.desc.outputs(), outs, strict=True)}
    own, case = EXPECTED[name], Case(name, dict(vars(desc)), mode="exact")
    own.agree(case, own.arrays(desc, data), found)


def integers_of(values: Any) -> tuple[int, ...]:
    return tuple(operator.index(v) for v in values)


def function(draw: Callable[[Any], Any], device: dml.Device) -> Callable[[], object]:
    """One of the six functions with any arguments; answers are compared with NumPy."""
    name = draw(st.sampled_from(("slice", "slice1", "gather_nd", "gather_nd1", "sum", "product")))
    on_device = draw(st.booleans())
    if draw(st.booleans()):
        given = draw(arrays(SCANNED if name in ("sum", "product") else DTYPES, SHAPES[1:7]))
        rest = draw(fitting_arguments(name, given))
    else:
        given = draw(inputs())
        rest = draw(any_arguments(name, getattr(given, "ndim", 2)))

    def case() -> None:
        x = device.tensor(given) if on_device else given
        run = {"sum": dml.cumulative_summation, "product": dml.cumulative_product}.get(name)
        result = (run or getattr(dml, name))(x, *rest).numpy()
        want = function_in_numpy(name, np.atleast_1d(np.asarray(given)), rest)
        assert result.shape == (want.shape or (1,)), (result.shape, want.shape)
        np.testing.assert_array_equal(result, want.reshape(result.shape).astype(result.dtype))

    return case


@st.composite
def fitting_arguments(draw: Callable[[Any], Any], name: str, x: oracle.Array) -> list[Any]:
    """Arguments that nearly always suit the array."""
    if name in ("sum", "product"):
        return [
            draw(st.integers(-x.ndim, x.ndim - 1)),
            draw(st.integers(0, 1)),
            draw(st.booleans()),
        ]
    if name.startswith("gather"):
        batch = draw(st.integers(0, 1)) if name == "gather_nd1" and x.ndim > 1 else 0
        width = draw(st.integers(1, x.ndim - batch))
        shape = (*x.shape[:batch], draw(st.integers(1, 3)), width)
        dtype = draw(st.sampled_from((np.int64, np.uint32)))
        low = 0 if dtype is np.uint32 else -1
        near = st.integers(low, 1)  # 1 is out of range of a dimension of size 1
        indices = np.array([draw(near) for _ in range(int(np.prod(shape)))], dtype).reshape(shape)
        return [indices, None, None, batch][: 4 if name == "gather_nd1" else 1]
    window = []
    for n in x.shape:
        offset = draw(st.integers(0, n - 1))
        size = draw(st.integers(1, n - offset))
        step = draw(st.sampled_from((1, 1, 2, -1)))
        window.append((offset, size, step if name == "slice1" else 1))
    return [list(values) for values in zip(*window, strict=True)]


@st.composite
def any_arguments(draw: Callable[[Any], Any], name: str, rank: int) -> list[Any]:
    """Arguments of which some suit, and some are anything."""
    fitting = st.lists(st.integers(0, 3), min_size=rank, max_size=rank)
    arguments = st.one_of(fitting, fitting, fitting, lists())
    if name.startswith("slice"):
        steps = st.lists(st.sampled_from((1, 2, -1)), min_size=rank, max_size=rank)
        rest = [draw(arguments), draw(arguments), draw(st.one_of(steps, steps, arguments))]
        if name == "slice1" and draw(st.booleans()):
            rest.append(draw(st.none() | arguments))
    elif name.startswith("gather"):
        tuples = st.lists(st.lists(st.integers(-2, 2), min_size=1, max_size=2), max_size=3)
        rest = [draw(tuples | inputs())]
        counts = st.none() | st.integers(0, 4) | numbers()
        rest += [draw(counts) for _ in range(draw(st.integers(0, 2 + (name == "gather_nd1"))))]
    else:
        flags = st.booleans() | numbers()
        rest = [draw(st.integers(-3, 3) | numbers()), draw(st.integers(0, 1) | numbers())]
        rest = [*rest, draw(flags)][: draw(st.integers(1, 3))]
    return rest


def function_in_numpy(name: str, x: oracle.Array, rest: Sequence[Any]) -> oracle.Array:
    """What arguments that were accepted must give."""
    if name == "slice":
        return oracle.slice_(x, *map(integers_of, rest))
    if name == "slice1":
        window = [integers_of(v) for v in rest[:3]]
        sizes = rest[3] if len(rest) > 3 else None
        if sizes is None:
            sizes = [1 + (n - 1) // abs(s) for n, s in zip(window[1], window[2], strict=True)]
        return oracle.slice1(x, *window, integers_of(sizes))
    if name.startswith("gather"):
        indices = np.atleast_1d(np.asarray(rest[0]))
        counts = [None if n is None else operator.index(n) for n in rest[1:]]
        counts += [None] * (3 - len(counts))
        batch = counts[2] or 0
        rank = max(x.ndim, indices.ndim)
        padded = [a.reshape((1,) * (rank - a.ndim) + a.shape) for a in (x, indices)]
        real = x.ndim if counts[0] is None else counts[0]
        real_index = indices.ndim if counts[1] is None else counts[1]
        out = oracle.gather_nd(*padded, real, real_index, batch)
        natural = real_index - 1 + real - batch - indices.shape[-1]
        return out.reshape(out.shape[out.ndim - natural :])
    axis = operator.index(rest[0]) % x.ndim
    flags = [bool(v) for v in rest[1:]] + [False, False]
    return oracle.scan(
        x,
        axis,
        decreasing=flags[0],
        exclusive=flags[1],
        product=name == "product",
        accumulator=x.dtype.newbyteorder("="),
    )

"""`dmlgpu explain fuse EXPRESSION`: the one kernel that an expression of tensors becomes."""

from __future__ import annotations

import argparse
import ast
import operator
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

import dmlgpu as dml
import dmlgpu.numpy as dnp
from dmlgpu.array.chain import ChainOperator
from dmlgpu.cli.describe import TENSOR, tensor
from dmlgpu.desc.cached import Cache
from dmlgpu.desc.layout import layout_of
from dmlgpu.desc.tensor import TensorDesc
from dmlgpu.device import Device
from dmlgpu.errors import DmlError, InvalidDescError, UnsupportedError
from dmlgpu.fuse import drawn
from dmlgpu.plan.operator import Operator

# An operator, a description of it, and what is said of this where it is not its fields.
Described = tuple[Operator[Any], Any, dict[str, Any] | None]


LIBRARIES = {"np": np, "dnp": dnp, "dml": dml}
UNARY: dict[type, Any] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
BINARY: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class Paper(Device):
    """A device without an adapter: functions are traced on it, but nothing runs."""

    def __init__(self) -> None:
        """Opens nothing, and remembers nothing."""
        self.remembered = Cache(0)

    def __getattr__(self, name: str) -> NoReturn:
        raise UnsupportedError(
            "explain fuse: only the tensors named with --tensor, numbers and element-wise "
            f"functions of them can be explained; {name} needs an adapter"
        )


def add_fused(parser: Any) -> None:
    """The options that say what is fused."""
    parser.set_defaults(described=described)
    parser.add_argument(
        "expression", metavar="EXPRESSION", help="Python over the tensors, np, dnp and dml"
    )
    parser.add_argument(
        "--tensor",
        dest="tensors",
        type=_named,
        action="append",
        default=[],
        metavar=f"NAME={TENSOR}",
        help="a tensor of the expression; once for each",
    )


def _named(text: str) -> tuple[str, TensorDesc]:
    name, _, desc = text.partition("=")
    if not name.isidentifier():
        raise argparse.ArgumentTypeError(f"it is {text!r}; it must be NAME={TENSOR}")
    return name, tensor(desc)


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """What an expression is worth: arithmetic, comparisons, numbers, calls and what has a name.

    Nothing else that Python can say is understood, and no name that begins with an underscore.
    """
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name) if name in names:
            return names[name]
        case ast.Name(name):
            raise InvalidDescError(f"explain fuse: name {name!r} is not defined; see --tensor")
        case ast.Subscript(of, index):
            return _value(of, names)[_value(index, names)]
        case ast.Tuple(parts) | ast.List(parts):
            return tuple(_value(part, names) for part in parts)
        case ast.Slice(lower, upper, step):
            ends = (lower, upper, step)
            return slice(*(None if end is None else _value(end, names) for end in ends))
        case ast.Attribute(of, name) if not name.startswith("_"):
            return getattr(_value(of, names), name)
        case ast.UnaryOp(op, of) if type(op) in UNARY:
            return UNARY[type(op)](_value(of, names))
        case ast.BinOp(left, op, right) if type(op) in BINARY:
            return BINARY[type(op)](_value(left, names), _value(right, names))
        case ast.Compare(left, [op], [right]) if type(op) in BINARY:
            return BINARY[type(op)](_value(left, names), _value(right, names))
        case ast.Call(called, args, keywords) if all(k.arg for k in keywords):
            named = {str(k.arg): _value(k.value, names) for k in keywords}
            return _value(called, names)(*(_value(arg, names) for arg in args), **named)
    raise InvalidDescError(
        f"explain fuse: {ast.unparse(node)!r} is not understood; an expression has tensors, "
        "numbers, arithmetic, comparisons and functions of np, dnp and dml"
    )


def described(args: argparse.Namespace) -> Described:
    """The chain of the expression, its sources by the names that the dispatches bind."""
    tensors: dict[str, TensorDesc] = dict(args.tensors)
    leaves = list(map(layout_of, tensors.values()))
    try:
        tree = ast.parse(args.expression.strip(), mode="eval").body

        def function(*given: Any) -> Any:
            return _value(tree, {**LIBRARIES, **dict(zip(tensors, given, strict=True))})

        function.__name__ = args.expression
        made = drawn(function, Paper(), leaves, {})
    except DmlError:
        raise
    except Exception as error:  # whatever the expression raises
        raise InvalidDescError(f"explain fuse: {args.expression!r}: {error}") from None
    if made is None:
        raise InvalidDescError("explain fuse: there is no --tensor; at least one is needed")
    sources = zip(made.parts, made.chain.sources, strict=True)
    told: dict[str, Any] = {
        f"x{i}": leaves[part.leaf].desc if part.leaf < len(leaves) and part.is_all else view
        for i, (part, view) in enumerate(sources)
    }
    told |= {"output": made.chain.output, "steps": tuple(s.text for s in made.chain.steps)}
    if made.chain.ending is not None:
        told["reduction"] = made.chain.ending.reduced.name
        told["axes"] = made.chain.ending.reduced.axes
    return ChainOperator(made.chain), made.chain, told

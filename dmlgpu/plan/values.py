"""Values in shaders: operands, parameters, and expressions over them.

An operator gives an expression over single values, for tensors of any number, type and layout.
Expressions call functions of the number library by a placeholder for the class of a value:
`T_add(a, b)` is `f32_add` for FLOAT32 and FLOAT16, `i64_add` for INT64. How values are found and
loaded is in reading.py.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dmlgpu.desc.tensor import DataType, TensorDesc
from dmlgpu.plan.dispatch import Value, eight, of_eight

CLASSES = {
    DataType.FLOAT16: "f32",
    DataType.FLOAT32: "f32",
    DataType.FLOAT64: "f64",
    DataType.INT8: "i32",
    DataType.INT16: "i32",
    DataType.INT32: "i32",
    DataType.INT64: "i64",
    DataType.UINT8: "u32",
    DataType.UINT16: "u32",
    DataType.UINT32: "u32",
    DataType.UINT64: "u64",
}
WGSL_TYPES = {"f32": "f32", "i32": "i32", "u32": "u32"}  # values of other classes are two words
# Functions of the math library with a short form for most arguments, such as `math_exp_near`, and a
# test for all others, `math_exp_strays`.
STRAYING = (
    "acosh",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "gelu",
    "log",
    "log1p",
    "pow_positive",
    "sigmoid",
    "sin",
    "sinh",
    "softplus",
    "tan",
)
# Of these, those of more arguments than one.
ARGUMENTS = {"pow_positive": {"x": "f32", "y": "f32", "least": "u32", "range": "u32"}}
# Functions of integers that are calculated for all those of a word at once.
SWAR = {name: f"swar_{name}" for name in ("add", "sub", "max", "min")}
SWAR |= {name: f"u32_{name}" for name in ("and", "or", "xor", "not")}
SIGNS = {"neg": "^", "abs": "& ~"}  # the same of halves: what they do to their highest bits
TRUTHS = {name: f"swar_{name}" for name in ("lt", "le", "eq")}  # the results are 0 or 1
RAW = {8: DataType.UINT8, 16: DataType.UINT16, 32: DataType.UINT32, 64: DataType.UINT64}


def of_class(text: str, source: DataType, target: DataType) -> str:
    """WGSL of a value of one type's class in another's class."""
    if (source, target) == (DataType.FLOAT64, DataType.FLOAT16):
        return f"f64_odd_f32({text})"  # FLOAT32 in between must not round
    return f"{class_of(target)}_from_{class_of(source)}({text})"


def class_of(data_type: DataType) -> str:
    """The class of values that shaders calculate with for a data type."""
    return CLASSES[data_type]


def wgsl_type(data_type: DataType) -> str:
    """The WGSL type of a value of a data type."""
    return WGSL_TYPES.get(CLASSES[data_type], "vec2<u32>")


def truth(condition: str) -> str:
    """WGSL of a condition as a number: 1 where it holds, else 0."""
    return f"select(0u, 1u, {condition})"


def limited(data_type: DataType, value: str) -> str:
    """An integer expression that ends at the limits of an integer type below 32 bits."""
    if data_type.bits > 16:
        return value
    if data_type.name.startswith("INT"):
        high = 2 ** (data_type.bits - 1)
        return f"clamp({value}, {-high}i, {high - 1}i)"
    return f"min({value}, {2**data_type.bits - 1}u)"


def keeping_nan(first: str) -> str:
    """WGSL that makes a float of `a` and `b`, but gives NaN where one of them is."""
    return f"select(select({first}, b, f32_is_nan(b)), a, f32_is_nan(a))"


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor of element-wise work, read as its own data type or as raw bits of the same width."""

    field: str  # empty where no tensor is read: the value is then the element's place
    tensor: TensorDesc
    data_type: DataType
    start: int = 0  # element of the tensor's buffer where the work begins
    shares: bool = False  # elements that must stay as they are lie around those of the work
    doubled: bool = False  # every row lies there twice, so that none is needed behind its end

    @classmethod
    def of(cls, field: str, tensor: TensorDesc, *, raw: bool = False) -> Operand:
        """A tensor by its own type, or as raw bits."""
        data_type = RAW[tensor.data_type.bits] if raw else tensor.data_type
        return cls(field, tensor, data_type)

    @classmethod
    def place(cls, sizes: Sequence[int], steps: Sequence[int], start: int = 0) -> Operand:
        """No tensor, but a number that grows by `steps` along each dimension, from `start` on."""
        return cls("", TensorDesc(DataType.UINT32, sizes, steps), DataType.UINT32, start)

    @property
    def bits(self) -> int:
        """Width of an element."""
        return self.data_type.bits

    def part(self, axis: int, at: int) -> Operand:
        """The elements at one step of an axis, in the same bytes."""
        first, sizes = [0] * self.tensor.rank, list(self.tensor.sizes)
        first[axis], sizes[axis] = at, 1
        return self.box(first, sizes)

    def box(self, first: Sequence[int], sizes: Sequence[int]) -> Operand:
        """A box of elements, which begins with the one at `first`, in the same bytes."""
        strides, total = self.tensor.effective_strides, self.tensor.total_tensor_size_in_bytes
        box = TensorDesc(self.tensor.data_type, sizes, strides, total_tensor_size_in_bytes=total)
        start = self.start + sum(at * step for at, step in zip(first, strides, strict=True))
        return replace(self, tensor=box, start=start if self.field else start & 0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Parameter:
    """An attribute that an expression names, as a value of a data type."""

    name: str
    data_type: DataType
    value: int | float

    @property
    def words(self) -> tuple[int, ...]:
        """The value as a shader reads it: the class's own form, in one word or two."""
        kind = class_of(self.data_type)
        value = converted(self.value, self.data_type)
        if kind == "f32":
            return struct.unpack("<I", struct.pack("<f", value))
        if kind == "f64":
            low, high = struct.unpack("<2I", struct.pack("<d", value))
            return low, high
        whole = int(value) & 0xFFFFFFFFFFFFFFFF
        return (
            (whole & 0xFFFFFFFF,) if kind in ("i32", "u32") else (whole & 0xFFFFFFFF, whole >> 32)
        )


HELD = {DataType.FLOAT16: struct.Struct("<e"), DataType.FLOAT32: struct.Struct("<f")}


def converted(value: int | float, data_type: DataType) -> int | float:
    """A number as the data type holds it: integers truncate toward zero and saturate."""
    held = HELD.get(data_type)
    if held is not None:
        try:
            (rounded,) = held.unpack(held.pack(float(value)))
        except OverflowError:  # of what would round to an infinity
            return math.copysign(math.inf, value)
        return float(rounded)
    if data_type is DataType.FLOAT64:
        return float(value)
    if isinstance(value, float) and math.isnan(value):
        return 0
    info = np.iinfo(data_type.numpy)
    if isinstance(value, float) and math.isinf(value):
        return int(info.max) if value > 0 else int(info.min)
    return max(int(info.min), min(int(info.max), int(value)))


@dataclass(frozen=True, slots=True)
class Expression:
    """What one output element is: WGSL over the names of the inputs and of the parameters.

    `steps` are statements before the result, for values that are needed more than once.
    """

    result: str
    steps: str = ""

    @property
    def calls(self) -> list[str]:
        """The names of functions, as often as they are called."""
        return re.findall(r"\b(\w+)\(", f"{self.steps} {self.result}")

    def copied(self, inputs: Mapping[str, Operand], made: Operand) -> Operand | None:
        """The tensor that it copies to one of the same type, or None."""
        source = None if self.steps else inputs.get(self.result)
        if source is None or not source.field:
            return None
        return source if source.data_type is made.data_type else None


def parameter_words(parameters: Sequence[Parameter]) -> dict[str, Value]:
    """The numbers that expressions name, as parameters of a dispatch."""
    return in_eights([word for p in parameters for word in p.words])


def in_eights(words: Sequence[int]) -> dict[str, Value]:
    """The words of numbers that expressions name, as parameters of a dispatch."""
    return {f"values{n // 8}": eight(words[n : n + 8]) for n in range(0, len(words), 8)}


def function(
    name: str,
    inputs: Mapping[str, Operand],
    parameters: Sequence[Parameter],
    expression: Expression,
    made: DataType,
    classes: Mapping[str, DataType],
) -> list[str]:
    """A WGSL function from the values of the inputs to that of an expression.

    `classes` are the data types that placeholders stand for.
    """
    given = ", ".join(f"{n}: {wgsl_type(o.data_type)}" for n, o in inputs.items())
    lines = [f"fn {name}({given}) -> {wgsl_type(made)} {{"]
    lines += named(parameters, f"{expression.steps} {expression.result}")
    if expression.steps:
        lines.append(f"  {resolve(expression.steps, classes)}")
    return [*lines, f"  return {resolve(expression.result, classes)};", "}"]


def of_words(
    name: str, inputs: Mapping[str, Operand], expression: Expression, made: DataType
) -> list[str]:
    """A WGSL function from words of the inputs to a word of an expression; none: it has no such."""
    call = re.fullmatch(r"(select\(0u, 1u, )?T_(\w+)\(([\w, ]+)\)\)?", expression.result)
    types = {o.data_type for o in inputs.values()}
    if not call or len(types) > 1 or expression.steps or not {*call[3].split(", ")} <= {*inputs}:
        return []
    called, (given,) = (TRUTHS if call[1] else SWAR).get(call[2]), types
    is_narrow = given.bits == made.bits < 32 and class_of(given) != "f32"
    if called is None or not is_narrow:
        return []
    tops = sum(1 << k for k in range(made.bits - 1, 32, made.bits))
    names = ", ".join(f"{n}: u32" for n in inputs)
    return [
        f"const SWAR_TOPS = {tops}u;",
        f"const SWAR_SIGNS = {tops if class_of(given) == 'i32' else 0}u;",
        f"fn {name}({names}) -> u32 {{ return {called}({call[3]}); }}",
    ]


def of_halves(
    name: str, inputs: Mapping[str, Operand], expression: Expression, made: DataType
) -> list[str]:
    """The same of halves whose signs alone change, so that none needs to be converted."""
    call = re.fullmatch(r"(?:T|f32)_(neg|abs)\((\w+)\)", expression.result)
    types = {made, *(o.data_type for o in inputs.values())}
    if not call or expression.steps or types != {DataType.FLOAT16} or call[2] not in inputs:
        return []
    names = ", ".join(f"{n}: u32" for n in inputs)
    return [f"fn {name}({names}) -> u32 {{ return {call[2]} {SIGNS[call[1]]}0x80008000u; }}"]


def quick(expression: Expression) -> tuple[Expression, list[str]]:
    """The expression without branches, and the functions that it then calls.

    A function of `STRAYING` has a branch for arguments that few elements have, and what is behind a
    branch waits for it. Here such arguments only set `strayed`, and the values mean nothing then.
    """
    call = re.compile(rf"\bmath_({'|'.join(STRAYING)})(?=\()")
    found = sorted(set(call.findall(f"{expression.steps} {expression.result}")))
    lines = ["var<private> strayed: bool;"] if found else []
    for name in found:
        arguments = ARGUMENTS.get(name, {"x": "f32"})
        given = ", ".join(f"{each}: {kind}" for each, kind in arguments.items())
        passed = ", ".join(arguments)
        test = f"strayed = strayed | math_{name}_strays({passed});"
        near = f"return math_{name}_near({passed});"
        lines.append(f"fn quick_{name}({given}) -> f32 {{ {test} {near} }}")
    texts = [call.sub(r"quick_\1", text) for text in (expression.result, expression.steps)]
    return Expression(*texts), lines


def named(parameters: Sequence[Parameter], text: str) -> list[str]:
    """Statements that give the parameters in a text their names."""
    read = _reads(parameters).items()
    return [f"  let {name} = {value};" for name, value in read if re.search(rf"\b{name}\b", text)]


def held_parameters(parameters: Sequence[Parameter]) -> list[str]:
    """Variables of the parameters' names, and the function that reads them all."""
    if not parameters:
        return []
    held = [f"var<private> {p.name}: {wgsl_type(p.data_type)};" for p in parameters]
    reads = [f"  {name} = {value};" for name, value in _reads(parameters).items()]
    return [*held, "fn read_parameters() {", *reads, "}"]


def _reads(parameters: Sequence[Parameter]) -> dict[str, str]:
    """By its name, WGSL that reads each parameter."""
    reads, word = {}, 0
    for parameter in parameters:
        reads[parameter.name] = _parameter(parameter, word)
        word += len(parameter.words)
    return reads


def _parameter(parameter: Parameter, word: int) -> str:
    """WGSL that reads a parameter from the uniform buffer."""

    def at(n: int) -> str:
        return of_eight(f"values{n // 8}", n % 8)

    kind = class_of(parameter.data_type)
    if kind == "u32":
        return at(word)
    if kind in ("f32", "i32"):
        return f"bitcast<{kind}>({at(word)})"
    return f"vec2<u32>({at(word)}, {at(word + 1)})"


def renamed(text: str, names: Mapping[str, str]) -> str:
    """WGSL with single names replaced."""
    return re.sub(r"\b[a-z]\w*\b", lambda match: names.get(match[0], match[0]), text)


def resolve(text: str, classes: Mapping[str, DataType]) -> str:
    """Placeholders replaced by the classes of the data types they stand for.

    Halves compare by functions of their own, since none is a denormal number of its class.
    """
    for name, data_type in classes.items():
        if data_type is DataType.FLOAT16:
            text = re.sub(rf"\b{name}_(eq|lt|le)\b", r"float16_\1", text)
        text = re.sub(rf"\b{name}_(?=\w)", f"{class_of(data_type)}_", text)
        text = re.sub(rf"_from_{name}\b", f"_from_{class_of(data_type)}", text)
    # A value converted to the class it has already is itself.
    return re.sub(r"\b(\w+?)_from_\1(?=\()", "", text)


def float_slots(data_types: Sequence[DataType], exact: bool) -> dict[str, str]:
    """What stands in for functions of floats where the adapter's own are exact."""
    slots = {}
    if exact and DataType.FLOAT16 in data_types:
        slots["number/float16"] = "number/float16_hardware"
    if exact and not {DataType.FLOAT16, DataType.FLOAT32}.isdisjoint(data_types):
        slots["number/rest"] = "number/rest_fused"
    return slots

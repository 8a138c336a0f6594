"""Elements and the words that they lie in, as WGSL; and the declarations of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmlgpu.desc.tensor import DataType
from dmlgpu.plan.dispatch import Value

UNIT_BITS = 128  # bits of the widest load or store


def held_bits(bits: int, t: int, k: int) -> str:
    """The bits of element `k` of a group that is held."""
    high = f"held{t}_high(b, first{t}, {k}u)" if bits == 64 else "0u"
    return f"vec2<u32>(held{t}(b, first{t}, {k}u), {high})"


def element_bits(bits: int, k: int, unit: str) -> str:
    """The bits of element `k` of a vector of words."""
    word = f"{unit}[{k * bits // 32}]"
    if bits == 64:
        return f"vec2<u32>({word}, {unit}[{k * 2 + 1}])"
    return _of_word(bits, k, word)


def _of_word(bits: int, k: int, word: str) -> str:
    """The bits of element `k` of a group, in the word that holds them."""
    if bits == 32:
        return f"vec2<u32>({word}, 0u)"
    return f"vec2<u32>(({word} >> {k * bits % 32}u) & {(1 << bits) - 1}u, 0u)"


def value_in(data_type: DataType, k: int, word: str) -> str:
    """The value of element `k` of a group, in the word that holds it."""
    if data_type is DataType.FLOAT16:
        return f"float16_pair({word})[{k % 2}]"
    return f"{data_type.name.lower()}_decode({_of_word(data_type.bits, k, word)})"


def word_type(bits: int) -> str:
    """What a tensor that is reached element by element is bound as an array of."""
    return "vec2<u32>" if bits == 64 else "u32"


def element_at(bits: int, load: str, at: str) -> str:
    """The bits of the element at an address."""
    return bits_at(bits, word_at(bits, load, at), at)


def word_at(bits: int, load: str, at: str) -> str:
    """A load of the word that holds the element at an address, or of both its words."""
    return f"{load}({at} / {32 // bits}u)" if bits < 32 else f"{load}({at})"


def bits_at(bits: int, word: str, at: str) -> str:
    """The bits of the element at an address, in what `word_at` has loaded."""
    if bits == 64:
        return word
    if bits == 32:
        return f"vec2<u32>({word}, 0u)"
    per, mask = 32 // bits, (1 << bits) - 1
    return f"vec2<u32>(({word} >> ({at} % {per}u * {bits}u)) & {mask}u, 0u)"


def funnel(low: str, high: str, shift: str, *, wide: bool = False) -> str:
    """WGSL of the word that begins `shift` bits into the first of two neighbours.

    Shifted to the left in two steps, since a shift by 32 is none; with 64-bit integers it is one
    instruction.
    """
    if wide:
        return f"u32(((u64({high}) << 32u) | u64({low})) >> {shift})"
    return f"({low} >> {shift}) | (({high} << 1u) << (31u - {shift}))"


def words_of(bits: int, values: Sequence[str]) -> list[str]:
    """Encoded elements side by side, put together into words."""
    if bits == 64:
        return [f"{value}.{half}" for value in values for half in "xy"]
    if bits == 32:
        return [f"{value}.x" for value in values]
    per = 32 // bits
    return [
        " | ".join(f"({v}.x << {j * bits}u)" for j, v in enumerate(values[w : w + per]))
        for w in range(0, len(values), per)
    ]


def encoded(data_type: DataType, values: Sequence[str]) -> list[str]:
    """Values side by side as words of a data type."""
    if data_type is DataType.FLOAT16:
        pairs = zip(values[::2], values[1::2], strict=True)
        return [f"float16_word(vec2<f32>({a}, {b}))" for a, b in pairs]
    name = data_type.name.lower()
    return words_of(data_type.bits, [f"{name}_encode({value})" for value in values])


def merged(name: str, bits: int, at: str, value: str) -> str:
    """A statement that puts one encoded element between bytes of others."""
    per, mask = 32 // bits, (1 << bits) - 1
    shift = f"({at} % {per}u * {bits}u)"
    return f"merge_{name}({at} / {per}u, {mask}u << {shift}, {value}.x << {shift});"


def param_lines(params: Mapping[str, Value]) -> list[str]:
    """The lines that declare the parameters of a dispatch."""
    kinds = {True: "array<vec4<u32>, 2>", False: "u32"}
    return [f"#param {name}: {kinds[isinstance(v, tuple)]}" for name, v in params.items()]

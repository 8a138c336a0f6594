"""Products of vectors and matrices, and covariances: sums of products that are not stored.

Each of them is brought into one form: the dot products of the rows of two stacks of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import prod
from typing import Any

from dmlgpu.array.promotion import FLOAT32, promoted
from dmlgpu.desc import views
from dmlgpu.desc.values import as_index, as_indices
from dmlgpu.device import Device
from dmlgpu.errors import InvalidDescError, InvalidTypeError, UnsupportedError, shown
from dmlgpu.functions import device_of
from dmlgpu.fuse import fuse
from dmlgpu.numpy import composed, manipulation
from dmlgpu.numpy.creation import computed
from dmlgpu.numpy.outputs import written
from dmlgpu.tensor import Tensor

MOST = 1 << 28  # products that one kernel adds up
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _pair(a: Any, b: Any, *others: Any) -> list[Tensor]:
    """Two arrays as tensors of one device and one type."""
    device = device_of(a, b, *others)
    given = [computed(x, device) for x in (a, b)]
    common = promoted([x.dtype for x in given])
    return [x.astype(common, copy=False) for x in given]


def _summed(x: Tensor, y: Tensor) -> Tensor:
    products = x * y
    return products.any(-1) if products.dtype.kind == "b" else products.sum(-1, products.dtype)


def _dots(x: Tensor, y: Tensor) -> Tensor:
    """The dot products of each row of a matrix with each row of another one, in stacks of both.

    Shapes are (stack, rows, length) and (stack, other rows, length).
    """
    (stack, rows, length), others = x.shape, y.shape[1]
    if 0 in (stack, rows, others, length):
        return x.device.full((stack, rows, others), x.dtype, 0)
    if length == 1:
        return x * y.reshape((stack, 1, others))
    parts = -(-stack * rows * others * length // MOST)
    if parts > 1 and max(stack, rows, others) > 1:
        axis = max(range(3), key=(stack, rows, others).__getitem__)
        size = (stack, rows, others)[axis]
        cuts = [n * size // min(parts, size) for n in range(1, min(parts, size))]
        pieces = [
            _dots(part if axis < 2 else x, part if axis == 2 else other)
            for part, other in _cut(x, y, axis, cuts)
        ]
        return manipulation.concat(pieces, axis=axis)
    wide = (stack, rows, others, length)
    # A fused function of its own for each call: kept ones would keep devices that are closed.
    result: Tensor = fuse(_summed)(
        x.expand_dims(2).broadcast_to(wide), y.expand_dims(1).broadcast_to(wide)
    )
    return result


def _cut(x: Tensor, y: Tensor, axis: int, cuts: list[int]) -> list[tuple[Tensor, Tensor]]:
    """The operand that an axis of the result comes from, cut along it, and what stands beside."""
    if axis == 0:
        first, second = (manipulation.split(each, cuts, 0) for each in (x, y))
        return list(zip(first, second, strict=True))
    pieces = manipulation.split(x if axis == 1 else y, cuts, 1)
    return [(piece, y) for piece in pieces]


def matmul(x1: Any, x2: Any, /, out: Tensor | None = None) -> Tensor:
    """Products of matrices in the last two axes; a vector is a row on the left, a column right.

    Every element is a sum of products of its own, without tiles.
    """
    x, y = _pair(x1, x2, out)
    if not x.ndim or not y.ndim:
        raise InvalidDescError("matmul: an array has no dimensions; x * y multiplies by a number")
    left, right = x.ndim == 1, y.ndim == 1
    x, y = x.expand_dims(0) if left else x, y.expand_dims(1) if right else y
    if x.shape[-1] != y.shape[-2]:
        raise InvalidDescError(
            f"matmul: shapes {x.shape} and {y.shape} do not fit: {x.shape[-1]} columns and"
            f" {y.shape[-2]} rows must be as many"
        )
    stack = views.broadcast_shapes("matmul", [x.shape[:-2], y.shape[:-2]])
    rows, columns = x.shape[-2], y.shape[-1]
    x, y = (each.broadcast_to((*stack, *each.shape[-2:])) for each in (x, y.mT))
    result = _dots(*(each.reshape((prod(stack), *each.shape[-2:])) for each in (x, y)))
    kept = (*(() if left else (rows,)), *(() if right else (columns,)))
    return written("matmul", result.reshape((*stack, *kept)), out)


def matvec(x1: Any, x2: Any, /, out: Tensor | None = None) -> Tensor:
    """Products of matrices and vectors in the last axis."""
    x, y = _pair(x1, x2, out)
    return written("matvec", matmul(x, y.expand_dims(-1)).squeeze(-1), out)


def vecmat(x1: Any, x2: Any, /, out: Tensor | None = None) -> Tensor:
    """Products of vectors in the last axis and matrices."""
    x, y = _pair(x1, x2, out)
    return written("vecmat", matmul(x.expand_dims(-2), y).squeeze(-2), out)


def dot(a: Any, b: Any, out: Tensor | None = None) -> Tensor:
    """Sums of products along the last axis of `a` and the last but one of `b`."""
    x, y = _pair(a, b, out)
    if not (x.ndim and y.ndim):
        return written("dot", x * y, out)
    last = (x.ndim - 1,), (max(0, y.ndim - 2),)
    return written("dot", _contracted("dot", x, y, *last), out)


def inner(a: Any, b: Any, /) -> Tensor:
    """Sums of products along the last axes."""
    x, y = _pair(a, b)
    if not (x.ndim and y.ndim):
        return x * y
    return _contracted("inner", x, y, (x.ndim - 1,), (y.ndim - 1,))


def vdot(a: Any, b: Any, /) -> Tensor:
    """The sum of products of all elements."""
    x, y = (each.reshape(-1) for each in _pair(a, b))
    return _contracted("vdot", x, y, (0,), (0,))


def outer(a: Any, b: Any, out: Tensor | None = None) -> Tensor:
    """The products of each element of one array with each of another."""
    x, y = (each.reshape(-1) for each in _pair(a, b, out))
    return written("outer", x.reshape(-1, 1) * y, out)


def kron(a: Any, b: Any) -> Tensor:
    """The second array times each element of the first, in the place of that."""
    x, y = _pair(a, b)
    rank = max(x.ndim, y.ndim)
    sizes = [(1,) * (rank - each.ndim) + each.shape for each in (x, y)]
    shape = tuple(n * m for n, m in zip(*sizes, strict=True))
    if 2 * rank > 8 and 0 not in shape:  # axes of size 1 on both sides need no place
        kept = [d for d, n in enumerate(shape) if n > 1]
        sizes = [tuple(size[d] for d in kept) for size in sizes]
        if len(kept) > 4:
            raise UnsupportedError(f"np.kron: arrays of {rank} dimensions; at most 4 are allowed")
    first = x.reshape(tuple(chain.from_iterable((n, 1) for n in sizes[0])))
    second = y.reshape(tuple(chain.from_iterable((1, n) for n in sizes[1])))
    return (first * second).reshape(shape)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Sums of products over axes of two arrays: so many at their ends, or those that are named."""
    x, y = _pair(a, b)
    if isinstance(axes, (tuple, list)) and len(axes) == 2:
        first, second = (
            tuple(views.axis_of("tensordot", n, each.ndim) for n in as_indices("tensordot", given))
            for given, each in zip(axes, (x, y), strict=True)
        )
    else:
        count = as_index("tensordot: axes", axes)
        if not 0 <= count <= min(x.ndim, y.ndim):
            raise InvalidDescError(
                f"tensordot: axes is {count}; the arrays have {x.ndim} and {y.ndim} dimensions"
            )
        first, second = tuple(range(x.ndim - count, x.ndim)), tuple(range(count))
    return _contracted("tensordot", x, y, first, second)


def _contracted(
    name: str, x: Tensor, y: Tensor, first: Sequence[int], second: Sequence[int]
) -> Tensor:
    """Sums of products over axes of two arrays, whose other axes follow each other."""
    if [x.shape[d] for d in first] != [y.shape[d] for d in second]:
        raise InvalidDescError(
            f"{name}: shapes {x.shape} and {y.shape} differ along axes {first} and {second}"
        )
    length = prod(x.shape[d] for d in first)
    rows, others = (
        [d for d in range(each.ndim) if d not in gone] for each, gone in ((x, first), (y, second))
    )
    shape = [x.shape[d] for d in rows], [y.shape[d] for d in others]
    left = manipulation.transpose(x, (*rows, *first)).reshape((1, prod(shape[0]), length))
    right = manipulation.transpose(y, (*others, *second)).reshape((1, prod(shape[1]), length))
    return _dots(left, right).reshape((*shape[0], *shape[1]))


class _Named:
    """A tensor whose axes have letters, each once."""

    def __init__(self, x: Tensor, letters: str) -> None:
        for letter in dict.fromkeys(letters):
            while letters.count(letter) > 1:  # an axis beside itself is its diagonal
                first = letters.index(letter)
                second = letters.index(letter, first + 1)
                x = composed.diagonal(x, 0, first, second)
                letters = letters[:first] + letters[first + 1 : second] + letters[second + 1 :]
                letters += letter
        self.x, self.letters = x, letters

    def size(self, letter: str) -> int:
        """The size of the axis of a letter."""
        return self.x.shape[self.letters.index(letter)]

    def summed(self, kept: str) -> _Named:
        """The sums over all axes whose letters are not kept."""
        gone = tuple(d for d, letter in enumerate(self.letters) if letter not in kept)
        if not gone:
            return self
        letters = "".join(letter for letter in self.letters if letter in kept)
        return _Named(self.x.sum(gone, self.x.dtype), letters)

    def rows(self, *groups: str) -> Tensor:
        """The elements with the axes of each group of letters as one."""
        order = [self.letters.index(letter) for letter in chain(*groups)]
        shape = tuple(prod(self.size(letter) for letter in group) for group in groups)
        return manipulation.transpose(self.x, order).reshape(shape)

    def times(self, other: _Named, kept: str) -> _Named:
        """The sums of products over the letters of both that are not kept."""
        mine, its = self.summed(kept + other.letters), other.summed(kept + self.letters)
        both = [letter for letter in mine.letters if letter in its.letters]
        stack = "".join(letter for letter in both if letter in kept)
        gone = "".join(letter for letter in both if letter not in kept)
        rows = "".join(letter for letter in mine.letters if letter not in its.letters)
        others = "".join(letter for letter in its.letters if letter not in mine.letters)
        dots = _dots(mine.rows(stack, rows, gone), its.rows(stack, others, gone))
        shape = [mine.size(n) for n in stack + rows] + [its.size(n) for n in others]
        return _Named(dots.reshape(shape), stack + rows + others)


def einsum(
    *operands: Any, out: Tensor | None = None, optimize: Any = False, **kwargs: Any
) -> Tensor:
    """Einstein's sums of products, of two arrays at a time from the left.

    Axes have letters, `...` or numbers in lists, as NumPy's have.
    """
    for name, value in kwargs.items():
        if name not in ("dtype", "order", "casting") or value not in (None, "C", "K", "A", "safe"):
            raise InvalidTypeError(f"np.einsum: a tensor takes no argument {name}")
    text, arrays = _subscripts(operands)
    device = device_of(*arrays, out)
    tensors = [computed(x, device) for x in arrays]
    common = promoted([x.dtype for x in tensors])
    inputs, output = _lettered(text, [x.ndim for x in tensors])
    terms = [
        _Named(x.astype(common, copy=False), letters)
        for x, letters in zip(tensors, inputs, strict=True)
    ]
    terms = _of_one_size(terms)
    result = terms[0]
    for n, term in enumerate(terms[1:], 2):
        later = "".join(t.letters for t in terms[n:])
        result = result.times(term, output + later)
    result = result.summed(output)
    sizes = tuple(result.size(letter) for letter in output)
    made = result.rows(*output) if output else result.x
    if len(terms) == 1 and made.size and made.storage is terms[0].x.storage and out is None:
        return made  # a view, as NumPy gives one of one array
    return written("einsum", made.reshape(sizes), out)


def _subscripts(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """The text that names axes, and the arrays; axes in lists become letters."""
    if not operands:
        raise InvalidDescError("np.einsum: the subscripts are missing")
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    arrays, axes = list(operands[:-1:2]), list(operands[1::2])
    output = [operands[-1]] if len(operands) % 2 else []

    def text(parts: Any) -> str:
        return "".join("..." if n is ... else LETTERS[as_index("einsum", n)] for n in parts)

    joined = ",".join(text(parts) for parts in axes)
    return (f"{joined}->{text(output[0])}" if output else joined), arrays


def _lettered(text: str, ranks: list[int]) -> tuple[list[str], str]:
    """The letters of each array and of the result, `...` among them by letters of its own."""
    left, arrow, right = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise InvalidDescError(
            f"np.einsum: {shown(text)} names {len(inputs)} arrays; {len(ranks)} are given"
        )
    used = {c for c in text if c.isalpha()}
    free = [c for c in LETTERS if c not in used]
    dots = [rank - len(part.replace("...", "")) for part, rank in zip(inputs, ranks, strict=True)]
    for part, rank, count in zip(inputs, ranks, dots, strict=True):
        plain = part.replace("...", "")
        if not all(c in LETTERS for c in plain) or count < 0 or (count and "..." not in part):
            raise InvalidDescError(
                f"np.einsum: {shown(part)} does not name the axes of an array of {rank} dimensions"
            )
    most = max([n for n, part in zip(dots, inputs, strict=True) if "..." in part], default=0)
    names = "".join(free[:most])
    inputs = [
        part.replace("...", names[most - count :] if count else "")
        for part, count in zip(inputs, dots, strict=True)
    ]
    if arrow:
        output = right.replace("...", names)
    else:
        every = "".join(inputs)
        output = names + "".join(sorted(c for c in set(every) - set(names) if every.count(c) == 1))
    if len(set(output)) != len(output) or not set(output) <= set("".join(inputs)):
        raise InvalidDescError(
            f"np.einsum: the result is {shown(right)}; it must name axes of the arrays, each once"
        )
    return inputs, output


def _of_one_size(terms: list[_Named]) -> list[_Named]:
    """Arrays whose axes of one letter have one size: those of size 1 are repeated."""
    sizes: dict[str, int] = {}
    for term in terms:
        for letter in term.letters:
            size = term.size(letter)
            known = sizes.setdefault(letter, size)
            if known != size and 1 not in (known, size):
                raise InvalidDescError(
                    f"np.einsum: the axes of {letter!r} have sizes {known} and {size}"
                )
            sizes[letter] = size if known == 1 else known
    return [
        _Named(term.x.broadcast_to(tuple(sizes[n] for n in term.letters)), term.letters)
        if any(term.size(n) != sizes[n] for n in term.letters)
        else term
        for term in terms
    ]


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Tensor:
    """The covariances of variables, which are rows unless `rowvar` is False, in float32."""
    device = device_of(m, y, fweights, aweights)
    x = _variables(m, rowvar, device)
    if y is not None:
        x = manipulation.concat([x, _variables(y, rowvar, device)])
    less = (0 if bias else 1) if ddof is None else as_index("cov: ddof", ddof)
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        line = computed(given, device)
        if line.shape != x.shape[1:]:
            raise InvalidDescError(
                f"np.cov: {name} has the shape {line.shape}; it must be ({x.shape[1]},)"
            )
        line = line.astype(FLOAT32, copy=False)
        weights = line if weights is None else weights * line
    if weights is None:
        apart = x - x.mean(1, keepdims=True)
        products = _dots(apart.expand_dims(0), apart.expand_dims(0))
        made = products / float(max(x.shape[1] - less, 0))
    else:
        total = weights.sum()
        apart = x - (x * weights).sum(1, keepdims=True) / total
        left = total - less
        if aweights is not None:  # as NumPy counts observations of unequal weight
            own = computed(aweights, device).astype(FLOAT32, copy=False)
            left = total - (weights * own).sum() * less / total
        products = _dots((apart * weights).expand_dims(0), apart.expand_dims(0))
        made = products / device.elementwise("maximum", left, 0.0)
    made = made.squeeze(0) if dtype is None else made.squeeze(0).astype(dtype)
    return made.reshape(()) if made.size == 1 else made


def _variables(m: Any, rowvar: bool, device: Device) -> Tensor:
    """Variables as rows of float32."""
    x = computed(m, device)
    if x.ndim > 2:
        raise InvalidDescError(f"np.cov: m has {x.ndim} dimensions; it must have one or two")
    x = x.astype(FLOAT32, copy=False)
    if x.ndim < 2:
        return x.reshape((1, x.size))
    return x if rowvar or x.shape[0] == 1 else x.T


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Tensor:
    """The correlations of variables, which are rows unless `rowvar` is False, in float32."""
    made = cov(x, y, rowvar, dtype=dtype)
    if not made.ndim:
        return made / made
    spread = made.device.elementwise("sqrt", composed.diagonal(made))
    return (made / spread.reshape(-1, 1) / spread).clip(-1, 1)

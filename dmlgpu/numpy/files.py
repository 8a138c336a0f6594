"""What NumPy writes to files and texts: the elements are read back for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlgpu.tensor import Tensor


def _read(x: Any) -> Any:
    return x.numpy() if isinstance(x, Tensor) else x


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Writes an array to a file in NumPy's format."""
    np.save(file, _read(arr), allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Writes several arrays to one file in NumPy's format."""
    _saved(np.savez, file, args, allow_pickle, kwds)


def savez_compressed(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Writes several arrays to one compressed file in NumPy's format."""
    _saved(np.savez_compressed, file, args, allow_pickle, kwds)


def _saved(write: Any, file: Any, args: Any, allow_pickle: bool, named: dict[str, Any]) -> None:
    pickles = {} if allow_pickle else {"allow_pickle": False}  # which NumPy 1 does not know
    arrays = {name: _read(x) for name, x in named.items()}
    write(file, *map(_read, args), **pickles, **arrays)


def savetxt(
    fname: Any,
    X: Any,  # noqa: N803 - NumPy's name
    fmt: Any = "%.18e",
    delimiter: str = " ",
    newline: str = "\n",
    header: str = "",
    footer: str = "",
    comments: str = "# ",
    encoding: str | None = None,
) -> None:
    """Writes an array to a file of text."""
    np.savetxt(fname, _read(X), fmt, delimiter, newline, header, footer, comments, encoding)


def array2string(
    a: Any,
    max_line_width: int | None = None,
    precision: Any = None,
    suppress_small: bool | None = None,
    separator: str = " ",
    prefix: str = "",
    *,
    formatter: Any = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sign: Any = None,
    floatmode: Any = None,
    suffix: str = "",
    legacy: Any = None,
) -> str:
    """The elements as text, in NumPy's form."""
    return np.array2string(
        _read(a),
        max_line_width,
        precision,
        suppress_small,
        separator,
        prefix,
        formatter=formatter,
        threshold=threshold,
        edgeitems=edgeitems,
        sign=sign,
        floatmode=floatmode,
        suffix=suffix,
        legacy=legacy,
    )


def array_repr(
    arr: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The elements and their type as text, in NumPy's form."""
    return np.array_repr(_read(arr), max_line_width, precision, suppress_small)


def array_str(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The elements as text without their type, in NumPy's form."""
    return np.array_str(_read(a), max_line_width, precision, suppress_small)

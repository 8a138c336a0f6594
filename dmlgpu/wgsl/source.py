"""Shader text from files: a kernel, the snippets that it imports, and the libraries that it calls.

A shader file is WGSL with extra lines, each replaced by exactly one line so that line numbers stay
those of the file:

    #import fold                    the snippet that the plan puts into slot `fold`, or the file
                                    of that name, in the kernel's folder unless it says another
    #repeat 4: v$ = load($u);       the text once for each $ = 0 .. 3: loops over registers, which
                                    drivers keep in registers only when they are written out
    #bind read input: u32           a storage binding; see assembly.py
    #param axis_size: u32           a number that the plan gives, `params.axis_size`; see params.py

Snippets go behind the kernel. Functions of the libraries number/ and math/ need no import: a call
of `i64_add` or `math_exp` brings in that function of number/i64.wgsl or math/exp.wgsl, and the
structures of the file, but none of its other functions: compilers read what nobody calls, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

from dmlgpu.errors import DeviceError

_IMPORT = re.compile(r"^#import ([\w/]+)$")
_REPEAT = re.compile(r"^\s*#repeat (\d+): (.*)$")
_FUNCTION = re.compile(r"^fn (\w+)\(")
_CALL = re.compile(r"\b([a-z]+[0-9]*)_(\w+)\s*\(")


@cache
def shader_folder() -> Path:
    """The folder of the shaders: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "shaders", package.parent / "shaders"):
        if folder.is_dir():
            return folder
    raise DeviceError(f"the folder shaders is neither in {package} nor beside it; reinstall dmlgpu")


@cache
def read(name: str) -> str:
    """The text of a shader or snippet, by its path without the suffix."""
    path = shader_folder() / f"{name}.wgsl"
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise DeviceError(f"shader {name}.wgsl cannot be read: {error.strerror}") from None


@cache
def _functions(name: str) -> dict[str, list[str]]:
    """The lines of each function of a library's file; those of its structures, under ""."""
    found: dict[str, list[str]] = {"": []}
    of = ""
    for line in read(name).splitlines():
        if match := _FUNCTION.match(line):
            of = match[1]
        if line and not line.startswith("//"):
            found.setdefault(of, []).append(line)
        if line.endswith("}") and not line.startswith(" "):
            of = ""
    return found


@cache
def library(folder: str) -> frozenset[str]:
    """The files of a library: number or math."""
    return frozenset(path.stem for path in (shader_folder() / folder).glob("*.wgsl"))


def expanded(shader: str, slots: Mapping[str, str], code: str = "") -> tuple[list[str], set[str]]:
    """The kernel's lines, then `code`, then those of each import, in order; and the slots used."""
    lines, imported = _expanded(shader, tuple(slots.items()), code)
    return list(lines), set(imported)


@lru_cache(256)
def _expanded(
    shader: str, filled: tuple[tuple[str, str], ...], code: str
) -> tuple[tuple[str, ...], frozenset[str]]:
    slots = dict(filled)
    lines = read(shader).splitlines() + code.splitlines()
    folder = shader.rpartition("/")[0]
    imported: set[str] = set()
    called: set[str] = set()
    at = 0
    while at < len(lines):
        line = lines[at]
        if match := _IMPORT.match(line):
            lines[at] = ""
            if match[1] not in imported:
                imported.add(match[1])
                lines += read(_path(slots.get(match[1], match[1]), folder)).splitlines()
        elif match := _REPEAT.match(line):
            lines[at] = " ".join(match[2].replace("$", str(k)) for k in range(int(match[1])))
        for call in _CALL.finditer(lines[at].partition("//")[0]):
            name = f"{call[1]}_{call[2]}"
            found = None if name in called else _library_file(call[1], call[2])
            if found is not None:
                called.add(name)
                functions = _functions(slots.get(found, found))
                lines += functions[""] if found not in imported else []
                lines += functions.get(name, [])
                imported.add(found)
        at += 1
    return tuple(lines), frozenset(imported)


def _path(snippet: str, folder: str) -> str:
    """The file of a snippet: a path, or a name in the kernel's own folder."""
    return snippet if "/" in snippet or not folder else f"{folder}/{snippet}"


def _library_file(prefix: str, rest: str) -> str | None:
    """The library file that defines the function `prefix_rest`."""
    if prefix in library("number"):
        return f"number/{prefix}"
    if prefix == "math":
        parts = rest.split("_")
        for end in range(len(parts), 0, -1):
            if "_".join(parts[:end]) in library("math"):
                return f"math/{'_'.join(parts[:end])}"
    return None

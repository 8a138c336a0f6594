"""The command line: `dmlgpu` and `python -m dmlgpu`; one module for each command.

An error is one sentence on standard error. Exit statuses: 0 done, 1 it failed, 2 the command line
is wrong, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import dmlgpu as dml
from dmlgpu.cli.bench import add_bench
from dmlgpu.cli.demo import add_demo
from dmlgpu.cli.doctor import add_doctor
from dmlgpu.cli.explain import add_explain, rewritten
from dmlgpu.cli.info import add_info
from dmlgpu.cli.operators import add_operators
from dmlgpu.cli.parser import Parser, fail
from dmlgpu.errors import DmlError

INTERRUPTED = 130
EXAMPLES = """\
examples:
  dmlgpu info                            adapters, and which one a program would get
  dmlgpu operators --level 3.0           what feature level 3.0 allows
  dmlgpu demo                            operators of each kind, compared with NumPy
  dmlgpu doctor                          whether this adapter and its driver can be trusted
  dmlgpu bench --json > speed.json       GPU time of common calls, for a script
  dmlgpu explain cumulative_summation --input float32:4096x4096 --axis 1
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    if argv is None:  # a program of its own
        _end_at_once_when_interrupted()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started it
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # adapter names may hold any character
    try:
        try:
            return _run(sys.argv[1:] if argv is None else argv)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough
        _drop_output()
        return 1
    except OSError as error:  # a full disk, for one
        _drop_output()
        return fail(f"the output cannot be written: {error.strerror}")


def _end_at_once_when_interrupted() -> None:
    """Ctrl-C ends the process where it is: nothing it has is worth saving.

    An exception could rise inside a callback of the driver, or of wgpu, which would report it as a
    fault of its own.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))


def _drop_output() -> None:
    """What could not be written is not tried again when Python ends."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: Sequence[str]) -> int:
    parser = _parser()
    args = parser.parse_args(rewritten(words))
    if args.run is None:
        parser.print_help()
        return 0
    try:
        status: int = args.run(args)
    except DmlError as error:
        sys.stdout.flush()
        return fail(str(error))
    return status


def _parser() -> Parser:
    parser = Parser(prog="dmlgpu", description="DirectML's operators on any GPU.", epilog=EXAMPLES)
    parser.add_argument("--version", action="version", version=f"dmlgpu {dml.__version__}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    add_info(commands)
    add_operators(commands)
    add_explain(commands)
    add_demo(commands)
    add_bench(commands)
    add_doctor(commands)
    return parser

"""`codexsandbox` command: the tools beside pytest. Each subcommand is a module of `commands`, imported when it is used,
and not for `--help`."""

import argparse
import ast
import errno
import importlib
import inspect
import os
import pkgutil
import select
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import ModuleType
from typing import Final, NoReturn

from pytest_codexsandbox import __version__
from pytest_codexsandbox.commands import NAMES, module_name
from pytest_codexsandbox.errors import CodexSandboxError, Contradiction, InputError
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.system.signals import ended_politely

PROGRAM: Final = "codexsandbox"
WRONG_INPUT: Final = 4
CONTRADICTION: Final = 11  # a journal that contradicts itself, as in a run
OURS: Final = 3
INTERRUPTED: Final = 130
TERMINATED: Final = 143
UNREAD: Final = 141  # as for any program that SIGPIPE ends: the reader did not get the whole output
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ABOUT: Final = "Checks whether the sandbox of Codex keeps its promises on this machine. pytest runs the matrix itself."
_EXAMPLES: Final = (
    ("pytest --codex-matrix", "measure the installed Codex on this machine"),
    ("codexsandbox doctor", "check whether a sandbox starts here; if not, name the line that fixes it"),
    ("codexsandbox plan releases", "show what a run would do and download; start nothing"),
    ("codexsandbox report OLD.ndjson", "show the screen of a run again, from its journal"),
)


class Parser(argparse.ArgumentParser):
    """Ends with 4 on wrong arguments, like pytest. Never with argparse's 2, which means interrupted."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(WRONG_INPUT, f"{self.prog}: {message}\n  next   {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code of the command. Others: 4 wrong input, 11 a journal that contradicts itself, 3 an error in
    codexsandbox, 130 interrupted (143 by SIGTERM), 141 the reader of the output went away."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        with ended_politely():
            code = _dispatch(words)
            if sys.stdout is not None:  # None if stdout was closed at the start
                sys.stdout.flush()  # else the error comes at exit, when it cannot be reported
            return code
    except CodexSandboxError as error:
        return _say(f"{PROGRAM}: {error}", CONTRADICTION if isinstance(error, Contradiction) else WRONG_INPUT)
    except KeyboardInterrupt as stop:  # with arguments if SIGTERM caused it
        code = TERMINATED if stop.args else INTERRUPTED
        return _say(f"{PROGRAM}: interrupted; all started processes have ended", code)
    except Exception as fault:  # noqa: BLE001 - an internal error must not look like a finding about Codex
        if isinstance(fault, BrokenPipeError) and _nobody_reads():  # `codexsandbox plan | head`
            _print_no_more()
            return UNREAD
        if isinstance(fault, OSError) and fault.errno in _NO_ROOM and not fault.filename:
            _print_no_more()
            return _say(f"{PROGRAM}: no disk space for its output or a file: {fault.strerror}", WRONG_INPUT)
        sys.excepthook(*sys.exc_info())
        return _say(
            f"{PROGRAM} {__version__}: this is an error of {PROGRAM} itself; please report the lines above", OURS
        )


def _nobody_reads() -> bool:
    """Checks whether the reader of stdout is gone. A BrokenPipeError can also come from any other pipe."""
    try:
        asked = select.poll()
        asked.register(sys.stdout, 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in asked.poll(0))
    except (OSError, ValueError, TypeError, AttributeError):
        return False


def _print_no_more() -> None:
    """Redirects stdout to /dev/null, so that Python does not try at exit to print the rest."""
    with suppress(OSError, ValueError, AttributeError):  # stdout was closed at the start, or is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(words: list[str]) -> int:
    name = next((word for word in words if not word.startswith("-")), "")
    if name in NAMES:
        module = load(name)
        parser = command_parser(name, module)
        before, after = words[: words.index(name)], words[words.index(name) + 1 :]
        if {"-h", "--help"} & set(before):
            parser.parse_args(["--help"])
        if before:  # reported, not ignored
            parser.error(f"{' '.join(before)} precedes the command; options follow it: {PROGRAM} {name} …")
        passes_on = getattr(module, "PASSES_ON", False)
        # Intermixed: without it no name may follow an option, as in `images build --update NAME`.
        options, rest = parser.parse_known_args(after) if passes_on else parser.parse_known_intermixed_args(after)
        if rest and not passes_on:
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        options.rest = rest
        return int(module.run(options))
    if name:
        raise InputError(f"there is no command {name!r}", why=did_you_mean(name, NAMES), next_step=f"{PROGRAM} --help")
    if words[:1] == ["--version"]:  # without importing every command
        print(f"{PROGRAM} {__version__}")
        return 0
    parser = main_parser()
    parser.parse_args(words)  # --help
    parser.print_help()
    return 0


def load(name: str) -> ModuleType:
    return importlib.import_module(module_name(name))


def main_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog=PROGRAM,
        description=_ABOUT,
        epilog=_pasted(_EXAMPLES),
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="show the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name in NAMES:
        commands.add_parser(name, help=first_line(name), add_help=False)
    return parser


def command_parser(name: str, module: ModuleType) -> argparse.ArgumentParser:
    parser = Parser(
        prog=f"{PROGRAM} {name}",
        description=inspect.getdoc(module),
        allow_abbrev=False,
        epilog="examples:\n" + "\n".join(f"  {line}" for line in module.EXAMPLES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add(parser)
    return parser


def first_line(name: str) -> str:
    """Returns the first line of a command's docstring. Reads it from the source: the import of all commands would
    import every part of the program."""
    package, _, module = module_name(name).rpartition(".")
    source = pkgutil.get_data(package, f"{module}.py") or b""
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0].rstrip(".").replace("%", "%%")


def _pasted(examples: tuple[tuple[str, str], ...]) -> str:
    wide = max(len(line) for line, _ in examples)
    return "examples:\n" + "\n".join(f"  {line:<{wide}}   {why}" for line, why in examples)


def _say(text: str, code: int) -> int:
    print(text, file=sys.stderr, flush=True)
    return code

"""The plugin's options: one table, one `--help` group, each with an ini twin."""

import argparse
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_codexsandbox.harness.option_defaults import EMPTY_VALUE, REPORT_DIR

FLAG: Final = "--codex-matrix"
YES: Final = ("", "1", "true", "yes", "on")
NO: Final = ("0", "false", "no", "off")
TYPED: Final = "codexsandbox_typed"  # key of the typed options' names in the `workerinput` of xdist
_OURS: Final = ("codex_", "codex-")
_GROUP: Final = "codexsandbox: the conformance matrix of Codex's sandbox"
# name, argparse words, ini type, help. The ini twin of `report-dir` is `codex_report_dir`.
_OPTIONS: Final[tuple[tuple[str, dict[str, Any], str, str], ...]] = (
    ("matrix", {"nargs": "?", "const": "", "metavar": "PRESET|FILE"}, "string",
     "run the shipped scenarios and print the matrix; `=releases` or `=my.toml`: another matrix (default: local)"),
    ("release", {"action": "append", "metavar": "V[,V…]"}, "args",
     "Codex releases to measure, e.g. 0.136.0,0.163.0 (default: the preset's)"),
    ("bin", {"action": "append", "metavar": "[LABEL=]PATH[@AS-VERSION]"}, "linelist",
     "a Codex binary of your own; LABEL is its name in the matrix, @0.170.0 its position among the releases"),
    ("generator", {"action": "append", "metavar": "[NAME=]SPEC"}, "linelist",
     "a program that writes Codex's configuration, e.g. 'mytool render --out @CONFIG@': cmd: (the default), "
     "py:pkg:func, ep:NAME, launch:…, chain:A,B, or a shipped name; real: all third-party ones"),
    ("generator-in", {"metavar": "CELL"}, "string",
     "run generators inside this cell's environment, where they cannot be confined here"),
    ("generator-unconfined", {"action": "store_true", "default": None}, "bool",
     "run generators without confinement (the report says so)"),
    ("only", {"action": "append", "metavar": "GLOB[,GLOB…]"}, "linelist",
     "select by glob: promises (sqlite.*), policies, cells, doors; globs of one kind add up, those of different "
     "kinds narrow"),
    ("skip", {"action": "append", "metavar": "GLOB[,GLOB…]"}, "linelist",
     "leave out by glob; the start checks, controls and canaries of what remains always run"),
    ("pairs", {"metavar": "2|3|all"}, "string",
     "cells in containers that hold every pair (triple) of distro, bwrap, profile, user and Codex; all: every "
     "combination (default: as the matrix file says)"),
    ("budget", {"metavar": "TIME"}, "string",
     "leave out whole cells that do not fit into 90s, 10m, 1h30m, and say which; durations are learned from journals"),
    ("docker-hosts", {"action": "append", "metavar": "URL[,URL…]"}, "args",
     "engines that share the containers, e.g. unix:///var/run/docker.sock,ssh://host (default: the docker command's)"),
    ("report", {"action": "append", "metavar": "FORMAT[,FORMAT…]"}, "args",
     "write reports beside the journal: html, markdown, json, or another installed format (codexsandbox report --help "
     "lists them)"),
    ("report-dir", {"metavar": "DIR"}, "string", "where runs leave journal and reports (default: .codexsandbox)"),
    ("keep-runs", {"metavar": "N"}, "string",
     "after a run, remove older runs from that folder, so that the newest N stay (default: all stay)"),
    ("expectations", {"action": "append", "metavar": "FILE"}, "linelist",
     "known deviations as TOML, beside the shipped ones; strict: a healed one is an error"),
    ("strict", {"action": "store_true", "default": None}, "bool",
     "fail also for: blocked, unconfined although a sandbox was requested, n/a by probe, what is unavailable here, and "
     "what -k, --deselect or another plugin drops; the report lists it"),
    ("timeout-scale", {"type": float, "metavar": "FACTOR"}, "string",
     "multiply every time limit, for slow machines (default: 1)"),
)  # fmt: skip


def add(parser: pytest.Parser) -> None:
    group = parser.getgroup("codexsandbox", _GROUP)
    for name, words, ini, text in _OPTIONS:
        if "metavar" in words and words.get("nargs") != "?":
            words = {"type": filled, **words}
        group.addoption(
            f"--codex-{name}", dest=dest(name), default=words.get("default"), help=text, **_without_default(words)
        )
        parser.addini(dest(name), help=f"as --codex-{name}: {text}", type=ini, default=None)  # type: ignore[arg-type]


def filled(text: str) -> str:
    """Returns the value of an option, and refuses an empty one. `--codex-bin "$BUILD"` without such a variable must not
    measure something else."""
    if not text.strip():
        raise argparse.ArgumentTypeError(EMPTY_VALUE)
    return text


def dest(name: str) -> str:
    return "codex_" + name.replace("-", "_")


def _without_default(words: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in words.items() if key != "default"}


def bare_flag_first(args: list[str]) -> None:
    """Makes `--codex-matrix tests` mean the default preset and a path: the flag takes a value only with `=`."""
    for index, word in enumerate(args):
        if word == "--":
            return
        if word == FLAG:
            args[index] = f"{FLAG}="


def wanted(config: pytest.Config) -> bool:
    """Checks whether a matrix was requested, on the command line or in the ini."""
    asked = config.getoption(dest("matrix"))
    return asked is not None or preset_of_ini(config) is not None


def preset_of_ini(config: pytest.Config) -> str | None:
    """Returns the preset that the ini names: "" for the default, None where it requests none. `true` means the default
    preset, in every way of writing it."""
    value = ini(config, "matrix")
    value = value[0] if isinstance(value, list) and value else value
    word = str(value).strip().lower()
    if value is None or word in NO:
        return None
    return "" if word in YES else str(value).strip()


def typed(config: pytest.Config) -> tuple[str, ...]:
    """Returns the names of the plugin's options on the command line itself. An ini (addopts as well) is for many
    runs."""
    received = getattr(config, "workerinput", {}).get(TYPED)
    if received is not None:
        return tuple(received)
    words = [str(word).partition("=")[0] for word in config.invocation_params.args]
    words = words[: words.index("--")] if "--" in words else words
    return tuple(name for name, *_ in _OPTIONS if f"--codex-{name}" in words)


def refuse_without_effect(config: pytest.Config) -> None:
    """Refuses the plugin's options in a run that measures nothing: no matrix is requested, and no test uses its
    fixtures."""
    if names := typed(config):
        raise pytest.UsageError(
            f"--codex-{names[0]} has no effect here\n"
            "  why    no matrix is asked for, and no collected test uses codex_sandbox\n"
            f"  next   for the shipped promises: pytest {FLAG} --codex-{names[0]} …; else leave it out"
        )


def refuse_unknown_ini(config: pytest.Config) -> None:
    """Refuses a key of the ini that is named like the plugin's options and that no plugin knows: pytest itself only
    warns."""
    known: Any = getattr(getattr(config, "_parser", None), "_inidict", None) or {}
    held: Any = vars(config).get("_inicfg")
    for key in config.inicfg if held is None else held:  # the public name is deprecated from 9.0 on
        if known and str(key).startswith(_OURS) and key not in known:
            from pytest_codexsandbox.matrix.suggestions import did_you_mean  # only on the way to an error

            names = [dest(name) for name, *_ in _OPTIONS]
            raise pytest.UsageError(f"{config.inipath}: there is no option {key!r}: {did_you_mean(str(key), names)}")


def report_dir(config: pytest.Config) -> Path:
    given = config.getoption(dest("report-dir")) or ini(config, "report-dir")
    first = given[0] if isinstance(given, list) and given else given
    return base(config, "report-dir") / first if first else config.invocation_params.dir / REPORT_DIR


def base(config: pytest.Config, name: str) -> Path:
    """Returns the folder where relative paths of an option begin: for an ini the ini's folder, wherever pytest was
    called."""
    typed = config.getoption(dest(name)) or config.inipath is None or ini(config, name) is None
    return config.invocation_params.dir if typed or config.inipath is None else config.inipath.parent


def ini(config: pytest.Config, name: str) -> Any:
    """Returns the value of an ini key. pytest 9's native TOML insists on one type for each key; here a list, a word,
    `true` and a number are accepted."""
    try:
        return config.getini(dest(name))
    except ValueError as fault:  # a switch that is neither yes nor no, up to 9.0
        raise pytest.UsageError(f"{dest(name)}: {fault}") from None
    except (TypeError, pytest.UsageError):  # 9.0 raises the one, 9.2 the other
        held: Any = getattr(config, "_inicfg", None) or config.inicfg
        raw = held.get(dest(name))
        value = getattr(raw, "value", raw)
        if isinstance(value, str | bool | int | float) or (
            isinstance(value, list) and all(isinstance(word, str) for word in value)
        ):
            return value
        raise pytest.UsageError(f"{config.inipath}: {dest(name)} cannot be {value!r}") from None

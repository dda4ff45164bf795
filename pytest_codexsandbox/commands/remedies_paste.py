"""Give a remedy as something to paste: the filter of system calls as a file, and the whole `docker run` line."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from pytest_codexsandbox.commands.remedies_selection import Choice
from pytest_codexsandbox.diagnosis.remedies import Remedy
from pytest_codexsandbox.errors import InputError, os_errors_as
from pytest_codexsandbox.registry import data_folder


def filter_text(remedy: Remedy) -> str:
    """Returns the text of a remedy's filter, from the checkout or from the wheel's copy."""
    return (data_folder("matrix") / "profiles" / "seccomp" / remedy.filter).read_text(encoding="utf-8")


def written(choices: Sequence[Choice], path: str, image: str) -> str:
    """Writes the filter of the one remedy that has one, and returns the line to paste."""
    remedy = _the_one(choices, image)
    _write(Path(path), filter_text(remedy))
    also = f"# {remedy.also}\n" if remedy.also else ""
    return f"{also}{shlex.join(remedy.docker_run(path, image))}"


def _the_one(choices: Sequence[Choice], image: str) -> Remedy:
    found = [choice.remedy for choice in choices if choice.remedy.filter]
    if len(found) == 1:
        return found[0]
    if not found:
        raise InputError(
            "this remedy has no seccomp filter",
            why="there is no file to write",
            next_step=_without_filter([choice.remedy for choice in choices], image),
        )
    names = [one.name for one in found]
    raise InputError(
        "--write writes the filter of one remedy",
        why=f"{len(names)} have one: {', '.join(names)}",
        next_step=f"codexsandbox remedies {names[0]} --write seccomp.json",
    )


def _without_filter(remedies: Sequence[Remedy], image: str) -> str:
    """Returns the whole line of the one remedy that consists of options of `docker run` only."""
    if len(remedies) == 1 and remedies[0].options:
        return shlex.join(remedies[0].docker_run("", image))
    return "codexsandbox remedies   (those with --security-opt seccomp=seccomp.json have one)"


def _write(path: Path, text: str) -> None:
    """Writes a file, but does not overwrite a user's file with another text."""
    next_step = "name a file in a folder that you may write to"
    with os_errors_as(InputError, "the filter cannot be written", where=path, next_step=next_step):
        if path.exists() and path.read_text(encoding="utf-8", errors="replace") != text:
            raise InputError(
                "the file already exists and has other content",
                where=str(path),
                next_step="name another file, or remove this one",
            )
        path.write_text(text, encoding="utf-8")

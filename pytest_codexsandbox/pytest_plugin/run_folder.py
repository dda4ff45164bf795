"""The folder of a run, below the one that the user names: journal, reports, repros."""

import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pytest_codexsandbox.errors import InputError

_NAME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(-\d+)?")


def fresh(parent: Path) -> Path:
    """A new folder named by the time; a second run in the same second gets a number."""
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    for number in range(1000):
        folder = parent / (stamp if not number else f"{stamp}-{number}")
        try:
            folder.mkdir(mode=0o700, parents=True)
        except FileExistsError:
            if not parent.is_dir():
                break
            continue
        except OSError as fault:
            raise none(parent, fault.strerror or str(fault)) from fault
        pass_over(parent)
        return folder
    raise none(parent, "it is not a folder")


def none(parent: Path, why: str) -> InputError:
    return InputError(f"no report folder can be made in {parent}", why=why, next_step="--codex-report-dir DIR")


def pass_over(parent: Path) -> None:
    """Git leaves a folder alone that holds runs and nothing else. One that holds anything of the user's is not ours to
    speak of: `--codex-report-dir .` hides no project."""
    with suppress(OSError):
        if all(_NAME.fullmatch(path.name) for path in parent.iterdir()):
            with (parent / ".gitignore").open("x") as file:
                file.write("*\n")

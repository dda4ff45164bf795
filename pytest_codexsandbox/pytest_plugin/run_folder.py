"""Run folder: holds the journal, reports and repros of a run, below the folder that the user names."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.journal.run_folders import NAME


def fresh(parent: Path) -> Path:
    """Makes a folder named by the time. A second run in the same second gets a number."""
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
    """Makes git ignore a folder that holds runs and nothing else. A folder with anything of the user's is left alone:
    `--codex-report-dir .` hides no project."""
    with suppress(OSError):
        if all(NAME.fullmatch(path.name) for path in parent.iterdir()):
            with (parent / ".gitignore").open("x") as file:
                file.write("*\n")

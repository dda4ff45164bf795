"""PyPI: installs a package with its dependencies by the user's own pip, so its indexes, mirrors and proxies apply.

Only wheels are installed, so no code of any package runs meanwhile. Modules are compiled once at this point, because
tools run from a read-only folder. The lock file determines the versions if one is shipped.
"""

import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.generators.third_party.package import Package
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.releases.artefact import Run
from pytest_codexsandbox.releases.disk_space import full_disk
from pytest_codexsandbox.releases.pip_errors import refusal
from pytest_codexsandbox.system import environ, pip
from pytest_codexsandbox.system.download import NotReached

PATIENCE: Final = 900.0
REPORT: Final = "pip-report.json"
_FULL: Final = b"No space left on device"


def bring(package: Package, place: Path, aside: Path, *, lock: Path | None, run: Run) -> None:
    """Installs into `place`; pip's own files go to `aside`."""
    log = aside / "log"
    done = run(_command(package, place, lock, log))
    if done.ended == "timeout":
        raise NotReached(
            f"{package} cannot be installed from PyPI",
            why=f"pip did not finish within {PATIENCE:.0f} s",
            next_step="try again",
        )
    if done.ended != "exit" or done.code != 0:
        raise _refused(package, place, done.stderr or done.error.encode(), log)
    run(_compiling(place))  # its exit code is ignored: a file that does not compile cannot be imported either


def commands(package: Package, folder: Path) -> dict[str, tuple[str, ...]]:
    """Returns program name → command that starts it."""
    own = next((one for one in distributions(name=package.name, path=[str(folder)])), None)
    points = own.entry_points.select(group="console_scripts") if own else ()
    found = {point.name: (python(), str(folder / "bin" / point.name)) for point in points}
    return {name: argv for name, argv in sorted(found.items()) if Path(argv[1]).is_file()}


def variables(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(folder), "PYTHONNOUSERSITE": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def python() -> str:
    """Returns the interpreter behind this virtual environment, so that our packages do not affect a tool."""
    return str(getattr(sys, "_base_executable", "") or sys.executable)


def _command(package: Package, place: Path, lock: Path | None, log: Path) -> Command:
    aside = log.parent
    quick = ("--timeout", "30", "--no-cache-dir", "--no-compile", "--no-warn-conflicts")
    files = ("--log", str(log), "--report", str(aside / REPORT), "--target", str(place))
    words = (*quick, *files, *(("--constraint", str(lock)) if lock else ()), f"{package.name}=={package.version}")
    why = "pip, installing a tool"
    return pip.command("install", *words, cwd=aside, patience=PATIENCE, why=why, aside=aside)


def _compiling(place: Path) -> Command:
    # -I and a folder of the system: a package may hold a module `compileall`, and -m would run it.
    argv = (python(), "-I", "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", str(place))
    return Command(argv=argv, cwd="/", env=environ.copied(), timeout=PATIENCE, why="Python, compiling a tool")


def _refused(package: Package, place: Path, stderr: bytes, log: Path) -> CodexSandboxError:
    if _FULL in stderr:
        return full_disk(place, f"it filled up while {package} was installed")
    return refusal(package.version, stderr, pip.beginning(log), package=package.name)

"""Start a sandbox, and name what this machine lacks with the line that fixes it.

Starts the installed Codex under read-only and workspace-write, as this user. Asks pip and npm where a release is,
without a download, and the container engine for its images. Where an image is ready, Codex is started in a container as
well. Exit code 0 when a sandbox starts on this machine, else 1.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.commands.argument_types import filled
from pytest_codexsandbox.commands.doctor_findings import as_text, words
from pytest_codexsandbox.commands.matrix_options import INSTALL
from pytest_codexsandbox.commands.scratch_dir import ToldEvents, workbench
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.errors import CodexSandboxError, InputError, Unavailable
from pytest_codexsandbox.guest import disk_space
from pytest_codexsandbox.harness.backends import (
    BackendFault,
    MissingPackage,
    environments_here,
    load_backend,
    told_as_theirs,
)
from pytest_codexsandbox.harness.codex_resolver import CodexResolver
from pytest_codexsandbox.harness.observation_cache import open_observations
from pytest_codexsandbox.harness.option_defaults import REPORT_DIR
from pytest_codexsandbox.harness.worker_resources import WorkerOptions
from pytest_codexsandbox.journal.run_folders import find_runs
from pytest_codexsandbox.matrix.axis_files import DISTROS, SHIPPED
from pytest_codexsandbox.matrix.container_cells import of_values
from pytest_codexsandbox.matrix.requirements import NEEDS_LINUX
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.doctor_finding import DoctorFinding
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.policy import READ_ONLY, WORKSPACE_WRITE
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.registry import cache_folder, default_door, names
from pytest_codexsandbox.releases import npm, pypi
from pytest_codexsandbox.releases.known_releases import installed
from pytest_codexsandbox.releases.platform_tag import here
from pytest_codexsandbox.releases.resolve import resolve
from pytest_codexsandbox.releases.store import Store
from pytest_codexsandbox.releases.user_binaries import candidate
from pytest_codexsandbox.reports.headlines import plural
from pytest_codexsandbox.system import pip, process
from pytest_codexsandbox.system.disk_use import disk_use, in_words

EXAMPLES: Final = (
    "codexsandbox doctor",
    "codexsandbox doctor --codex-bin ./target/release/codex",
    "codexsandbox doctor --offline --json",
)
_ASKED_OF_PYPI, _ASKED_OF_NPM = "0.163.0", "0.40.0"
_BWRAP, _PROFILE, _USER = "as-chosen", "seccomp-unconfined-systempaths", "root"
_AGAIN: Final = "codexsandbox doctor   (once more; if it stays so, please report it)"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--codex-bin", type=filled, metavar="[LABEL=]PATH[@AS-VERSION]", help="in place of the installed Codex"
    )
    parser.add_argument("--report-dir", type=filled, metavar="DIR", default=REPORT_DIR, help="where runs left reports")
    parser.add_argument("--offline", action="store_true", help="do not ask pip and npm")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> int:
    findings = tuple(_findings(options))
    healthy = all(finding.answer == "yes" for finding in findings if finding.needed)
    if options.json:
        print(json.dumps({"healthy": healthy, "findings": msgspec.to_builtins(findings)}, indent=2))
    else:
        print(as_text(findings))
    return 0 if healthy else 1


def _findings(options: argparse.Namespace) -> Iterator[DoctorFinding]:
    if not sys.platform.startswith("linux"):
        yield DoctorFinding(what="Linux", answer="no", why=f"this is {sys.platform}", fix=NEEDS_LINUX, needed=True)
        return
    spec = candidate(options.codex_bin) if options.codex_bin else installed()
    if spec is None:
        yield DoctorFinding(
            what="Codex", answer="no", why="none is installed beside this Python", fix=INSTALL, needed=True
        )
    else:
        yield from of_codex(spec)
    yield _cache()
    yield of_runs(Path(options.report_dir))
    yield from _sources(offline=options.offline)
    yield from of_backends(None if spec is None else partial(in_environment, spec))


def of_backends(starts: Callable[[EnvironmentSpec], DoctorFinding] | None) -> Iterator[DoctorFinding]:
    """Yields what each backend says of this machine. `starts`: tries a sandbox in an environment."""
    for name in names("backends"):
        try:
            backend = load_backend(name)
            specs = [
                *environments_here([name]).values(),
                *(one for one in shipped_environments() if one.backend == name),
            ]
            with told_as_theirs(name):
                yield from backend.doctor(specs, cache_folder(), starts)
        except (MissingPackage, BackendFault, InputError) as error:
            fix = error.next_step or f"uninstall or repair it: {error.where}"
            yield DoctorFinding(what=name, answer="no", why=words(error), fix=fix)


def shipped_environments() -> list[EnvironmentSpec]:
    """Returns one environment for each distribution, in the profile that refuses a sandbox least."""
    values = ((distro, _BWRAP, _PROFILE, _USER) for distro in SHIPPED.values(DISTROS))
    return [of_values(SHIPPED, row, arch=this_machine().arch) for row in values]


def in_environment(spec: SubjectSpec, environment: EnvironmentSpec) -> DoctorFinding:
    """Tries a sandbox in an environment of a backend; this machine can be measured without one."""
    cell = Cell(environment=environment, subject=spec)
    kind = "a container" if environment.container else environment.backend
    where = ", ".join(filter(None, (environment.distro, environment.profile)))
    return of_start(WORKSPACE_WRITE, lambda: start(cell, WORKSPACE_WRITE), kind=kind, where=where)


def of_codex(spec: SubjectSpec) -> Iterator[DoctorFinding]:
    """Checks whether the binary is a Codex, and whether its sandbox starts here under each policy."""
    try:
        subject = resolve(spec, cache=cache_folder())
    except CodexSandboxError as error:
        yield DoctorFinding(what="Codex", answer="no", why=words(error), fix=error.next_step, needed=True)
        return
    yield DoctorFinding(
        what="Codex",
        answer="yes",
        why=f"{subject.version}, {subject.source}, sha256 {subject.digest[:12]}…",
        needed=True,
    )
    cell = Cell(environment=this_machine(), subject=spec)
    for policy in (READ_ONLY, WORKSPACE_WRITE):
        yield of_start(policy, lambda policy=policy: start(cell, policy))  # type: ignore[misc]


def start(cell: Cell, policy: str) -> SandboxState:
    """Makes one call of Codex and its control, in a world that is removed afterwards."""
    plan = Plan(preset="doctor", cells=(cell,), promises=(), keys=())
    with workbench("doctor") as folder:
        options = WorkerOptions(folder=folder, cache=cache_folder())
        resolver = CodexResolver(cache_folder())
        with open_observations(plan, options, resolver=resolver, events=ToldEvents()) as cache:
            return cache.sandbox_state(cell, default_door("commands"), policy)


def of_start(policy: str, started: Callable[[], SandboxState], *, kind: str = "", where: str = "") -> DoctorFinding:
    """Reports whether a sandbox started. `kind` of environment: "" on this machine itself."""
    what, needed = (f"sandbox in {kind}", False) if kind else (f"sandbox, {policy}, {_user()}", True)
    try:
        state = started()
    except CodexSandboxError as error:
        return DoctorFinding(what=what, answer="no", why=words(error), fix=error.next_step or _AGAIN, needed=needed)
    if state.state == "on":
        return DoctorFinding(
            what=what, answer="yes", why=", ".join(filter(None, (where, state.by, state.why))), needed=needed
        )
    known = state.diagnosis
    why = ": ".join(filter(None, (where, f"{state.why}; {known.cause}" if known and known.cause else state.why)))
    fix = known.remedy if known else ""
    return DoctorFinding(
        what=what, answer="no", why=why, fix=fix or "codexsandbox diagnose -   (paste Codex's output)", needed=needed
    )


def _cache() -> DoctorFinding:
    folder = cache_folder()
    # Not Path.exists, which fails below an unreadable folder.
    there = next(parent for parent in (folder, *folder.parents) if os.path.lexists(parent))
    free = disk_space.least([str(there)]) / 1e9
    if not there.is_dir():
        return DoctorFinding(what="cache", answer="no", why=f"{there} is no folder", fix="CODEXSANDBOX_CACHE=DIR")
    if not os.access(there, os.W_OK | os.X_OK):
        return DoctorFinding(
            what="cache",
            answer="no",
            why=f"{folder} cannot be written",
            fix="CODEXSANDBOX_CACHE=DIR, a folder of yours outside the temp directory",
        )
    store = Store(folder)
    held, releases = (store.entries(), store.releases()) if folder.is_dir() else ((), ())
    size, used = sum(entry.size for entry in held), disk_use(folder)
    return DoctorFinding(
        what="cache",
        answer="yes",
        why=f"{folder}: {in_words(used)}, of which {plural(len(releases), 'release')} {in_words(size)}; "
        f"{free:.0f} GB free",
        disk_bytes=used,
    )


def of_runs(folder: Path) -> DoctorFinding:
    """Reports how many runs a report folder holds, and how large they are."""
    runs = find_runs(folder)
    used = sum(run.size for run in runs)
    kept = f"{plural(len(runs), 'run')}, {in_words(used)}" if runs else "no runs"
    prune = "; to remove older ones: codexsandbox sweep --runs, or --codex-keep-runs N" if runs else ""
    return DoctorFinding(what="runs", answer="yes", why=f"{folder}: {kept}{prune}", disk_bytes=used)


def _sources(*, offline: bool) -> Iterator[DoctorFinding]:
    """Checks whether PyPI and npm have one release each; downloads nothing."""
    try:
        platform = here()
    except Unavailable as error:
        yield DoctorFinding(what="Codex releases", answer="no", why=words(error), fix=error.next_step)
        return
    asked = (
        (
            "PyPI",
            _ASKED_OF_PYPI,
            bool(pip.program()),
            "python -m ensurepip",
            lambda: pypi.find(_ASKED_OF_PYPI, platform, run=process.run),
        ),
        ("npm", _ASKED_OF_NPM, True, npm.NO_WAY, lambda: npm.find(_ASKED_OF_NPM, platform, run=process.run)),
    )
    for name, release, possible, fix, ask in asked:
        what = f"Codex releases from {name}"
        if not possible:
            yield DoctorFinding(what=what, answer="no", why="no pip here", fix=fix)
        elif offline:
            yield DoctorFinding(what=what, answer="skipped", why="--offline")
        else:
            yield _asked(what, release, fix, ask)


def _asked(what: str, release: str, fix: str, ask: Callable[[], object]) -> DoctorFinding:
    try:
        ask()
    except CodexSandboxError as error:
        return DoctorFinding(what=what, answer="no", why=words(error), fix=error.next_step or fix)
    return DoctorFinding(what=what, answer="yes", why=f"answered for {release}; nothing downloaded")


def _user() -> str:
    return "root" if os.getuid() == 0 else f"uid {os.getuid()}"

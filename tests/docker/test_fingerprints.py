"""Causes are known by words that real programs say here: each row of the table is said, and gets its cause alone."""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pytest_codexsandbox.diagnosis.fact_conditions import flatten
from pytest_codexsandbox.diagnosis.match import fingerprints, matches
from pytest_codexsandbox.diagnosis.syscall_causes import told_of
from pytest_codexsandbox.environments.bubblewrap.bwrap_provider import why_not
from pytest_codexsandbox.environments.container.environment import ContainerEnvironment
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.model.container import SYNTHETIC
from pytest_codexsandbox.protocols import Subject
from pytest_codexsandbox.registry import cache_folder
from tests.docker.repro_builders import Place, opened_at, run_line, sysctls
from tests.docker.reproduced import EVERYTHING, NESTED
from tests.docker.reproduced_ordinary import Row
from tests.fakes.machine import installed_codex
from tests.needs import DOCKER

ROWS = [(place, row) for place, rows in EVERYTHING.items() for row in rows]
AT_LEAST = 40
INNOCENT = {  # that people take for the sandbox: refused, timeout, x509, NXDOMAIN, ENOSPC
    "connection-refused",
    "connection-timeout",
    "tls-untrusted",
    "name-does-not-exist",
    "no-space",
}
WRONG_USER = {"permission-denied", "apt-not-root"}  # the words of one who is not root


@pytest.fixture(scope="module")
def codex() -> Subject:
    return installed_codex(cache_folder())


class Opened:
    """One container for all rows of a place, one after the other."""

    def __init__(self, stack: ExitStack, codex: Subject) -> None:
        self._stack, self.codex, self._place = stack, codex, Place("none yet")
        self._environment: ContainerEnvironment | None = None

    def at(self, place: Place) -> ContainerEnvironment:
        if self._environment is None or self._place != place:
            self._stack.close()
            folder = Path(self._stack.enter_context(TemporaryDirectory()))
            self._environment = self._stack.enter_context(opened_at(place, folder, self.codex))
            self._place = place
        return self._environment


@pytest.fixture(scope="module")
def containers(codex: Subject) -> Iterator[Opened]:
    with ExitStack() as stack:
        yield Opened(stack, codex)


def named(row: tuple[Place, Row]) -> str:
    place, (line, _, fingerprint, pasted) = row
    return f"{'~'.join(place)}-{line.split()[0].strip('$')}-{fingerprint}{'-pasted' if pasted else ''}"


def _any_build(text: str) -> str:
    """A line of Python's own source is another in each of its releases."""
    return re.sub(r"_ssl\.c:[0-9]+", "_ssl.c:LINE", text)


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_the_words_are_said_here_and_have_this_cause_alone(
    row: tuple[Place, Row], containers: Opened, codex: Subject
) -> None:
    place, wanted = row
    if (missing := why_not(SHIPPED.bwrap(place.bwrap), cache_folder())) and not os.environ.get(DOCKER):
        pytest.skip(f"bubblewrap {place.bwrap} is not available here: {missing}")
    environment = containers.at(place)
    done, said = run_line(environment, codex, wanted.line)
    assert done.exit, said
    assert f"\n{_any_build(wanted.said)}\n" in f"\n{_any_build(said)}\n", said
    facts = {} if wanted.pasted else flatten({**environment.facts(), "codex": codex.capabilities.version})
    for text in (said, wanted.said) if wanted.fingerprint != "python-socket-refused" else (said,):
        assert [each.fingerprint for each in matches(text, facts=facts)] == [wanted.fingerprint], text


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (Place("docker-default"), "refuses a user namespace (EPERM, by a filter of system calls)."),
        (Place("drop-setfcap", user="root"), "refuses its uid_map (EPERM)."),
        (Place("seccomp-unconfined"), "refuses a fresh /proc (EPERM)."),
        (Place("synthetic-proc-mount"), "refuses a fresh /proc (EPERM, by a filter of system calls)."),
        (Place("sys-admin"), "refuses pivot_root(2) (EPERM), a fresh /proc (EPERM)."),
        (Place("synthetic-seccomp"), "refuses a filter of system calls (EPERM, by a filter of system calls)."),
        (Place(), "refuses nothing that a sandbox needs, and the bwrap on PATH starts there by itself."),
    ],
    ids=lambda value: "~".join(value) if isinstance(value, tuple) else "",
)
def test_an_environment_reports_which_settings_it_refuses(place: Place, told: str, containers: Opened) -> None:
    assert told_of(flatten(containers.at(place).facts())) == f"Checked directly, this environment {told}"


def test_nothing_of_that_has_changed_the_kernel(containers: Opened) -> None:
    """Also not the rows that write to /proc/sys in a user namespace of their own."""
    before = sysctls()
    environment = containers.at(Place())
    for row in NESTED[Place()]:
        run_line(environment, containers.codex, row.line)
    assert len(before) > 50
    assert sysctls() == before


def test_there_are_enough_of_every_kind() -> None:
    verdicts = {each.id: each.verdict for each in fingerprints()}
    reproduced = {row.fingerprint for _, row in ROWS}
    natural = {row.fingerprint for place, row in ROWS if place.is_natural}
    assert len(reproduced) >= AT_LEAST
    assert len(natural) >= AT_LEAST
    assert reproduced >= INNOCENT | WRONG_USER
    assert {verdicts[name] for name in INNOCENT} == {"not-sandbox"}
    assert set(verdicts) >= reproduced
    assert all(place.is_natural is not place.profile.startswith(SYNTHETIC) for place, _ in ROWS)

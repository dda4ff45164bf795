"""The bubblewrap that is asked for is the one that is there, and which one set a sandbox up is told as it was."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.diagnosis.judge import ANOTHER
from pytest_codexsandbox.doors.controls import BareBwrapDoor
from pytest_codexsandbox.doors.sandbox_cli import SandboxDoor
from pytest_codexsandbox.environments.bubblewrap.bwrap_provider import why_not
from pytest_codexsandbox.environments.container import labels
from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.images import Images
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.model.act import Call
from pytest_codexsandbox.model.bwrap_used import unexpected_bwrap, used
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.policy import POLICIES, WORKSPACE_WRITE
from pytest_codexsandbox.protocols import Environment, Subject
from pytest_codexsandbox.registry import cache_folder
from tests.docker.builders import container
from tests.fakes.machine import installed_codex
from tests.needs import DOCKER

OURS = tuple(name for name in SHIPPED.values("bwrap") if SHIPPED.bwrap(name).ours)
PLAIN = tuple(name for name in OURS if SHIPPED.bwrap(name).mode == 0o755 and not SHIPPED.bwrap(name).file_caps)
ALL = ("--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
FOR_SETUID = ("SYS_ADMIN", "NET_ADMIN", "SYS_PTRACE")


@pytest.fixture(scope="module")
def codex() -> Subject:
    return installed_codex(cache_folder())


@contextmanager
def opened(spec: EnvironmentSpec, folder: Path, *codex: Subject) -> Iterator[Environment]:
    """Where its bubblewrap cannot be had, that is said; where containers are needed, it is a failure."""
    assert spec.container is not None
    missing = why_not(spec.container.bwrap, cache_folder())
    if missing and not os.environ.get(DOCKER):
        pytest.skip(f"bubblewrap {spec.bwrap} is not available here: {missing}")
    with ContainerBackend().open(spec, folder, cache=cache_folder(), brought=codex) as environment:
        yield environment


def bwrap(environment: Environment, *words: str) -> CommandResult:
    argv = ("/usr/bin/bwrap", *(words or ALL), "sh", "-c", "echo it ran")
    return environment.run(Command(argv=argv, cwd="/tmp", env={"PATH": "/usr/bin:/bin"}, timeout=60))


def said(ended: CommandResult) -> tuple[int, str]:
    return ended.code, (ended.stdout + ended.stderr).decode().strip()


# ---- what is there
def as_asked(environment: Environment, name: str) -> bool:
    """What a program finds, down to its bytes."""
    spec, facts = SHIPPED.bwrap(name), environment.facts()
    there, asked = facts["bwrap"], facts["bwrap_asked"]
    says = there["version"] == f"bubblewrap {spec.version}" or spec.file_caps  # that one says one thing to everything
    same = (there["path"], there["mode"]) == ("/usr/bin/bwrap", f"{spec.mode:o}")
    return says and same and asked["sha256"] == there["sha256"] != "" and bool(there["capability"]) is spec.file_caps


@pytest.mark.parametrize("name", PLAIN)
def test_every_version_is_there_and_starts_where_nothing_is_in_its_way(folder: Path, name: str) -> None:
    with opened(container(user="u1000", bwrap=name), folder) as environment:
        assert as_asked(environment, name), environment.facts()
        assert said(bwrap(environment)) == (0, "it ran")


@pytest.mark.parametrize("user", ["root", "u1000"])
def test_the_distributions_own_starts_as_well(folder: Path, user: str) -> None:
    with opened(container(user=user), folder) as environment:
        assert said(bwrap(environment)) == (0, "it ran")


def test_none_is_none(folder: Path) -> None:
    with opened(container(bwrap="none"), folder) as environment:
        assert environment.facts()["bwrap"] == {}
        assert bwrap(environment).ended == "not-started"


def test_an_image_that_has_one_although_none_was_asked_for_is_a_fault_of_the_machine(folder: Path) -> None:
    spec = container()
    assert spec.container is not None
    with Engine() as engine:
        image = Images(engine, cache_folder()).provide(spec.container)
    asked = msgspec.structs.replace(
        spec.container,
        bwrap=SHIPPED.bwrap("none"),
        image=msgspec.structs.replace(spec.container.image, reference=image),
    )
    with (
        pytest.raises(HarnessError) as caught,
        opened(msgspec.structs.replace(spec, bwrap="none", container=asked), folder),
    ):
        pass
    assert "/usr/bin/bwrap" in caught.value.why


def test_in_a_read_only_container_it_is_in_the_image_already(folder: Path) -> None:
    spec = container(user="u1000", bwrap="0.8.0", read_only=True)
    for place in ("once", "again"):
        with opened(spec, folder / place) as environment:
            assert environment.facts()["bwrap"]["version"] == "bubblewrap 0.8.0"
            assert said(bwrap(environment)) == (0, "it ran")
            done = environment.run(Command(argv=("touch", "/usr/bin/x"), cwd="/", env={"PATH": "/usr/bin"}))
            assert b"Read-only file system" in done.stderr
    with Engine() as engine:
        made = engine.api.images(name="codexsandbox/with-bwrap")
    assert made
    for marks in (image["Labels"] for image in made):
        assert marks[labels.KIND] == "image"
        assert (marks[labels.OWNER], marks[labels.WORD], marks[labels.MADE_OF]) == ("", "", "")  # nobody's but its own


# ---- exact words
@pytest.mark.parametrize(
    ("name", "words", "told"),
    [
        ("0.4.1", ("--perms", "0700", *ALL), "bwrap: Unknown option --perms"),
        ("0.8.0", ("--argv0", "x", *ALL), "bwrap: Unknown option --argv0"),
        ("0.2.1", (*ALL, "--"), "bwrap: Unknown option --"),
        ("0.8.0-setuid", (), "bwrap: capset failed: Operation not permitted"),
        ("0.11.2-setuid", (), "bwrap: setuid use of bubblewrap is not supported in this build"),
        ("0.12.0-setuid", (), "bwrap: setuid use of bubblewrap is not supported"),
        ("0.8.0-0711", (), "bwrap: setting up uid map: Permission denied"),
        ("0.13.0-0711", (), "bwrap: setting up uid map: Permission denied"),
        ("0.8.0-filecap", (), "bwrap: Unexpected capabilities but not setuid, old file caps config?"),
        ("0.13.0-filecap", (), "bwrap: Unexpected capabilities but not setuid, old file caps config?"),
    ],
)
def test_an_old_or_unusual_bubblewrap_refuses_an_ordinary_user_in_known_words(
    folder: Path, name: str, words: tuple[str, ...], told: str
) -> None:
    with opened(container(user="u1000", bwrap=name), folder) as environment:
        assert as_asked(environment, name), environment.facts()
        assert said(bwrap(environment, *words)) == (1, told)


@pytest.mark.parametrize("name", ["0.8.0-setuid", "0.12.0-setuid", "0.8.0-0711", "0.8.0-filecap"])
def test_to_root_the_odd_ones_are_like_any_other(folder: Path, name: str) -> None:
    with opened(container(bwrap=name), folder) as environment:
        assert said(bwrap(environment)) == (0, "it ran")


def test_a_set_uid_one_works_with_the_capabilities_that_it_wants_even_where_proc_is_masked(folder: Path) -> None:
    spec = container(user="u1000", bwrap="0.8.0-setuid", cap_add=FOR_SETUID, masked_paths=True)
    with opened(spec, folder) as environment:
        assert said(bwrap(environment, "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc")) == (0, "it ran")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("0.8.0", "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"),
        ("0.12.0", "bwrap: Can't mount proc on /proc: Operation not permitted"),
    ],
)
def test_a_masked_proc_is_refused_in_the_words_of_the_version(folder: Path, name: str, told: str) -> None:
    with opened(container(user="u1000", bwrap=name, masked_paths=True), folder) as environment:
        assert said(bwrap(environment)) == (1, told)


# ---- what Codex makes of it
def sandboxed(environment: Environment, codex: Subject) -> Observation:
    (seen,) = SandboxDoor().observe(environment, codex.inside(environment), POLICIES[WORKSPACE_WRITE], {}, Call())
    return seen


@pytest.mark.parametrize("name", ["distro", "as-chosen", "0.6.1", "0.8.0", "0.11.0-pypi", "0.13.0"])
def test_codex_takes_the_one_that_is_there(folder: Path, codex: Subject, name: str) -> None:
    with opened(container(user="u1000", bwrap=name), folder, codex) as environment:
        seen, facts = sandboxed(environment, codex), environment.facts()
    found = used(seen.readings, facts)
    assert found is not None and (found.kind, found.path) == ("found", "/usr/bin/bwrap")
    assert (found.sha256, found.version) == (facts["bwrap"]["sha256"], facts["bwrap"]["version"])
    assert unexpected_bwrap(found, facts) == ""


@pytest.mark.parametrize("name", ["none", "0.2.1", "0.4.1", "0.8.0-setuid", "0.12.0-setuid", "0.8.0-filecap"])
def test_codex_leaves_an_old_or_broken_one_aside_and_says_nothing(folder: Path, codex: Subject, name: str) -> None:
    with opened(container(user="u1000", bwrap=name), folder, codex) as environment:
        seen, facts = sandboxed(environment, codex), environment.facts()
    found = used(seen.readings, facts)
    assert seen.finished and seen.stderr == ""
    assert found is not None and found.kind == "brought" and found.path.endswith("/codex-resources/bwrap")
    told = unexpected_bwrap(found, facts)
    assert told == ("" if name == "none" else f"requested bubblewrap {name}, used {found.description}")


def test_codex_is_stopped_by_an_unreadable_bubblewrap(folder: Path, codex: Subject) -> None:
    with opened(container(user="u1000", bwrap="0.8.0-0711"), folder, codex) as environment:
        seen = sandboxed(environment, codex)
    assert (seen.ended, seen.code, seen.ready) == ("exit", 1, False)
    assert seen.stderr.strip() == "bwrap: setting up uid map: Permission denied"


def test_in_a_set_uid_pair_the_outer_bubblewrap_is_identified(folder: Path, codex: Subject) -> None:
    spec = container(user="u1000", bwrap="0.8.0-setuid", cap_add=FOR_SETUID)
    with opened(spec, folder, codex) as environment:
        seen, facts = sandboxed(environment, codex), environment.facts()
    assert unexpected_bwrap(used(seen.readings, facts), facts) == "" and seen.readings


@pytest.mark.parametrize(("name", "program"), [("0.8.0", "/usr/bin/bwrap"), ("none", "/codex-resources/bwrap")])
def test_the_control_by_bubblewrap_alone_takes_the_same(folder: Path, codex: Subject, name: str, program: str) -> None:
    with opened(container(user="u1000", bwrap=name), folder, codex) as environment:
        (seen,) = BareBwrapDoor().observe(environment, codex.inside(environment), POLICIES[WORKSPACE_WRITE], {}, Call())
    assert seen.finished and seen.argv[0].endswith(program)


# ---- a whole run
MATRIX = """
releases = ["installed"]
policies = ["read-only"]
[containers]
distros = ["debian-bookworm"]
bwraps = ["0.4.1", "0.8.0", "none"]
profiles = ["seccomp-unconfined-systempaths"]
users = ["u1000"]
"""


def test_in_a_run_another_one_is_shown_and_not_counted_as_measured(folder: Path) -> None:
    for name in ("0.4.1", "0.8.0"):
        if (missing := why_not(SHIPPED.bwrap(name), cache_folder())) and not os.environ.get(DOCKER):
            pytest.skip(f"bubblewrap {name} is not available here: {missing}")
    (folder / "m.toml").write_text(MATRIX)
    words = ("--codex-matrix=m.toml", "--codex-only", "filesystem.outside-create-refused", "-q")
    done = subprocess.run(
        (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", *words),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )
    text = " ".join(done.stdout.split())
    assert done.returncode == 11, done.stdout
    assert re.search(r"measured [a-z]+ debian-bookworm~bwrap-0\.4\.1~", text)
    assert re.search(r"\b2 not measured \(2 [a-z ]+\)", text)
    assert f"B {ANOTHER}, 2 results blocked" in text
    assert re.search(r"bubblewrap 0\.4\.1, [a-z]+ Codex' own [a-z]+ \(sha256 ", text)
    assert "bubblewrap 0.8.0, /usr/bin/bwrap (sha256 " in text

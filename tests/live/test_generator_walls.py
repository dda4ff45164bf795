"""The walls around generators: they are proved, and the proof notices each one that is missing."""

import os
import socket
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pytest_codexsandbox.generators import confinement_proof
from pytest_codexsandbox.generators.bad.catalogue import BAD, Bad
from pytest_codexsandbox.generators.case_run import generated, open_case_runner
from pytest_codexsandbox.generators.confinement import UNCONFINED, CannotConfine, Confinement, confinement
from pytest_codexsandbox.generators.local_dirs import LocalDirs
from pytest_codexsandbox.matrix.generator_specs import parse
from pytest_codexsandbox.model.generator import CONFIG, Case, Intent
from pytest_codexsandbox.model.generator_spec import FOLDERS, Generator, Spec
from tests.fakes.machine import run_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    with run_folder() as made:
        yield made
        assert list(made.iterdir()) == []


def test_the_walls_hold_and_every_act_works_without_them(folder: Path) -> None:
    found, told = confinement_proof.confined(folder)
    assert told.by == found.by == f"bubblewrap {found.bwrap}"
    assert told.faults == ()
    assert len(told.rows) >= 20
    assert [row.act for row in told.rows if row.outside and not row.excuse] == []


class Holed(Confinement, frozen=True, kw_only=True):
    """Without some of its words, and with others behind them."""

    without: tuple[str, ...] = ()
    more: tuple[str, ...] = ()

    def walls(self, stage: LocalDirs, readable: Sequence[str]) -> tuple[str, ...]:
        words = [word for word in super().walls(stage, readable) if word not in self.without]
        at = words.index("--remount-ro")
        return (*words[:at], *self.more, *words[at:])


HOLES = {
    "reach a port on loopback": Holed(without=("--unshare-net",)),
    "reach an abstract socket": Holed(without=("--unshare-net",)),
    "share the ipc namespace": Holed(without=("--unshare-ipc",)),
    "share the uts namespace": Holed(without=("--unshare-uts", "--hostname", "codexsandbox")),
    "type into the user's terminal": Holed(without=("--new-session",)),
    "enter /tmp": Holed(more=("--bind", "/tmp", "/tmp")),
    "enter /run": Holed(more=("--ro-bind", "/run", "/run")),
    "read a file outside": Holed(more=("--ro-bind", "@FOLDER@", "@FOLDER@")),
    "write a file outside": Holed(more=("--bind", "@FOLDER@", "@FOLDER@")),
    "reach a socket by its path": Holed(more=("--bind", "@FOLDER@", "@FOLDER@")),
    "see another's process": Holed(without=("--unshare-pid", "--as-pid-1"), more=("--ro-bind", "/proc", "/proc")),
    "signal another's process": Holed(without=("--unshare-pid", "--as-pid-1"), more=("--ro-bind", "/proc", "/proc")),
}


@pytest.mark.parametrize("act", HOLES)
def test_a_hole_is_found_and_named(folder: Path, act: str) -> None:
    hole = HOLES[act]
    more = tuple(str(folder) if word == "@FOLDER@" else word for word in hole.more)
    holed = Holed(bwrap=confinement().bwrap, without=hole.without, more=more)
    with pytest.raises(CannotConfine) as caught:
        confinement_proof.prove(holed, folder)
    assert f"{act}: it succeeded" in caught.value.why
    assert "--codex-generator-unconfined" in caught.value.next_step


def test_the_users_home_is_a_hole_too(folder: Path) -> None:
    home = str(Path.home())
    holed = Holed(bwrap=confinement().bwrap, more=("--ro-bind", home, home))
    with pytest.raises(CannotConfine, match="cannot confine") as caught:
        confinement_proof.prove(holed, folder)
    assert f"enter {home}: it succeeded" in caught.value.why


@pytest.mark.skipif(os.getuid() != 0, reason="only root has capabilities, and owns the kernel's settings")
def test_acts_that_only_root_can_perform_are_found_too(folder: Path) -> None:
    bwrap = confinement().bwrap
    capable = Holed(bwrap=bwrap, without=("--cap-drop", "ALL"), more=("--cap-add", "ALL"))
    with pytest.raises(CannotConfine) as caught:
        confinement_proof.prove(capable, folder)
    assert "have a capability: " in caught.value.why
    settings = Holed(bwrap=bwrap, more=("--proc", "/proc", "--ro-bind", "/etc/shadow", "/etc/shadow"))
    with pytest.raises(CannotConfine) as caught:
        confinement_proof.prove(settings, folder)
    assert "the kernel's settings: " in caught.value.why
    assert "the machine's passwords: " in caught.value.why


def test_a_bubblewrap_that_does_not_confine_is_found(folder: Path) -> None:
    lax = folder.parent / f"lax-{os.getpid()}"
    lax.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    lax.chmod(lax.stat().st_mode | stat.S_IXUSR)
    try:
        with pytest.raises(CannotConfine) as caught:
            confinement_proof.confined(folder, candidates=[str(lax)])
        assert "user namespace: " in caught.value.why
    finally:
        lax.unlink()


@pytest.mark.parametrize("program", ["/bin/false", "/bin/true"])
def test_one_that_does_not_start_says_so(folder: Path, program: str) -> None:
    with pytest.raises(CannotConfine, match="cannot confine"):
        confinement_proof.confined(folder, candidates=[program])


def test_the_next_bubblewrap_is_taken_where_the_first_cannot(folder: Path) -> None:
    good = confinement().bwrap
    found, _ = confinement_proof.confined(folder, candidates=["/bin/false", good])
    assert found.bwrap == good


def test_without_a_bubblewrap_nothing_runs_unless_requested(folder: Path) -> None:
    with pytest.raises(CannotConfine) as caught:
        confinement_proof.confined(folder, candidates=[])
    assert "no bubblewrap" in caught.value.why
    found, told = confinement_proof.confined(folder, unconfined=True)
    assert (found.by, told.by, told.rows) == ("", "", ())


def test_a_generator_may_write_for_the_folders_of_another_world(folder: Path) -> None:
    """A world in a container, say: what it writes names that world's folders, which this machine does not have."""
    values = {name: f"/codexsandbox-{name.lower()}" for name in FOLDERS}
    script = 'echo "roots = $CXG_WRITABLE_ROOTS" > "$1"; echo "$HOME" > "$2/made"'
    spec = Spec(scheme="cmd", text=script, words=("/bin/sh", "-c", script, "sh", "@CONFIG@", "@CODEX_HOME@"))
    written = generated(
        Generator(name="sh", spec=spec),
        Intent(roots=("@ROOT0@/a",)),
        values,
        folder=folder,
        version="0.163.0",
        confinement=confinement(),
    )
    assert {path: file.content for path, file in written.files.items()} == {
        CONFIG: b'roots = ["/codexsandbox-root0/a"]\n',
        "@CODEX_HOME@/made": b"/codexsandbox-home\n",
    }
    assert not Path("/codexsandbox-home").exists()


# ---- those that reach for what is none of theirs
STRAYS = ("writes-to-the-real-home", "writes-beside")
PREVENTED = [bad for bad in BAD if bad.kind == "prevented" or bad.name in STRAYS]


def _reached(bad: Bad, folder: Path, by: Confinement) -> tuple[str, tuple[str, ...]]:
    one = Generator(name=bad.name, spec=parse(bad.run), declaration=bad.declaration())
    case = Case(id="known", why=bad.wrong, config=bad.config)
    with open_case_runner(folder, by) as runner:
        first = runner.run_case(one, case, bad.intent, version="0.163.0", runs=1).first
    assert (first.ended, first.code) == ("exit", 0), first
    return first.stdout, first.strayed


@pytest.mark.parametrize("bad", PREVENTED, ids=lambda bad: bad.name)
def test_one_that_reaches_outside_gets_nothing(folder: Path, bad: Bad) -> None:
    said, strayed = _reached(bad, folder, confinement())
    assert "REACHED" not in said
    if bad.name in STRAYS:
        assert [name for name in strayed if name.endswith("codexsandbox-was-here")], strayed
        assert not Path(strayed[0]).exists()


def test_the_agent_that_is_not_reached_could_have_been(folder: Path) -> None:
    (bad,) = (bad for bad in PREVENTED if bad.name == "reaches-the-agent")
    with tempfile.TemporaryDirectory(prefix="ssh-", dir="/tmp") as name, socket.socket(socket.AF_UNIX) as agent:
        agent.bind(f"{name}/agent.1")
        agent.listen()
        assert f"REACHED {name}/agent.1" in _reached(bad, folder, UNCONFINED)[0]
        assert "REACHED" not in _reached(bad, folder, confinement())[0]

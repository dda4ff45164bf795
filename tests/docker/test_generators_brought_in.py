"""What is brought into a container is what was asked for, also where two are nearly the same, or lie in one place."""

import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.environments.container.images import Images
from pytest_codexsandbox.environments.container.mounts import Mount, MountPlanner
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.guest.worlds import new_word
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.container import ContainerSpec
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases.binary_cache import digest_of
from tests.docker.builders import container
from tests.fakes.machine import run_folder

SAYS = '#!/bin/sh\ncat "${0%/bin/codex}/codex-resources/bwrap"\n'
# The runner sees another folder in the place of a Codex than the engine does, as in a container of its own.
ELSEWHERE = """
import sys
from pathlib import Path
from tests.docker.test_generators_brought_in import said
print(said(Path(sys.argv[1]), Path(sys.argv[1]).parent / "e"), end="")
"""


class Program(msgspec.Struct, frozen=True):
    binary: str
    digest: str


def codex(folder: Path, word: str) -> Path:
    for name, text in (("bin/codex", SAYS), ("codex-resources/bwrap", word)):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def program(folder: Path) -> Program:
    binary = str(folder / "bin/codex")
    return Program(binary, digest_of(binary, cache_folder()))


def said(folder: Path, at: Path, *others: Path) -> str:
    brought = [program(one) for one in (folder, *others)]
    with ContainerBackend().open(container(bwrap="none"), at, cache=cache_folder(), brought=brought) as environment:
        argv = (environment.bring(brought[0].binary),)
        return environment.run(Command(argv=argv, cwd="/", env={"PATH": "/usr/bin:/bin"})).stdout.decode()


def test_two_builds_with_one_program_have_each_their_own_bubblewrap() -> None:
    with run_folder() as folder:
        one, two = codex(folder / "one", "the first"), codex(folder / "two", "the second")
        assert said(one, folder / "e", two) == "the first"


def test_a_codex_that_is_built_anew_in_the_middle_of_a_run_is_not_measured_as_the_one_before_it() -> None:
    with run_folder() as folder:
        one, other = program(codex(folder / "one", "one")), program(codex(folder / "other", "other"))
        spec, backend = container(bwrap="none"), ContainerBackend()
        with backend.open(spec, folder / "e", cache=cache_folder(), brought=[one, other]) as environment:
            assert environment.bring(one.binary)
        (folder / "one/bin/codex").write_text(f"{SAYS}# built anew\n")
        with backend.open(spec, folder / "e", cache=cache_folder(), brought=[one, other]) as environment:
            with pytest.raises(HarnessError, match="replaced"):
                environment.bring(one.binary)
            assert environment.bring(other.binary)


def test_a_codex_that_the_engine_sees_otherwise_is_sent_to_it() -> None:
    with run_folder() as folder:
        codex(folder / "codex", "of yesterday")
        mine = codex(folder / "mine", "the one that was asked for")
        (mine / "bin/codex").write_text(f"{SAYS}# of today\n")
        words = 'mount --bind "$1/mine" "$1/codex" && exec "$2" -c "$3" "$1/codex"'
        done = subprocess.run(
            (
                "unshare",
                "--mount",
                "--propagation",
                "private",
                "sh",
                "-c",
                words,
                "sh",
                folder,
                sys.executable,
                ELSEWHERE,
            ),
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=Path(__file__).parents[2],
        )
        assert (done.stdout, done.returncode) == ("the one that was asked for", 0), done.stderr


def test_files_that_two_openings_send_at_once_are_sent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sent a second time, files would be gone for a moment under a container that runs already."""
    sent: list[Path] = []

    def fill(supplier: MountPlanner, helper: str, folder: Path) -> None:
        sent.append(folder)
        send(supplier, helper, folder)

    send = MountPlanner._fill
    monkeypatch.setattr(MountPlanner, "_fill", fill)
    with run_folder() as folder, Engine() as engine:
        (folder / "big").mkdir()
        (folder / "big/file").write_bytes(b"x" * (8 << 20))
        image = Images(engine, cache_folder()).provide(needed(container(bwrap="none").container))
        supply = Mount(folder=str(folder / "big"), inside="/opt/tools/big", digest=new_word(), sample="file")
        names: list[str] = []

        def open_one() -> None:
            with Engine() as own:
                names.append(MountPlanner(own, cache_folder())._volume(supply, image))

        threads = [threading.Thread(target=open_one) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        try:
            assert len(names) == 4
            assert len(sent) == 1
        finally:
            engine.api.remove_volume(names[0])


def needed(spec: ContainerSpec | None) -> ContainerSpec:
    assert spec is not None
    return spec

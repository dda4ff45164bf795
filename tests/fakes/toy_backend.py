"""Toy backend: a kind of environment as a third party writes it, with something to prepare and a start-up cost.

It imports nothing of the tests: `install` copies it into a folder of its own, beside the metadata of a package.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TextIO

import msgspec

from pytest_codexsandbox.environments.agent_environment import AgentEnvironment
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.environments.local import LocalBackend
from pytest_codexsandbox.model.artifact_status import ArtifactStatus
from pytest_codexsandbox.model.cell import EnvironmentSpec
from pytest_codexsandbox.model.doctor_finding import DoctorFinding
from pytest_codexsandbox.model.plan_queries import PlanQuery
from pytest_codexsandbox.protocols import Availability, Notify, ProvidedProgram, silent
from pytest_codexsandbox.registry import cache_folder

SECONDS_TO_START: Final = 0.3
REFUSE: Final = "refuse"  # a file of this name in its folder: nothing can be started


def _disk(cache: Path) -> Path:
    return cache / "toy" / "disk"


class ToyLeftover(msgspec.Struct, frozen=True, kw_only=True):
    """A disk that a killed run left."""

    path: Path
    state: Literal["lives", "dead", "unknown"] = "dead"

    @property
    def what(self) -> str:
        return f"toy disk {self.path}"

    @property
    def by_hand(self) -> str:
        return f"rm {self.path}"

    def remove(self) -> tuple[str, ...]:
        self.path.unlink()
        return ()


class ToyBackend(LocalBackend):
    """This machine, behind a disk that has to be made first."""

    def here(self) -> EnvironmentSpec:
        return msgspec.structs.replace(this_machine(), id="toy", backend="toy", kernel="toy")

    def foresee(self, specs: Sequence[EnvironmentSpec], cache: Path, hosts: Sequence[str] = ()) -> Availability:
        refused = (cache / "toy" / REFUSE).exists()
        asked = PlanQuery(kind="engine", name="", where="toy://", answer="yes")
        return Availability(why_not=lambda spec: "the toy is broken" if refused else "", asked=(asked,))

    def stock(
        self, specs: Iterable[EnvironmentSpec], cache: Path, asked: Sequence[PlanQuery] = ()
    ) -> tuple[ArtifactStatus, ...]:
        return (ArtifactStatus(kind="disk", name="toy-disk", ready=_disk(cache).exists(), megabytes=1),)

    def prepare(self, specs: Sequence[EnvironmentSpec], cache: Path, stream: TextIO) -> None:
        if not _disk(cache).exists():
            _disk(cache).parent.mkdir(parents=True, exist_ok=True)
            _disk(cache).write_text("made")
            stream.write(f"toy: made a disk for {', '.join(spec.id for spec in specs)}\n")

    def doctor(
        self, specs: Sequence[EnvironmentSpec], cache: Path, starts: Callable[[EnvironmentSpec], DoctorFinding] | None
    ) -> Iterator[DoctorFinding]:
        yield DoctorFinding(what="toys", answer="yes", why=f"{len(specs)} of them")
        if starts is not None:
            yield from map(starts, specs)

    def leftovers(self, hosts: Sequence[str], notify: Notify) -> Iterator[ToyLeftover]:
        for path in sorted((cache_folder() / "toy").glob("left-*")):
            yield ToyLeftover(path=path)

    @contextmanager
    def open(
        self,
        spec: EnvironmentSpec,
        folder: Path,
        *,
        cache: Path | None = None,
        brought: Sequence[ProvidedProgram] = (),
        say: Notify = silent,
    ) -> Iterator[AgentEnvironment]:
        time.sleep(SECONDS_TO_START)
        with super().open(spec, folder, cache=cache, brought=brought, say=say) as environment:
            yield environment

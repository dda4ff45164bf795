"""Cells: an environment (expensive, must be started) and a subject (cheap) in it."""

from typing import Literal

import msgspec

from pytest_codexsandbox.model.container import ContainerSpec
from pytest_codexsandbox.model.ids import cell_id


class EnvironmentSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Description of an environment, known before anything starts. `backend` is an entry point of
    `codexsandbox.backends`."""

    id: str
    backend: str
    distro: str
    kernel: str = "host"
    profile: str = ""
    user: str = ""
    engine: str = ""
    arch: str = ""
    provenance: Literal["host", "booted"] = "host"
    synthetic: bool = False  # a refusal that is manufactured: never counts as "this kernel supports"
    resolver: Literal["", "ours"] = ""
    bwrap: str = ""  # where it cannot be changed inside: "" as it is there
    container: ContainerSpec | None = None
    engine_host: str = ""  # of the container's engine; "" the one that the docker command would use


class SubjectSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Codex to measure. `release` names a published one; `path` is a binary of the user's own."""

    label: str  # the axis value: `0.163.0`, `candidate`, …
    release: str = ""
    path: str = ""
    as_version: str = ""  # the place of a build that calls itself 0.0.0
    bwrap: str = "as-chosen"
    generator: str = ""
    source: str = ""  # installed | pypi | npm | path


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    environment: EnvironmentSpec
    subject: SubjectSpec

    @property
    def id(self) -> str:
        own = (f"gen-{self.subject.generator}",) if self.subject.generator else ()
        return cell_id(self.environment.id, f"codex-{self.subject.label}", *own)

    @property
    def axes(self) -> dict[str, str]:
        """Returns the axes that a deviation's `where` and a report's pivot may name."""
        spec = self.environment
        pairs = {
            "distro": spec.distro,
            "kernel": spec.kernel,
            "profile": spec.profile,
            "user": spec.user,
            "engine": spec.engine,
            "arch": spec.arch,
            "environment": spec.id,
            "codex": self.subject.label,
            "bwrap": spec.bwrap or self.subject.bwrap,
            "generator": self.subject.generator,
        }
        return {name: value for name, value in pairs.items() if value}

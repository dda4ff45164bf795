"""Remedies: reads remedies.toml: what helps against a cause, what it costs, and where it was shown to help.

A proof consists of two places: one in which the sandbox does not start for this cause, and the same after the remedy.
`harness.remedy_proof` measures in both. A remedy that changes a kernel or a host is never tried, and says so.
"""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from pytest_codexsandbox.diagnosis.bubblewrap_family import OWN, family_of

FILE: Final = Path(__file__).with_name("remedies.toml")
Turns = Literal["green", "no sandbox", "no better"]


class At(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A place in a matrix; Codex and the distribution stay the same."""

    profile: str
    bwrap: str = "distro"
    user: str = "u1000"
    policy: str = "workspace-write"

    @property
    def words(self) -> str:
        """Returns the profile, and the values that differ from the usual ones."""
        more = (name for name in ("bwrap", "user", "policy") if getattr(self, name) != getattr(_USUAL, name))
        return "~".join((self.profile, *(getattr(self, name) for name in more)))


_USUAL: Final = At(profile="")


class Proof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    before: At
    after: At
    turns: Turns = "green"
    causes: tuple[str, ...]  # of the remedy's: what fails in `before`, each as diagnosed there or by the words alone
    imitates: tuple[str, ...] = ()  # of the remedy's causes: those that a synthetic profile imitates

    @property
    def about(self) -> tuple[str, ...]:
        return (*self.causes, *self.imitates)

    @property
    def family(self) -> str:
        """Returns the family of the bubblewrap that fails; the proof holds for this family only."""
        if self.before.bwrap == "none":
            return OWN
        return family_of(proved_with().bwrap if self.before.bwrap == "distro" else self.before.bwrap)


class Remedy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str  # no fingerprint's and no profile's: a command takes all three
    do: str  # what to type or to change
    kind: Literal["container", "package", "codex", "user", "kernel", "host"]
    price: str  # for security, in one line, whatever becomes of /proc
    causes: tuple[str, ...]  # fingerprints
    proofs: tuple[Proof, ...] = ()
    shown: str = ""  # where else a test shows that it turns green
    proc: Literal["", "stays", "bare"] = ""  # what it makes of a /proc that the engine masks; "" has no part in it
    filter: str = ""  # a file in matrix/profiles/seccomp
    options: tuple[str, ...] = ()  # words of `docker run` beside the filter
    also: str = ""  # what no word of `docker run` does

    @property
    def is_tried(self) -> bool:
        """Checks whether a container can show the remedy at all."""
        return self.kind not in ("kernel", "host")

    @property
    def turns(self) -> Turns | Literal["not proved"]:
        """Returns the best effect of the remedy in any of its proofs."""
        if not self.proofs:
            return "green" if self.shown else "not proved"
        return min((proof.turns for proof in self.proofs), key=ORDER.index)

    def proofs_for(self, cause: str) -> tuple[Proof, ...]:
        """Returns the proofs about this cause: a remedy against one refusal need not help against another."""
        return tuple(proof for proof in self.proofs if cause in proof.about)

    def docker_run(self, filter_file: str, image: str) -> tuple[str, ...]:
        """Returns the words of a whole `docker run`; () if no option is part of the remedy."""
        seccomp = ("--security-opt", f"seccomp={filter_file}") if self.filter else ()
        return ("docker", "run", "--rm", *seccomp, *self.options, image) if seccomp or self.options else ()


ORDER: Final = ("green", "not proved", "no sandbox", "no better")


class ProvedWith(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Versions with which all proofs of remedies were last run; another kernel or engine may refuse other things."""

    kernel: str
    engine: str
    codex: str
    distro: str
    bwrap: str  # the version that this distribution has

    @property
    def words(self) -> str:
        return f"Linux {self.kernel}, {self.engine}, Codex {self.codex}, {self.distro} (bubblewrap {self.bwrap})"


class _RemediesFile(msgspec.Struct, forbid_unknown_fields=True):
    proved_with: ProvedWith
    remedy: tuple[Remedy, ...]


@cache
def _file() -> _RemediesFile:
    read = tomllib.loads(FILE.read_text(encoding="utf-8"))
    for remedy in read["remedy"]:
        remedy["proofs"] = [one for proof in remedy.get("proofs", ()) for one in _with_each_bwrap(proof)]
    return msgspec.convert(read, _RemediesFile)


def _with_each_bwrap(proof: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields one proof for each of its `bwraps`; each applies to both sides unless a side names its own."""
    for bwrap in proof.pop("bwraps", ("distro",)):
        yield {**proof, **{side: {"bwrap": bwrap, **proof[side]} for side in ("before", "after")}}


def proved_with() -> ProvedWith:
    return _file().proved_with


@cache
def remedies() -> tuple[Remedy, ...]:
    """Returns all remedies, the best effect first."""
    return tuple(sorted(_file().remedy, key=lambda one: ORDER.index(one.turns)))

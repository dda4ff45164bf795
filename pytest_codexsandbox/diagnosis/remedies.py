"""What can be done about a cause, what it costs, and in which environment it was shown to help: remedies.toml.

A proof is two places: one in which the sandbox does not start for this cause, and the same changed as the remedy says.
session/proving goes to both. What changes a kernel or a host is not tried, and says that it is not proved.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Final, Literal

import msgspec

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
        """Only what is not as usual."""
        more = (name for name in ("bwrap", "user", "policy") if getattr(self, name) != getattr(_USUAL, name))
        return "~".join((self.profile, *(getattr(self, name) for name in more)))


_USUAL: Final = At(profile="")


class Proof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    before: At
    after: At
    turns: Turns = "green"
    causes: tuple[str, ...]  # of the remedy's: what fails in `before`, each as diagnosed there or by the words alone
    imitates: tuple[str, ...] = ()  # of the remedy's: what a synthetic profile stands in for

    @property
    def about(self) -> tuple[str, ...]:
        return (*self.causes, *self.imitates)


class Remedy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str  # no fingerprint's and no profile's: a command takes all three
    do: str  # what to type or to change
    kind: Literal["container", "package", "codex", "user", "kernel", "host"]
    price: str  # for security, in one line
    causes: tuple[str, ...]  # fingerprints
    proofs: tuple[Proof, ...] = ()
    shown: str = ""  # where else a test shows that it turns green

    @property
    def is_tried(self) -> bool:
        """Whether a container can show it at all."""
        return self.kind not in ("kernel", "host")

    @property
    def turns(self) -> Turns | Literal["not proved"]:
        return self.proofs[0].turns if self.proofs else "green" if self.shown else "not proved"

    def proofs_for(self, cause: str) -> tuple[Proof, ...]:
        """What helps where one thing is refused need not help where another is."""
        return tuple(proof for proof in self.proofs if cause in proof.about)

    def told(self, cause: str) -> str:
        return f"{self.do} ({self._proved(cause)}). Price: {self.price}"

    def _proved(self, cause: str) -> str:
        if self.shown:
            return f"proved {self.shown}"
        proofs = self.proofs_for(cause)
        where = ", ".join(list(dict.fromkeys(proof.before.profile for proof in proofs))[:_NAMED])
        match self.turns if proofs else "not proved":
            case "green":
                return f"proved in {where}"
            case "no sandbox":
                return f"then there is no sandbox; tried in {where}"
            case "no better":
                return f"does not help: tried in {where}"
            case _:
                return "not proved for this cause" if self.proofs else "not proved"


_NAMED: Final = 2
_ORDER: Final = ("green", "not proved", "no sandbox", "no better")


class ProvedWith(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where all proofs were last gone through; another kernel or engine may refuse other things."""

    kernel: str
    engine: str
    codex: str
    distro: str

    @property
    def words(self) -> str:
        return f"Linux {self.kernel}, {self.engine}, Codex {self.codex}, {self.distro}"


class _File(msgspec.Struct, forbid_unknown_fields=True):
    proved_with: ProvedWith
    remedy: tuple[Remedy, ...]


@cache
def _file() -> _File:
    return msgspec.convert(tomllib.loads(FILE.read_text(encoding="utf-8")), _File)


def proved_with() -> ProvedWith:
    return _file().proved_with


@cache
def remedies() -> tuple[Remedy, ...]:
    """The narrowest first among those that help."""
    return tuple(sorted(_file().remedy, key=lambda one: _ORDER.index(one.turns)))


def ways_of(fingerprint: str) -> tuple[str, ...]:
    """One line for each thing that can be done about this cause, and for what was tried and does not help."""
    return tuple(one.told(fingerprint) for one in remedies() if fingerprint in one.causes)

"""Remedies selection: finds the remedies and proofs that the user names by cause, profile or remedy."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from pytest_codexsandbox.diagnosis.match import fingerprints
from pytest_codexsandbox.diagnosis.remedies import Proof, Remedy, remedies
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.matrix.suggestions import did_you_mean

_LIST = "codexsandbox remedies   (all of them)"


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    remedy: Remedy
    causes: tuple[str, ...]
    proofs: tuple[Proof, ...]
    asked: tuple[str, ...] = ()  # causes that were named: each is to be shown, not the remedy alone
    profile: str = ""  # that was named: the price is the one there


def choose(names: Sequence[str]) -> tuple[Choice, ...]:
    """Returns the choices; all without names. InputError for a name or glob without a remedy, cause or failing
    profile.
    """
    if not names:
        return tuple(Choice(remedy=one, causes=one.causes, proofs=one.proofs) for one in remedies())
    found: dict[str, Choice] = {}
    for name in names:
        choices = [choice for remedy in remedies() if (choice := _of(remedy, name))]
        if not choices:
            raise InputError(f"no remedy is known for {name!r}", why=_why(name), next_step=_LIST)
        for choice in choices:
            earlier = found.get(choice.remedy.name)
            found[choice.remedy.name] = _both(earlier, choice) if earlier else choice
    return tuple(found[one.name] for one in remedies() if one.name in found)


def _of(remedy: Remedy, name: str) -> Choice | None:
    if fnmatchcase(remedy.name, name):
        return Choice(remedy=remedy, causes=remedy.causes, proofs=remedy.proofs)
    causes = tuple(cause for cause in remedy.causes if fnmatchcase(cause, name))
    if causes:
        proofs = tuple(proof for proof in remedy.proofs if set(proof.about) & set(causes))
        return Choice(remedy=remedy, causes=causes, proofs=proofs, asked=causes)
    proofs = tuple(proof for proof in remedy.proofs if fnmatchcase(proof.before.profile, name))
    causes = tuple(cause for cause in remedy.causes if any(cause in proof.about for proof in proofs))
    (profile,) = {proof.before.profile for proof in proofs} if name in SHIPPED.values("profiles") and proofs else ("",)
    return Choice(remedy=remedy, causes=causes, proofs=proofs, profile=profile) if proofs else None


def _both(one: Choice, other: Choice) -> Choice:
    remedy = one.remedy
    return Choice(
        remedy=remedy,
        causes=tuple(cause for cause in remedy.causes if cause in (*one.causes, *other.causes)),
        proofs=tuple(proof for proof in remedy.proofs if proof in (*one.proofs, *other.proofs)),
        asked=tuple(dict.fromkeys((*one.asked, *other.asked))),
    )


def _why(name: str) -> str:
    if name in {one.id for one in fingerprints()}:
        return "it is a cause without a proved remedy: codexsandbox diagnose --list"
    if name in SHIPPED.values("profiles"):
        return "it is a profile in which no remedy was tried"
    every = remedies()
    profiles = (proof.before.profile for one in every for proof in one.proofs)
    return did_you_mean(
        name, {*profiles, *(one.name for one in every), *(cause for one in every for cause in one.causes)}
    )

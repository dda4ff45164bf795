"""Fake: a subject as data: what it does wrong, and which promises must catch it."""

from typing import Literal

import msgspec

from pytest_codexsandbox.model.policy import WORKSPACE_WRITE


class Fake(msgspec.Struct, frozen=True, kw_only=True):
    """Fake subject. `mutant`: a good subject with one flaw; each promise in `caught_by` must say `violates` about it.

    `mute`: it gives no honest answer, so no promise may say that it conforms.
    """

    name: str
    wrong: str  # in one clause: "lets …", "forgets …"; "" for the good one
    kind: Literal["good", "mutant", "mute"] = "mutant"
    conduct: str = "restrained"  # DOING of guest/fake_codex.py
    flaws: tuple[str, ...] = ()  # words of guest/restraint.py, fake_call.py and fake_codex.py
    caught_by: tuple[str, ...] = ()  # promise ids
    policies: tuple[str, ...] = (WORKSPACE_WRITE,)  # under which it is run
    requires: tuple[
        str, ...
    ] = ()  # as of a promise: without these the flaw shows nowhere, and the subject is not asked
    patience: float = 1.0  # of the time limits: a subject that hangs is not waited for long


def mute(name: str, wrong: str, *, patience: float = 1.0) -> Fake:
    return Fake(name=name, wrong=wrong, kind="mute", conduct=name, patience=patience)


def mutant(
    name: str,
    wrong: str,
    *caught_by: str,
    flaws: tuple[str, ...] = (),
    under: tuple[str, ...] = (WORKSPACE_WRITE,),
    conduct: str = "restrained",
    requires: tuple[str, ...] = (),
    patience: float = 1.0,
) -> Fake:
    return Fake(
        name=name,
        wrong=wrong,
        flaws=flaws,
        caught_by=caught_by,
        policies=under,
        conduct=conduct,
        requires=requires,
        patience=patience,
    )

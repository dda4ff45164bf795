"""Sorts what can be done about a cause: one fix to try first, others, what gives up the sandbox, what does not help."""

import msgspec

from pytest_codexsandbox.model.record import Diagnosis


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """Remedies as texts to show. `first` is empty if no remedy is known."""

    first: str = ""
    others: tuple[str, ...] = ()
    unsafe: tuple[str, ...] = ()  # after these there is no sandbox
    useless: tuple[str, ...] = ()  # tried, and no better


def choices(diagnosis: Diagnosis) -> Choices:
    """Sorts the remedies by their effect in this environment. Without any, the advice of the fingerprint is the first
    fix.
    """
    kinds = [one.turns for one in diagnosis.remedies] or ["not proved"] * len(diagnosis.ways)
    pairs = list(zip(diagnosis.ways, kinds, strict=False))
    helping = tuple(way for way, turns in pairs if turns in ("green", "not proved"))
    first, others = (helping[0], helping[1:]) if helping else (diagnosis.remedy, ())
    return Choices(
        first=first,
        others=others,
        unsafe=tuple(way for way, turns in pairs if turns == "no sandbox"),
        useless=tuple(way for way, turns in pairs if turns == "no better"),
    )

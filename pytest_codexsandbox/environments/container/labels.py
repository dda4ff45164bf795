"""Whose a container, a volume or a network is: said on the thing itself, so that any later run can tell."""

from typing import Any, Final

import msgspec

from pytest_codexsandbox.environments.run_dirs import Owner

PREFIX: Final = "org.codexsandbox."
KIND: Final = f"{PREFIX}kind"  # environment | helper | supply | network | image
OWNER: Final = f"{PREFIX}owner"
WORD: Final = f"{PREFIX}word"
MADE_OF: Final = f"{PREFIX}image"  # a digest of what an image was made of


def labels(kind: str, word: str) -> dict[str, str]:
    """Of what lives no longer than the run that makes it."""
    return {KIND: kind, WORD: word, OWNER: msgspec.json.encode(Owner.me(word)).decode()}


def kept(kind: str) -> dict[str, str]:
    """Of what later runs use too: volumes and images, named by what is in them."""
    return {KIND: kind}


def derived() -> list[str]:
    """The changes by which an image that is made of another, by way of a container, is told from both: it would carry
    the labels of the one and of the other."""
    said = {KIND: "image", WORD: "", OWNER: "", MADE_OF: ""}
    return [f'LABEL {name}="{value}"' for name, value in said.items()]


def owner(found: dict[str, Any] | None) -> Owner | None:
    try:
        return msgspec.json.decode((found or {}).get(OWNER, ""), type=Owner)
    except msgspec.MsgspecError:
        return None

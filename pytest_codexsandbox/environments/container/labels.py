"""Labels: record the owner on a container, a volume or a network itself, so that any later run can read it."""

from typing import Any, Final

import msgspec

from pytest_codexsandbox.environments.run_dirs import Owner

PREFIX: Final = "org.codexsandbox."
KIND: Final = f"{PREFIX}kind"  # environment | helper | supply | network | image
OWNER: Final = f"{PREFIX}owner"
WORD: Final = f"{PREFIX}word"
MADE_OF: Final = f"{PREFIX}image"  # a digest of what an image was made of


def labels(kind: str, word: str) -> dict[str, str]:
    """Returns the labels of things that live no longer than the run that makes them."""
    return {KIND: kind, WORD: word, OWNER: msgspec.json.encode(Owner.me(word)).decode()}


def kept(kind: str) -> dict[str, str]:
    """Returns the labels of things that later runs use too: volumes and images, named by their content."""
    return {KIND: kind}


def derived() -> list[str]:
    """Returns the changes that set the labels of an image that is made from another image by way of a container.

    Without them it would carry the labels of both.
    """
    said = {KIND: "image", WORD: "", OWNER: "", MADE_OF: ""}
    return [f'LABEL {name}="{value}"' for name, value in said.items()]


def owner(found: dict[str, Any] | None) -> Owner | None:
    try:
        return msgspec.json.decode((found or {}).get(OWNER, ""), type=Owner)
    except msgspec.MsgspecError:
        return None

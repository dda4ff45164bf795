"""How a generator is named, taken apart: `cmd:mytool --out @CONFIG@`, `py:pkg.mod:func`, `chain:a,b,a`."""

from typing import Final, Literal

import msgspec

from pytest_codexsandbox.model.generator import Declaration

Scheme = Literal["cmd", "py", "ep", "launch", "chain"]
SCHEMES: Final[tuple[Scheme, ...]] = ("cmd", "py", "ep", "launch", "chain")
FOLDERS: Final = ("HOME", "CODEX_HOME", "WORKSPACE", "ROOT0", "SIBLING", "OUTSIDE", "TMPDIR")
"""The private folders of a generator, by the names of their placeholders."""
PLACEHOLDERS: Final = (
    "HOME",
    "CODEX_HOME",
    "CONFIG",
    "WORKSPACE",
    "ROOTS_JSON",
    "ROOT0",
    "NETWORK",
    "PLATFORM",
    "VERSION",
    "REQUEST",
    "RESULT",
)
"""What may stand between two `@` in an argument."""


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """What comes after NAME=."""

    scheme: Scheme
    text: str  # without the scheme, as it was written
    words: tuple[str, ...] = ()  # of cmd and launch: the argv, placeholders standing
    parts: "tuple[Generator, ...]" = ()  # of chain: in their order, the same one perhaps more than once

    def __str__(self) -> str:
        return f"{self.scheme}:{self.text}"


class Generator(msgspec.Struct, frozen=True, kw_only=True):
    """One that can be put to work."""

    name: str  # the axis value
    spec: Spec
    declaration: Declaration = Declaration()
    base: str = ""  # the folder that relative paths of its words start in
    file: str = ""  # of its declaration, where that is not shipped
    told: bool = True  # something tells it which roots and network are asked for

    @property
    def as_asked(self) -> str:
        """What asks for it again, from any folder: a declaration says more of it than its command."""
        if not self.declaration.run:
            return str(self.spec)
        named = self.file or self.declaration.name
        return named if self.name == self.declaration.name else f"{self.name}={named}"

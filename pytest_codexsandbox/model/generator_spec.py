"""Generator spec: the parts of a text that names a generator: `cmd:mytool --out @CONFIG@`, `py:pkg.mod:func`,
`chain:a,b,a`."""

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
"""Names that may be between two `@` in an argument."""


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of the text after NAME=."""

    scheme: Scheme
    text: str  # without the scheme, as it was written
    words: tuple[str, ...] = ()  # of cmd and launch: the argv, with placeholders
    parts: "tuple[Generator, ...]" = ()  # of chain: in their order, the same one perhaps more than once

    def __str__(self) -> str:
        return f"{self.scheme}:{self.text}"


class Generator(msgspec.Struct, frozen=True, kw_only=True):
    """Generator that can be run."""

    name: str  # the axis value
    spec: Spec
    declaration: Declaration = Declaration()
    base: str = ""  # the folder that relative paths of its words start in
    file: str = ""  # of its declaration, where that is not shipped
    told: bool = True  # it receives the requested roots and network

    @property
    def as_asked(self) -> str:
        """Returns the text that names the generator again, from any folder. A declaration says more than its
        command."""
        if not self.declaration.run:
            return str(self.spec)
        named = self.file or self.declaration.name
        return named if self.name == self.declaration.name else f"{self.name}={named}"

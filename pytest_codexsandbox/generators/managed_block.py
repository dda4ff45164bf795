"""What a generator writes into an empty file, and the lines around it: for cases that begin with a block of its own."""

import msgspec

from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.generator import CONFIG, Files, GeneratorRun, Marker
from pytest_codexsandbox.model.generator_spec import Generator


class CaseNotApplicable(Unavailable):
    """A case that cannot be put to this generator: it has no block, or no markers."""


class ManagedBlock(msgspec.Struct, frozen=True, kw_only=True):
    text: bytes = b""  # without the newline at its end
    marker: Marker | None = None
    why: str = ""  # it could not be had


def content(files: Files) -> bytes | None:
    """Of the configuration, where it is a file."""
    state = files.get(CONFIG)
    return state.content if state is not None and state.kind == "file" else None


def block(outcome: GeneratorRun, generator: Generator) -> ManagedBlock:
    text = (content(outcome.files) or b"").strip(b"\r\n")
    if not text:
        said = outcome.error or outcome.stderr.strip()[-300:]
        return ManagedBlock(why=f"it wrote nothing into an empty file ({outcome.ended} {outcome.code}) {said}".rstrip())
    declared = generator.declaration.markers
    return ManagedBlock(text=text, marker=declared[0] if declared else _inferred(text))


def _inferred(text: bytes) -> Marker | None:
    """Comments that stand alone on the first and on the last line of all that it wrote."""
    lines = text.decode("utf-8", "surrogateescape").splitlines()
    first, last = lines[0], lines[-1]
    if len(lines) < 2 or not first.lstrip().startswith("#") or not last.lstrip().startswith("#") or first == last:
        return None
    return Marker(begin=first, end=last)

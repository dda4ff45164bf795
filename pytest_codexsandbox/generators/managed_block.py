"""Managed block: what a generator writes into an empty file, and its marker lines. Cases that begin with a block of the
generator's own need it."""

import msgspec

from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.generator import CONFIG, Files, GeneratorRun, Marker
from pytest_codexsandbox.model.generator_spec import Generator


class CaseNotApplicable(Unavailable):
    """Raised for a case that this generator cannot get: it writes no block, or no markers."""


class ManagedBlock(msgspec.Struct, frozen=True, kw_only=True):
    text: bytes = b""  # without the newline at its end
    marker: Marker | None = None
    why: str = ""  # why there is no block


def content(files: Files) -> bytes | None:
    """Returns the content of the configuration; None if it is no file."""
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
    """Infers the markers: two different comments on the first and the last line of what the generator wrote."""
    lines = text.decode("utf-8", "surrogateescape").splitlines()
    first, last = lines[0], lines[-1]
    if len(lines) < 2 or not first.lstrip().startswith("#") or not last.lstrip().startswith("#") or first == last:
        return None
    return Marker(begin=first, end=last)

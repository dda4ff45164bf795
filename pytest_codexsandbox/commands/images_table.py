"""The table of `codexsandbox images list`."""

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_codexsandbox.model.image_status import ImageListing, ImageRow

WIDTH: Final = 80


def as_text(found: ImageListing, *, cache: Path) -> str:
    lines = [f"images at {found.engine}, pinned in {cache / 'images.lock.json'}"]
    lines += textwrap.wrap(f"as the lock file has it, for {found.fault}", WIDTH) if found.fault else []
    wide = max((len(row.name) for row in found.rows), default=0)
    for row in found.rows:
        lines += _lines(row, wide)
    return "\n".join(lines)


def _lines(row: ImageRow, wide: int) -> Iterator[str]:
    size = " + ".join(f"{one.size / 1e6:,.0f}" for one in row.variants if one.image)
    ready = " ".join(one.bwrap for one in row.variants if one.image)
    middle = f"{row.provider:<12} {size + ' MB' if size else '':<10} {_short(row.pin):<12} {ready}"
    yield f"{row.name:<{wide}}  {row.state:<7}  {middle}".rstrip()
    if row.why_not:
        yield from textwrap.wrap(row.why_not, WIDTH, initial_indent="    ", subsequent_indent="    ")


def _short(pin: str) -> str:
    digest = pin.rpartition(":")[2]
    return digest[:12] if digest else ""

"""Capability snapshot: writes matrix/codex/capabilities.toml from probes of released Codex binaries.

python -m tools.capability_snapshot RELEASE...
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases import known_releases
from pytest_codexsandbox.releases.cache_files import write_whole
from pytest_codexsandbox.releases.resolve import resolve
from pytest_codexsandbox.releases.version_names import order, release_name
from pytest_codexsandbox.system.progress import progress_on

HEAD: Final = """\
# Capabilities of released Codex binaries, each asked itself (x86_64). A probe that says something else is red.
# Measured and written by: python -m tools.capability_snapshot RELEASE
"""
FIELDS: Final = Capabilities.__struct_fields__


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("release", nargs="+", type=release_name)
    print(f"golden now: {', '.join(add(parser.parse_args().release, cache_folder()))}")


def add(releases: Sequence[str], cache: Path) -> list[str]:
    """Downloads and probes the releases, and adds what they can do to the golden data."""
    specs = [SubjectSpec(label=name, release=name) for name in dict.fromkeys(releases)]
    measured = {
        spec.label: resolve(spec, cache=cache, progress=progress_on(sys.stderr), offline=False).capabilities
        for spec in specs
    }
    rows = {**known_releases.capabilities(), **measured}
    write_whole(known_releases.golden(), text(rows).encode())
    return list(measured)


def text(rows: Mapping[str, Capabilities]) -> str:
    """Returns the file's content; equal rows give equal bytes."""
    return HEAD + "".join(_table(release, rows[release]) for release in sorted(rows, key=order))


def _table(release: str, found: Capabilities) -> str:
    rows = [f"{name} = {_value(getattr(found, name))}\n" for name in FIELDS if name != "version"]
    return f'\n["{release}"]\n' + "".join(rows)


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


if __name__ == "__main__":
    main()

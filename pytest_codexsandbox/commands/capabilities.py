"""Show the capabilities of Codex binaries, as the binaries report them.

Without a release: every release of the cache, and the installed one. No sandbox is started. A binary that
differs from the golden data of its release is an error (exit 1).
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_codexsandbox.commands.argument_types import filled
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases import known_releases
from pytest_codexsandbox.releases.resolve import ResolvedSubject, resolve
from pytest_codexsandbox.releases.store import Store
from pytest_codexsandbox.releases.user_binaries import candidate
from pytest_codexsandbox.releases.version_names import order, release_name
from pytest_codexsandbox.system.progress import progress_on

EXAMPLES: Final = (
    "codexsandbox capabilities",
    "codexsandbox capabilities 0.40.0 0.169.0",
    "codexsandbox capabilities --codex-bin ./target/release/codex --json",
    "codexsandbox capabilities --list",
)
DISAGREES: Final = 1
NOTHING: Final = "no Codex in the cache and none installed; name a release: codexsandbox capabilities 0.163.0"
_HEADINGS: Final = {
    "sandbox": "command", "workspace_write": "workspace-write by", "full_access": "full access",
    "default_permissions": "default_permissions", "permission_profile_flag": "profile flag",
    "bundled_bwrap": "own bwrap", "app_server": "app-server", "exec_server": "exec-server",
    "mcp_server": "mcp-server", "doctor": "doctor",
}  # fmt: skip
_COMMANDS: Final = {
    "sandbox": "codex sandbox",
    "sandbox-linux": "codex sandbox linux",
    "debug-landlock": "codex debug landlock",
    "none": "none",
}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", nargs="*", help="Codex releases, downloaded if missing")
    parser.add_argument(
        "--codex-bin", action="append", default=[], type=filled, metavar="[LABEL=]PATH", help="a binary of your own"
    )
    parser.add_argument("--offline", action="store_true", help="download nothing")
    parser.add_argument("--list", action="store_true", help="the releases known from data, with their sources")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> int:
    if options.list:
        print("\n".join(_listed()))
        return 0
    cache = cache_folder()
    found = [
        resolve(spec, cache=cache, progress=progress_on(sys.stderr), offline=options.offline)
        for spec in _asked(options, cache)
    ]
    rows = {subject.spec.label: subject for subject in found}
    print(_as_json(rows) if options.json else "\n".join(_as_text(rows)) or NOTHING)
    wrong = {label: subject.disagreement for label, subject in rows.items() if subject.disagreement}
    for label, why in wrong.items():
        print(f"codexsandbox: Codex {label} differs from its release: {why}", file=sys.stderr)
    return DISAGREES if wrong else 0


def _asked(options: argparse.Namespace, cache: Path) -> list[SubjectSpec]:
    binaries = [candidate(text) for text in options.codex_bin]
    names = [release_name(name) for name in options.release]
    if names or binaries:
        return [*(SubjectSpec(label=name, release=name) for name in dict.fromkeys(names)), *binaries]
    store, installed = Store(cache), known_releases.installed()
    cached = {*store.releases(), *({installed.release} if installed else ())}
    return [SubjectSpec(label=name, release=name) for name in sorted(cached, key=order)]


def _as_json(rows: Mapping[str, ResolvedSubject]) -> str:
    shown = {
        label: {
            "capabilities": subject.capabilities,
            "binary": subject.binary,
            "sha256": subject.digest,
            "source": subject.source,
            "disagreement": subject.disagreement,
        }
        for label, subject in rows.items()
    }
    return json.dumps(msgspec.to_builtins(shown), indent=2)


def _as_text(rows: Mapping[str, ResolvedSubject]) -> Iterator[str]:
    """Returns one block for each binary: ten columns do not fit into eighty characters."""
    for label, subject in rows.items():
        found = subject.capabilities
        own = "" if found.version == label else f", calls itself {found.version}"
        yield f"{label}  ({subject.source}{own}, sha256 {subject.digest[:12]})"
        yield f"  {'command':<22} {_COMMANDS[found.sandbox]}"
        for name, heading in list(_HEADINGS.items())[1:]:
            yield f"  {heading:<22} {_word(getattr(found, name))}"


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return {"full-auto": "--full-auto", "config": "-c sandbox_mode=…", "": "none"}.get(value, str(value))


def _listed() -> Iterator[str]:
    measured = known_releases.capabilities()
    for release, known in known_releases.known().items():
        places = [f"npm {known.npm} MB"] if known.npm else []
        places += [f"PyPI {known.pypi} MB"] if known.pypi else []
        yield f"{release:<10} {', '.join(places):<26} {'golden' if release in measured else ''}".rstrip()

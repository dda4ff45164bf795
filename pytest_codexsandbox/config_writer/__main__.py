"""`python -m pytest_codexsandbox.config_writer`: writes a policy into a config.toml. Exit 0: it is there; 3:
refused."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_codexsandbox.config_writer.policy_writer import apply
from pytest_codexsandbox.config_writer.request import Refused

REFUSED: Final = 3
_NETWORK: Final = {"on": True, "1": True, "off": False, "0": False, "unsaid": None, "": None}


def main(words: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(words)
    try:
        done = apply(
            options.config,
            roots=options.root,
            network=_NETWORK[options.network],
            sandbox=options.sandbox,
            approval=options.approval,
            owner=options.owner,
            workspace=options.workspace,
            take_over=options.take_over,
        )
    except Refused as problem:
        print(problem, file=sys.stderr)
        return REFUSED
    print(f"{done.path}: {'written' if done.changed else 'already up to date'}")
    for line in (*(f"replaced: {key}" for key in done.replaced), *done.warnings):
        print(line, file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pytest_codexsandbox.config_writer", description="Put a sandbox policy into Codex's config.toml."
    )
    parser.add_argument("--config", type=Path, required=True, help="the config.toml to write")
    parser.add_argument(
        "--root", action="append", default=[], metavar="PATH", help="a folder that is writable besides the workspace"
    )
    parser.add_argument("--network", choices=tuple(_NETWORK), default="off")
    parser.add_argument(
        "--sandbox", choices=("read-only", "workspace-write", "danger-full-access"), default="workspace-write"
    )
    parser.add_argument("--approval", choices=("untrusted", "on-request", "never"))
    parser.add_argument("--workspace", type=Path, help="the workspace: its .codex/config.toml is checked too")
    parser.add_argument("--owner", default="codexsandbox", help="the owner of the block")
    parser.add_argument("--take-over", action="store_true", help="turn default_permissions and profile into comments")
    return parser


if __name__ == "__main__":
    sys.exit(main())

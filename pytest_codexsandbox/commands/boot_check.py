"""Check at boot that a sandbox starts here, and that a sandboxed request gets through.

Starts Codex once through the door that you name, proves that its sandbox is on, and with --url sends one GET request
from inside it. The same acts run once outside any sandbox first, as the control. Takes one to two seconds and is made
for the entrypoint or the HEALTHCHECK of a container image. The user's own Codex home is neither read nor written;
--config takes a copy of a config.toml and lets that file decide, as an agent would.

Prints one line and exits with 0, or three lines (what failed, cause, fix) and one of these codes:
  10  the check could not tell (the control failed)
  20  the sandbox does not start
  21  the policy is not in force: no sandbox, one where full access was requested, or another mode
  22  the request fails in the sandbox and works outside it
  23  the host name resolves outside the sandbox and not inside it
  24  the request fails outside the sandbox too
   4  wrong input: no Codex, no such file
"""

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from pytest_codexsandbox.commands.argument_types import filled
from pytest_codexsandbox.commands.matrix_options import INSTALL
from pytest_codexsandbox.commands.scratch_dir import ToldEvents, workbench
from pytest_codexsandbox.diagnosis.boot import Finding, judge_boot
from pytest_codexsandbox.environments.host_facts import this_machine
from pytest_codexsandbox.errors import HarnessError, InputError, os_errors_as
from pytest_codexsandbox.harness.boot_request import Asked, Measured, measure
from pytest_codexsandbox.harness.codex_resolver import CodexResolver
from pytest_codexsandbox.harness.observation_cache import open_observations
from pytest_codexsandbox.harness.worker_resources import WorkerOptions
from pytest_codexsandbox.matrix.requirements import NEEDS_LINUX
from pytest_codexsandbox.model.cell import Cell, SubjectSpec
from pytest_codexsandbox.model.plan import Plan
from pytest_codexsandbox.model.policy import NETWORK, POLICIES, WORKSPACE_WRITE
from pytest_codexsandbox.registry import cache_folder, default_door, measured_doors
from pytest_codexsandbox.releases.known_releases import installed
from pytest_codexsandbox.releases.user_binaries import candidate
from pytest_codexsandbox.reports.escape import visible

EXAMPLES: Final = (
    "codexsandbox boot-check",
    "codexsandbox boot-check --door app-server --url http://127.0.0.1:8080/health",
    "codexsandbox boot-check --door exec --config /agent/.codex/config.toml --url https://git.example/api/v1/version",
    "HEALTHCHECK CMD codexsandbox boot-check || exit 1     (in a Dockerfile)",
)
_CONFIG_LIMIT: Final = 1024 * 1024
_PASSED: Final = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)


def add(parser: argparse.ArgumentParser) -> None:
    door = default_door("commands")
    parser.add_argument(
        "--door", choices=measured_doors(), default=door, help=f"the door to Codex for the command ({door})"
    )
    parser.add_argument("--url", type=filled, help="a GET request to it must get 200 in the sandbox")
    parser.add_argument(
        "--policy",
        choices=tuple(POLICIES),
        metavar="POLICY",
        help=f"the policy that must be in force ({WORKSPACE_WRITE}; with --url {NETWORK})",
    )
    parser.add_argument(
        "--config", type=filled, metavar="FILE", help="a config.toml that decides, in place of overrides"
    )
    parser.add_argument(
        "--codex-bin", type=filled, metavar="PATH", help="in place of the installed Codex or the one on PATH"
    )
    parser.add_argument("--timeout", type=_seconds, default=5.0, metavar="SECONDS", help="for the request (5)")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> int:
    if not sys.platform.startswith("linux"):
        raise InputError(
            "boot-check starts Codex's Linux sandbox", why=f"this is {sys.platform}", next_step=NEEDS_LINUX
        )
    began = time.monotonic()
    asked, spec = _asked(options, os.environ), _codex(options.codex_bin)
    try:
        finding, version = _checked(asked, spec)
    except HarnessError as fault:
        what = f"{fault.what}: {fault.where}" if fault.where else fault.what
        finding, version = Finding(code=10, what=what, cause=fault.why, fix=fault.next_step), ""
    _print(finding, asked, version, seconds=time.monotonic() - began, as_json=options.json)
    return finding.code


def _checked(asked: Asked, spec: SubjectSpec) -> tuple[Finding, str]:
    measured, version = _measure(asked, spec)
    return judge_boot(
        measured.started,
        policy=asked.policy,
        url=asked.url,
        inside=measured.inside,
        outside=measured.outside,
        writes=measured.writes,
    ), version


def _measure(asked: Asked, spec: SubjectSpec) -> tuple[Measured, str]:
    cell = Cell(environment=this_machine(), subject=spec)
    plan = Plan(preset="boot-check", cells=(cell,), promises=(), keys=())
    with workbench("boot-check") as folder:
        options = WorkerOptions(folder=folder, cache=cache_folder())
        resolver = CodexResolver(cache_folder())
        with open_observations(plan, options, resolver=resolver, events=ToldEvents()) as cache:
            return measure(cache, cell, asked), cache.programs.able(cell).version


def _codex(named: str | None) -> SubjectSpec:
    if named:
        return candidate(named)
    found = installed()
    if found is not None:
        return found
    on_path = shutil.which("codex")
    if on_path is None:
        raise InputError("there is no Codex to start", why="none beside this Python, none on PATH", next_step=INSTALL)
    return candidate(on_path)


def _asked(options: argparse.Namespace, environ: Mapping[str, str]) -> Asked:
    if options.url and not _is_http(options.url):
        raise InputError(
            f"--url {options.url!r} is not an HTTP address", next_step="--url http://127.0.0.1:8080/health"
        )
    return Asked(
        door=options.door,
        url=options.url or "",
        seconds=options.timeout,
        policy=options.policy or (NETWORK if options.url else WORKSPACE_WRITE),
        config=_config(options.config) if options.config else None,
        env={name: environ[name] for name in _PASSED if name in environ} if options.url else {},
    )


def _is_http(url: str) -> bool:
    """Checks the scheme, the host and the port. Refuses spaces and control characters too."""
    try:
        parts = urlsplit(url)
        complete = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port above 65535, an unclosed bracket
        return False
    return complete and url.isascii() and url.isprintable() and " " not in url


def _config(path: str) -> bytes:
    with (
        os_errors_as(InputError, "the configuration cannot be read", where=path),
        Path(path).expanduser().open("rb") as file,
    ):
        content = file.read(_CONFIG_LIMIT + 1)
    if len(content) > _CONFIG_LIMIT:
        raise InputError("the configuration is larger than 1 MB", where=path)
    return content


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 60:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0 and up to 60")
    return seconds


def _print(finding: Finding, asked: Asked, version: str, *, seconds: float, as_json: bool) -> None:
    if as_json:
        document = {
            "ok": finding.code == 0,
            "door": asked.door,
            "policy": asked.policy,
            "url": asked.url,
            "codex": version,
            "seconds": round(seconds, 2),
            **msgspec.to_builtins(finding),
        }
        print(json.dumps(document, indent=2))
    elif finding.code == 0:
        print(visible(f"ok: {finding.what} · Codex {version} · {asked.door} · {asked.policy} · {seconds:.1f} s"))
    else:
        for name, text in (("failed", finding.what), ("cause", finding.cause), ("fix", finding.fix)):
            print(visible(f"{name:<7} {' '.join(text.split())}"))

"""List the remedies where the sandbox does not start, their price, and whether they help: --prove tries them here.

Without --prove: by cause, each remedy, its price for security, and where it was proved; starts nothing. A name is a
cause (as reports and `diagnose` say it), a profile in which the sandbox does not start, or a remedy; globs too.
A proof holds for one cause, one profile and one family of bubblewrap (before 0.12, 0.12, 0.13, Codex's own).

--write FILE writes the system call filter of one remedy, and prints the whole `docker run` line.

--prove applies each remedy to the failing environment, in containers: red for this cause before, and green afterwards,
or still red where that is recorded. A remedy that changes the kernel or the host is never applied.

Exit code: 0 all as recorded; 1 a remedy differs from its record; 10 a proof had no result here; 11 nothing was proved,
because every remedy would change the host; 4 without an engine.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

from pytest_codexsandbox.commands.matrix_options import INSTALL
from pytest_codexsandbox.commands.remedies_paste import written
from pytest_codexsandbox.commands.remedies_selection import Choice, choose
from pytest_codexsandbox.commands.remedies_text import (
    IMAGE,
    closing,
    here_line,
    host_lines,
    listed,
    listed_json,
    outcome_lines,
    proved_json,
)
from pytest_codexsandbox.commands.scratch_dir import ToldEvents, tell, workbench
from pytest_codexsandbox.errors import CodexSandboxError, HarnessError, InputError
from pytest_codexsandbox.harness.backends import MissingPackage, load_backend
from pytest_codexsandbox.harness.remedy_proof import DISTRO, ProofResult, Starts, in_containers, prove
from pytest_codexsandbox.matrix.axis_files import DISTROS, SHIPPED
from pytest_codexsandbox.matrix.container_cells import BACKEND
from pytest_codexsandbox.matrix.requirements import NEEDS_LINUX
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.protocols import Notify, Subject
from pytest_codexsandbox.registry import cache_folder
from pytest_codexsandbox.releases.known_releases import installed
from pytest_codexsandbox.releases.resolve import resolve
from pytest_codexsandbox.releases.user_binaries import candidate

EXAMPLES: Final = (
    "codexsandbox remedies",
    "codexsandbox remedies userns-refused-by-outer-filter",
    "codexsandbox remedies docker-filter-and-bare-proc --write seccomp.json --image my-agent",
    "codexsandbox remedies docker-default --prove         try here which remedies help in Docker's default profile",
    "codexsandbox remedies cap-add-sys-admin --prove --json",
)
_DIFFERS: Final = 1
_NOT_TOLD: Final = 10
_NOTHING: Final = 11
_NOTHING_PROVED: Final = "no remedy can be proved here: "


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="CAUSE|PROFILE|REMEDY", help="only those for these; default: all")
    parser.add_argument(
        "--write", default="", metavar="FILE", help="write the remedy's filter, and print `docker run …`"
    )
    parser.add_argument("--image", default="", metavar="NAME", help=f"with --write: the image, not {IMAGE}")
    parser.add_argument("--prove", action="store_true", help="apply them here, in containers")
    parser.add_argument("--distro", default=DISTRO, metavar="NAME", help=f"with --prove: in place of {DISTRO}")
    parser.add_argument(
        "--codex-bin",
        default="",
        metavar="[LABEL=]PATH[@AS-VERSION]",
        help="with --prove: in place of the installed Codex",
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> int:
    choices = choose(options.names)
    if options.image and not options.write:
        raise InputError("--image belongs to `remedies NAME --write FILE`")
    if options.write and (options.prove or options.json):
        raise InputError("--write goes with neither --prove nor --json")
    if options.write:
        print(written(choices, options.write, options.image or IMAGE))
        return 0
    if options.prove:
        return _prove(options, choices)
    if options.codex_bin or options.distro != DISTRO:
        raise InputError("--codex-bin and --distro belong to `remedies --prove`")
    print(json.dumps(listed_json(choices), indent=2) if options.json else "\n".join(listed(choices)))
    return 0


def _prove(options: argparse.Namespace, choices: Sequence[Choice]) -> int:
    """Runs the proofs and shows each result at once, so that an interrupt keeps the results until then."""
    if options.distro not in (distros := SHIPPED.values(DISTROS)):
        raise InputError(f"there is no distribution {options.distro!r}", why=did_you_mean(options.distro, distros))
    started, outcomes, here = time.monotonic(), [], dict[str, str]()
    if any(choice.proofs for choice in choices):
        subject = _codex(options)
        here = {**_engine(), "Codex": subject.capabilities.version, "image": options.distro}
        if not options.json:
            print(here_line(here), end="\n\n", flush=True)
        for one in _proved(choices, subject, options.distro):
            outcomes.append(one)
            if not options.json:
                print("\n".join(outcome_lines(one)), end="\n\n", flush=True)
    host, unshown = tuple(one.remedy for one in choices if not one.remedy.is_tried), not_shown(choices, outcomes)
    if options.json:
        print(json.dumps(proved_json(outcomes, host, unshown, here), indent=2))
    else:
        seconds = time.monotonic() - started
        print("\n".join([*host_lines(host), *([""] if host else []), closing(outcomes, host, unshown, seconds)]))
    return code(outcomes, unshown)


def code(outcomes: Sequence[ProofResult], unshown: Sequence[str]) -> int:
    """Returns the exit code, the worst first: a wrong remedy is worse than one without a result."""
    if not outcomes:
        return _NOTHING
    states = {one.state for one in outcomes}
    return _DIFFERS if "differs" in states else _NOT_TOLD if "not told" in states or unshown else 0


def not_shown(choices: Sequence[Choice], outcomes: Sequence[ProofResult]) -> tuple[str, ...]:
    """Returns the named causes for which no environment failed in which a remedy was tried."""
    seen = {cause for one in outcomes if one.state != "not told" for cause in one.causes}
    asked = dict.fromkeys(cause for choice in choices for cause in choice.asked)
    return tuple(cause for cause in asked if cause not in seen)


# ---- proving
def _codex(options: argparse.Namespace) -> Subject:
    if not sys.platform.startswith("linux"):
        raise InputError(f"{_NOTHING_PROVED}this is {sys.platform}", why=NEEDS_LINUX)
    spec = candidate(options.codex_bin) if options.codex_bin else installed()
    if spec is None:
        raise InputError(f"{_NOTHING_PROVED}no Codex is installed beside this Python", next_step=INSTALL)
    return resolve(spec, cache=cache_folder())


def _engine() -> dict[str, str]:
    """Returns name and version of the container engine, and its kernel."""
    try:
        return dict(load_backend(BACKEND).about())
    except CodexSandboxError as fault:
        kind = InputError if isinstance(fault, MissingPackage) else HarnessError
        raise kind(
            f"{_NOTHING_PROVED}{fault.what}", where=fault.where, why=fault.why, next_step=fault.next_step
        ) from fault


def _proved(choices: Sequence[Choice], subject: Subject, distro: str) -> Iterator[ProofResult]:
    with workbench("remedies") as folder:
        rehearsed = in_containers(subject, folder, distro=distro, events=ToldEvents())
        starts = Starts(rehearsed, [one for choice in choices for one in choice.proofs])
        yield from proved(choices, starts, distro=distro, say=tell)


def proved(choices: Sequence[Choice], starts: Starts, *, distro: str = DISTRO, say: Notify) -> Iterator[ProofResult]:
    """Yields the result of each proof as it ends, so that an interrupt keeps the results until then."""
    pairs = [(choice.remedy, proof) for choice in choices for proof in choice.proofs]
    for place, (remedy, proof) in enumerate(pairs, 1):
        say(f"{place}/{len(pairs)} {remedy.name}: {proof.before.words} → {proof.after.words}")
        yield prove(remedy, proof, starts, distro=distro)

"""The preset over all profiles, in three of them: beside Codex's start stands what was said there without it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from pytest_codexsandbox.registry import cache_folder
from tests.fakes.machine import run_folder

LIMIT = 300.0  # a machine may be slow: this one is no measure
WORDS = (
    "--codex-matrix=profiles",
    "--codex-only=*~docker-default~*,*~seccomp-unconfined~*,*~synthetic-rtm-newaddr~*",
    "--codex-skip=*~root~*",
    "--codex-report=html,markdown,json",
    "-p",
    "no:cacheprovider",
    "-v",
)
START, NETWORK_ON = "start.sandbox-is-on", "workspace-write-network"
NEWADDR = ("loopback: Failed RTM_NEWADDR: Operation not permitted", "loopback-newaddr-refused-by-filter")


class Ran:
    def __init__(self, folder: Path, code: int, out: str) -> None:
        self.code, self.out = code, out
        (journal,) = (folder / ".codexsandbox").glob("*/journal.ndjson")
        self.run = run = journal.parent
        self.json: dict[str, Any] = json.loads((run / "report.json").read_text())
        self.html, self.markdown = ((run / name).read_text() for name in ("index.html", "report.md"))

    def of(self, profile: str) -> dict[str, Any]:
        (found,) = [one for one in self.json["by_itself"] if f"~{profile}~" in one["environment"]]
        return dict(found)

    def tried(self, profile: str) -> dict[str, str]:
        """What worked, and the fingerprints of what did not."""
        return {one["name"]: one["fingerprint"] or one["said"] for one in self.of(profile)["tried"]}

    def starts(self, profile: str) -> dict[str, tuple[str, str]]:
        return {one["policy"]: (one["verdict"], one["fingerprint"]) for one in self.of(profile)["codex"]}


def test_every_report_shows_what_each_program_did_in_each_profile() -> None:
    """One test, for there is one run: workers that share a file would each make their own."""
    with run_folder() as folder:
        ran = Ran(folder, *run("pytest", *WORDS, folder=folder))
        nothing_but_starts_and_canaries_is_measured(ran)
        where_the_filter_refuses_all_of_them_say_so(ran)
        where_the_network_alone_is_refused_the_others_start(ran)
        where_a_fresh_proc_alone_is_refused_codex_starts_without(ran)
        every_report_shows_it_and_an_old_journal_again(ran)


def run(*words: str, folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "CODEXSANDBOX_CACHE": str(cache_folder()), "COLUMNS": "140"},
        timeout=LIMIT,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def nothing_but_starts_and_canaries_is_measured(ran: Ran) -> None:
    assert {one["promise"].partition(".")[0] for one in ran.json["results"]} == {"start", "trust"}, ran.out
    assert len(ran.json["results"]) == 3 * 2 * 2
    assert ran.json["counts"]["broken"] == ran.json["counts"]["blocked"] == 0, ran.out
    assert ran.code == 1  # the loopback that gets no address is known of another profile


def where_the_filter_refuses_all_of_them_say_so(ran: Ran) -> None:
    outer = "userns-refused-by-outer-filter"
    assert ran.tried("docker-default") == {
        "bwrap": outer,
        "bwrap-net": outer,
        "bwrap-proc": outer,
        "unshare": "unshare-refused",
    }
    assert set(ran.starts("docker-default").values()) == {("expected", outer)}
    assert re.search(r"user namespace \(EPERM, .*filter", ran.of("docker-default")["asked_directly"])


def where_the_network_alone_is_refused_the_others_start(ran: Ran) -> None:
    quote, fingerprint = NEWADDR
    found = ran.tried("synthetic-rtm-newaddr")
    assert found == {"bwrap": "ok", "bwrap-net": fingerprint, "bwrap-proc": "ok", "unshare": "ok"}
    starts = ran.starts("synthetic-rtm-newaddr")
    assert starts == {"workspace-write": ("violates", fingerprint), NETWORK_ON: ("conforms", "")}
    (said,) = {one["quote"] for one in ran.of("synthetic-rtm-newaddr")["tried"] if one["fingerprint"]}
    assert said == quote
    assert ran.of("synthetic-rtm-newaddr")["synthetic"] and not ran.of("docker-default")["synthetic"]


def where_a_fresh_proc_alone_is_refused_codex_starts_without(ran: Ran) -> None:
    found = ran.tried("seccomp-unconfined")
    assert found == {"bwrap": "ok", "bwrap-net": "ok", "bwrap-proc": "proc-mount-refused", "unshare": "ok"}
    assert set(ran.starts("seccomp-unconfined").values()) == {("conforms", "")}


def every_report_shows_it_and_an_old_journal_again(ran: Ran) -> None:
    quote, fingerprint = NEWADDR
    code, again = run("pytest_codexsandbox", "report", str(ran.run), "-v", folder=ran.run)
    assert code == 0, again
    for text in (ran.out, again):
        block = text.partition("by itself: ")[2]
        assert f"{quote} ({fingerprint})" in block, text
        assert all(f"  {profile}\n" in block for profile in ("docker-default", "seccomp-unconfined")), block
    for text in (ran.html, ran.markdown):
        section = text.lower().partition("by themselves")[2]
        assert fingerprint in section and "proc-mount-refused" in section

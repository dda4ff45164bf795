"""What was once reported, by the lines of docs/explanation/incidents.md: red as it was, green as it was mended."""

import subprocess
import sys
from collections.abc import Callable

import pytest
from codexsandbox_incidents import external_cli
from codexsandbox_incidents.file_writing import Result

from pytest_codexsandbox.doors.app_server import AppServerDoor
from pytest_codexsandbox.model.act import Act, Given
from pytest_codexsandbox.model.generator import GeneratedConfig, Request
from pytest_codexsandbox.model.policy import POLICIES, WORKSPACE_WRITE, Policy
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Environment, Subject
from pytest_codexsandbox.registry import cache_folder
from tests.fakes.machine import installed_codex
from tests.live.incident_builders import Asked, Happened, have, run

ROOTS = "workspace-write-roots"
REPORTED = "0.130.0"


def reds(happened: Happened, **wanted: str) -> set[str]:
    return {asked.promise for asked, verdict in happened.verdicts(**wanted).items() if verdict == "violates"}


# ---- NousResearch/hermes-agent#26203
def test_hermes_a_worker_closes_its_task_only_with_the_bridge() -> None:
    have(REPORTED)
    seen = run("--codex-matrix=incident-hermes", test="board_worker.py")
    closes, others = "a worker closes its task", "a worker reaches no other board"
    assert seen.code == 1, seen.out
    for generator, verdict in {"none": "violates", "bridge": "conforms", "fixed": "conforms"}.items():
        name = f"hermes-board-{generator}"
        found = {asked.promise: what for asked, what in seen.verdicts(generator=name, release=REPORTED).items()}
        assert found == {
            closes: verdict,
            others: "conforms",
            "start.sandbox-is-on": "conforms",
            "trust.control-and-canaries": "conforms",
        }, (name, seen.out)
        installed = [what for asked, what in seen.verdicts(generator=name, promise=closes).items()]
        assert installed == [verdict, verdict]
    red = Asked("hermes-board-none", closes, policy=ROOTS, release=REPORTED)
    assert "unable to open database file" in seen.records[red].reason
    assert seen.fingerprint(red) == "sqlite-cannot-open"


def test_hermes_the_board_by_the_shipped_promises() -> None:
    have(REPORTED)
    seen = run("--codex-matrix=incident-hermes", f"--codex-release={REPORTED}", "--codex-only=sqlite.*")
    works, beside = "sqlite.granted-folder-works", "sqlite.sibling-database-refused"
    assert reds(seen, generator="hermes-board-none") == {works, "sqlite.second-reader-outside-sees-it"}, seen.out
    assert set(seen.verdicts(generator="hermes-board-none", promise=beside).values()) == {"conforms"}
    red = Asked("hermes-board-none", works, policy=ROOTS, release=REPORTED)
    assert "(unable to open database file)" in seen.said(red)
    assert "attempt to write a readonly database" in seen.said(red)  # of a database with a rollback journal
    for name in ("hermes-board-bridge", "hermes-board-fixed"):
        assert reds(seen, generator=name) == set()
        assert [seen.verdicts(generator=name, promise=one) for one in (works, beside)] == [
            {Asked(name, one, policy=ROOTS, release=REPORTED): "conforms"} for one in (works, beside)
        ]


# ---- openai/codex#23857
def test_an_external_tool_works_where_its_homes_are_granted_and_the_path_is_named_where_not() -> None:
    seen = run("--codex-matrix=incident-external-cli", test="external_cli.py")
    works, rest = "the external tool comes to its first question", "nothing else of the home is its own"
    assert seen.code == 1, seen.out
    for generator, red in {"none": {works}, "moved": set(), "whole-home": {rest}}.items():
        name = f"external-cli-{generator}"
        assert reds(seen, generator=name) == red, (name, seen.out)
        starts = seen.verdicts(generator=name, promise="start.sandbox-is-on")
        assert list(starts.values()) == ["conforms"]
    (denied,) = seen.verdicts(generator="external-cli-none", promise=works)
    assert "Read-only file system: '" in seen.records[denied].reason
    assert "/.config/opencode" in seen.records[denied].reason
    assert seen.fingerprint(denied) == "home-state-refused"


def test_an_external_tool_is_granted_no_more_than_it_needs() -> None:
    seen = run(
        "--codex-matrix=incident-external-cli",
        "--codex-only=effective.*,network.loopback-http-*",
        "-k",
        "loopback-http or 01-none-no-folder or 76-default-board",
    )
    granted, asked_for = "effective.grants-no-more", {"effective.says-what-was-asked", "effective.does-what-was-asked"}
    for name in ("external-cli-moved", "external-cli-in-place"):
        assert reds(seen, generator=name) == set(), (name, seen.out)
        there = seen.verdicts(generator=name)
        assert {asked.promise for asked in there if there[asked] == "conforms"} >= {granted, *asked_for}
    (arrives,) = seen.verdicts(generator="external-cli-moved", promise="network.loopback-http-arrives").values()
    assert arrives == "conforms"
    (whole,) = seen.verdicts(generator="external-cli-whole-home", promise=granted)
    assert (seen.records[whole].direction, seen.fingerprint(whole)) == ("leak", "generator-whole-home")


@pytest.fixture(scope="module")
def codex() -> Subject:
    return installed_codex(cache_folder())


OWN = [f"@HOME@/{home}/{external_cli.TOOL}" for home in external_cli.HOMES.values()]
IN_PLACE = {
    **{
        f"own/{number}": Act(
            verb="write", path=f"{folder}/state", params={"data": "x"}, given=(Given(kind="dir", path=folder),)
        )
        for number, folder in enumerate(OWN)
    },
    "beside": Act(verb="write", path="@HOME@/.config/other", params={"data": "x"}),
}


@pytest.mark.parametrize(("generate", "works"), [(external_cli.in_place, True), (external_cli.none, False)])
def test_the_tools_own_folders_are_granted_where_they_are(
    machine: Environment, codex: Subject, generate: Callable[[Request], Result], works: bool
) -> None:
    def write(world: World, policy: Policy) -> GeneratedConfig:
        places = world.values
        request = Request(
            platform="linux",
            version="",
            home=places["HOME"],
            codex_home=places["CODEX_HOME"],
            config=f"{places['CODEX_HOME']}/config.toml",
            workspace=places["WORKSPACE"],
        )
        return GeneratedConfig(argv=tuple(generate(request)["argv"]))

    door = AppServerDoor().configured(write)
    (seen,) = door.observe(machine, codex, POLICIES[WORKSPACE_WRITE], IN_PLACE, None)
    assert [seen.rows[f"own/{number}"].ok for number in range(len(OWN))] == [works] * len(OWN), seen
    assert not seen.rows["beside"].ok


# ---- multica-ai/multica#1246
CAPTURED = {
    "generator.keys-at-their-own-place": "generator-captured",
    "effective.says-what-was-asked": "generator-captured",
    "effective.does-what-was-asked": "generator-captured",
}
ENFORCES = "Codex says that it enforces {}"
ROWS = {  # what is written for macOS and Windows is asked here; what their sandboxes do with it is not
    "72-platform-darwin": {ENFORCES.format("danger-full-access")},
    "72-platform-windows": {ENFORCES.format("workspace-write"), "Codex says that the network is on"},
    "72-platform-wsl": {ENFORCES.format("workspace-write"), "Codex says that the network is on"},
}


def test_multica_the_policy_is_captured_until_the_block_is_on_top() -> None:
    seen = run(
        "--codex-matrix=incident-multica",
        f"--codex-only={','.join(CAPTURED)}",
        "-k",
        "02-ends-in or 04-ends-in or 72-platform",
    )
    assert seen.code == 1, seen.out
    for case in ("02-ends-in-tui", "02-ends-in-profile", "02-ends-in-server"):
        for promise, fingerprint in CAPTURED.items():
            (red,) = seen.verdicts(generator="multica-legacy", promise=promise, case=case)
            assert (seen.records[red].verdict.value, seen.fingerprint(red)) == ("violates", fingerprint), seen.out
            for name in ("multica-0.2.5", "multica-fixed"):
                assert list(seen.verdicts(generator=name, promise=promise, case=case).values()) == ["conforms"]
    for name in ("multica-0.2.5", "multica-fixed"):
        assert reds(seen, generator=name) == set(), seen.out
    for case, claims in ROWS.items():
        (says,) = seen.verdicts(generator="multica-0.2.5", promise="effective.says-what-was-asked", case=case)
        assert {row.claim for row in seen.records[says].evidence} >= claims
        assert seen.records[says].verdict.value == "conforms"


@pytest.mark.parametrize(
    ("said", "facts", "fingerprint"),
    [
        ("dial tcp: lookup api.example.com: no such host", ("platform=darwin",), "macos-dns-blocked"),
        ("dial tcp: lookup api.example.com: no such host", (), "go-name-does-not-exist"),
        ("dial tcp 203.0.113.9:8080: connect: connection refused", ("platform=darwin",), "connection-refused"),
        ("dial tcp 203.0.113.9:443: i/o timeout", ("platform=darwin",), "connection-timeout"),
        ("x509: certificate signed by unknown authority", ("platform=darwin",), "tls-untrusted"),
        ('{"method":"process/exited","params":{"sandboxDenied":true}}', (), "exec-server-sandbox-denied"),
    ],
)
def test_a_pasted_line_is_distinguished(said: str, facts: tuple[str, ...], fingerprint: str) -> None:
    words = [word for fact in facts for word in ("--fact", fact)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest_codexsandbox", "diagnose", "-", *words],
        input=f"{said}\n".encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.decode().startswith(f"{fingerprint}  ("), done.stdout

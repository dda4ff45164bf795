"""Five incidents that people reported: short excerpts of what they saw, and the cause that each must get."""

import pytest

from pytest_codexsandbox.diagnosis.match import match, matches

BOARD = """
Worker logs show the underlying smoke succeeded. But the handoff fails because the sandbox cannot write the board DB:
Blocked: sqlite3 could not open the kanban database for writing from this sandbox
...
unable to open database file
"""
BOARD_SAID_OTHERWISE = """
The smoke check passed ...
I could not mark the Kanban task complete because writing to the board database failed under the sandbox
"""
BARE_SQLITE = "sqlite3.OperationalError: unable to open database file"
SUPERVISED = """
- sandbox.helpers: ok; approval policy OnRequest; filesystem sandbox restricted; network sandbox restricted
sandboxed/executed variants appeared to have trouble with OpenCode's normal home-directory state/lock/database files.
"""
SUPERVISED_SAID_OTHERWISE = "Clear diagnostics when sandboxed commands cannot access external CLI state under ~/.local"
SUPERVISED_ERROR = "Error: EROFS: read-only file system, mkdir '/home/agent/.local/state/opencode/locks'"
LOOPBACK = """
every command failed at startup with:
bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted
"""
LOOPBACK_THEN_MAP = f"""{LOOPBACK}
enabling network_access alone is NOT sufficient. After the net-unshare was fixed, codex still failed at
bwrap: setting up uid map: Permission denied
"""
MAP_BY_HAND = """
unshare --user --map-root-user -> write failed /proc/self/uid_map: Operation not permitted. That is exactly bwrap
setting up uid map: Permission denied.
"""
SEATBELT = """
codex sandbox: falling back to danger-full-access on macOS
  reason=codex on macOS: seatbelt ignores sandbox_workspace_write.network_access (openai/codex#10390) ...
  codex_version=0.121.0
"""
SEATBELT_TABLE = """
| `dial tcp: lookup HOST: no such host` | **Codex Seatbelt sandbox blocking DNS** (macOS, `workspace-write` mode). |
"""
NO_SUCH_HOST = "dial tcp: lookup api.example.com: no such host"
REFUSED = "dial tcp 10.0.0.1:8080: connect: connection refused"
TIMEOUT = "dial tcp 10.0.0.1:8080: i/o timeout"
CERTIFICATE = "x509: certificate signed by unknown authority"
EXEC_SERVER = """
Linux sandbox blocks the write -> executor reports sandboxDenied: true -> unified exec returns
UnifiedExecError::SandboxDenied -> the existing approval prompt is shown
"""
EXEC_SERVER_WIRE = '{ "exited": true, "exitCode": 1, "closed": false, "sandboxDenied": true }'
TRANSPORT = "a temporary connection loss becomes a permanent `Transport closed` error"
NESTED = (
    "The sandboxed run hit macOS `sandbox-exec: sandbox_apply: Operation not permitted` in filesystem sandbox tests"
)

EXPECTED = {
    "board": (BOARD, "sqlite-callback-refused", "sandbox"),
    "board, in the worker's words": (BOARD_SAID_OTHERWISE, "sqlite-callback-refused", "sandbox"),
    "board, SQLite alone": (BARE_SQLITE, "sqlite-cannot-open", "undecided"),
    "supervised agent": (SUPERVISED, "home-state-refused", "sandbox"),
    "supervised agent, as asked for": (SUPERVISED_SAID_OTHERWISE, "home-state-refused", "sandbox"),
    "supervised agent, its own error": (SUPERVISED_ERROR, "home-state-refused", "sandbox"),
    "review agents": (LOOPBACK, "loopback-newaddr-refused", "sandbox"),
    "review agents, second pass": (LOOPBACK_THEN_MAP, "apparmor-restricts-userns", "sandbox"),
    "review agents, by hand": (MAP_BY_HAND, "apparmor-restricts-uid-map", "sandbox"),
    "macOS, the daemon's warning": (SEATBELT, "macos-network-ignored", "sandbox"),
    "macOS, the table": (SEATBELT_TABLE, "macos-network-ignored", "sandbox"),
    "no such host": (NO_SUCH_HOST, "go-name-does-not-exist", "not-sandbox"),
    "connection refused": (REFUSED, "connection-refused", "not-sandbox"),
    "timeout": (TIMEOUT, "connection-timeout", "not-sandbox"),
    "certificate": (CERTIFICATE, "tls-untrusted", "not-sandbox"),
    "exec-server": (EXEC_SERVER, "exec-server-sandbox-denied", "undecided"),
    "exec-server, on the wire": (EXEC_SERVER_WIRE, "exec-server-sandbox-denied", "undecided"),
    "transport": (TRANSPORT, "mcp-transport-closed", "undecided"),
    "nested on macOS": (NESTED, "macos-nested-sandbox", "sandbox"),
}


@pytest.mark.parametrize(("text", "fingerprint", "verdict"), EXPECTED.values(), ids=EXPECTED)
def test_an_incident_gets_its_cause(text: str, fingerprint: str, verdict: str) -> None:
    said = match(text)
    assert said is not None
    assert (said.fingerprint, said.verdict) == (fingerprint, verdict)
    assert said.remedy


def test_on_macos_no_such_host_is_the_sandbox() -> None:
    said = match(NO_SUCH_HOST, facts={"platform": "darwin"})
    assert said is not None
    assert (said.fingerprint, said.verdict) == ("macos-dns-blocked", "sandbox")


def test_two_walls_of_one_cause_are_one_cause() -> None:
    assert [each.fingerprint for each in matches(LOOPBACK_THEN_MAP + MAP_BY_HAND)] == ["apparmor-restricts-userns"]


def test_on_a_host_whose_sysctl_is_known_the_first_wall_alone_names_it() -> None:
    facts = {"sysctls.kernel.apparmor_restrict_unprivileged_userns": "1"}
    said = match(LOOPBACK, facts=facts)
    assert said is not None
    assert said.fingerprint == "loopback-newaddr-refused-by-apparmor"


def test_several_distinct_causes_in_one_text_are_all_named() -> None:
    found = {each.fingerprint for each in matches("\n".join((BARE_SQLITE, NO_SUCH_HOST, CERTIFICATE, TIMEOUT)))}
    assert found == {"sqlite-cannot-open", "go-name-does-not-exist", "tls-untrusted", "connection-timeout"}

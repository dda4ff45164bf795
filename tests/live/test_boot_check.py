"""`codexsandbox boot-check` on this machine, with the real Codex."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.diagnosis import boot
from pytest_codexsandbox.releases.installed_package import find


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health" else 503)
        self.end_headers()

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("door", ["sandbox", "exec", "app-server"])
def test_a_sandbox_starts_and_a_request_gets_200_through_every_door(
    door: str, service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["boot-check", "--door", door, "--url", f"{service}/health"]) == boot.OK
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_with_the_network_off_the_request_is_refused_in_three_lines(
    service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["boot-check", "--policy", "workspace-write", "--url", f"{service}/health"])
    lines = capsys.readouterr().out.splitlines()
    assert code == boot.REFUSED
    assert [line.split()[0] for line in lines] == ["failed", "cause", "fix"]
    assert "EPERM" in lines[0]


def test_a_service_that_is_not_up_is_not_blamed_on_the_sandbox(
    service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["boot-check", "--url", f"{service}/other", "--json"]) == boot.FAILS_OUTSIDE
    assert json.loads(capsys.readouterr().out)["ok"] is False


@pytest.mark.parametrize(
    "said",
    ["bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "bwrap: setting up uid map: Permission denied"],
)
def test_a_codex_whose_sandbox_does_not_start_has_its_own_code(
    said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codex = find()
    assert codex is not None
    program = tmp_path / "codex"
    program.write_text(_FAILING.format(said=said, codex=codex.binary))
    program.chmod(0o755)
    assert main(["boot-check", "--codex-bin", str(program), "--json"]) == boot.NO_START
    shown = json.loads(capsys.readouterr().out)
    assert said.removeprefix("bwrap: ") in shown["what"]
    assert shown["fingerprint"]
    assert shown["fix"]


_FAILING = """#!/bin/sh
case "$*" in
  *" -- "*) echo "{said}" >&2; exit 1;;
esac
exec "{codex}" "$@"
"""


@pytest.mark.parametrize(
    ("mode", "policy", "code"),
    [
        ("danger-full-access", "workspace-write", boot.NOT_ON),
        ("danger-full-access", "danger-full-access", boot.OK),
        ("workspace-write", "workspace-write", boot.OK),
        ("read-only", "workspace-write", boot.NOT_ON),
        ("read-only", "read-only", boot.OK),
        ("workspace-write", "read-only", boot.NOT_ON),
    ],
)
def test_a_configuration_file_decides_where_one_is_named(mode: str, policy: str, code: int, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'sandbox_mode = "{mode}"\n')
    assert main(["boot-check", "--door", "app-server", "--config", str(config), "--policy", policy]) == code


def test_a_file_that_the_app_server_cannot_read_is_not_ok(tmp_path: Path) -> None:
    """Codex then serves its defaults, and in them the workspace cannot be written."""
    config = tmp_path / "config.toml"
    config.write_text('sandbox_mode = "workspace-write"\n[unclosed')
    assert main(["boot-check", "--door", "app-server", "--config", str(config)]) == boot.NOT_ON


def test_a_file_without_the_network_fails_the_request(service: str, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('sandbox_mode = "workspace-write"\n')
    words = ["boot-check", "--door", "app-server", "--config", str(config), "--url", f"{service}/health"]
    assert main(words) == boot.REFUSED
    config.write_text('sandbox_mode = "workspace-write"\n[sandbox_workspace_write]\nnetwork_access = true\n')
    assert main(words) == boot.OK


@pytest.mark.parametrize(
    "words",
    [
        ["--url", "ftp://127.0.0.1/"],
        ["--url", "http://"],
        ["--url", "http://127.0.0.1:99999/"],
        ["--url", "http://127.0.0.1/a b"],
        ["--config", "/nowhere/config.toml", "--door", "exec"],
        ["--codex-bin", "/nowhere/codex"],
    ],
)
def test_wrong_input_ends_with_4(words: list[str]) -> None:
    assert main(["boot-check", *words]) == 4


@pytest.mark.parametrize("seconds", ["abc", "0", "nan", "61"])
def test_a_time_limit_that_is_none_is_named(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["boot-check", "--timeout", seconds])
    assert ended.value.code == 4
    assert re.search(r"--timeout.* 0 .* 60\b", capsys.readouterr().err)


def test_a_file_at_the_door_that_ignores_it_is_wrong_input(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("")
    assert main(["boot-check", "--config", str(config)]) == 4

"""An address becomes words of ssh, and nothing that is written in it becomes an option."""

from pathlib import Path

import pytest

from pytest_codexsandbox.environments.container import ssh_tunnel
from pytest_codexsandbox.environments.container.ssh_tunnel import words
from pytest_codexsandbox.errors import HarnessError, InputError

HERE = Path("/c/ssh/1234")


def told(host: str) -> list[str]:
    """What depends on the address: after the options of ours, before the command."""
    found = list(words(host, HERE, 60))
    return found[found.index("ConnectTimeout=60") + 1 : -1]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("ssh://build-1", ["-L", "/c/ssh/1234:/var/run/docker.sock", "--", "build-1"]),
        ("ssh://build-1/", ["-L", "/c/ssh/1234:/var/run/docker.sock", "--", "build-1"]),
        (
            "ssh://me@Build-1.example:2222/run/podman/podman.sock",
            ["-l", "me", "-p", "2222", "-L", "/c/ssh/1234:/run/podman/podman.sock", "--", "Build-1.example"],
        ),
        ("ssh://[::1]:22", ["-p", "22", "-L", "/c/ssh/1234:/var/run/docker.sock", "--", "::1"]),
    ],
)
def test_an_address_becomes_words(host: str, expected: list[str]) -> None:
    assert told(host) == expected


@pytest.mark.parametrize(
    "host",
    [
        "ssh://",
        "ssh://-oProxyCommand=x",
        "ssh://-l@host",
        "ssh://me:secret@host",
        "ssh://a b",
        "ssh://host:port",
        "ssh://host/a:b",
        "ssh://host/$(x)",
        "ssh://host?x=y",
        "ssh://host/a\n",
        "ssh://a@b@c",
    ],
)
def test_an_invalid_address_is_no_argument(host: str) -> None:
    with pytest.raises(InputError):
        words(host, HERE, 60)


def test_ssh_prompts_for_nothing_and_shares_no_connection() -> None:
    assert {"BatchMode=yes", "ControlPath=none", "ExitOnForwardFailure=yes"} < {*words("ssh://h", HERE, 60)}


def test_a_name_that_no_socket_can_have_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh_tunnel, "cache_folder", lambda: tmp_path / ("long" * 25))
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/ssh")
    with pytest.raises(HarnessError) as raised, ssh_tunnel.through("ssh://h", 5):
        pass
    assert "CODEXSANDBOX_CACHE" in raised.value.next_step

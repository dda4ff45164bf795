"""What has reached a rig counts at once, whether the rig had a moment to look at it or not."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_codexsandbox.guest import listeners
from pytest_codexsandbox.guest.event_loop import Loop
from pytest_codexsandbox.guest.listeners import Listeners


@pytest.fixture
def rigs(tmp_path: Path) -> Iterator[Listeners]:
    made = Listeners(Loop(), str(tmp_path), "test")
    try:
        yield made
    finally:
        made.close()


def ask(rigs: Listeners, token: str) -> None:
    with socket.create_connection(("127.0.0.1", int(rigs.values["HTTP"])), timeout=5) as one:
        one.sendall(f"GET /{token} HTTP/1.0\r\n\r\n".encode())


def test_a_connection_behind_many_others_has_arrived(rigs: Listeners) -> None:
    """The loop takes one connection a turn, and here it has had no turn."""
    for number in range(40):
        ask(rigs, f"other-{number}")
    ask(rigs, "last")
    assert rigs.arrivals("last") == ["http"]


def test_an_unread_datagram_and_an_unread_line_have_arrived(rigs: Listeners) -> None:
    name = b"\x05asked\x04test\x00"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.sendto(
            b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + name + b"\x00\x01\x00\x01",
            ("127.0.0.1", int(rigs.values["DNS"])),
        )
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(rigs.values["UNIX"])
        one.sendall(b"line\n")
    assert rigs.arrivals("asked.test") == ["dns-udp"]
    assert rigs.arrivals("line") == ["unix"]


def test_a_client_that_sends_half_a_word_and_stays_is_not_waited_for(rigs: Listeners) -> None:
    with socket.create_connection(("127.0.0.1", int(rigs.values["HTTP"])), timeout=5) as one:
        one.sendall(b"GET /half")
        assert rigs.arrivals("half") == []
        one.sendall(b" HTTP/1.0\r\n\r\n")
        assert rigs.arrivals("half") == ["http"]


def test_behind_a_flood_no_absence_is_claimed(rigs: Listeners, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "_LONGEST_TAKING", -1.0)
    assert rigs.arrivals("nothing") == []  # nobody waits: there is nothing that was not looked at
    ask(rigs, "one")
    with pytest.raises(OverflowError, match="outside"):
        rigs.arrivals("nothing")


def test_datagrams_and_words_in_the_pipe_have_arrived(rigs: Listeners) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.sendto(b"by-path\n", rigs.values["DGRAM"])
        made.sendto(b"by-name\n", "\0" + rigs.values["ABSTRACT"])
    Path(rigs.values["FIFO"]).write_text("by-pipe\n")
    assert rigs.arrivals("by-path") == ["unix-dgram"]
    assert rigs.arrivals("by-name") == ["abstract-dgram"]
    assert rigs.arrivals("by-pipe") == ["fifo"]
    assert rigs.arrivals("by") == []

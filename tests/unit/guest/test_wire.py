"""The framing between runner and agent."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_codexsandbox.guest.wire import ProtocolError, Unpacker, pack

BODIES = st.dictionaries(st.text(max_size=8).filter(lambda name: name != "blobs"), st.text(max_size=20), max_size=4)
MESSAGES = st.lists(st.tuples(BODIES, st.lists(st.binary(max_size=300), max_size=4)), max_size=5)


@settings(database=None, derandomize=True, deadline=None)
@given(messages=MESSAGES, size=st.integers(1, 400))
def test_messages_arrive_whole_however_they_are_cut(
    messages: list[tuple[dict[str, str], list[bytes]]], size: int
) -> None:
    stream = b"".join(b"".join(pack(dict(body), blobs)) for body, blobs in messages)
    unpacker, got = Unpacker(), []
    for at in range(0, len(stream), size):
        got += list(unpacker.feed(stream[at : at + size]))
    assert got == messages


@pytest.mark.parametrize("noise", [b"Traceback (most recent call last):\n", b"\0" * 32, b"cxh1" + b"\xff" * 12])
def test_noise_on_the_stream_is_an_error_and_not_a_wait(noise: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(Unpacker().feed(noise))


def test_words_that_are_no_unicode_survive() -> None:
    body = {"path": "caf\udce9"}
    assert list(Unpacker().feed(b"".join(pack(body)))) == [(body, [])]

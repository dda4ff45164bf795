"""The ear that waits for the probe's ready line."""

import pytest

from pytest_codexsandbox.guest.probe_inspector import InspectorSocket

LINE = b'\x1ecx:abc:{"ready": {"pid": 7}}\n'


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_the_line_is_heard_when_it_is_complete_however_it_is_cut(size: int) -> None:
    stream = b"warning: \x1ecx:abd:{}\n\x1ecx" + LINE
    ear = InspectorSocket("abc")
    heard = [ear.hears(stream[at : at + size]) for at in range(0, len(stream), size)]
    assert heard == [False] * (len(heard) - 1) + [True]


@pytest.mark.parametrize(
    "stream", [b'\x1ecx:xyz:{"ready": 1}\n', b'\x1ecx:abc:{"row": {"ready": 1}}\n', b"ready\n", LINE[:-1]]
)
def test_other_lines_are_not(stream: bytes) -> None:
    assert not InspectorSocket("abc").hears(stream)

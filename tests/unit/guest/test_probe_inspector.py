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


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("wants", [True, False])
def test_a_probe_that_asks_for_a_signal_is_heard_in_its_own_line(size: int, *, wants: bool) -> None:
    stream = LINE.replace(b"7}", b'7, "go": "signal"}') if wants else LINE
    ear = InspectorSocket("abc")
    while stream and not ear.hears(stream[:size]):
        stream = stream[size:]
    assert ear.wants_signal is wants


def test_a_line_of_another_program_asks_for_no_signal() -> None:
    ear = InspectorSocket("abc")
    assert ear.hears(b'{"go": "signal"}\n' + LINE + b'{"go": "signal"}\n')
    assert not ear.wants_signal


@pytest.mark.parametrize(
    "stream", [b'\x1ecx:xyz:{"ready": 1}\n', b'\x1ecx:abc:{"row": {"ready": 1}}\n', b"ready\n", LINE[:-1]]
)
def test_other_lines_are_not(stream: bytes) -> None:
    assert not InspectorSocket("abc").hears(stream)

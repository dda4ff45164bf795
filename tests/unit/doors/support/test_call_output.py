"""The probe's lines are told apart from everything else, and whoever fakes them badly is caught."""

import json

import pytest

from pytest_codexsandbox.doors.support.call_output import Spoken, parse

NONCE = "n0nce"


def line(**message: object) -> bytes:
    return f"\x1ecx:{NONCE}:{json.dumps(message)}\n".encode()


READY = line(ready={"pid": 2})


def row(act: str, **words: object) -> bytes:
    return line(row={"act": act, "ok": True, **words})


def heard(*parts: bytes, asked: tuple[str, ...] = ("a", "b")) -> Spoken:
    return parse(b"".join(parts), NONCE, asked)


def test_a_whole_talk_is_understood() -> None:
    said = heard(READY, row("a", value="1"), row("b", errno="EROFS"), line(done=2))
    assert (said.ready, said.finished, said.error, said.rest) == (True, True, "", b"")
    assert (said.rows["a"].value, said.rows["b"].errno) == ("1", "EROFS")


def test_output_of_other_programs_is_kept_to_the_byte() -> None:
    said = heard(
        b"WARNING\n", READY, b"\x00\xff no end", row("a"), b"\n\x1ecx:other:{}\n", row("b"), line(done=2), b"bye"
    )
    assert said.rest == b"WARNING\n\x00\xff no end\n\x1ecx:other:{}\nbye"
    assert said.finished and not said.error


def test_a_probe_that_was_cut_off_did_not_finish_and_did_not_lie() -> None:
    said = heard(READY, row("a"), row("b")[:-9])
    assert (said.ready, said.finished, said.error, set(said.rows)) == (True, False, "", {"a"})


def test_silence_is_not_readiness() -> None:
    said = heard(b"all fine\n")
    assert (said.ready, said.finished, said.error) == (False, False, "")


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ((READY, f"\x1ecx:{NONCE}:{{bad\n".encode()), "not a JSON object"),
        ((READY, f"\x1ecx:{NONCE}:[1]\n".encode()), "not a JSON object"),
        ((READY, row("a"), row("a")), "a second row"),
        ((READY, row("c")), "not requested"),
        ((READY, line(row={"act": "a"})), "not a row"),
        ((READY, line(row={"act": "a", "ok": "yes"})), "not a row"),
        ((READY, row("a"), row("b"), line(done=2), row("a")), "after the end"),
        ((READY, row("a"), line(done=1)), "before every act"),
        ((READY, row("a"), row("b"), line(done=7)), "before every act"),
        ((READY, READY), "repeated"),
        ((row("a"),), "too early"),
        ((line(done=0),), "too early"),
        ((READY, line(ready={"pid": 1}, done=2)), "unknown"),
    ],
)
def test_nonsense_with_our_nonce_is_an_error_and_never_a_finished_probe(parts: tuple[bytes, ...], why: str) -> None:
    said = heard(*parts)
    assert why in said.error
    assert not said.finished


def test_without_a_started_probe_no_row_is_accepted() -> None:
    assert "not requested" in heard(READY, row("a"), asked=()).error

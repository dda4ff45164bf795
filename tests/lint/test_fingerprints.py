"""Every fingerprint recognises its own samples, refuses its near misses, and no two claim the same words equally."""

import re

import pytest

from pytest_codexsandbox.diagnosis.builtin_causes import DERIVED
from pytest_codexsandbox.diagnosis.fact_conditions import searchable
from pytest_codexsandbox.diagnosis.fingerprint import DECIDES, GAP, Fingerprint
from pytest_codexsandbox.diagnosis.match import candidates, fingerprints, match
from tools.fingerprints_page import page

ALL = {each.id: each for each in fingerprints()}
each_fingerprint = pytest.mark.parametrize("known", ALL.values(), ids=ALL)


def test_there_are_fingerprints_for_the_texts_that_are_known() -> None:
    assert len(ALL) > 150


@each_fingerprint
def test_it_is_the_first_answer_for_its_own_samples(known: Fingerprint) -> None:
    for sample in known.samples.match:
        said = match(sample, facts=known.samples.facts)
        assert said is not None, sample
        assert said.fingerprint == known.id, sample


@each_fingerprint
def test_it_is_not_the_answer_for_its_near_misses(known: Fingerprint) -> None:
    for sample in known.samples.unlike:
        said = match(sample, facts=known.samples.facts)
        assert said is None or said.fingerprint != known.id, sample


@each_fingerprint
def test_no_other_claims_a_sample_as_specifically(known: Fingerprint) -> None:
    for sample in known.samples.match:
        found = candidates(searchable(sample), known.samples.facts, tuple(ALL.values()))
        own = next(each for each in found if each.fingerprint.id == known.id)
        equal = [each.fingerprint.id for each in found if each.weight == own.weight and each is not own]
        assert equal == [], sample


@each_fingerprint
def test_every_text_of_it_has_at_most_three_gaps(known: Fingerprint) -> None:
    assert all(words.count(GAP) <= 3 for words in (*known.texts, *known.together))


@each_fingerprint
def test_its_words_are_plain_and_whole(known: Fingerprint) -> None:
    for text in (known.cause, known.remedy):
        assert text.strip() == text
        assert text.isprintable()
        assert 10 <= len(text) <= 500
    assert known.cause.endswith((".", ")"))
    assert known.link == "" or known.link.startswith("https://")


@each_fingerprint
def test_an_undecided_fingerprint_names_the_one_command_that_would_decide(known: Fingerprint) -> None:
    said = known.decide or DECIDES
    assert known.verdict == "undecided" or not known.decide
    assert re.fullmatch(r"`[^`]+`[^`]* decides: [^`]+(`[^`]+`[^`]+)?", said), said
    assert known.advice == (f"{known.remedy} {said}" if known.verdict == "undecided" else known.remedy)


@each_fingerprint
def test_every_explained_fingerprint_exists(known: Fingerprint) -> None:
    assert set(known.explains) <= set(ALL)
    assert known.id not in known.explains


def test_consequences_of_a_verdict_have_their_own_names() -> None:
    assert not {each.fingerprint for each in DERIVED} & set(ALL)


def test_every_row_of_the_reference_page_has_the_same_cells() -> None:
    rows = [line for line in page().splitlines() if line.startswith("| `")]
    assert len(rows) == len(ALL)
    assert {line.count(" | ") for line in rows} == {4}

"""Match: finds the known causes in a text, the most specific first. Pure and bounded in time."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.diagnosis.fact_conditions import NO_FACTS, contradicted, holds, searchable, unwrapped
from pytest_codexsandbox.diagnosis.fingerprint import REACH, Fingerprint, Span, find, load_all
from pytest_codexsandbox.diagnosis.remedy_text import remedies_here
from pytest_codexsandbox.model.record import Diagnosis

QUOTE: Final = 300
# The text of an errno alone is shorter than this; it adds nothing to another cause in the same line.
BARE: Final = 25
_NAME: Final = re.compile(r"[\w*/]+")


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A fingerprint that fits a text, with its places and its weight."""

    fingerprint: Fingerprint
    weight: int
    best: Span  # the words that weigh most
    spans: tuple[Span, ...]

    @property
    def order(self) -> tuple[bool, int, int, str]:
        return (self.fingerprint.note, -self.weight, self.best[0], self.fingerprint.id)


@cache
def fingerprints(folders: tuple[Path, ...] = ()) -> tuple[Fingerprint, ...]:
    """Returns every known fingerprint: the shipped ones, and those of `folders`."""
    return load_all(folders)


def match(
    text: str, *, facts: Mapping[str, str] = NO_FACTS, fingerprints: Sequence[Fingerprint] | None = None
) -> Diagnosis | None:
    """Returns the most specific cause that the text matches; None without one."""
    found = matches(text, facts=facts, fingerprints=fingerprints)
    return found[0] if found else None


def matches(
    text: str, *, facts: Mapping[str, str] = NO_FACTS, fingerprints: Sequence[Fingerprint] | None = None
) -> tuple[Diagnosis, ...]:
    """Returns every distinct cause in the text. Words that a more specific cause has matched are not used again."""
    known = _shipped() if fingerprints is None else fingerprints
    plain = searchable(text)
    for form in (plain, unwrapped(plain)):  # a terminal may have broken the words into lines
        found = _distinct(candidates(form, facts, known), form)
        if found:
            return tuple(_said(candidate, form, facts) for candidate in found)
    return ()


def candidates(text: str, facts: Mapping[str, str], known: Sequence[Fingerprint]) -> list[Candidate]:
    """Returns every fitting fingerprint, the most specific first, with overlaps."""
    line = unwrapped(text)
    possible = (
        each
        for each in known
        if holds(each.when, facts) and not contradicted(each.unless, facts) and not _ruled_out(each, line)
    )
    fitting = [_fit(fingerprint, text) for fingerprint in possible]
    return sorted((candidate for candidate in fitting if candidate), key=lambda candidate: candidate.order)


def _ruled_out(fingerprint: Fingerprint, line: str) -> bool:
    return any(words in line for words in fingerprint.without)


def _fit(fingerprint: Fingerprint, text: str) -> Candidate | None:
    found = [(fingerprint.weight(words), span) for words in fingerprint.texts for span in find(words, text)]
    if not found:
        return None
    others = [tuple(find(words, text)) for words in fingerprint.together]
    if not all(others):
        return None
    weight, best = max(found, key=lambda pair: (pair[0], -pair[1][0]))
    spans = [span for _, span in found] + [span for each in others for span in each]
    return Candidate(fingerprint=fingerprint, weight=weight, best=best, spans=tuple(sorted(set(spans))))


def _distinct(found: Sequence[Candidate], text: str) -> list[Candidate]:
    kept: list[Candidate] = []
    taken = bytearray(len(text))
    explained: set[str] = set()
    for candidate in found:
        places = candidate.spans if candidate.weight >= BARE else [_line_of(span, text) for span in candidate.spans]
        said = candidate.fingerprint.id in explained
        if not said and all(any(taken[start:end]) for start, end in places):
            continue
        for start, end in candidate.spans:
            taken[start:end] = b"\1" * (end - start)
        if not said:
            kept.append(candidate)
            explained.update(candidate.fingerprint.explains)
    return kept


def _line_of(span: Span, text: str) -> Span:
    """Returns the line around a span, as far as a gap may reach."""
    start = max(text.rfind("\n", 0, span[0]) + 1, span[0] - REACH)
    end = text.find("\n", span[1], span[1] + REACH)
    return start, end if end >= 0 else span[1] + REACH


def _said(candidate: Candidate, text: str, facts: Mapping[str, str]) -> Diagnosis:
    known = candidate.fingerprint
    start, end = candidate.best
    remedies = remedies_here(known.id, facts)
    return Diagnosis(
        fingerprint=known.id,
        cause=known.cause,
        remedy=known.advice,
        link=known.link,
        verdict=known.verdict,
        ways=tuple(words for words, _ in remedies),
        remedies=tuple(one for _, one in remedies),
        quote=text[start : min(_whole_word(text, end), start + QUOTE)].strip(),
    )


def _whole_word(text: str, end: int) -> int:
    """Extends a quote to the end of a word, because a pattern may end inside one."""
    inside = _NAME.match(text, max(0, end - 1))
    return inside.end() if inside else end


def _shipped() -> tuple[Fingerprint, ...]:
    return fingerprints()

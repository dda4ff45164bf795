"""The HTML page: self-contained, complete, and deaf to what a program under test says."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.verdict import SIGNS, Verdict
from pytest_codexsandbox.reports.grid import grid
from pytest_codexsandbox.reports.html import render
from tests.unit.reports import builders, container_builders

FOLDER = Path(".codexsandbox/2026-11-18T09-41-00")
ELEMENTS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "header",
    "main",
    "section",
    "footer",
    "h1",
    "h2",
    "h3",
    "p",
    "ul",
    "li",
    "dl",
    "dt",
    "dd",
    "b",
    "q",
    "span",
    "div",
    "details",
    "summary",
    "code",
    "pre",
    "a",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "label",
    "input",
}
VOID = {"meta", "input"}


class Page(HTMLParser):
    """Elements with their attributes, and the text, as a browser would take them apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.text = ""
        self.style = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.style += data
        else:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def page(made: ReadJournal) -> Page:
    return Page(render(made, FOLDER))


@pytest.mark.parametrize("kind", sorted(container_builders.KINDS))
def test_the_page_is_well_formed_and_made_of_plain_elements(kind: str) -> None:
    made = page(container_builders.KINDS[kind]())
    assert not made.open
    assert {name for name, _ in made.elements} <= ELEMENTS


@pytest.mark.parametrize("kind", sorted(container_builders.KINDS))
def test_the_page_loads_nothing_and_runs_nothing(kind: str) -> None:
    made = page(container_builders.KINDS[kind]())
    for name, attributes in made.elements:
        assert not {"src", "srcset", "style", "action", "data"} & attributes.keys(), name
        assert not [attribute for attribute in attributes if attribute.startswith("on")]
        assert re.match(r"#[a-z]+-\d+$|https?://", attributes.get("href", "#cause-1"))
    assert "url(" not in made.style
    assert "@import" not in made.style


def test_the_policy_allows_exactly_the_style_sheet_of_the_page() -> None:
    made = page(builders.green())
    policy = next(meta["content"] for meta in made.all("meta") if "http-equiv" in meta)
    digest = base64.b64encode(hashlib.sha256(made.style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    text = render(builders.hostile(), FOLDER)
    made = Page(text)
    assert "<script>alert(1)</script>" in made.text
    assert "{{ 7*7 }}" in made.text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", text)
    assert not [link for link in made.all("a") if "javascript" in link["href"]]
    assert len(text) < 400_000


@pytest.mark.parametrize("kind", sorted(container_builders.KINDS))
def test_every_planned_key_of_the_cells_shown_is_a_sign_in_the_matrix(kind: str) -> None:
    made = container_builders.KINDS[kind]()
    table = grid(made)
    shown = {group.first for group in table.groups}
    planned = [record for key, record in made.states().items() if key.cell in shown]
    body = render(made, FOLDER).split("<tbody>", 1)[1].split("</table>")[0]
    rows = re.findall(r'<tr class="promise">(.*?)</tr>', body, re.DOTALL)
    signs = re.findall(r'title="[^"]+">(?:<a [^>]+>)?(\S)<span class="heard">', "".join(rows))
    assert sorted(signs) == sorted(SIGNS[record.verdict] for record in planned)


@pytest.mark.parametrize("kind", sorted(container_builders.KINDS))
def test_every_link_inside_the_page_leads_somewhere(kind: str) -> None:
    made = page(container_builders.KINDS[kind]())
    ids = [attributes["id"] for _, attributes in made.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert {link["href"][1:] for link in made.all("a") if link["href"].startswith("#")} <= set(ids)


def test_a_red_sign_leads_to_its_cause() -> None:
    made = render(builders.red(), FOLDER)
    assert len(re.findall(r'<td class="violates" title="violates"><a href="#cause-', made)) >= 6


def test_a_cause_shows_both_sides_and_its_repro() -> None:
    text = page(builders.red()).text
    assert "8,192 → 12,288 bytes" in text and "written, 11 bytes" in text
    assert "pytest --codex-matrix --codex-only filesystem.outside-refused" in text
    assert "sh '.codexsandbox/2026-11-18T09-41-00/repro/" in text
    assert "codex sandbox -c" in text


def test_a_screen_reader_hears_words_and_not_colours() -> None:
    made = render(builders.red(), FOLDER)
    assert '<span class="heard"> violates</span>' in made
    assert '<html lang="en">' in made


def test_a_run_that_did_not_end_says_so_at_the_top() -> None:
    made = page(builders.incomplete())
    assert made.text.index("INCOMPLETE") < made.text.index("Measurement")


def test_a_green_page_claims_no_more_than_was_measured() -> None:
    green = page(builders.green()).text
    assert "as promised" in green and "known deviation" not in green and "not a success" not in green
    one_known = [
        builders.record(key, verdict=Verdict.CONFORMS if number else Verdict.EXPECTED)
        for number, key in enumerate(builders.keys_of([builders.cell()]))
    ]
    assert "but for 1 known deviation" in page(builders.journal(one_known)).text
    assert "without any sandbox" not in page(builders.journal(one_known)).text
    refused = [
        builders.record(key, verdict=Verdict.EXPECTED, direction="denied", deviation="known")
        if key.promise.startswith("start.")
        else builders.record(key, verdict=Verdict.BLOCKED, reason="x", evidence=())
        for key in builders.keys_of([builders.cell()], policies=("read-only",))
    ]
    assert re.search(r"[a-z ]+ sandbox [a-z]+ 1 of 1 ", page(builders.journal(refused)).text)
    only_blocked = [
        builders.record(key, verdict=Verdict.BLOCKED, reason="x", evidence=())
        for key in builders.keys_of([builders.cell()])
    ]
    text = page(builders.journal(only_blocked, exit=11, reasons=("11 nothing was measured",))).text
    assert "not a success" in text


def test_a_plan_without_any_key_is_still_a_page() -> None:
    assert "Nothing was planned" in page(builders.journal([], keys=[])).text


def _luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(scheme: str) -> None:
    style = page(builders.green()).style
    sets = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    named = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", sets[scheme == "dark"]))
    grounds = [name.removesuffix("-text") for name in named if name.endswith("-text")]
    assert len(grounds) == 7
    pairs = [(f"{ground}-text", ground) for ground in grounds]
    pairs += [(text, ground) for text in ("text", "soft", "link") for ground in ("page", "raised")]
    for text, ground in pairs:
        assert _contrast(named[text], named[ground]) >= 4.5, (text, ground)

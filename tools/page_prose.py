"""Page prose: splits Markdown pages into headings, sentences and table cells, and checks each of them.

Code, shown output and text that is made from the program are left out: they are checked at their source.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

LONGEST: Final = 25
_WORDS: Final = re.compile(
    r"\b(nobody|somebody|anybody|everybody|whoever"
    r"|to be had|be had|of ours|of theirs|in there|out here|wardens?|wards?|nursery|keepers?"
    r"|onlookers?|witness(?:es|ed)?|trespass(?:es)?|bench|workbench|workshops?|tellers?|strain(?:s|ed)?|errands?"
    r"|standing promises?|deck|dealing|rigs?|wish(?:es)?|dear|told|laid|stands?(?!-))\b",
    re.IGNORECASE,
)
_OPENING: Final = re.compile(r"(What|Whether|Of|Who|Whose|Whoever|How|Which)\b", re.IGNORECASE)
_RIDDLE: Final = re.compile(
    r"(What|Whether|Of|Who|Whose|Whoever|How|Which|As|It|They|Them|Theirs|Ours|Less|More|Asked|Told)\b"
)
_MADE: Final = ("docs/reference/fingerprints.md",)
_HEAD_WRITTEN: Final = ("docs/reference/cli.md", "docs/reference/promises.md")
_HISTORY: Final = "CHANGELOG.md"  # its entries keep their length
_TABLES_MADE: Final = ("docs/reference/options.md", "docs/reference/profiles.md")
_LEFT_OUT: Final = (
    re.compile(r"<!-- (?P<name>[\w-]+): begin -->.*?<!-- (?P=name): end -->", re.DOTALL),
    re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE),
    re.compile(r"<!--.*?-->", re.DOTALL),
)
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE: Final = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_CODES: Final = re.compile(r"CODE(?:,? (?:and |or )?CODE)+")
_ITEM: Final = re.compile(r"^ *(?:[-*+]|\d+\.) +")
_STOP: Final = re.compile(r"(?<=[.!?…])[)\"'*]*\s+(?=[\"'(*]*[A-Z0-9])")
_WORD: Final = re.compile(r"[^\W_]")


class Part(NamedTuple):
    line: int
    kind: str  # heading, cell or text
    text: str


def findings(name: str, markdown: str) -> Iterator[tuple[Part, str]]:
    """Yields each part of a page that breaks a rule, with the rule. `name`: the path of the page in the project."""
    if name in _MADE:
        return
    text = markdown.partition("\n## ")[0] if name in _HEAD_WRITTEN else markdown
    for part in parts(text):
        if part.kind != "cell" or name not in _TABLES_MADE:
            yield from ((part, rule) for rule in _broken_rules(part, longest=0 if name == _HISTORY else LONGEST))


def parts(markdown: str) -> Iterator[Part]:
    """Yields every heading, table cell, list item and paragraph, without code and without text from the program."""
    for pattern in _LEFT_OUT:
        markdown = pattern.sub(lambda match: "\n" * match[0].count("\n"), markdown)
    block: list[str] = []
    start = 1
    for number, line in enumerate([*markdown.split("\n"), ""], 1):
        is_single = line.startswith(("#", "|"))
        if block and (is_single or not line.strip() or _ITEM.match(line)):
            yield Part(start, "text", " ".join(block))
            block = []
        if is_single:
            yield from _single(number, line)
        elif line.strip():
            start = start if block else number
            block.append((line if block else _ITEM.sub("", line)).strip())


def sentences(text: str) -> list[str]:
    """Returns the sentences of one paragraph; a list of code counts as one word, a link as its text."""
    return _STOP.split(_CODES.sub("CODE", _plain(text, code="CODE")))


def _single(number: int, line: str) -> Iterator[Part]:
    if line.startswith("#"):
        yield Part(number, "heading", line.lstrip("#").strip())
    elif not re.fullmatch(r"[|\s:-]*", line):
        yield from (Part(number, "cell", cell.strip()) for cell in re.split(r"(?<!\\)\|", line.strip("|")))


def _broken_rules(part: Part, longest: int) -> Iterator[str]:
    """Yields each broken rule. `longest`: the number of words of a sentence; 0: any number."""
    plain = _plain(part.text)
    if word := _WORDS.search(plain):
        yield f"{word[0]!r}: name the actor or the thing, or use the word of the trade"
    if part.kind == "heading" and (opening := _RIDDLE.match(plain)):
        yield f"a heading begins with {opening[1]!r}: name its subject"
    for sentence in sentences(part.text) if part.kind == "text" else ():
        if opening := _OPENING.match(sentence):
            yield f"a sentence begins with {opening[1]!r}: name its subject: {sentence}"
        count = sum(1 for word in sentence.split() if _WORD.search(word))
        if longest and count > longest:
            yield f"a sentence has {count} words, more than {longest}: {sentence}"


def _plain(text: str, code: str = "") -> str:
    return _LINK.sub(r"\1", _CODE.sub(code, text)).replace("*", "")

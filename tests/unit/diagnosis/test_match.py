"""Words are found where they stand, the most specific cause wins, and no text makes the search slow."""

import re
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pytest_codexsandbox.diagnosis.fingerprint
from pytest_codexsandbox.diagnosis import fact_conditions
from pytest_codexsandbox.diagnosis.fingerprint import OFTEN, REACH, Fingerprint, Samples, find
from pytest_codexsandbox.diagnosis.match import fingerprints, match, matches
from pytest_codexsandbox.errors import InputError
from tests.unit.diagnosis.builders import SAME

NO_USERNS = (
    "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user "
    "namespaces. See <https://deb.li/bubblewrap> or <file:///usr/share/doc/bubblewrap/README.Debian.gz>."
)


def fingerprint(id: str, *texts: str, **words: object) -> Fingerprint:
    samples = Samples(match=texts, unlike=("nothing",))
    fields: dict[str, object] = {
        "verdict": "sandbox",
        "cause": f"because of {id}",
        "remedy": "do it",
        "samples": samples,
    }
    return Fingerprint(id=id, texts=texts, **(fields | words))  # type: ignore[arg-type]


def found(text: str, *known: Fingerprint, **facts: str) -> list[str]:
    return [each.fingerprint for each in matches(text, facts=facts, fingerprints=known)]


def test_an_error_text_gets_cause_remedy_link_and_the_words_it_was_known_by() -> None:
    said = match(f"noise before\n{NO_USERNS}\nnoise after")
    assert said is not None
    assert said.fingerprint == "userns-not-permitted"
    assert said.cause
    assert said.remedy
    assert said.link.startswith("https://")
    assert said.quote == "No permissions to create new namespace"
    assert said.verdict == "sandbox"


def test_an_unknown_text_has_no_diagnosis() -> None:
    assert match("all is well") is None
    assert match("") is None
    assert matches("\n\n") == ()


def test_the_most_specific_cause_is_first_and_takes_its_words_away() -> None:
    known = (fingerprint("bare", "denied"), fingerprint("mount", "mount x denied"))
    assert found("mount x denied", *known) == ["mount"]
    assert found("mount x denied\nlater: denied", *known) == ["mount", "bare"]


def test_bare_words_say_nothing_beside_a_cause_in_the_same_line() -> None:
    known = (fingerprint("bare", "Permission denied"), fingerprint("exec", "failed to exec bundled bubblewrap"))
    assert found("failed to exec bundled bubblewrap /x: Permission denied", *known) == ["exec"]


def test_a_condition_on_facts_makes_a_cause_more_specific_and_needs_its_fact() -> None:
    known = (fingerprint("any", "denied"), fingerprint("old", "denied", when={"codex": "<0.115"}))
    assert found("denied", *known) == ["any"]
    assert found("denied", *known, codex="0.99.0") == ["old"]
    assert found("denied", *known, codex="0.115.0") == ["any"]


def test_a_cause_explains_others_away() -> None:
    known = (fingerprint("long", "a long story", explains=("other",)), fingerprint("other", "short"))
    assert found("a long story, in short", *known) == ["long"]


def test_words_that_must_stand_together_must_all_be_there() -> None:
    pair = fingerprint("pair", "first wall", together=("second wall",))
    assert found("first wall", pair) == []
    assert found("first wall\n…\nsecond wall", pair) == ["pair"]


def test_notes_come_after_every_cause() -> None:
    known = (fingerprint("note", "a very long remark", note=True), fingerprint("cause", "oops"))
    assert found("a very long remark\noops", *known) == ["cause", "note"]


def test_the_order_does_not_depend_on_the_order_of_the_fingerprints() -> None:
    text = "\n".join(sample for each in fingerprints() for sample in each.samples.match)
    forth = matches(text, fingerprints=fingerprints())
    back = matches(text, fingerprints=tuple(reversed(fingerprints())))
    assert forth == back
    assert len(forth) > 100


@pytest.mark.parametrize(
    ("words", "text", "fits"),
    [
        ("Can't mkdir …/.git: denied", "x Can't mkdir /srv/data/.git: denied y", True),
        ("Can't mkdir …/.git: denied", "Can't mkdir /srv/data\n/.git: denied", False),
        ("Can't mkdir …/.git: denied", f"Can't mkdir /{'a' * (REACH + 20)}/.git: denied", False),
        ("Can't mkdir …/.git: denied", "Can't mkdir /a/.git: allowed, Can't mkdir /b/.git: denied", True),
        ("lookup …: no such host", "lookup : no such host", True),
        ("lookup …: no such host", "no such host: lookup", False),
        ("a…b…c", "abc", True),
        ("a…b…c", "a c b", False),
    ],
)
def test_a_gap_matches_anything_short_on_the_same_line(words: str, text: str, fits: bool) -> None:
    assert bool(list(find(words, text))) is fits


@SAME
@given(st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=3), st.text("abc", max_size=30))
def test_gaps_find_what_a_regular_expression_would_find(pieces: list[str], text: str) -> None:
    """With short texts no gap is too long, so only the order of the pieces counts."""
    fits = re.search(".*".join(map(re.escape, pieces)), text) is not None
    if list(find("…".join(pieces), text)):
        assert fits


def test_a_text_that_a_terminal_has_broken_into_lines_is_recognised() -> None:
    said = match(NO_USERNS.replace("create ", "create  \n   "))
    assert said is not None
    assert said.fingerprint == "userns-not-permitted"


@pytest.mark.parametrize(
    "text",
    [
        "bwrap: Can’t mount proc on /newroot/proc: Operation not permitted",
        "\x1b[31mbwrap:\x1b[0m Can't mount proc on /newroot/proc:\u00a0Operation not permitted",
    ],
)
def test_a_text_from_a_web_page_or_in_colour_is_recognised(text: str) -> None:
    said = match(text)
    assert said is not None
    assert said.fingerprint == "proc-mount-refused"


def test_a_quote_is_bounded() -> None:
    said = match("Can't mkdir " + "a" * (REACH - 10) + "/.git: Permission denied")
    assert said is not None
    assert len(said.quote) <= 300


HOSTILE = [
    "bwrap: Can't mkdir " * 60_000,
    "lookup " * 150_000,
    "/.git/" * 170_000,
    " " * 1_000_000,
    "\n" * 1_000_000,
    "\x1b[" + "0" * 1_000_000,
    "\x1b[" * 500_000,
    "a" * 1_000_000,
    "Permission denied" * 60_000,
    "'" * 1_000_000,
    'invalid type: string "' * 45_000,
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_megabyte_of_hostile_text_costs_a_bounded_number_of_steps(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps, not seconds: how often a pattern is tried does not depend on the text."""
    tried = 0
    really = pytest_codexsandbox.diagnosis.fingerprint._backwards

    def counting(*words: object) -> int:
        nonlocal tried
        tried += 1
        return really(*words)  # type: ignore[arg-type]

    monkeypatch.setattr("pytest_codexsandbox.diagnosis.fingerprint._backwards", counting)
    matches(HOSTILE[number])
    patterns = sum(len(each.texts) + len(each.together) for each in fingerprints())
    assert tried <= 2 * patterns * OFTEN  # two forms: as it is, and in one line


def test_a_text_that_is_too_long_is_searched_at_head_and_tail() -> None:
    filler = "x\n" * fact_conditions.HALF
    assert match(f"{NO_USERNS}\n{filler}") is not None
    assert match(f"{filler}\n{NO_USERNS}") is not None
    assert len(fact_conditions.searchable(filler * 3)) <= 2 * fact_conditions.HALF + 1


# ---- facts
@pytest.mark.parametrize(
    ("wanted", "fact", "met"),
    [
        ("0", "0", True),
        ("0", "1", False),
        ("darwin*", "Darwin 25.5", True),
        (">=0.118,<0.126", "0.125.0", True),
        (">=0.118,<0.126", "codex-cli 0.128.0", False),
        ("<0.115", "0.115.0-alpha.3", False),
        (">=6.8", "6.8.0-149-generic", True),
        (">=6.8", "not a version", False),
    ],
)
def test_conditions_are_globs_or_ranges_of_versions(wanted: str, fact: str, met: bool) -> None:
    assert fact_conditions.holds({"it": wanted}, {"it": fact}) is met


def test_a_missing_fact_matches_nothing() -> None:
    assert not fact_conditions.holds({"codex": "*"}, {})
    assert fact_conditions.holds({}, {})


def test_nested_facts_have_dotted_names_and_are_found_by_their_last_words() -> None:
    facts = fact_conditions.flatten(
        {"sysctls": {"kernel.x": 0}, "uid": 1000, "lsms": ["a", "b"], "root": False, "none": None}
    )
    assert facts == {"sysctls.kernel.x": "0", "uid": "1000", "lsms": "a,b", "root": "0"}
    assert fact_conditions.holds({"kernel.x": "0"}, facts)
    assert not fact_conditions.holds({"nel.x": "0"}, facts)


# ---- files
GOOD = """id = "my-own"
verdict = "sandbox"
texts = ["my own words"]
cause = "c"
remedy = "r"
[samples]
match = ["my own words"]
not = ["others"]
"""


def test_a_folder_of_ones_own_adds_fingerprints(tmp_path: Path) -> None:
    (tmp_path / "my-own.toml").write_text(GOOD)
    known = fingerprints((tmp_path,))
    assert len(known) == len(fingerprints()) + 1
    said = match("here are my own words", fingerprints=known)
    assert said is not None
    assert said.fingerprint == "my-own"


@pytest.mark.parametrize(
    ("change", "name", "said"),
    [
        (("texts =", "texs ="), "my-own", "texs"),
        (('"sandbox"', '"maybe"'), "my-own", "maybe"),
        (("[samples]", "[samples"), "my-own", "line 6"),
        (("id = ", "id = "), "another", "file's name"),
        (('["my own words"]\ncause', '["…ab…"]\ncause'), "my-own", "four characters"),
        (('not = ["others"]', "not = []"), "my-own", "samples.not"),
        (("[samples]", '[when]\ncodex = "<abc"\n[samples]'), "my-own", "codex = '<abc'"),
    ],
)
def test_a_fingerprint_that_cannot_be_used_names_file_and_reason(
    change: tuple[str, str], name: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / f"{name}.toml"
    path.write_text(GOOD.replace(*change))
    with pytest.raises(InputError) as raised:
        fingerprints((tmp_path,))
    assert str(path) in str(raised.value)
    assert said in str(raised.value)


def test_one_id_twice_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "userns-not-permitted.toml").write_text(GOOD.replace("my-own", "userns-not-permitted"))
    with pytest.raises(InputError, match="defined twice"):
        fingerprints((tmp_path,))


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        fingerprints((tmp_path / "nothing",))


DOCKER = (
    "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: "
    'Get "http://%2Fvar%2Frun%2Fdocker.sock/v1.50/containers/json": dial unix /var/run/docker.sock: connect: '
)


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"{DOCKER}operation not permitted", "unix-connect-refused"),
        (f"{DOCKER}permission denied", "docker-socket-permission"),
        (
            "permission denied while trying to connect to the docker API at unix:///var/run/docker.sock",
            "docker-refused-without-errno",
        ),
    ],
)
def test_the_errno_of_a_refused_docker_socket_decides_alone(text: str, cause: str, wrapped: bool) -> None:
    """EPERM is the sandbox's filter, EACCES the file mode; without an errno the cause is undecided."""
    shown = "\n".join(textwrap.wrap(text, 76, break_on_hyphens=False)) if wrapped else text
    assert [one.fingerprint for one in matches(shown)] == [cause]

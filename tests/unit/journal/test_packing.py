"""Parts: whatever the lines of a journal hold, reading them back gives the same lines."""

import string
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_codexsandbox.journal import store
from pytest_codexsandbox.journal.packer import Packer
from pytest_codexsandbox.journal.part_store import PartStore, refer
from pytest_codexsandbox.journal.references import Parts
from pytest_codexsandbox.model.act import ActResult, Given, PathState
from pytest_codexsandbox.model.journal_lines import CallLine, EnvironmentLine, Line, PlanLine, ResultLine, StoryLine
from pytest_codexsandbox.model.observation import Observation, ProcReading
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.record import Diagnosis, Evidence, Record, RemedyHere
from pytest_codexsandbox.model.redact import redact_json
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.model.world import World
from tests.unit.journal.builders import content_of
from tests.unit.reports import builders, container_builders, generator_builders

pytestmark = pytest.mark.usefixtures("results_without_basis")

# Words that a subject could print to look like an escape, a number, or a word of its own call.
ODD = ("\\", '"', "\n", "\x1f", "æ", "/w/e/w1", "c0ffee", "true", "1e99", "$", "#", "}", "]")
WORDS = st.lists(st.sampled_from((*ODD, "a", "B", "7", "-", "_", " ", "nonce-1", "world-1", "x" * 70)), max_size=6).map(
    "".join
)
NUMBERS = st.one_of(st.just(0), st.integers(0, 2**40))
MILLISECONDS = st.one_of(st.just(0.0), st.floats(0, 1e9))
NONCES = st.sampled_from(("nonce-1", "c0ffee00c0ffee00", "true", "00001e99", "", "b57d", "door"))
IDS = st.sampled_from(("world-1w3", "w3", "null", "c0ffee", "n", ""))
FOLDERS = st.sampled_from(("/w/e/w1", "/w/e", "/", "", '/a "b"/ü\n', "/w/e/w1/w/e/w1"))
MAPS = st.one_of(st.just(tuple("ab")), st.just(tuple(string.ascii_lowercase[:12])))


GIVEN = st.builds(Given, kind=st.just("file"), path=WORDS, content=WORDS)


def _given() -> Any:
    return st.dictionaries(WORDS, st.lists(GIVEN, max_size=2).map(tuple), max_size=2)


LOOKS = st.builds(
    PathState,
    path=WORDS,
    kind=st.sampled_from(("missing", "file")),
    inode=NUMBERS,
    text=WORDS,
    names=st.lists(WORDS, max_size=5).map(tuple),
)
PORTS = st.dictionaries(st.sampled_from(("HTTP", "DNS", "HOME")), st.one_of(WORDS, st.just("40001")))
WORLDS = st.one_of(st.none(), st.builds(World, id=IDS, folder=FOLDERS, values=PORTS))
SPACES = st.dictionaries(st.sampled_from(("mnt", "net")), st.sampled_from(("mnt:[4026531835]", "net:[12]", "")))
NAMED = st.sampled_from(("cell-1", "a long name of a cell~with~many~values"))


@st.composite
def readings(draw: st.DrawFn) -> ProcReading:
    return ProcReading(
        pid=draw(NUMBERS),
        namespaces=draw(SPACES),
        seccomp=0,
        filters=0,
        no_new_privs=0,
        cap_eff="",
        cap_bnd="",
        uid_map=draw(WORDS),
        stdout_is_ours=True,
        chain=(),
        hand_namespaces=draw(SPACES),
        hand_seccomp=0,
        hand_filters=0,
        hand_no_new_privs=0,
        hand_cap_eff="",
    )


@st.composite
def calls(draw: st.DrawFn) -> CallLine:
    names, nonce = draw(MAPS), draw(NONCES)
    door, policy = draw(st.sampled_from(("sandbox", "a"))), draw(st.sampled_from(("read-only", "b")))
    seen = Observation(
        id=f"{door}-{policy}-{nonce}",
        door=door,
        policy=policy,
        nonce=nonce,
        cwd=draw(WORDS),
        ended="exit",
        env=draw(st.dictionaries(WORDS, WORDS)),
        code=draw(NUMBERS),
        seconds=draw(MILLISECONDS),
        argv=tuple(draw(st.lists(st.one_of(WORDS, st.just("QUJD" * 40)), max_size=3))),
        stdout_sha256="",
        stdout_total=0,
        stdout=draw(WORDS),
        stderr=draw(WORDS),
        rows={name: ActResult(act=name, ok=True, ms=draw(MILLISECONDS), value=draw(WORDS)) for name in names},
        before={name: draw(LOOKS) for name in names},
        after={name: draw(LOOKS) for name in names},
        arrivals=tuple(draw(st.lists(WORDS, max_size=2))),
        readings=tuple(draw(st.lists(readings(), max_size=1))),
        world=draw(WORLDS),
        given=draw(_given()),
    )
    return CallLine(
        id=seen.id,
        environment="e",
        subject="s",
        cell=draw(NAMED),
        observation=seen,
        stdin=draw(WORDS),
        timeout=draw(MILLISECONDS),
    )


@st.composite
def results(draw: st.DrawFn) -> ResultLine:
    nonce = draw(NONCES)
    call = draw(st.sampled_from((f"sandbox-read-only-{nonce}", f"a-b-{nonce}", "story of a case", "")))
    policy = draw(st.sampled_from(("read-only", "b")))
    key = Key(cell=draw(WORDS), door="sandbox", policy=policy, promise="p.q", case=draw(WORDS))
    rows = st.builds(
        Evidence,
        claim=WORDS,
        act=WORDS,
        nonce=st.just(nonce),
        call=st.just(call),
        control=WORDS,
        saw=WORDS,
        reason=WORDS,
        control_held=st.booleans(),
        held=st.booleans(),
    )
    remedies = st.builds(RemedyHere, name=WORDS, turns=WORDS, proof=WORDS, price=WORDS)
    found = st.builds(
        Diagnosis,
        fingerprint=WORDS,
        cause=WORDS,
        quote=st.one_of(WORDS, st.just(nonce)),
        ways=st.lists(WORDS, max_size=2).map(tuple),
        remedies=st.lists(remedies, max_size=2).map(tuple),
    )
    return ResultLine.of(
        Record(
            key=key,
            verdict=Verdict.CONFORMS,
            attempt=draw(st.integers(1, 2)),
            reason=draw(WORDS),
            seconds=draw(MILLISECONDS),
            evidence=tuple(draw(st.lists(rows, max_size=3))),
            diagnosis=draw(st.one_of(st.none(), found)),
            environment=draw(WORDS),
            subject=draw(WORDS),
            calls=(call,) if call else (),
            repro=draw(st.one_of(st.just(""), WORDS)),
        )
    )


FACTS = st.dictionaries(WORDS, st.one_of(WORDS, NUMBERS, st.none(), st.dictionaries(WORDS, WORDS)), max_size=10)
ENVIRONMENTS = st.builds(EnvironmentLine, id=WORDS, spec=WORDS, facts=FACTS)
LINES = st.lists(st.one_of(calls(), results(), ENVIRONMENTS), min_size=1, max_size=6)


def _read_back(packed: list[bytes], parts: Parts) -> Line:
    for part in packed[:-1]:
        parts.add(part)
    read: Line = msgspec.json.decode(parts.whole(packed[-1]), type=Line)
    return read


def _packed_and_read(lines: list[Line]) -> list[Line]:
    packer, parts = Packer(), Parts()
    return [_read_back(packer.packed(line, msgspec.json.encode(line))[0], parts) for line in lines]


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(LINES)
def test_a_line_is_read_as_it_was_written(lines: list[Line]) -> None:
    assert _packed_and_read(lines) == lines


@pytest.mark.parametrize("text", ["⟦0⟧", "⟦cell⟧", "⟦", '{"$":["0123456789ab"]}', '{"#":[0,0]}'])
@pytest.mark.parametrize("around", ["", "x" * 80])
def test_a_text_like_a_reference_stays_a_text(text: str, around: str) -> None:
    facts: list[dict[str, Any]] = [
        {"said": text + around},
        {text: around},
        {"$": [around]},
        {"#": [0, 0]},
        {around: {"$": ["0123456789ab"]}},
    ]
    lines: list[Line] = [EnvironmentLine(id=text, spec=around, facts=one) for one in facts]
    lines += [_result(reason=text + around), _result(reason=around + text, repro=text)]
    assert _packed_and_read([*lines, *lines]) == [*lines, *lines]


def _result(**members: Any) -> ResultLine:
    key = Key(cell="c", door="d", policy="p", promise="a.b")
    return ResultLine.of(Record(key=key, verdict=Verdict.CONFORMS, **members))


def test_like_results_keep_what_differs_between_them() -> None:
    lines: list[Line] = [
        _result(
            seconds=seconds,
            calls=(call,),
            diagnosis=Diagnosis(fingerprint="f", cause=f"the call {call} of " + "x" * 60),
        )
        for seconds in (0.0, 1.5, 0.0)
        for call in ("d-p-0123456789abcdef", "d-p-fedcba9876543210")
    ]
    assert _packed_and_read(lines) == lines


@pytest.mark.parametrize("text", ["a]b", "]", '"],"', "\\", "{", '}{"claim":', ',"reason":""'])
def test_odd_texts_leave_each_line_json(text: str) -> None:
    row = Evidence(
        claim=text, act="a", nonce="n", call=text, control=text, control_held=True, saw=text, held=True, diff=text
    )
    line, packer = _result(calls=(text, "b"), reason=text, evidence=(row,)), Packer()
    for one in packer.packed(line, msgspec.json.encode(line))[0]:
        assert msgspec.json.decode(one)
    assert _packed_and_read([line, line]) == [line, line]


def test_two_parts_with_the_same_first_digits_are_two_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids are the first digits of a digest. Here they are so few that most parts collide."""
    monkeypatch.setattr("pytest_codexsandbox.journal.part_store.ID", 1)
    packer = Packer()
    kinds = (builders.red(), container_builders.KINDS["hostile"]())
    lines = [line for kind in kinds for line in builders.lines_of(kind)]
    packed = [line for one in lines for line in packer.packed(one, msgspec.json.encode(one))[0]]
    ids = [msgspec.json.decode(line)["id"] for line in packed if line.startswith(b'{"line":"part"')]
    assert len(ids) == len(set(ids)) > 16 and max(map(len, ids)) > 1


EVERY = {**container_builders.KINDS, **generator_builders.KINDS}


@pytest.mark.parametrize("kind", sorted(EVERY))
def test_a_journal_is_read_as_it_was_written(tmp_path: Path, kind: str) -> None:
    made = EVERY[kind]()
    plain, packed = tmp_path / "plain.ndjson", tmp_path / "packed"
    run, plan, *rest = builders.lines_of(made)
    lines = [run, plan, *made.stories, *made.claims, *rest]
    plain.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    writer = store.JournalWriter.open(packed, run)  # type: ignore[arg-type]
    for line in lines[1:]:
        writer.write(line)
    writer.close()
    assert content_of(store.read(packed)) == content_of(store.read(plain))


TOKEN = "gh" + "p_0123456789abcdefABCDEF0123456789abcd"
HIDERS = st.sampled_from(
    ("{}", "a {} b", "GITHUB_TOKEN={}", "x" * 80 + " {}", "https://me:{}@example.org/", "\n{}", '{{"API_KEY": "{}"}}')
)


@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=30)
@given(LINES, st.data())
def test_a_credential_is_in_no_line_and_in_no_part(
    tmp_path_factory: pytest.TempPathFactory, lines: list[Line], data: Any
) -> None:
    place = data.draw(st.integers(0, len(lines) - 1))
    secret = data.draw(HIDERS).format(TOKEN)
    key = Key(cell="c", door="d", policy="p", promise="a.b")
    hiders: list[Line] = [
        EnvironmentLine(id="e", spec="s", facts={"GITHUB_TOKEN": "hunter2" * 20, "said": secret}),
        _result(reason=secret, diagnosis=Diagnosis(fingerprint="f", cause=secret)),
    ]
    written = [*lines[:place], *hiders, *lines[place:]]
    writer = store.JournalWriter.open(tmp_path_factory.mktemp("run"), builders.green().run)
    writer.write(PlanLine(digest="", cells=(), promises=(), keys=(key,)))
    for line in written:
        writer.write(line)
    writer.close()
    content = writer.path.read_bytes()
    assert TOKEN.encode() not in content and b"hunter2" not in content
    redacted = [msgspec.json.decode(redact_json(msgspec.json.encode(line)), type=Line) for line in written]
    parts = Parts()
    found: list[Line] = []
    for one in content.splitlines():
        bare = one[: one.rindex(b',"sum":')] + b"}"
        if bare.startswith(b'{"line":"part"'):
            parts.add(bare)
        else:
            found.append(msgspec.json.decode(parts.whole(bare), type=Line))
    assert found[2:] == redacted


def test_a_hint_of_a_credential_is_found_behind_two_parts_of_one_line() -> None:
    """A later line that names only the outer part is redacted as the line with the hint is."""
    parts = PartStore()
    hint = parts.part(b'"GITHUB_TOKEN="')
    assert parts.done(b"{}")[1], "the part itself"
    inner = parts.part(b'{"text":%s}' % refer(hint))
    outer = b'{"object":%s}' % refer(inner)
    parts.part(outer)
    parts.done(b"{}")
    assert not parts.done(b"{}")[1], "a line without a part"
    parts.part(outer)
    assert parts.done(b"{}")[1]


def test_a_journal_of_equal_calls_is_small(tmp_path: Path) -> None:
    made = generator_builders.both()
    story = made.stories[0]
    writer = store.JournalWriter.open(tmp_path, made.run)
    writer.write(made.plan)
    sizes = []
    for number in range(3):
        before = writer.path.stat().st_size
        writer.write(msgspec.structs.replace(story, id=f"s{number}"))
        sizes.append(writer.path.stat().st_size - before)
    writer.close()
    assert isinstance(story, StoryLine) and sizes[1] == sizes[2] < len(msgspec.json.encode(story)) / 3

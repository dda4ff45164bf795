"""`codexsandbox diagnose`: from a pasted text or an old journal to a cause and what to do."""

import io
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.cli import main
from pytest_codexsandbox.diagnosis.builtin_causes import NEVER_RAN
from pytest_codexsandbox.diagnosis.match import fingerprints
from pytest_codexsandbox.journal.running_sum import resealed
from pytest_codexsandbox.journal.store import JournalWriter
from pytest_codexsandbox.model.journal_lines import RunLine
from pytest_codexsandbox.model.record import Diagnosis, Record
from pytest_codexsandbox.model.verdict import WORST_FIRST, Verdict
from tests.unit.reports import builders, line_builders

pytestmark = pytest.mark.usefixtures("results_without_basis")

NO_USERNS = "bwrap: No permissions to create new namespace, likely because the kernel does not allow"
HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e"
LOCAL = builders.cell()
KEYS = builders.keys_of((LOCAL,), ("filesystem.outside-refused", "sqlite.board-outside-refused"), ("read-only",))


def pasted(text: str, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    return main(["diagnose", "-", *words])


def written(folder: Path, *records: Record, stderr: str = "", as_version: str = "") -> Path:
    """A journal on disk in which every call ended before the probe ran."""
    dead: dict[str, Any] = {"ready": False, "finished": False, "rows": {}, "readings": (), "code": 1, "stderr": stderr}
    pairs = dict.fromkeys((record.key.cell, record.key.policy) for record in records)
    calls = [line_builders.call(*pair, **dead) for pair in pairs]
    cells = (msgspec.structs.replace(LOCAL, as_version=as_version),)
    code = {Verdict.VIOLATES: 1, Verdict.BROKEN: 10}.get(
        min((one.verdict for one in records), key=WORST_FIRST.index), 0
    )
    reasons = (f"{code} some",) if code else ()
    made = builders.journal(records, cells=cells, calls=calls, exit=code, reasons=reasons)
    first, *rest = builders.lines_of(made)
    assert isinstance(first, RunLine)
    journal = JournalWriter.open(folder / "run", first)
    for line in rest:
        journal.write(line)
    journal.close()
    return journal.path


def blocked(diagnosis: Diagnosis | None = None) -> list[Record]:
    words: dict[str, Any] = {
        "reason": "the sandbox does not start: exit code 1",
        "diagnosis": diagnosis,
        "evidence": (),
    }
    return [builders.record(key, Verdict.BLOCKED, **words) for key in KEYS]


def test_a_link_is_not_broken_over_two_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert pasted("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", monkeypatch) == 0
    shown = capsys.readouterr().out
    known = next(one for one in fingerprints() if one.id == "loopback-newaddr-refused")
    assert known.link in shown


def test_a_codex_that_is_not_on_path_is_recognised(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pasted("sh: 1: codex: not found", monkeypatch) == 0
    assert "codex-not-found" in capsys.readouterr().out


def test_an_unresolved_host_gets_the_setting_that_turns_the_network_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pasted("curl: (6) Could not resolve host: web", monkeypatch, "--json") == 0
    (cause,) = json.loads(capsys.readouterr().out)["causes"]
    assert "network_access = true" in cause["first"]


def test_a_pasted_error_gets_cause_and_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pasted(f"$ codex sandbox -- true\n{NO_USERNS}\n", monkeypatch) == 0
    shown = capsys.readouterr().out
    assert re.match(r"userns-not-permitted  \(the sandbox\)\n   said      No permissions", shown)
    assert "\n   because   " in shown
    assert "\n   first     " in shown
    assert "\n   see       https://" in shown


def test_several_causes_are_counted_and_the_most_specific_is_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pasted(f"dial tcp: i/o timeout\n{NO_USERNS}\n", monkeypatch) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("2 causes ")
    assert re.findall(r"^([a-z-]+)  \(", shown, re.MULTILINE) == ["userns-not-permitted", "connection-timeout"]


def test_an_unknown_text_says_what_to_do_and_exits_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pasted("all is well\n", monkeypatch) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("not recognised: ")
    assert all(word in shown for word in ("paste", "codexsandbox doctor", "report", "add-a-fingerprint.md"))


def test_output_of_programs_is_shown_and_not_obeyed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pasted(f"Can't mkdir /srv/{HOSTILE}/.git: Permission denied", monkeypatch) == 0
    shown = capsys.readouterr().out
    assert "\\x07" in shown
    assert not set("\x1b\x07\u202e") & set(shown)


def test_a_text_file_is_searched_and_bytes_that_are_not_text_do_no_harm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ci.log").write_bytes(b"\xff\xfe\x00\n" + NO_USERNS.encode() + b"\n\xff")
    assert main(["diagnose", str(tmp_path / "ci.log")]) == 0
    assert "userns-not-permitted" in capsys.readouterr().out


def test_facts_given_by_hand_make_it_more_specific(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ci.log").write_text("touch: cannot touch '/srv/x': Permission denied\n")
    assert main(["diagnose", str(tmp_path / "ci.log"), "--fact", "codex=0.99.0"]) == 0
    assert "landlock-refused-write" in capsys.readouterr().out


def test_a_journal_is_explained_again_with_todays_fingerprints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, *blocked(Diagnosis(fingerprint="", cause="no fingerprint fits")), stderr=NO_USERNS)
    assert main(["diagnose", str(path)]) == 0
    shown = capsys.readouterr().out
    head, _, first = shown.partition("\n\n")
    assert "NOT RE-JUDGED: 2 " in head and "\nrun r1: 2 checks " in head and head.endswith(", 1 cause")
    assert first.startswith("B  userns-not-permitted ")
    assert "filesystem.outside-refused" in shown
    assert "sqlite.board-outside-refused" in shown
    assert re.search(r"^   saw       .*: exit code 1$", shown, re.MULTILINE)
    assert "the run itself" in shown
    assert f"\n   calls     {LOCAL.id}-read-only" in shown
    assert main(["diagnose", str(path.parent)]) == 0


def test_a_cause_ends_in_the_line_that_shows_it_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, builders.violation(KEYS[0], "leak", repro="repro/a b.sh"))
    assert main(["diagnose", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"   repro     sh '{path.parent}/repro/a b.sh'"


def test_the_release_of_the_journal_is_a_fact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = builders.keys_of((LOCAL,), ("protected.existing-in-workspace",), ("read-only",))[0]
    leak = builders.violation(key, "leak")
    assert main(["diagnose", str(written(tmp_path / "new", leak))]) == 0
    assert "sandbox-let-it-through" in capsys.readouterr().out
    assert main(["diagnose", str(written(tmp_path / "old", leak, as_version="0.99.0"))]) == 0
    assert "landlock-protects-no-names" in capsys.readouterr().out


def test_the_worst_checks_come_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [blocked()[0], builders.violation(KEYS[1], "leak")]
    assert main(["diagnose", str(written(tmp_path, *records, stderr=NO_USERNS))]) == 0
    shown = capsys.readouterr().out
    assert "run r1: 2 checks " in shown and ", 2 causes\n" in shown
    assert shown.index("F  sandbox-let-it-through") < shown.index("B  userns-not-permitted")


def test_red_checks_without_a_known_cause_exit_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(written(tmp_path, *blocked(), stderr="something new"))]) == 1
    shown = capsys.readouterr().out
    assert shown.count("B  not recognised  (undecided)  2 checks") == 1  # one reason, one block
    assert "no fingerprint" in shown


def test_violations_without_a_known_cause_stay_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [builders.violation(key, "wrong-claim", reason="odd") for key in KEYS]
    assert main(["diagnose", str(written(tmp_path, *records, stderr="something new"))]) == 1
    assert capsys.readouterr().out.count("F  not recognised  (undecided)\n") == 2


def test_a_green_journal_needs_no_diagnosis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, *(builders.record(key) for key in KEYS))
    assert main(["diagnose", str(path)]) == 0
    assert "nothing to diagnose" in capsys.readouterr().out


def test_a_planned_check_without_a_result_is_red_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = builders.journal([builders.record(KEYS[0])], cells=(LOCAL,), keys=KEYS, ended=False)
    first, *rest = builders.lines_of(made)
    assert isinstance(first, RunLine)
    journal = JournalWriter.open(tmp_path / "run", first)
    for line in rest:
        journal.write(line)
    journal.close()
    assert main(["diagnose", str(journal.path)]) == 11
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("INCOMPLETE: ") and "; 1 of 2 planned " in shown
    assert "E never came" in shown and NEVER_RAN.remedy in shown
    assert "not recognised" not in shown  # nothing is the matter with what was never tried


def test_the_end_of_a_run_is_shown_if_no_check_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = written(tmp_path, *(builders.record(key) for key in KEYS))
    *lines, end = whole.read_bytes().splitlines(keepends=True)
    leak = msgspec.json.encode(
        {**msgspec.json.decode(end), "exit": 13, "reasons": ["13 left behind by the harness: /tmp/x"]}
    )
    for spoiled, code, said in (
        (leak, 0, "exit 13: left behind by the harness: /tmp/x"),
        (end[:30], 11, f"INCOMPLETE: the run did not end by itself (line {len(lines) + 1} stops"),
    ):
        whole.write_bytes(resealed((*lines, spoiled)) if code == 0 else b"".join((*lines, spoiled)))
        assert main(["diagnose", str(whole)]) == code
        assert capsys.readouterr().out.startswith(said)


def test_hostile_evidence_of_a_journal_is_shown_and_not_obeyed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = builders.record(KEYS[0], Verdict.BLOCKED, reason=builders.HOSTILE, evidence=())
    main(["diagnose", str(written(tmp_path, record, stderr=builders.HOSTILE))])
    shown = capsys.readouterr().out
    assert "\\x1b" in shown
    assert not set("\x1b\x07\u202e\u2066\u200b\u2028\x9b\r") & set(shown)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to diagnose"),
        (["/nothing/here.log"], "the input cannot be read"),
        (["-", "--fact", "codex"], "--fact 'codex' cannot be read"),
        (["--list", "--fingerprints", "/nothing/here"], "the folder of fingerprints does not exist"),
    ],
)
def test_wrong_input_is_one_clear_error(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"text")))
    assert main(["diagnose", *words]) == 4
    assert said in capsys.readouterr().err


def test_an_empty_text_is_not_answered_with_the_line_that_printed_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pasted("\n", monkeypatch) == 4
    shown = capsys.readouterr().err
    assert "codexsandbox boot-check" in shown
    assert "diagnose -" not in shown


def test_a_foreign_journal_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old.ndjson").write_text('{"line": "run", "schema": 99}\n')
    assert main(["diagnose", str(tmp_path / "old.ndjson")]) == 4
    assert "old.ndjson" in capsys.readouterr().err


def test_every_fingerprint_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--list"]) == 0
    listed = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert len(listed) == len(fingerprints())
    assert all(re.fullmatch(r"[a-z0-9.-]+  \((the sandbox|not the sandbox|undecided)\)", line) for line in listed)


def test_the_help_shows_lines_to_paste(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["diagnose", "--help"])
    assert ended.value.code == 0
    assert "codexsandbox diagnose -" in capsys.readouterr().out


def test_one_fix_is_first_and_fixes_that_give_up_the_sandbox_are_separate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pasted(NO_USERNS, monkeypatch) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in lines if line.startswith("   ") and not line.startswith("    ")]
    assert names.count("first") == 1
    assert names.index("first") < names.index("or") < names.index("unsafe")
    unsafe = next(line for line in lines if line.startswith("   unsafe"))
    assert "danger-full-access" in unsafe
    assert not any("danger-full-access" in line for line in lines[: lines.index(unsafe)])


def test_json_has_one_first_fix_for_each_cause(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pasted(NO_USERNS, monkeypatch, "--json") == 0
    (cause,) = json.loads(capsys.readouterr().out)["causes"]
    assert cause["fingerprint"] == "userns-not-permitted"
    assert cause["first"]
    assert "danger-full-access" not in cause["first"]
    assert any("danger-full-access" in way for way in cause["unsafe"])
    assert cause["first"] not in (*cause["others"], *cause["unsafe"], *cause["useless"])


def test_json_of_an_unknown_text_has_no_cause(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pasted("nothing that is known", monkeypatch, "--json") == 1
    assert json.loads(capsys.readouterr().out) == {"causes": []}


def test_json_of_a_journal_names_each_check_of_a_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, *blocked(), stderr=NO_USERNS)
    assert main(["diagnose", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["faults"] == []
    assert [cause["fingerprint"] for cause in shown["causes"]] == ["userns-not-permitted"]
    assert set(shown["causes"][0]["checks"]) == {str(record.key) for record in blocked()}

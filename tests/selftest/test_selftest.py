"""The selftest fails when it should: a survivor, a promise that catches nothing, a good subject that is failed."""

import argparse
import json
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from pytest_codexsandbox import cli
from pytest_codexsandbox.api import Trial
from pytest_codexsandbox.commands import selftest
from pytest_codexsandbox.diagnosis import judge
from pytest_codexsandbox.diagnosis.judge import Judged
from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix import scenario_index
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.selftest import FAKES, GOOD, Fake, named
from pytest_codexsandbox.selftest.kill_rules import is_wanted

NETLINK = "network.netlink-socket-refused"


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    selftest.add(parser)
    return selftest.run(parser.parse_args(words))


def only(monkeypatch: pytest.MonkeyPatch, *fakes: Fake) -> None:
    monkeypatch.setattr(selftest, "FAKES", fakes)


def with_function(monkeypatch: pytest.MonkeyPatch, id: str, function: Callable[[Trial], None]) -> None:
    pairs = scenario_index.promises(data_folder("scenarios"))
    changed = tuple((promise, function if promise.id == id else own) for promise, own in pairs)
    monkeypatch.setattr(scenario_index, "promises", lambda folder: changed)


def test_a_bad_subject_that_is_caught_and_a_good_one_that_passes_are_no_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    only(monkeypatch, GOOD, *named(["leaks-netlink"]))
    assert run("--only", NETLINK) == 0
    out = capsys.readouterr().out
    assert f"{NETLINK:<43} leaks-netlink" in out
    assert "1 of 1 bad " in out and ", 0 faults" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_selection_that_a_subject_is_not_asked_leaves_it_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--only", "process.static-program-is-confined", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["promises"] == {"process.static-program-is-confined": ["trusts-run-static"]}
    assert [row["name"] for row in told["subjects"]] == ["good", "trusts-run-static"]


def test_no_selection_leaves_a_subject_that_has_nothing_to_run() -> None:
    everything = scenario_index.promises(data_folder("scenarios"))
    sandbox = [promise.id for promise, _ in selftest.select("*", everything)]
    for glob in (*sandbox, *{f"{name.partition('.')[0]}.*" for name in sandbox}):
        pairs = selftest.select(glob, everything)
        asked = selftest.about(FAKES, pairs, everything)
        at_doors = {door: selftest.through(door, asked, pairs, everything) for door in ("app-server", "exec")}
        at_doors["sandbox"] = selftest.about(asked, selftest.riding(pairs, "sandbox"), everything)
        idle = [
            (glob, door, fake.name)
            for door, fakes in at_doors.items()
            for fake in fakes
            if not any(
                set(promise.policies) & set(fake.policies)
                and is_wanted(fake, {promise.id: promise}, Key(cell="", door=door, policy="", promise=promise.id))
                for promise, _ in selftest.riding(pairs, door)
            )
        ]
        assert not idle
        assert any(at_doors.values()), glob


def test_a_promise_of_one_door_is_asked_at_that_door_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--only", "process.shell-of-codex-is-confined", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["subjects"], told["faults"]) == ([], [])
    assert {door: [row["name"] for row in rows] for door, rows in told["doors"].items()} == {
        "exec": ["good", "open-snapshot"]
    }


@pytest.mark.parametrize(
    ("subject", "only"),
    [("silent", "process.shell-of-codex-is-confined"), ("trusts-bash", "network.*"), ("silent", "process.copy-*")],
)
def test_a_run_that_would_ask_nothing_is_an_error(subject: str, only: str) -> None:
    with pytest.raises(InputError) as caught:
        run("--subject", subject, "--only", only)
    assert repr(only) in caught.value.what and subject in caught.value.why


def test_it_fails_when_a_promise_is_weakened(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def asks_too_little(trial: Trial) -> None:
        trial.says("netlink-raw", claim="c", saw="s", held=True, control="worked", control_held=True)

    with_function(monkeypatch, NETLINK, asks_too_little)
    only(monkeypatch, GOOD, *named(["leaks-netlink"]))
    assert run("--only", NETLINK) == 1
    out = capsys.readouterr().out
    assert "SURVIVES  leaks-netlink" in out and f"CATCHES NOTHING  {NETLINK}" in out


def test_it_fails_when_the_judge_is_lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    def lenient(promise: Promise, **words: Any) -> Judged:
        return Judged(verdict=Verdict.CONFORMS, direction="", reason="looks fine")

    monkeypatch.setattr(judge, "judge", lenient)
    only(monkeypatch, *named(["leaks-netlink"]))
    assert run("--subject", "leaks-netlink", "--only", NETLINK) == 1


def test_it_fails_when_a_subject_survives(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    harmless = Fake(name="harmless", wrong="says that it leaks, and does not", caught_by=(NETLINK,))
    only(monkeypatch, GOOD, *named(["leaks-netlink"]), harmless)
    assert run("--only", NETLINK) == 1
    out = capsys.readouterr().out
    assert f"SURVIVES harmless: {NETLINK} " in " ".join(out.split())
    assert "CATCHES NOTHING" not in out


def test_it_fails_when_the_good_one_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    only(monkeypatch, msgspec.structs.replace(GOOD, flaws=("socket:NETLINK",)), *named(["leaks-netlink"]))
    assert run("--only", NETLINK) == 1
    assert f"GOOD  good: {NETLINK} says violates" in capsys.readouterr().out


def test_a_subject_that_says_nothing_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, msgspec.structs.replace(named(["exit-0"])[0], conduct="restrained"))
    assert run("--subject", "exit-0", "--only", NETLINK) == 1


def test_the_whole_matrix_names_every_pair(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    only(monkeypatch, GOOD, *named(["leaks-netlink", "exit-0"]))
    assert run("--only", NETLINK, "--verbose") == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith(NETLINK))
    assert row.split() in ([NETLINK, "P", "E", "F"], [NETLINK, "P", "B", "F"])


def test_json_says_every_verdict_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    only(monkeypatch, *named(["leaks-netlink"]))
    assert run("--only", NETLINK, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["faults"] == [] and told["promises"] == {NETLINK: ["leaks-netlink"]}
    assert [row["verdict"] for row in told["subjects"][0]["said"]] == ["violates"]


def test_a_name_that_does_not_exist_says_what_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["selftest", "--subject", "nobody"]) == 4
    assert {"allow-all", "adds-a-secret"} <= set(re.split(r"[\s,]+", capsys.readouterr().err))
    assert cli.main(["selftest", "--only", "no.such-*"]) == 4
    assert "no promise matches" in capsys.readouterr().err


def test_the_list_says_what_each_does_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--list") == 0
    assert "follows-links" in capsys.readouterr().out

"""`codexsandbox remedies`: what is chosen, shown and said at the end. No engine is asked: environments are scripted."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from pytest_codexsandbox import cli
from pytest_codexsandbox.commands.remedies_selection import choose
from pytest_codexsandbox.commands.remedies_text import IN_A_VM
from pytest_codexsandbox.diagnosis.remedies import At, proved_with, remedies
from pytest_codexsandbox.diagnosis.remedy_text import price
from pytest_codexsandbox.environments.container import doctor
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.harness.remedy_proof import ProofEnvironment, Records
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.diagnosis.builders import record, row

GREEN = record(Verdict.CONFORMS, evidence=(row(),))
FREE = record(Verdict.UNCONFINED, evidence=(row(),))
BROKEN = record(Verdict.BROKEN, reason="it did not start")
Run = Callable[..., tuple[int, str, str]]
CODEX: Final = SimpleNamespace(capabilities=SimpleNamespace(version="0.163.0"))


def red(causes: Sequence[str]) -> Record:
    rows = (row(held=False, direction="denied", reason=causes[0], saw="it ended with 1"),)
    return record(Verdict.VIOLATES, direction="denied", evidence=rows)


def as_recorded(place: ProofEnvironment, policies: Sequence[str]) -> Records:
    return {policy: _at(place, policy) for policy in policies}


def _at(place: ProofEnvironment, policy: str) -> Record:
    at = At(profile=place.profile, bwrap=place.bwrap, user=place.user, policy=policy)
    proofs = [proof for one in remedies() for proof in one.proofs]
    after = {"green": GREEN, "no sandbox": FREE, "no better": red(("another",))}
    causes = [proof.causes for proof in proofs if proof.before == at]
    return red(causes[0]) if causes else next(after[proof.turns] for proof in proofs if proof.after == at)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """The command, where each place says what is recorded of it, but for `changed`."""

    def run(*words: str, changed: Mapping[str, Record | BaseException] = {}) -> tuple[int, str, str]:
        def rehearsed(place: ProofEnvironment, policies: Sequence[str]) -> Records:
            said = changed.get(f"{place.profile}~{place.bwrap}", changed.get(place.profile))
            if isinstance(said, BaseException):
                raise said
            return as_recorded(place, policies) if said is None else dict.fromkeys(policies, said)

        # What the words alone tell is asked of a real text; here the diagnosis tells it.
        monkeypatch.setattr("pytest_codexsandbox.harness.remedy_proof._causes", _all_causes)
        monkeypatch.setattr("pytest_codexsandbox.commands.remedies.in_containers", lambda *_, **__: rehearsed)
        monkeypatch.setattr("pytest_codexsandbox.commands.remedies._codex", lambda options: CODEX)
        monkeypatch.setattr(
            "pytest_codexsandbox.commands.remedies._engine", lambda: {"kernel": "6.1", "Docker": f"20.10{'+more' * 12}"}
        )
        code = cli.main(["remedies", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("CODEXSANDBOX_CACHE", str(tmp_path))
    return run


def _all_causes(red: Record) -> tuple[str, ...]:
    told = red.evidence[0].reason
    every = [proof.causes for one in remedies() for proof in one.proofs if proof.causes[0] == told]
    return tuple(dict.fromkeys((told, *(cause for causes in every for cause in causes))))


# ---- choosing
def test_a_name_is_a_remedy_a_cause_or_a_profile_in_which_nothing_starts() -> None:
    every = [one.name for one in remedies()]
    assert [one.remedy.name for one in choose(())] == every
    (one,) = choose(["no-filter"])
    assert (one.causes, one.proofs) == (one.remedy.causes, one.remedy.proofs)
    by_cause = choose(["mount-refused-by-seccomp"])
    assert {"no-filter", "full-access"} < {one.remedy.name for one in by_cause}
    assert all(one.causes == one.asked == ("mount-refused-by-seccomp",) for one in by_cause)
    assert {proof.before.profile for one in by_cause for proof in one.proofs} == {"seccomp-plus-userns"}
    by_profile = choose(["drop-setfcap"])
    assert [one.remedy.name for one in by_profile] == ["cap-add-setfcap", "ordinary-user"]


def test_several_names_are_one_choice_each_in_the_order_of_all() -> None:
    both = choose(["full-access", "mount-refused-by-seccomp", "no-*"])
    names = [one.remedy.name for one in both]
    assert len(set(names)) == len(names)
    assert names == [one.name for one in remedies() if one.name in names]
    (full,) = [one for one in both if one.remedy.name == "full-access"]
    assert full.proofs == full.remedy.proofs


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["docker-defalt"], "did you mean 'docker-default'"),
        (["bwrap-not-found"], "it is a cause"),
        (["read-only-rootfs"], "it is a profile"),
        (["no-filter", "nobody-*"], "no remedy is known for 'nobody-*'"),
        (["--distro", "alpine-3.22"], "belong to `remedies --prove`"),
        (["--codex-bin", "codex"], "belong to `remedies --prove`"),
        (["--prove", "--distro", "alpin"], "did you mean 'alpine"),
    ],
)
def test_wrong_words_are_answered(words: list[str], told: str, run: Run) -> None:
    code, out, said = run(*words)
    assert (code, out) == (4, "")
    assert told in said


# ---- what is known
def test_each_remedy_is_listed_with_its_price_and_where_it_was_proved(run: Run) -> None:
    code, out, _ = run()
    assert code == 0
    flat = " ".join(out.split())
    for one in remedies():
        assert all(words in flat for words in (one.name, price(one), one.do, *one.causes))
        assert all(proof.before.words in flat and proof.after.words in flat for proof in one.proofs)
    assert f" {proved_with().words}; --prove " in flat
    assert flat.count(IN_A_VM) == sum(not one.is_tried for one in remedies() for _ in one.causes)
    lines = [line for line in out.splitlines() if not line.startswith("    paste ")]  # a line to paste stays whole
    assert max(map(len, lines)) <= 80
    assert "    paste   docker run --rm --security-opt seccomp=unconfined IMAGE\n" in out


def test_only_a_remedy_proved_for_the_cause_is_called_proved(run: Run) -> None:
    _, out, _ = run("fresh-proc-given-up")
    assert "systempaths-unconfined  (container): not proved" in out
    assert "proved  " not in out
    assert out.splitlines()[-1].startswith("1 remedy: 1 not proved")
    _, out, _ = run("apparmor-restricts-userns")
    assert "that imitates it" in " ".join(out.split())
    assert "proved  " not in out
    _, out, _ = run("mount-refused-by-seccomp")
    assert "docker-default" not in out
    assert "proved  seccomp-plus-userns → seccomp-unconfined\n" in out


def test_the_price_of_a_profile_is_shown_as_recorded(run: Run) -> None:
    """Docker hides parts of /proc. Where nothing is hidden, nothing is uncovered."""
    _, masked, _ = run("docker-default")
    assert "/proc stays masked" in " ".join(masked.split())
    assert "engine masks /proc" not in " ".join(masked.split())
    _, bare, _ = run("synthetic-mount-setattr")
    assert "docker-filter-and-bare-proc" in bare
    assert "are exposed" not in " ".join(bare.split())


def test_for_programs_there_is_all_of_it(run: Run) -> None:
    code, out, _ = run("--json", "synthetic-netlink-socket", "userns-sysctl-off")
    told = json.loads(out)
    found = {one["name"]: one for one in told["remedies"]}
    assert set(told["proved_with"]) == {"kernel", "engine", "codex", "distro", "bwrap"}
    assert code == 0
    assert set(found) == {"no-filter-of-yours", "network-on", "userns-clone-sysctl"}
    assert found["network-on"]["causes"] == ["netlink-socket-refused"]
    assert [proof["synthetic"] for proof in found["network-on"]["proofs"]] == [True] * 4
    assert found["userns-clone-sysctl"]["changes_host"]
    assert found["userns-clone-sysctl"]["turns"] == "not proved"


# ---- pasting
def test_a_remedy_is_pasted_whole(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "seccomp.json"
    code, out, _ = run("docker-filter-and-bare-proc", "--write", str(file), "--image", "my-agent:1")
    assert code == 0
    assert out == (f"docker run --rm --security-opt seccomp={file} --security-opt systempaths=unconfined my-agent:1\n")
    names = {name for rule in json.loads(file.read_text())["syscalls"] if len(rule) == 2 for name in rule["names"]}
    assert {"clone3", "unshare", "mount", "mount_setattr", "open_tree", "move_mount", "pivot_root"} <= names
    code, _, _ = run("docker-filter-and-bare-proc", "--write", str(file))
    assert code == 0  # the same text again


def test_effects_without_an_option_are_named_beside_the_line(run: Run, tmp_path: Path) -> None:
    _, out, _ = run("docker-filter-and-codex-bwrap", "--write", str(tmp_path / "seccomp.json"))
    assert out.startswith("# in the image: ")


def test_a_file_of_the_users_is_not_written_over(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "seccomp.json"
    file.write_text("mine")
    code, out, said = run("podman-filter", "--write", str(file))
    assert (code, out, file.read_text()) == (4, "", "mine")
    assert str(file) in " ".join(said.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["docker-default"], "4 have one: docker-filter-plus-bubblewrap, docker-filter-and-bare-proc"),
        (["no-filter"], "this remedy has no seccomp filter"),
        (["no-filter"], "docker run --rm --security-opt seccomp=unconfined IMAGE"),
        (["podman-filter", "--prove"], "--write goes with neither --prove nor --json"),
    ],
)
def test_a_cause_without_a_single_filter_writes_nothing(words: list[str], told: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "seccomp.json"
    code, out, said = run(*words, "--write", str(file))
    assert (code, out, file.exists()) == (4, "", False)
    assert told in said


# ---- proving
def test_all_as_recorded_is_a_zero_and_what_changes_the_host_is_said(run: Run) -> None:
    code, out, said = run("--prove")
    proofs = sum(len(one.proofs) for one in remedies())
    assert (code, out.count("as recorded\n")) == (0, proofs)
    flat = " ".join(out.split())
    assert f"{proofs} of {proofs} proofs " in flat and "; 5 remedies not applied" in flat
    assert flat.count(f"not applied: {IN_A_VM}") == 5
    assert f"{proofs}/{proofs} " in said
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("name", "changed", "told"),
    [
        ("no-filter", {"seccomp-unconfined": red(("pivot-root-refused",))}, "still red: pivot-root-refused; NOT AS"),
        ("cap-add-sys-admin", {"sys-admin": GREEN}, "green; NOT AS RECORDED (recorded: still red)"),
        ("no-filter", {"seccomp-unconfined": FREE}, "no sandbox is requested; NOT AS RECORDED (recorded: green)"),
    ],
)
def test_a_remedy_that_does_something_else_is_a_one(
    name: str, changed: Mapping[str, Record], told: str, run: Run
) -> None:
    code, out, _ = run(name, "--prove", changed=changed)
    assert code == 1
    assert told in " ".join(out.split())
    assert "NOT AS RECORDED;" in out.splitlines()[-1]


@pytest.mark.parametrize("profile", ["docker-default", "seccomp-unconfined"])
def test_an_undetermined_outcome_is_no_proof(profile: str, run: Run) -> None:
    code, out, _ = run("docker-default", "--prove", changed={profile: BROKEN})
    assert code == 10
    assert "NOT PROVED: " in out
    assert "not proved here" in out.splitlines()[-1]


def test_a_remedy_that_differs_is_worse_than_an_unproved_one(run: Run) -> None:
    changed = {"seccomp-unconfined": FREE, "podman-default~distro": BROKEN}
    code, _, _ = run("docker-default", "--prove", changed=changed)
    assert code == 1


def test_a_cause_that_nothing_failed_for_is_not_proved_by_what_imitates_it(run: Run) -> None:
    code, out, _ = run("apparmor-restricts-userns", "--prove")
    assert code == 10
    assert "8 of 8 proofs" in out
    assert " for apparmor-restricts-userns: not proved" in " ".join(out.split())


def test_if_every_remedy_changes_the_host_nothing_is_proved_and_no_engine_is_asked(run: Run) -> None:
    code, out, _ = run("userns-sysctl-off", "apparmor-unconfined", "--prove")
    assert code == 11
    assert "; 2 remedies not applied" in " ".join(out.split())


def test_proving_for_programs(run: Run) -> None:
    code, out, _ = run("loopback-newaddr-refused", "--prove", "--json")
    found: dict[str, Any] = json.loads(out)
    assert code == 0
    assert {one["remedy"] for one in found["outcomes"]} == {"full-access", "network-on-uid-map-refused"}
    assert all(one["synthetic"] and one["state"] == "as recorded" for one in found["outcomes"])
    assert found["not_applied"] == ["apparmor-profile-for-bwrap", "apparmor-userns-sysctl"]
    assert found["here"]["kernel"] == "6.1"


def test_without_an_engine_it_is_said_that_nothing_can_be_proved(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise HarnessError("the container engine does not answer", where="unix:///gone", why="no such file")

    monkeypatch.setattr("pytest_codexsandbox.commands.remedies._codex", lambda options: CODEX)
    monkeypatch.setattr(doctor, "Engine", gone)
    assert cli.main(["remedies", "docker-default", "--prove"]) == 4
    said = capsys.readouterr()
    assert "unix:///gone" in said.err and "no such file" in said.err
    assert said.out == ""


def test_without_a_codex_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("pytest_codexsandbox.commands.remedies.installed", lambda: None)
    assert cli.main(["remedies", "docker-default", "--prove"]) == 4
    assert "no Codex is" in capsys.readouterr().err


def test_a_wait_that_is_broken_off_shows_what_was_found_until_then(run: Run) -> None:
    code, out, said = run("docker-default", "--prove", changed={"podman-default": KeyboardInterrupt()})
    assert code == 130
    assert 0 < out.count("; as recorded\n") < 50
    assert "proofs" not in out
    assert "interrupted" in said

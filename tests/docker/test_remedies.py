"""Every proof of a remedy, in containers: red for this cause before, and afterwards what the remedy says.

Nothing of the host is changed by any of them: what would do so is not tried here, and says that it is not proved.
"""

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from pytest_codexsandbox import cli
from pytest_codexsandbox.diagnosis.match import match
from pytest_codexsandbox.diagnosis.remedies import At, Proof, Remedy, Turns, remedies
from pytest_codexsandbox.environments.bubblewrap.bwrap_provider import why_not
from pytest_codexsandbox.harness.remedy_proof import Starts, in_containers, prove
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.registry import cache_folder
from tests.docker.repro_builders import Place, opened_at, run_line, sysctls
from tests.fakes.machine import installed_codex, run_folder
from tests.needs import DOCKER

PROOFS: Final = [(remedy, proof) for remedy in remedies() for proof in remedy.proofs]
VERDICTS: Final[dict[Turns, Verdict]] = {
    "green": Verdict.CONFORMS,
    "no sandbox": Verdict.UNCONFINED,
    "no better": Verdict.VIOLATES,
}
LIMIT: Final = "/proc/sys/user/max_user_namespaces"


@pytest.fixture(scope="module")
def before() -> dict[str, str]:
    return sysctls()


@pytest.fixture(scope="module")
def starts(before: dict[str, str]) -> Iterator[Starts]:
    with run_folder() as folder:
        rehearsed = in_containers(installed_codex(cache_folder()), folder)
        yield Starts(rehearsed, [proof for _, proof in PROOFS])


def named(pair: tuple[Remedy, Proof]) -> str:
    _, proof = pair
    pairs = zip(_words(proof.before), _words(proof.after), strict=True)
    return "~".join(one if one == other else f"{one}-to-{other}" for one, other in pairs)


def _words(at: At) -> tuple[str, ...]:
    return at.profile, at.bwrap, at.user, at.policy


@pytest.mark.parametrize("pair", PROOFS, ids=named)
def test_a_remedy_does_what_it_says(pair: tuple[Remedy, Proof], starts: Starts) -> None:
    remedy, proof = pair
    for name in (proof.before.bwrap, proof.after.bwrap):
        if (missing := why_not(SHIPPED.bwrap(name), cache_folder())) and not os.environ.get(DOCKER):
            pytest.skip(f"bubblewrap {name} is not available here: {missing}")
    red, then = starts.at(proof.before), starts.at(proof.after)
    assert (red.verdict, red.direction) == (Verdict.VIOLATES, "denied"), red.reason
    assert then.verdict is VERDICTS[proof.turns], then.reason
    (row,) = then.evidence
    assert row.control_held
    assert row.held is (proof.turns != "no better")
    found = prove(remedy, proof, starts)
    assert (found.state, found.found, found.why) == ("as recorded", proof.turns, "")
    assert set(proof.causes) <= set(found.causes) & set(remedy.causes)


@pytest.mark.parametrize(
    ("red", "then", "state", "found"),
    [
        (At(profile="docker-default"), At(profile="sys-admin"), "differs", "no better"),
        (
            At(profile="docker-default"),
            At(profile="docker-default", policy="danger-full-access"),
            "differs",
            "no sandbox",
        ),
        (At(profile="seccomp-unconfined"), At(profile="seccomp-unconfined-systempaths"), "not told", ""),
        (At(profile="sys-admin"), At(profile="seccomp-unconfined"), "not told", ""),
    ],
)
def test_a_remedy_of_which_something_untrue_is_recorded_is_found_out(
    red: At, then: At, state: str, found: str, starts: Starts
) -> None:
    """One that does not help, one that takes the sandbox away, nothing to mend, and another cause than is recorded."""
    (remedy,) = [one for one in remedies() if one.name == "no-filter"]
    proof = Proof(causes=("userns-refused-by-outer-filter",), before=red, after=then)
    outcome = prove(remedy, proof, starts)
    assert (outcome.state, outcome.found) == (state, found), outcome


def test_the_command_goes_to_both_sides_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["remedies", "ordinary-user", "userns-clone-sysctl", "--prove", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    outcomes = told["outcomes"]
    assert [one["before"]["bwrap"] for one in outcomes] == ["distro", "none", "0.12.0", "0.13.0"]
    for one in outcomes:
        assert (one["state"], one["found"], one["causes"]) == ("as recorded", "green", ["uid-map-needs-setfcap"])
    assert told["not_applied"] == ["userns-clone-sysctl"]


def test_a_limit_of_namespaces_that_is_raised_in_a_user_namespace_of_its_own(
    before: dict[str, str], tmp_path: Path
) -> None:
    """Such a limit is each user namespace's own; the one of the kernel is what it was."""
    codex = installed_codex(cache_folder())
    raised = [one for one in remedies() if "user.max_user_namespaces=" in one.do]
    assert [(one.turns, bool(one.shown)) for one in raised] == [("green", True)]
    touch = '$CODEX sandbox -c \'sandbox_mode="workspace-write"\' -- touch "$OUTSIDE/x"'
    with opened_at(Place(), tmp_path, codex) as environment:

        def limited(to: str) -> str:
            line = f"unshare -r sh -c {shlex.quote(f'echo {to} > {LIMIT} && {touch}')}"
            done, said = run_line(environment, codex, line)
            assert done.exit
            return said

        red = match(limited("0"))
        assert red is not None
        assert red.fingerprint in raised[0].causes
        assert limited("15000") == "touch: cannot touch '@OUTSIDE@/x': Read-only file system"  # the sandbox is on
    assert sysctls() == before


def test_nothing_else_is_called_shown() -> None:
    assert [one.do for one in remedies() if one.shown and "max_user_namespaces" not in one.do] == []


def test_no_remedy_that_was_tried_has_changed_the_kernel(before: dict[str, str], starts: Starts) -> None:
    """Alone it would prove nothing: the containers of some proofs are there as well."""
    for _, proof in PROOFS[:2]:
        starts.at(proof.after)
    assert len(before) > 50
    assert sysctls() == before

"""Whether a remedy helps, with scripted environments: what each side says is given, what is made of it is looked at."""

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_codexsandbox.diagnosis.remedies import At, Proof, Remedy
from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.harness.environment_pool import IN_A_ROW
from pytest_codexsandbox.harness.remedy_proof import (
    ProofEnvironment,
    ProofResult,
    Records,
    Starts,
    became,
    place_of,
    prove,
)
from pytest_codexsandbox.model.record import Record
from pytest_codexsandbox.model.verdict import Verdict
from tests.unit.diagnosis.builders import record, row

BEFORE, AFTER = At(profile="docker-default"), At(profile="seccomp-unconfined")
CAUSE = "mount-refused-by-seccomp"

GREEN = record(Verdict.CONFORMS, evidence=(row(),))
FREE = record(Verdict.UNCONFINED, evidence=(row(),))
LEAK = record(Verdict.VIOLATES, direction="leak", evidence=(row(held=False, direction="leak"),))
BROKEN = record(Verdict.BROKEN, reason="the engine is gone\n  why    no such file")


def red(cause: str = CAUSE, **words: Any) -> Record:
    rows = (row(held=False, direction="denied", reason=cause, saw="it ended with 1", **words),)
    return record(Verdict.VIOLATES, direction="denied", evidence=rows)


def remedy(**words: Any) -> Remedy:
    proof = Proof(causes=(CAUSE,), before=BEFORE, after=AFTER, **words)
    return Remedy(name="x", do="this", kind="container", price="a good deal", causes=(CAUSE,), proofs=(proof,))


class Script:
    """Places that say what they were told to say, and remember who asked."""

    def __init__(self, **said: Record | Unavailable) -> None:
        self.said = {name.replace("_", "-"): one for name, one in said.items()}
        self.asked: list[tuple[ProofEnvironment, tuple[str, ...]]] = []

    def __call__(self, place: ProofEnvironment, policies: Sequence[str]) -> Records:
        self.asked.append((place, tuple(policies)))
        said = self.said[place.profile]
        if isinstance(said, Unavailable):
            raise said
        return dict.fromkeys(policies, said)


def proved(before: Record | Unavailable, after: Record | Unavailable, **words: Any) -> ProofResult:
    one = remedy(**words)
    script = Script(docker_default=before, seccomp_unconfined=after)
    return prove(one, one.proofs[0], Starts(script, one.proofs))


@pytest.mark.parametrize(
    ("after", "recorded", "state", "found"),
    [
        (GREEN, "green", "as recorded", "green"),
        (FREE, "no sandbox", "as recorded", "no sandbox"),
        (red("another"), "no better", "as recorded", "no better"),
        (red(), "green", "differs", "no better"),
        (GREEN, "no better", "differs", "green"),
        (FREE, "green", "differs", "no sandbox"),
        (GREEN, "no sandbox", "differs", "green"),
        (LEAK, "green", "differs", "leak"),
        (LEAK, "no sandbox", "differs", "leak"),
        (LEAK, "no better", "differs", "leak"),
    ],
)
def test_a_measured_outcome_is_compared_with_the_recorded_one(
    after: Record, recorded: Any, state: str, found: str
) -> None:
    outcome = proved(red(), after, turns=recorded)
    assert (outcome.state, outcome.found, outcome.causes, outcome.why) == (state, found, (CAUSE,), "")


def test_remaining_failures_are_named() -> None:
    assert proved(red(), red("another"), turns="no better").still == "another"
    assert proved(red(), GREEN).still == ""


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (GREEN, "before: the sandbox does not fail to start there (green)"),
        (LEAK, "before: the sandbox does not fail to start there (leak)"),
        (red("another"), f"before: it fails there for another; recorded is {CAUSE}"),
        (red(""), f"before: it fails there for a cause that is not recognised; recorded is {CAUSE}"),
        (red(control_held=False), "before: violates"),
        (BROKEN, "before: broken: the engine is gone; why no such file"),
        (record(Verdict.NOT_APPLICABLE, reason="no such door"), "before: n/a: no such door"),
        (
            Unavailable("bubblewrap 0.12.0 cannot be had", why="no compiler"),
            "bubblewrap 0.12.0 cannot be had; no compiler",
        ),
    ],
)
def test_without_a_failure_of_this_cause_no_remedy_is_proved(before: Record | Unavailable, why: str) -> None:
    """Green afterwards proves nothing then, and nobody goes there."""
    one = remedy()
    script = Script(docker_default=before, seccomp_unconfined=GREEN)
    outcome = prove(one, one.proofs[0], Starts(script, one.proofs))
    assert (outcome.state, outcome.found, outcome.why) == ("not told", "", why)
    assert [place.profile for place, _ in script.asked] == ["docker-default"]


@pytest.mark.parametrize("recorded", ["green", "no sandbox", "no better"])
@pytest.mark.parametrize(
    "after",
    [
        BROKEN,
        record(Verdict.CONFORMS),
        record(Verdict.CONFORMS, evidence=(row(control_held=False),)),
        record(Verdict.CONFORMS, evidence=(row(), row(held=False))),
        record(Verdict.BLOCKED, evidence=(row(),)),
        record(Verdict.EXPECTED, evidence=(row(held=False),)),
        red(control_held=False),
        record(Verdict.VIOLATES, direction="wrong-claim", evidence=(row(held=False),)),
        Unavailable("it cannot be had here"),
    ],
)
def test_an_unmeasured_result_is_never_as_recorded(after: Record | Unavailable, recorded: Any) -> None:
    outcome = proved(red(), after, turns=recorded)
    assert (outcome.state, outcome.found) == ("not told", "")
    assert outcome.why


def test_every_cause_that_is_recorded_has_to_be_seen() -> None:
    """Of a remedy for two: that one of them fails there does not make it proved for the other."""
    proof = Proof(causes=(CAUSE, "pivot-root-refused"), before=BEFORE, after=AFTER)
    starts = Starts(Script(docker_default=red(), seccomp_unconfined=GREEN), (proof,))
    assert prove(remedy(), proof, starts).state == "not told"


def test_the_cause_that_the_words_alone_tell_counts_too() -> None:
    """What is diagnosed there knows of the filter around it; whoever pastes the text does not."""
    said = "it ended with 1: bwrap: No permissions to create new namespace, likely because the kernel does not allow it"
    rows = (row(held=False, direction="denied", reason="userns-refused-by-outer-filter", saw=said),)
    before = record(Verdict.VIOLATES, direction="denied", evidence=rows)
    proof = Proof(causes=("userns-refused-by-outer-filter", "userns-not-permitted"), before=BEFORE, after=AFTER)
    outcome = prove(remedy(), proof, Starts(Script(docker_default=before, seccomp_unconfined=GREEN), (proof,)))
    assert (outcome.state, outcome.causes) == ("as recorded", proof.causes)


def test_a_manufactured_refusal_is_reported_as_such() -> None:
    proof = Proof(causes=(CAUSE,), before=At(profile="synthetic-mount"), after=AFTER)
    script = Script(synthetic_mount=red(), seccomp_unconfined=GREEN)
    assert prove(remedy(), proof, Starts(script, (proof,))).synthetic
    assert not proved(red(), GREEN).synthetic


def test_a_place_is_gone_to_once_for_every_policy_that_is_asked_there() -> None:
    free = At(profile="docker-default", policy="danger-full-access")
    proofs = (Proof(causes=(CAUSE,), before=BEFORE, after=AFTER), Proof(causes=(CAUSE,), before=BEFORE, after=free))
    script = Script(docker_default=red(), seccomp_unconfined=GREEN)
    starts = Starts(script, proofs)
    for proof in proofs:
        prove(remedy(), proof, starts)
    assert script.asked == [
        (place_of(BEFORE), ("danger-full-access", "workspace-write")),
        (place_of(AFTER), ("workspace-write",)),
    ]


def test_a_policy_that_no_proof_named_is_asked_for_then() -> None:
    script = Script(docker_default=red())
    starts = Starts(script, ())
    for policy in ("workspace-write", "read-only", "read-only"):
        starts.at(At(profile="docker-default", policy=policy))
    assert [policies for _, policies in script.asked] == [("workspace-write",), ("read-only",)]


def test_after_several_that_do_not_start_no_other_is_tried() -> None:
    script = Script(docker_default=BROKEN, seccomp_unconfined=GREEN)
    places = [At(profile="docker-default", user=f"u{number}") for number in range(IN_A_ROW)]
    proofs = [Proof(causes=(CAUSE,), before=place, after=AFTER) for place in places]
    last = Proof(causes=(CAUSE,), before=AFTER, after=BEFORE)
    starts = Starts(script, (*proofs, last))
    for proof in proofs:
        assert "the engine is gone" in prove(remedy(), proof, starts).why
    assert f"{IN_A_ROW} environments" in prove(remedy(), last, starts).why
    assert len(script.asked) == IN_A_ROW


def test_one_that_starts_in_between_begins_the_row_anew() -> None:
    script = Script(docker_default=BROKEN, seccomp_unconfined=GREEN)
    starts = Starts(script, ())
    for number in range(2 * IN_A_ROW):
        starts.at(At(profile="docker-default" if number % IN_A_ROW else "seccomp-unconfined", user=f"u{number}"))
    assert len(script.asked) == 2 * IN_A_ROW


def test_the_four_answers_of_a_start() -> None:
    assert [became(one) for one in (GREEN, FREE, red(), LEAK, BROKEN)] == [
        "green",
        "no sandbox",
        "no better",
        "leak",
        "",
    ]


def test_another_distributions_bubblewrap_contradicts_no_proof() -> None:
    """A proof holds for its family of bubblewrap; the one of another distribution may be of another."""
    one = remedy()
    script = Script(docker_default=red(), seccomp_unconfined=red("proc-mount-refused"))
    found = prove(one, one.proofs[0], Starts(script, one.proofs), distro="debian-trixie")
    assert found.state == "not told"
    named = ("debian-bookworm", "bubblewrap before 0.12", "debian-trixie", "found: no better")
    assert [word for word in named if word not in found.why] == []
    assert prove(one, one.proofs[0], Starts(script, one.proofs)).state == "differs"

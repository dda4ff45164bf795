"""What was tried without Codex: every word that is known has its fingerprint, and no other has one."""

import pytest

from pytest_codexsandbox.diagnosis.bare_tools import alone
from pytest_codexsandbox.diagnosis.explain import with_bare_tools
from pytest_codexsandbox.guest.bare_tools import ASKED
from tests.unit.diagnosis.test_syscall_causes import MAP_DENIED, NESTING, NEWADDR, NO_NAMESPACE, NO_PROC
from tests.unit.reports import builders
from tests.unit.reports.bare_tools_builders import as_written

UNSHARE = "unshare: unshare failed: Operation not permitted"


def fingerprints(bare: dict[str, str], **facts: object) -> dict[str, str]:
    found = alone({"bare": bare, **facts})
    assert found is not None
    return {one.name: one.fingerprint for one in found.tried}


def test_each_command_has_the_cause_of_its_own_words() -> None:
    said = {"bwrap": MAP_DENIED, "bwrap-net": NEWADDR, "bwrap-proc": NO_PROC, "unshare": UNSHARE}
    assert fingerprints(said) == {
        "bwrap": "uid-map-refused",
        "bwrap-net": "loopback-newaddr-refused",
        "bwrap-proc": "proc-mount-refused",
        "unshare": "unshare-refused",
    }


@pytest.mark.parametrize(
    ("facts", "fingerprint"),
    [
        ({"seccomp": "2", "answers": {"clone-userns": "EPERM"}}, "userns-refused-by-outer-filter"),
        (
            {"seccomp": "0", "sysctls": {"kernel.unprivileged_userns_clone": "0"}, "answers": {"userns": "EPERM"}},
            "userns-sysctl-off",
        ),
    ],
)
def test_the_environments_facts_decide_between_causes_with_the_same_words(
    facts: dict[str, object], fingerprint: str
) -> None:
    assert fingerprints({"bwrap": NO_NAMESPACE}, **facts)["bwrap"] == fingerprint


def test_a_tool_that_worked_has_no_cause_and_a_missing_tool_has_no_output() -> None:
    found = alone({"bare": {"bwrap": "ok", "bwrap-net": NESTING}})
    assert found is not None
    assert [(one.held, one.said != "", one.fingerprint != "") for one in found.tried] == [
        (True, True, False),
        (False, True, True),
        (False, False, False),
        (False, False, False),
    ]
    assert [one.command for one in found.tried] == list(ASKED.values())


def test_words_that_match_nothing_are_kept_and_called_by_no_name() -> None:
    found = alone({"bare": {"bwrap": "bwrap: the moon is full", "another": "it rains"}})
    assert found is not None
    told = {one.name: (one.said, one.fingerprint, one.cause) for one in found.tried}
    assert told["bwrap"] == ("bwrap: the moon is full", "", "")
    assert told["another"] == ("it rains", "", "")  # of another's backend


@pytest.mark.parametrize("facts", [{}, {"bare": ""}, {"bare": None}, {"bare": ["ok"]}, {"seccomp": "2"}])
def test_without_a_measurement_no_result_is_shown(facts: dict[str, object]) -> None:
    assert alone(facts) is None


def test_the_direct_check_is_shown_beside_the_result() -> None:
    asked = {"bare": {"bwrap": "ok", "bwrap-net": "ok"}, "answers": {"userns": "ENOSPC"}}
    found = alone(asked)
    assert found is not None and found.asked.endswith("user namespace (ENOSPC).")
    untold = alone({"bare": {"bwrap": "ok"}})
    assert untold is not None and untold.asked == ""


def test_a_journal_gets_what_its_facts_hold_and_nothing_for_the_others() -> None:
    assert with_bare_tools(builders.green()).alone == {}
    made = with_bare_tools(as_written())
    assert set(made.alone) == {line.spec for line in made.environments if "bare" in line.facts}
    assert 0 < len(made.alone) < len(made.environments)

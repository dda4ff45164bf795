"""What Codex says of a generator's files, against what was asked: each word that differs is one row, and no other."""

from typing import Any

import msgspec
import pytest

from pytest_codexsandbox.generators.effective_policy import Oracle, loads, oracle, says
from pytest_codexsandbox.generators.policy_acts import ACTS, CLAIMS, PROMISE, permitted
from pytest_codexsandbox.model.generator import Claim, ExpectedPolicy

TOLD = Oracle(held=True, words="it does")
ASKED = ExpectedPolicy(sandbox="workspace-write", network=False, roots=("@ROOT0@",), approval="on-request")


def claim(**words: Any) -> Claim:
    given: dict[str, Any] = {"loads": True, "sandbox": "workspace-write", "network": False, "roots": ("@ROOT0@",)}
    return Claim(**{"approval": "on-request", **given, **words})


def wrong(told: Claim, asked: ExpectedPolicy = ASKED) -> list[tuple[str, str]]:
    found = says(told, asked, TOLD)
    assert all(one.control_held and one.control == "it does" for one in found)
    assert all((one.direction, one.reason) == ("", "") for one in found if one.held)
    return [(one.reason, one.direction) for one in found if not one.held]


def test_a_policy_as_requested_and_reported_holds_word_by_word() -> None:
    assert len(says(claim(), ASKED, TOLD)) == 5
    assert wrong(claim()) == []


@pytest.mark.parametrize(
    ("words", "reason", "direction"),
    [
        ({"sandbox": "danger-full-access"}, "another-mode", "leak"),
        ({"sandbox": "danger-full-access", "network": True, "roots": ()}, "another-mode", "leak"),
        ({"sandbox": "read-only"}, "another-mode", "denied"),
        ({"sandbox": ""}, "another-mode", "denied"),
        ({"network": True}, "another-network", "leak"),
        ({"network": None}, "another-network", "denied"),
        ({"roots": ()}, "root-missing", "denied"),
        ({"roots": ("@ROOT0@", "@HOME@")}, "root-too-many", "leak"),
        ({"approval": "never"}, "another-approval", "leak"),
        ({"approval": "untrusted"}, "another-approval", "denied"),
    ],
)
def test_each_word_that_differs_is_found_and_no_other(words: dict[str, Any], reason: str, direction: str) -> None:
    assert wrong(claim(**words)) == [(reason, direction)]


def test_network_and_roots_are_off_where_they_were_to_be_on() -> None:
    on = ExpectedPolicy(sandbox="workspace-write", network=True, roots=("@ROOT0@/a", "@ROOT0@b"))
    assert wrong(claim(roots=("@ROOT0@", "@ROOT0@b")), on) == [("another-network", "denied"), ("root-too-many", "leak")]
    assert wrong(claim(network=True, roots=("@ROOT0@/a",)), on) == [("root-missing", "denied")]


def test_a_grant_of_a_folder_covers_its_content() -> None:
    inner = ExpectedPolicy(sandbox="workspace-write", roots=("@ROOT0@", "@ROOT0@/inner"))
    assert wrong(claim(), inner) == []
    assert wrong(claim(roots=("@ROOT0@", "@ROOT0@/inner"))) == []
    assert ("root-missing", "denied") in wrong(claim(roots=("@ROOT0@x",)))
    assert wrong(claim(roots=("/",))) == [("root-too-many", "leak")]
    whole = ExpectedPolicy(sandbox="workspace-write", roots=("/", "@ROOT0@"))
    assert wrong(claim(roots=("/",)), whole) == wrong(claim(roots=("/", "@HOME@")), whole) == []


def test_an_unmentioned_setting_is_not_checked_nor_is_one_that_a_mode_settles() -> None:
    unsaid = ExpectedPolicy(sandbox="workspace-write", network=None, roots=None)
    assert len(says(claim(network=True, roots=("/",)), unsaid, TOLD)) == 1
    free = ExpectedPolicy(sandbox="danger-full-access", network=True, roots=())
    assert len(says(claim(sandbox="danger-full-access", network=True, roots=("/",)), free, TOLD)) == 1
    assert wrong(claim(sandbox="read-only", network=True), ExpectedPolicy(sandbox="read-only", network=False)) == [
        ("another-network", "leak")
    ]


def test_a_codex_that_cannot_be_asked_holds_no_row() -> None:
    found = (*says(claim(), ASKED, Oracle(held=False, words="no")), *loads(claim(), Oracle(held=False, words="no")))
    assert not any(one.control_held for one in found)


def test_a_file_that_does_not_load_is_reported_in_codexs_own_words() -> None:
    (found,) = loads(Claim(loads=False, error="bad"), TOLD)
    assert (found.held, found.saw, found.direction, found.reason) == (False, "bad", "denied", "does-not-load")
    (found,) = loads(claim(), TOLD)
    assert (found.held, found.direction, found.reason) == (True, "", "")


def test_the_oracle_holds_if_codex_reports_known_files_and_refuses_a_torn_one() -> None:
    modes: tuple[Any, ...] = ("read-only", "workspace-write")
    right, torn = {mode: Claim(loads=True, sandbox=mode) for mode in modes}, Claim(loads=False, error="torn")
    assert oracle(right, torn).held
    assert not oracle(right, Claim(loads=True)).held
    assert not oracle(right, Claim(loads=True, error="torn")).held
    assert not oracle(right, Claim(loads=False)).held, "without a word why"
    assert not oracle({**right, "read-only": right["workspace-write"]}, torn).held, "it says the same of all"
    assert not oracle({**right, "read-only": Claim(loads=False, sandbox="read-only")}, torn).held
    assert not oracle({}, torn).held
    assert not oracle({"read-only": right["read-only"]}, torn).held


BESIDE = ("sibling", "sibling-board")


WRITES = ExpectedPolicy(sandbox="workspace-write", network=False, roots=())


def granting(*roots: str) -> ExpectedPolicy:
    return msgspec.structs.replace(WRITES, roots=roots)


@pytest.mark.parametrize(
    ("asked", "may"),
    [
        (ExpectedPolicy(sandbox="read-only", network=False), set()),
        (ExpectedPolicy(sandbox="read-only", roots=("@ROOT0@",)), set()),
        (WRITES, {"workspace"}),
        (granting("@ROOT0@/inner", "@SIBLING@"), {"workspace", *BESIDE}),
        (granting("@HOME@"), {"workspace", "home"}),
        (granting("/"), {"workspace", "root", "board", *BESIDE, "home"}),
        (
            ExpectedPolicy(sandbox="workspace-write", network=True, roots=("@ROOT0@",)),
            {"workspace", "root", "board", "http"},
        ),
        (granting("@ROOT0@/inner"), {"workspace"}),
        (granting("@HOME@", "@ROOT0@x"), {"workspace", "home"}),
        (granting("@WORLD@"), {"workspace", "root", "board", *BESIDE, "home"}),
        (ExpectedPolicy(sandbox="danger-full-access"), {"workspace", "root", "board", *BESIDE, "home", "http"}),
    ],
)
def test_acts_allowed_under_a_policy(asked: ExpectedPolicy, may: set[str]) -> None:
    found = permitted(asked)
    assert {act for act, allowed in found.items() if allowed} == may
    assert ("http" in found) is (asked.network is not None or asked.sandbox == "danger-full-access")
    assert {*BESIDE, "home"} <= found.keys()


def test_every_act_is_done_judged_and_has_a_name_and_each_happens_where_its_name_says() -> None:
    assert PROMISE.acts == ACTS
    judged = permitted(WRITES)
    assert list(ACTS) == list(CLAIMS) == list(judged)
    places = {name: (act.verb, act.path.rpartition("/")[0]) for name, act in ACTS.items()}
    assert places == {
        "workspace": ("write", "@WORKSPACE@"),
        "root": ("write", "@ROOT0@"),
        "board": ("sqlite", "@ROOT0@"),
        "sibling": ("write", "@SIBLING@"),
        "sibling-board": ("sqlite", "@SIBLING@"),
        "home": ("write", "@HOME@"),
        "http": ("http", ""),
    }
    for act in ACTS.values():
        if act.verb == "sqlite":
            assert ([one.path for one in act.given], act.looks) == ([act.path], (f"{act.path}#rows",))


def test_without_known_grants_no_folder_is_judged() -> None:
    assert permitted(ExpectedPolicy(sandbox="workspace-write")) == {"workspace": True}

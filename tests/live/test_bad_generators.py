"""Each generator that must not pass, told in confinement: it is caught, or it does not get what it reaches for."""

import pytest

from pytest_codexsandbox.generators.bad import BAD, Bad
from pytest_codexsandbox.generators.bad.bad_behaviour import REACHED
from pytest_codexsandbox.generators.case_run import CaseRunner
from pytest_codexsandbox.generators.checks import CHECKS
from pytest_codexsandbox.matrix import generator_specs
from pytest_codexsandbox.model.generator import Case, CaseRun, Declaration, Intent
from pytest_codexsandbox.model.generator_spec import Generator

# What is seen in three runs on one file. The rest needs a real Codex, another writer, or somebody who looks meanwhile.
SEEN_HERE = [bad for bad in BAD if bad.kind == "caught" and set(bad.caught_by) & CHECKS.keys()]
PREVENTED = [bad for bad in BAD if bad.kind == "prevented"]
ALSO = {  # promises that a flaw breaks beside its own
    "breaks-toml": {"generator.second-run-changes-nothing", "generator.user-keys-keep-their-values"},
    "duplicates-its-block": {
        "generator.does-not-grow",
        "generator.keys-at-their-own-place",
        "generator.user-keys-keep-their-values",
        "generator.means-the-same-again",
        "generator.third-run-changes-nothing",
    },
    "grows": {"generator.second-run-changes-nothing", "generator.third-run-changes-nothing"},
    "changes-mode": {"generator.second-run-changes-nothing", "generator.third-run-changes-nothing"},
    "replaces-the-link": {"generator.keys-at-their-own-place"},
    "idle": {"managed-block.one-balanced-pair"},
    "swallows": {"managed-block.one-balanced-pair"},
    "at-the-end": {"effective.grants-no-more"},
    "flips-the-network": {"effective.grants-no-more"},
    "argv-unescaped": {"effective.grants-no-more"},
    "argv-grants-home": {"effective.argv-reads-as-asked"},
}


def told(runner: CaseRunner, bad: Bad) -> tuple[CaseRun, Declaration]:
    declaration = bad.declaration()
    one = Generator(name=bad.name, spec=generator_specs.parse(bad.run), declaration=declaration)
    case = Case(id=bad.name, why=bad.wrong, config=bad.config, link=bad.link)
    return runner.run_case(one, case, bad.intent, version="0.163.0"), declaration


def broken(case_run: CaseRun, declaration: Declaration) -> set[str]:
    found = {promise: CHECKS[promise](case_run, declaration) for promise in CHECKS}
    assert all(one.skipped or one.control_held for rows in found.values() for one in rows), found
    return {promise for promise, rows in found.items() if any(not one.held and not one.skipped for one in rows)}


@pytest.mark.parametrize("bad", SEEN_HERE, ids=lambda bad: bad.name)
def test_it_is_caught_by_its_promises_and_by_no_others(runner: CaseRunner, bad: Bad) -> None:
    wrong = broken(*told(runner, bad))
    assert set(bad.caught_by) & CHECKS.keys() <= wrong
    assert wrong <= {*bad.caught_by, *ALSO.get(bad.name, ())}


@pytest.mark.parametrize("bad", PREVENTED, ids=lambda bad: bad.name)
def test_it_does_not_get_what_it_reaches_for(runner: CaseRunner, bad: Bad) -> None:
    case_run, declaration = told(runner, bad)
    assert [REACHED in run.stdout for run in case_run.runs] == [False] * 3
    assert [run.code for run in case_run.runs] == [0] * 3, "it got as far as its end"
    assert broken(case_run, declaration) == set()


def test_the_good_one_breaks_nothing_on_their_files(runner: CaseRunner) -> None:
    good = generator_specs.of_declaration("good")
    for config in dict.fromkeys(bad.config for bad in BAD):
        case_run = runner.run_case(
            good, Case(id="c", why="w", config=config), Intent(roots=("@ROOT0@",)), version="0.163.0"
        )
        assert broken(case_run, good.declaration) == set(), config

"""Control generators: run beside the measured ones, with a known answer. If one is misjudged, no result is trusted."""

from collections.abc import Callable, Container, Iterator
from typing import Final

from pytest_codexsandbox.generators.bad.catalogue import USER, Bad, named
from pytest_codexsandbox.generators.checks import CHECKS
from pytest_codexsandbox.matrix import generator_specs
from pytest_codexsandbox.model.generator import Case, CaseRun, Declaration, Finding, Intent
from pytest_codexsandbox.model.generator_spec import Generator

CAUGHT: Final = ("breaks-toml", "duplicates-its-block", "eats-comments", "at-the-end", "leaves-a-copy")
GOOD: Final = "good"
ASKED: Final = tuple(name for name in CHECKS if name not in ("effective.argv-reads-as-asked", "generator.stays-inside"))
"""Checks that must apply to the exemplary generator. It gives no arguments, and unconfined no write outside is seen."""
RunCase = Callable[[Generator, Case, Intent], CaseRun]
_ASKED: Final = Intent(roots=("@ROOT0@",), network=True)


def findings(run_case: RunCase) -> tuple[Finding, ...]:
    """Returns one row for each control generator: that it was judged rightly. The row is its own control."""
    return (_of_good(run_case), *(_of_bad(bad, run_case) for bad in named(CAUGHT)))


def _of_good(run_case: RunCase) -> Finding:
    one = generator_specs.of_declaration(GOOD)
    case_run = run_case(one, Case(id="known", why="an ordinary file", config=USER), _ASKED)
    wrong = [f"{promise}: {found.saw}" for promise, found in _failed(case_run, one.declaration, CHECKS)]
    unasked = [
        promise for promise in ASKED if all(found.skipped for found in CHECKS[promise](case_run, one.declaration))
    ]
    wrong += [f"{promise} was not checked" for promise in unasked]
    return _row("the exemplary generator passes", "it passes", wrong)


def _of_bad(bad: Bad, run_case: RunCase) -> Finding:
    declaration = bad.declaration()
    one = Generator(name=bad.name, spec=generator_specs.parse(bad.run), declaration=declaration)
    case_run = run_case(one, Case(id="known", why=bad.wrong, config=bad.config, link=bad.link), bad.intent)
    about = [promise for promise in bad.caught_by if promise in CHECKS]
    caught = {promise for promise, _ in _failed(case_run, declaration, about)}
    missed = (
        [f"{promise} did not catch it" for promise in about if promise not in caught]
        if about
        else ["no promise checked it"]
    )
    return _row(f"a generator that {bad.wrong} is caught", "it is caught", missed)


def _failed(case_run: CaseRun, declaration: Declaration, promises: Container[str]) -> Iterator[tuple[str, Finding]]:
    for promise in CHECKS:
        if promise in promises:
            for found in CHECKS[promise](case_run, declaration):
                if not found.skipped and not (found.held and found.control_held):
                    yield promise, found


def _row(claim: str, right: str, wrong: list[str]) -> Finding:
    outcome = "; ".join(wrong[:3]) or right
    return Finding(claim=claim, saw=outcome, held=not wrong, control=outcome, control_held=not wrong)

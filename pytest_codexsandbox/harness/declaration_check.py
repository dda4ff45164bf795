"""Declaration check: compares the promises of a journal's plan with what their scenarios declare today.

What a promise needs and requires decides its verdict, and the plan of a forged journal may say anything. Only where the
same scenario is here, and in the same version of this program, is a difference a contradiction. Elsewhere the results
of the promise are not re-judged. A user's own test declares no more than its policies.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from pytest_codexsandbox.harness.user_command import promise_of_test
from pytest_codexsandbox.matrix.select import USER
from pytest_codexsandbox.matrix.shipped_promises import declared
from pytest_codexsandbox.model.journal_lines import PlanLine, PromiseRow
from pytest_codexsandbox.model.plan_content import asks_digest
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.suite_traits import SANDBOX

_COMPARED: Final = ("suite", "kind", "severity", "needs", "policies", "cases", "requires")
_OF_TESTS: Final = ("suite", "kind", "severity", "needs", "requires")  # that each test of a user has alike


class Differing(msgspec.Struct, frozen=True, kw_only=True):
    """Promises of a plan that are not what they are today. `wrong`: promise → how its row was changed."""

    wrong: dict[str, str] = {}
    unsure: frozenset[str] = frozenset()  # whose scenario is another one today, or had other words


def differing(plan: PlanLine, digests: Mapping[str, str], *, same_version: bool) -> Differing:
    """Compares each shipped promise of a plan. `digests`: promise → digest of the code that makes its rows today."""
    wrong, unsure = {}, set()
    for row in plan.promises:
        own = declared().get(row.id)
        if own is None:
            fault = _fault_of_test(row) if row.id.startswith(USER) else ""
            if fault and same_version:
                wrong[row.id] = fault
            elif fault:
                unsure.add(row.id)
            continue
        fault = _fault(row, own)
        is_known = own.suite != SANDBOX or row.asked == digests.get(row.id)
        if same_version and (row.suite != own.suite or (fault and row.asked and is_known)):
            wrong[row.id] = fault
        elif fault or not is_known:
            unsure.add(row.id)
    return Differing(wrong=wrong, unsure=frozenset(unsure))


def _fault_of_test(row: PromiseRow) -> str:
    """Returns how the row of a user's own test differs from all others; "" if it does not."""
    own = promise_of_test(row.id)
    name = next((name for name in _OF_TESTS if getattr(row, name) != getattr(own, name)), "")
    return f"the plan has another `{name}` for it than a user's own test has" if name else ""


def _fault(row: PromiseRow, own: Promise) -> str:
    """Returns how the row of a promise differs from its declaration; "" if it does not."""
    if row.suite != own.suite:
        return f"the plan says that it is a promise of the suite {row.suite or 'none'}, and it is one of {own.suite}"
    said = {name: getattr(row, name) for name in _COMPARED} | {"asks": row.asks}
    today = {name: getattr(own, name) for name in _COMPARED} | {"asks": asks_digest(own)}
    name = next((name for name in said if said[name] != today[name]), "")
    return f"the plan has other words for its `{name}` than its scenario" if name else ""

"""Installed suites: the entry points of the group `codexsandbox.suites`, loaded and checked."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.model.suite_traits import SANDBOX, SuiteTraits
from pytest_codexsandbox.registry import names, points
from pytest_codexsandbox.suite_protocols import Suite

GROUP: Final = "suites"


@cache
def installed_suites() -> Mapping[str, Suite[Any]]:
    """Returns every suite by its name: the sandbox suite first, the others by name."""
    known = names(GROUP)
    ordered = sorted(known, key=lambda name: (name != SANDBOX, name))
    suites = {name: _load(name) for name in ordered}
    _refuse_twins(suites)
    return MappingProxyType(suites)


def _load(name: str) -> Suite[Any]:
    found = [point for point in points(GROUP) if point.name == name]
    source = " and ".join(f"entry point {name!r} of {_distribution(point.dist)}" for point in found)
    if len(found) > 1:
        raise InputError(
            f"several distributions have a suite {name!r}", where=source, next_step="uninstall all but one"
        )
    try:
        suite = found[0].load()()
    except KeyboardInterrupt:
        raise
    except BaseException as fault:
        why = f"{type(fault).__name__}: {fault}"
        raise InputError(f"the suite {name!r} cannot be loaded", where=source, why=why) from fault
    if why := _defect(suite, name):
        raise InputError(f"the suite {name!r} is not a Suite", where=source, why=why)
    return suite  # type: ignore[no-any-return]


def _distribution(dist: Any) -> str:
    return f"{dist.name} {dist.version}" if dist is not None else "an unknown distribution"


def _defect(suite: object, name: str) -> str:
    """Returns what the protocol asks for and the object lacks; "" if nothing."""
    if not isinstance(suite, Suite):
        return "its class is no subclass of pytest_codexsandbox.suite_protocols.Suite"
    traits = getattr(suite, "traits", None)
    if not isinstance(traits, SuiteTraits) or traits.name != name:
        return f"its traits are {traits!r}; they must be SuiteTraits with the name of the entry point"
    fixture = getattr(suite, "fixture", None)
    return "" if isinstance(fixture, str) and fixture.isidentifier() else f"its fixture is {fixture!r}"


def _refuse_twins(suites: Mapping[str, Suite[Any]]) -> None:
    """Refuses suites that share a fixture or a policy of their own: these tell suites apart."""
    owners: dict[tuple[str, str], str] = {}
    for name, suite in suites.items():
        for kind, word in (("fixture", suite.fixture), *(("policy", policy) for policy in suite.traits.policies)):
            other = owners.setdefault((kind, word), name)
            if other != name:
                raise InputError(f"the suites {other!r} and {name!r} have the same {kind}: {word}")

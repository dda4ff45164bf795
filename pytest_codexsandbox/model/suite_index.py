"""Suite index: finds the traits of the suite that a key belongs to."""

from collections.abc import Iterable, Mapping
from typing import Final

from pytest_codexsandbox.model import generator_suite
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.suite_traits import SANDBOX, SuiteTraits

SANDBOX_TRAITS: Final = SuiteTraits(name=SANDBOX, title="promises of Codex's sandbox", policies=tuple(POLICIES))
EARLIER: Final = (SANDBOX_TRAITS, generator_suite.TRAITS)
"""The suites of journals that name none."""


class SuiteIndex:
    """Looks up a key by its promise. In a journal that names no suites, the policy tells the suite."""

    def __init__(self, traits: Iterable[SuiteTraits] = (), promises: Mapping[str, str] | None = None) -> None:
        """`promises`: id → name of its suite."""
        self.all = tuple(traits) or EARLIER
        by_name = {one.name: one for one in self.all}
        self._by_policy = {policy: one for one in self.all for policy in one.policies}
        named = (promises or {}).items()
        self._by_promise = {promise: by_name[suite] for promise, suite in named if suite in by_name}

    def of(self, key: Key) -> SuiteTraits:
        return self._by_promise.get(key.promise) or self.of_policy(key.policy)

    def of_policy(self, policy: str) -> SuiteTraits:
        """Returns the suite that alone has a policy, else the sandbox suite."""
        return self._by_policy.get(policy, SANDBOX_TRAITS)

    def stands_alone(self, key: Key) -> bool:
        """Checks whether the case of a key is judged by itself."""
        return self.of(key).cases_alone

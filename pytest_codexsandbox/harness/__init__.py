"""From a plan to observations: opens environments, resolves subjects, performs batteries once, hands out trials."""

from pytest_codexsandbox.harness.observation_cache import ObservationCache, ObservationCacheOptions
from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.harness.trial_runner import run_promise, run_promises

__all__ = ["ObservationCache", "ObservationCacheOptions", "RealTrial", "run_promise", "run_promises"]

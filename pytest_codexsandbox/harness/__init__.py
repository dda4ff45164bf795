"""From a plan to observations: opens environments, resolves subjects, performs batteries once, hands out trials."""

from pytest_codexsandbox.harness.observation_cache import Bench, BenchOptions
from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.harness.trial_runner import rehearse, run_promise

__all__ = ["Bench", "BenchOptions", "RealTrial", "rehearse", "run_promise"]

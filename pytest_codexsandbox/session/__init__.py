"""From a plan to observations: opens environments, resolves subjects, performs batteries once, hands out trials."""

from pytest_codexsandbox.session.bench import Bench, BenchOptions
from pytest_codexsandbox.session.rehearsal import rehearse, run_promise
from pytest_codexsandbox.session.trial import RealTrial

__all__ = ["Bench", "BenchOptions", "RealTrial", "rehearse", "run_promise"]

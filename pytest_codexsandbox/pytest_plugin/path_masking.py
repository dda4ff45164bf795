"""Masking: real paths of a run, and the words that stand for them in every report."""

from pathlib import Path
from typing import Final

from pytest_codexsandbox.harness.baseline_checks import TRUST
from pytest_codexsandbox.harness.generators.trial import RealGeneratorTrial
from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.model.private_paths import CACHE, HOME, RUN, PrivatePaths
from pytest_codexsandbox.registry import cache_folder, home_folder

Trial = RealTrial | RealGeneratorTrial | None
_OF_GENERATOR: Final = "of a generator"


def places_of(worlds: Path) -> dict[str, str]:
    """Paths that no report shows, and the words that stand for them."""
    home = home_folder()
    found = {home: HOME} if home.startswith("/") and home.strip("/") else {}
    return found | {str(cache_folder()): CACHE, str(worlds): RUN}


class Masks:
    """Replacements for each set of worlds, compiled once."""

    def __init__(self, places: dict[str, str]) -> None:
        self._places = places
        self._made: dict[tuple[str, ...], PrivatePaths] = {}

    def of(self, trial: Trial) -> PrivatePaths:
        """Returns what replaces the paths of a trial's worlds, and those of the run.

        The text of a user's configuration may name any home: what a generator did to it is shown as it is.
        """
        seen = (*trial.seen, *trial.control) if trial is not None else ()
        worlds = {one.world.id: one.world for one in seen if one.world is not None}
        of_generator = isinstance(trial, RealGeneratorTrial) and trial.promise.topic != TRUST
        key = (_OF_GENERATOR if of_generator else "", *worlds)
        if key not in self._made:
            places = {path: word for path, word in self._places.items() if not (of_generator and word == HOME)}
            self._made[key] = PrivatePaths(worlds.values(), places)
        return self._made[key]

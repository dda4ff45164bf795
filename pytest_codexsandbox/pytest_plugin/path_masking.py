"""Path masking: real paths of a run, and the words that replace them in every report."""

from pathlib import Path
from typing import Final

from pytest_codexsandbox.model.private_paths import CACHE, HOME, RUN, PrivatePaths
from pytest_codexsandbox.registry import cache_folder, home_folder
from pytest_codexsandbox.suite_protocols import SuiteTrial

_WITH_HOME: Final = "shows the home"


def places_of(worlds: Path) -> dict[str, str]:
    """Returns the paths that no report shows, and the words that replace them."""
    home = home_folder()
    found = {home: HOME} if home.startswith("/") and home.strip("/") else {}
    return found | {str(cache_folder()): CACHE, str(worlds): RUN}


class Masks:
    """Path replacements for each set of worlds, compiled once."""

    def __init__(self, places: dict[str, str]) -> None:
        self._places = places
        self._made: dict[tuple[str, ...], PrivatePaths] = {}

    def of(self, trial: SuiteTrial | None) -> PrivatePaths:
        """Returns the replacement of the paths of a trial's worlds and of the run."""
        seen = (*trial.seen, *trial.control) if trial is not None else ()
        worlds = {one.world.id: one.world for one in seen if one.world is not None}
        shows_home = trial is not None and trial.shows_home
        key = (_WITH_HOME if shows_home else "", *worlds)
        if key not in self._made:
            places = {path: word for path, word in self._places.items() if not (shows_home and word == HOME)}
            self._made[key] = PrivatePaths(worlds.values(), places)
        return self._made[key]

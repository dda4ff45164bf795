"""Sources: where a release is published. PyPI where data says so (or does not know the release), then npm, which has
every release."""

from collections.abc import Callable
from typing import Final, TypeVar

from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.releases import known_releases, npm, pypi
from pytest_codexsandbox.releases.artefact import Artefact, Run
from pytest_codexsandbox.releases.platform_tag import Platform
from pytest_codexsandbox.system.download import NotReached, NotThere

T = TypeVar("T")
EVERYWHERE: Final = (pypi.find, npm.find)


def published(release: str, platform: Platform, run: Run, get: Callable[[Artefact], T]) -> T:
    """Returns the result of `get` for the first source that has the release and gives it. Bytes that are not the
    announced ones end the search."""
    known = known_releases.known().get(release)
    places = EVERYWHERE if known is None or known.pypi else (npm.find,)
    refusals: list[Unavailable] = []
    exists = known is not None
    for find in places:
        try:
            found = find(release, platform, run=run)
            exists = True
            return get(found)
        except Unavailable as problem:
            refusals.append(problem)
    raise refused(release, refusals, exists=exists)


def refused(release: str, refusals: list[Unavailable], *, exists: bool) -> Unavailable:
    """Returns one error for all sources. It reports a failure of the network rather than an absence at the other
    source. A release that data does not know and that npm does not have does not exist."""
    if not exists and isinstance(refusals[-1], NotThere):
        chosen: Unavailable = refusals[-1]
        what = f"there is no Codex {release}"
    else:
        chosen = next((problem for problem in refusals if isinstance(problem, NotReached)), refusals[-1])
        what = f"Codex {release} is not available"
    return type(chosen)(what, why="; ".join(map(_words, refusals)), next_step=chosen.next_step or npm.NO_WAY)


def _words(problem: Unavailable) -> str:
    where = f" ({problem.where})" if problem.where else ""
    return f"{problem.what}{where}: {problem.why}" if problem.why else f"{problem.what}{where}"

"""Availability queries: asks engines, registries and archives before a plan says what is available.

All are asked at once and within seconds, even if one hangs. The answers are kept, so that the next plan need not ask.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.environments.bubblewrap import bwrap_provider, source_archives
from pytest_codexsandbox.environments.container.engine import Engine, default_host
from pytest_codexsandbox.environments.container.images import Images, Standing
from pytest_codexsandbox.environments.container.provision import availability_questions, registry_ping
from pytest_codexsandbox.environments.container.provision.availability import BELIEVED, EngineAnswers, ImageAvailability
from pytest_codexsandbox.environments.container.provision.availability_questions import Question
from pytest_codexsandbox.environments.container.provision.image_request import ImageRequest
from pytest_codexsandbox.environments.container.provision.lockfile import LockFile, SourceAnswer
from pytest_codexsandbox.environments.container.provision.registry_ping import Heard
from pytest_codexsandbox.errors import CodexSandboxError, HarnessError, NotResponding
from pytest_codexsandbox.model.container import BwrapSpec
from pytest_codexsandbox.model.plan_queries import PlanQuery
from pytest_codexsandbox.system.parallel_deadline import ask_all

LIMIT: Final = 5.0  # seconds, for all of it
NEAR: Final = 2.0  # seconds in which an engine of this machine answers
_NAME_ONE: Final = f"name one that has them: {source_archives.VARIABLE}=URL"
_ENGINES: Final = 0.6  # of them: what engines have decides what else is asked
_DEAF: Final = "the container engine does not answer"
_ANEW: Final = "restart it, or name another: DOCKER_HOST=unix:///run/podman/podman.sock"


class EngineAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One engine's answer."""

    standing: dict[str, Standing]
    arch: str = ""
    userns: bool | None = None  # None: not asked


class QueryResult(msgspec.Struct, frozen=True, kw_only=True):
    foresight: ImageAvailability
    engines: dict[str, EngineAnswer]  # those that answered
    no_sources: dict[str, str] = {}  # bubblewrap → why it cannot be built
    asked: tuple[PlanQuery, ...] = ()


def inquire(
    wants: Sequence[ImageRequest],
    bwraps: Iterable[BwrapSpec],
    cache: Path,
    hosts: Sequence[str] = (),
    *,
    userns: bool = False,
    limit: float = LIMIT,
) -> QueryResult:
    """Queries engines, registries and archives. `hosts`: engines that were named; `userns`: also ask for user
    namespaces.
    """
    begun, home = time.monotonic(), default_host()
    named = tuple(dict.fromkeys((home, *hosts)))
    patience = limit * _ENGINES
    looked = ask_all({host: partial(_look, host, wants, cache, patience, userns) for host in named}, patience)
    engines = {host: answer for host in named if isinstance(answer := looked.get(host), EngineAnswer)}
    foresight = ImageAvailability(cache, seen=_seen(engines, home))
    sources = {spec.name: one for spec in bwraps if (one := _of_sources(spec, cache))}
    open_ = _once([*(one for want in wants for one in foresight.questions(want)), *sources.values()])
    unknown = [one for one in open_ if foresight.answered(one) is None]
    heard = _heard(unknown, limit - (time.monotonic() - begun))
    answers = _answers(heard, unknown)
    foresight.learn(answers)
    if kept := _answers(heard, [one for one in unknown if one.kept or heard[one.key].hung]):
        with suppress(CodexSandboxError):  # without a writable cache, the next plan asks again
            LockFile(cache).keep_answers(kept, believed=BELIEVED)
    return QueryResult(
        foresight=foresight,
        engines=engines,
        no_sources={name: f"{why} ({_NAME_ONE})" for name, one in sources.items() if (why := foresight.words(one))},
        asked=(
            *(_of_engine(host, looked.get(host), patience) for host in named),
            *(_asked(one, foresight, heard.get(one.key)) for one in open_),
            *(_nobody(wants, foresight) if not engines else ()),
        ),
    )


# ---- engines
def silent_engines(hosts: Sequence[str], *, limit: float = LIMIT) -> dict[str, CodexSandboxError]:
    """Asks engines whether they are there. One on another machine may need the time of a login first."""
    near = [host for host in hosts if host.startswith("unix://")]
    groups = [(near, min(limit, NEAR)), ([host for host in hosts if host not in near], limit)]
    found: dict[str, CodexSandboxError] = {}
    for group, patience in groups:
        heard = _greeted(group, patience)
        for host in group:
            answer = heard.get(host)
            if answer is None or isinstance(answer, NotResponding):  # the SDK's time limit may come just before ours
                found[host] = HarnessError(_DEAF, where=host, why=f"no answer within {patience:.0f} s", next_step=_ANEW)
            elif isinstance(answer, CodexSandboxError):
                found[host] = answer
    return found


def _greeted(hosts: Sequence[str], patience: float) -> dict[str, bool | Exception]:
    """Asks a silent engine a second time: a machine with much other work may miss the first limit."""
    heard = ask_all({host: partial(_greet, host, patience) for host in hosts}, patience)
    deaf = [host for host in hosts if isinstance(heard.get(host, NotResponding("")), NotResponding)]
    return heard | ask_all({host: partial(_greet, host, patience) for host in deaf}, patience)


def _greet(host: str, patience: float) -> bool:
    with Engine(host, timeout=max(1, round(patience))):
        return True


def _look(host: str, wants: Sequence[ImageRequest], cache: Path, patience: float, userns: bool) -> EngineAnswer:
    with Engine(host, timeout=max(1, round(patience))) as engine:
        images = Images(engine, cache)
        standing = {want.what: images.stands(want) for want in wants}
        arch = "" if all(how == "ready" for how in standing.values()) else images.arch()
        return EngineAnswer(standing=standing, arch=arch, userns=engine.has("userns") if userns else None)


def _seen(engines: Mapping[str, EngineAnswer], home: str) -> EngineAnswers:
    """Returns the answers of the engines that would make images: the usual one, or without its answer all others."""
    makers = {home: engines[home]} if home in engines else dict(engines)
    best: dict[str, str] = {}
    for answer in makers.values():
        best |= {what: how for what, how in answer.standing.items() if best.get(what) != "ready"}
    return EngineAnswers(
        engines=tuple(makers), standing=best, arch=next((answer.arch for answer in makers.values()), "")
    )


def _of_engine(host: str, answer: EngineAnswer | Exception | None, patience: float) -> PlanQuery:
    if isinstance(answer, EngineAnswer):
        ready = tuple(what for what, how in answer.standing.items() if how == "ready")
        return PlanQuery(kind="engine", name="", where=host, answer="yes", has=ready)
    why = f"no answer within {patience:.0f} s" if answer is None else getattr(answer, "why", "") or str(answer)
    return PlanQuery(kind="engine", name="", where=host, answer="unknown", why=why)


def _nobody(wants: Iterable[ImageRequest], foresight: ImageAvailability) -> Iterator[PlanQuery]:
    """Yields the registries that remain unqueried because no engine answered."""
    pulled = [want.image for want in wants if want.image.pull and not foresight.is_settled(want)]
    for host in dict.fromkeys(registry_ping.host_of(image.pull) for image in pulled):
        yield PlanQuery(
            kind="registry", name=host, answer="unknown", why="no engine answered, so the registry was not queried"
        )


# ---- the others
def _of_sources(spec: BwrapSpec, cache: Path) -> Question | None:
    addresses = bwrap_provider.sources(spec, cache)
    return availability_questions.of_sources(spec.version, addresses) if addresses else None


def _once(found: Iterable[Question]) -> list[Question]:
    first: dict[str, Question] = {}
    for one in found:
        first.setdefault(one.key, one)
    return list(first.values())


def _heard(asked: Sequence[Question], limit: float) -> dict[str, Heard]:
    limit = max(1.0, limit)
    found = ask_all({one.key: partial(one.asked, limit) for one in asked}, limit)
    return {one.key: _said(one, found.get(one.key), limit) for one in asked}


def _said(question: Question, heard: Heard | Exception | None, limit: float) -> Heard:
    if isinstance(heard, Heard):
        return heard
    if heard is not None:
        return Heard(answer="unknown", why=f"{type(heard).__name__}: {heard}")
    silence = f"no answer within {limit:.0f} s"
    if not question.silence:
        return Heard(answer="unknown", why=silence)
    return Heard(answer="no", short=question.silence, why=silence, hung=True)


def _answers(heard: Mapping[str, Heard], asked: Iterable[Question]) -> dict[str, SourceAnswer]:
    """Returns the answers in the form of the lock file. A registry that lacks only this image counts as answering."""
    found: dict[str, SourceAnswer] = {}
    for one in asked:
        said = heard[one.key]
        if said.answer == "unknown":
            continue
        answer = SourceAnswer(ok=said.answer == "yes", when=time.time(), short=said.short, why=said.why, hung=said.hung)
        if said.alone and one.of_image:
            found[one.of_image] = answer
            answer = SourceAnswer(ok=True, when=answer.when)
        found[one.key] = answer
    return found


def _asked(question: Question, foresight: ImageAvailability, heard: Heard | None) -> PlanQuery:
    if heard is not None:
        return PlanQuery(
            kind=question.kind, name=question.name, where=question.where, answer=heard.answer, why=heard.why
        )
    answer = foresight.answered(question)
    assert answer is not None  # otherwise it would have been asked
    return PlanQuery(
        kind=question.kind,
        name=question.name,
        where=question.where,
        why=answer.why,
        answer="yes" if answer.ok else "no",
        when=foresight.ago(answer.when),
    )

"""Observe: makes one call in a fresh world, from the creation of files to the parsed output of the probe."""

import hashlib
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import msgspec

from pytest_codexsandbox.doors.support.call_output import exhausted_resource, parse
from pytest_codexsandbox.doors.support.driver_command import with_driver_error
from pytest_codexsandbox.doors.support.placeholders import (
    fill,
    fill_act,
    fill_launch,
    in_order,
    looked_at,
    name_word,
    plan_text,
    plan_word,
)
from pytest_codexsandbox.errors import HarnessError, Unavailable
from pytest_codexsandbox.model.act import Act, ActResult, Call, Given, PathState
from pytest_codexsandbox.model.base_acts import CONFIGURED, FORBIDDEN, PLANTED, SEARCHED
from pytest_codexsandbox.model.command import Command, CommandResult
from pytest_codexsandbox.model.generator import GeneratedFile
from pytest_codexsandbox.model.observation import Observation, OutsideView, look_key
from pytest_codexsandbox.model.policy import Policy
from pytest_codexsandbox.model.printed_text import text_of, text_of_end
from pytest_codexsandbox.model.redact import LONGEST, cut_outside, redact, redact_lookalikes, redact_words, register
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Door, Environment, Subject
from pytest_codexsandbox.system import environ

TEXT_LIMIT: Final = 64 * 1024
ROW_DETAIL: Final = 2000
DISTURBED: Final = 3  # calls at most: what fails each time was not the machine's other work
# bubblewrap reads the list of mounts and then goes through it; a container that ends meanwhile takes its mount along.
VANISHED: Final = re.compile(
    rb"bwrap: .*Unable to apply mount flags: remount \".*\": (?:Invalid argument|No such file or directory)"
)
PLAN_AT: Final = 5  # PYTHON -I -S PROBE NONCE PLAN
LONGEST_WORD: Final = 200  # of a further argument, in the journal
SQLITE_COMPANIONS: Final = ("", "-journal", "-wal", "-shm")


def observe(
    door: Door, environment: Environment, subject: Subject, policy: Policy, acts: Mapping[str, Act], call: Call | None
) -> tuple[Observation, ...]:
    """Performs `acts` through `door`: one observation for each of the call's copies, each in a world of its own, and
    for each start in the same world."""
    asked = call or Call()
    ordered = in_order(acts, asked)
    takes: list[_Take] = []
    with _cleared(environment, takes):
        try:
            for _ in range(max(1, asked.copies)):
                takes.append(_Take(environment, environment.world(), door, policy, ordered))
            return tuple(_each_start(environment, subject, asked, takes))
        except Unavailable as lacking:
            return tuple(take.not_started(asked, lacking) for take in takes)


def _each_start(
    environment: Environment, subject: Subject, asked: Call, takes: "Sequence[_Take]"
) -> Iterator[Observation]:
    """Yields the observations of the copies, start after start."""
    for start in range(max(1, asked.starts)):
        takes = [take.again(start + 1) for take in takes] if start else takes
        ended = _undisturbed(environment, [take.prepare(subject, asked) for take in takes])
        yield from (take.observation(finished) for take, finished in zip(takes, ended, strict=True))


@contextmanager
def _cleared(environment: Environment, takes: "list[_Take]") -> Iterator[None]:
    """Removes the worlds afterwards. Raises what broke off the call (a lost agent), and not that a call that still ran
    kept its world: the end of the environment removes that as well, and does so at once after a Ctrl-C."""
    try:
        yield
    except Exception:
        for take in takes:
            with suppress(HarnessError, TimeoutError):
                environment.clear(take.world)
        raise
    for take in takes:
        environment.clear(take.world)


def _undisturbed(environment: Environment, commands: Sequence[Command]) -> tuple[CommandResult, ...]:
    """Runs the copies. Repeats them if every one failed because a mount of the machine went away at that moment.

    Nothing ran then, and nothing was changed. If one copy ran, none is repeated.
    """
    for _ in range(DISTURBED):
        ended = environment.run_together(commands) if len(commands) > 1 else (environment.run(commands[0]),)
        if not all(_was_disturbed(one) for one in ended):
            break
    return ended


def _was_disturbed(ended: CommandResult) -> bool:
    return (ended.ended, ended.code, ended.stdout) == ("exit", 1, b"") and bool(VANISHED.search(ended.stderr))


class _Take:
    """One copy of a call. `start`: from the second one on its acts have names of their own in the same world."""

    def __init__(
        self,
        environment: Environment,
        world: World,
        door: Door,
        policy: Policy,
        acts: Mapping[str, Act],
        *,
        start: int = 1,
        known: Sequence[str] = (),
    ) -> None:
        self.world, self._explained = world, known
        self._names = world if start == 1 else msgspec.structs.replace(world, id=f"{world.id}-{start}")
        self._environment, self._door, self._policy, self._acts = environment, door, policy, acts
        self._filled = {act_id: fill_act(self._names, act_id, act) for act_id, act in acts.items()}
        self._nonce, self._start = secrets.token_hex(8), start
        self._command = Command(argv=(), cwd="", env={})
        self._looked_at = {
            look_key(act_id, path): (path, fill(self._names, path, act_id))
            for act_id, act in acts.items()
            for path in looked_at(act)
        }
        self._before: dict[str, PathState] = {}
        self._laid: tuple[Given, ...] = ()

    def again(self, start: int) -> "_Take":
        """Returns the next start in the same world. What the starts before it made is known there."""
        known = [*self._known(), *(fill(self.world, path) for path in self._planted())]
        return _Take(self._environment, self.world, self._door, self._policy, self._acts, start=start, known=known)

    def prepare(self, subject: Subject, call: Call) -> Command:
        """Prepares everything up to the start: the command, the world's files, and the survey before the call."""
        register(call.env, is_there=environ.is_existing_path)
        if self._start == 1 and call.later:
            self._filled = _less(self._filled, fill(self._names, call.later))
        further = (*call.words, *map(os.fsdecode, call.byte_words))
        inner = fill(self._names, call.argv, FORBIDDEN) if call.argv else (*self._probe(), *further)
        made = self._door.command(subject, self._policy, self.world, inner, call)
        probe = {} if call.argv else {"probe_nonce": self._nonce, "probe_argv": inner}
        self._command = msgspec.structs.replace(made, launch=fill_launch(self.world, made.launch), **probe)
        self._laid = tuple(self._put(path, file) for path, file in made.files.items())
        given = [given for act in self._filled.values() for given in act.given]
        self._before = self._shown(self._environment.ready(self.world, given, self._places))
        return self._command

    def _put(self, path: str, file: GeneratedFile) -> Given:
        self._environment.put(path, file.content, file.mode)
        return Given(kind="file", path=path, content=file.content.decode("utf-8", "replace"), mode=file.mode)

    def _probe(self) -> tuple[str, ...]:
        python, probe = self.world.values["PYTHON"], self.world.values["PROBE"]
        return (python, "-I", "-S", probe, self._nonce, plan_word(self._filled))

    @property
    def _places(self) -> list[str]:
        return sorted({real for _, real in self._looked_at.values()})

    def _shown(self, seen: Mapping[str, PathState]) -> dict[str, PathState]:
        """Returns the states of each act's paths, by `look_key`."""
        return {key: _shown(seen[real], path) for key, (path, real) in self._looked_at.items()}

    def observation(self, ended: CommandResult) -> Observation:
        said = parse(ended.stdout, self._nonce, self._asked())
        of_probe = len(ended.stdout) - len(said.rest)
        lacking = exhausted_resource(ended, said.rest, errnos=[row.errno for row in said.rows.values()])
        survey = self._survey()
        litter, searched = self._left_behind(survey.litter)
        seen = Observation(
            id=self._id(),
            door=self._door.name,
            policy=self._policy.id,
            nonce=self._nonce,
            argv=self._argv(),
            cwd=self._command.cwd,
            env={name: redact(value) for name, value in self._command.env.items()},
            ended=ended.ended,
            code=ended.code,
            seconds=ended.seconds,
            stdout_sha256=hashlib.sha256(said.rest).hexdigest(),
            stdout_total=max(ended.stdout_total, len(ended.stdout)) - of_probe,
            stdout=_bounded(said.rest),
            stderr=_bounded(ended.stderr),
            stderr_sha256=hashlib.sha256(ended.stderr).hexdigest(),
            stderr_total=len(ended.stderr),
            error=said.error or lacking or _machine_error(ended),
            lacked=lacking,
            ready=said.ready,
            finished=said.finished,
            rows={act: _clean(row) for act, row in said.rows.items()},
            before=self._before,
            after=self._shown(survey.looks),
            arrivals=tuple(
                f"{listener} {name}" for name, listeners in survey.arrivals.items() for listener in listeners
            ),
            readings=ended.readings,
            survivors=tuple(map(redact, ended.survivors)),
            litter=litter,
            searched=searched,
            world=self.world,
            adds=self._door.adds_variables,
            given={act_id: given for act_id, given in self._given() if given},
        )
        return with_driver_error(seen) if self._command.channel else seen

    def _given(self) -> Iterator[tuple[str, tuple[Given, ...]]]:
        """Yields the created files, by the act that needs them; credentials are removed."""
        for act_id, given in (*((act_id, act.given) for act_id, act in self._filled.items()), (CONFIGURED, self._laid)):
            yield act_id, tuple(msgspec.structs.replace(one, content=redact(one.content)) for one in given)

    def not_started(self, call: Call, lacking: Unavailable) -> Observation:
        nothing = hashlib.sha256(b"").hexdigest()
        return Observation(
            id=self._id(),
            door=self._door.name,
            policy=self._policy.id,
            nonce=self._nonce,
            argv=(),
            env={},
            cwd=self.world.fill(call.cwd),
            ended="not-started",
            code=0,
            seconds=0.0,
            stdout_sha256=nothing,
            stdout_total=0,
            stdout="",
            stderr="",
            error=str(lacking),
            world=self.world,
        )

    def _asked(self) -> tuple[str, ...]:
        return tuple(self._acts) if self._command.probe_nonce else ()

    def _id(self) -> str:
        return f"{self._door.name}-{self._policy.id}-{self._nonce}"

    def _argv(self) -> tuple[str, ...]:
        """Returns the command as it was run, without credentials; those in the probe's plan are removed as well.

        The plan is unpacked. The other words of the probe must stay as they are.
        """
        words, own = self._command.argv, len(self._command.probe_argv)
        if not own:
            return redact_words(words)
        kept = {
            act_id: msgspec.structs.replace(act, params=_without(act.params)) for act_id, act in self._filled.items()
        }
        probe = (*words[-own:][:PLAN_AT], plan_text(kept))
        return (*redact_words(words[:-own]), *probe, *map(_shortened, words[-own:][PLAN_AT + 1 :]))

    def _survey(self) -> OutsideView:
        """Surveys the world. The agent plants files last, so that they cannot be mistaken for the command's work."""
        return self._environment.survey(
            self.world,
            self._places,
            tokens=list(self._tokens()),
            known=self._known(),
            planted=[Given(kind="file", path=path) for path in self._planted()],
        )

    def _tokens(self) -> Iterator[str]:
        """Yields the names of acts that were given a listener's address. No other act can have reached a listener."""
        for act_id, act in self._filled.items():
            name = self._names.fill("@NAME@", act=name_word(act_id))
            if name in repr(act.params):
                yield name

    def _planted(self) -> dict[str, str]:
        name = self._names.fill("@NAME@", act=name_word(PLANTED))
        return {f"@{place}@/{name}": place for place in SEARCHED}

    def _left_behind(self, found: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Returns the leftovers, and the folders in which the search was proved to see files."""
        ours = self._planted()
        return tuple(path for path in found if path not in ours), tuple(ours[path] for path in found if path in ours)

    def _known(self) -> list[str]:
        known: set[str] = {*self._explained, *(laid.path for laid in self._laid)}
        for act in self._filled.values():
            companions = SQLITE_COMPANIONS if act.verb == "sqlite" else ("",)
            known.update(act.path + companion for companion in companions if act.path.startswith("/"))
            known.update(path for path in (*act.looks, act.params.get("to", "")) if str(path).startswith("/"))
            known.update(given.path + companion for given in act.given for companion in _companions(given.kind))
        return sorted(known)


def _without(value: Any) -> Any:
    """Returns the value without credentials, at any depth."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: _without(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        words = all(isinstance(held, str) for held in value)
        return list(redact_words(value)) if words else [_without(held) for held in value]
    return value


def _shortened(word: str) -> str:
    word = word.encode("utf-8", "backslashreplace").decode()  # a word that is no UTF-8 cannot stand in a journal
    if len(word) <= LONGEST_WORD:
        return redact(word)
    return f"{redact(word[: cut_outside(word, LONGEST_WORD)])}… ({len(word)} characters)"


def _companions(kind: str) -> tuple[str, ...]:
    return SQLITE_COMPANIONS if kind.startswith("sqlite") else ("",)


def _machine_error(ended: CommandResult) -> str:
    """Returns why a call was never started or got lost; "" for a timeout, which is an answer of the subject."""
    return ended.error if ended.ended in ("not-started", "lost") else ""


def _shown(look: PathState, path: str) -> PathState:
    return msgspec.structs.replace(
        look, path=path, text=redact_lookalikes(look.text), link=redact_lookalikes(look.link)
    )


def _clean(row: ActResult) -> ActResult:
    """Bounds the probe's results as well: a forger of its output need not keep to the probe's limits."""
    return msgspec.structs.replace(
        row,
        errno=row.errno[:80],
        step=row.step[:80],
        value=redact_lookalikes(row.value[: cut_outside(row.value, TEXT_LIMIT)]),
        detail=redact_lookalikes(row.detail[: cut_outside(row.detail, ROW_DETAIL)]),
    )


def _less(acts: Mapping[str, Act], paths: Sequence[str]) -> dict[str, Act]:
    """Returns the acts without the files of these paths that they are given."""
    kept = {name: tuple(one for one in act.given if one.path not in paths) for name, act in acts.items()}
    return {name: msgspec.structs.replace(act, given=kept[name]) for name, act in acts.items()}


def _bounded(data: bytes) -> str:
    """Returns at most TEXT_LIMIT characters, from both ends, since a failure is often printed last."""
    half, more = TEXT_LIMIT // 2 - 40, 1024  # `more`: a credential at the cut is still seen whole
    if len(data) <= TEXT_LIMIT:
        text = redact_lookalikes(text_of(data))
        if len(text) <= TEXT_LIMIT:
            return text
        head = tail = text  # escapes are longer than the bytes that they show
    else:
        first, last = data[: half + more + LONGEST], data[-half - more - LONGEST :]
        end = cut_outside(first.decode("latin-1"), half + more)
        start = cut_outside(last.decode("latin-1"), max(0, len(last) - half - more), forward=True)
        head = redact_lookalikes(text_of(first[:end], whole=False))
        tail = redact_lookalikes(text_of_end(last[start:]))
    head = head[: cut_outside(head, half)]
    tail = tail[cut_outside(tail, max(0, len(tail) - half), forward=True) :]
    return f"{head}\n... the middle of {len(data):,} bytes is left out ...\n{tail}"

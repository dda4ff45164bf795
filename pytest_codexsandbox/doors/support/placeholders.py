"""Placeholders: fills the acts for one world, and encodes them as the PLAN argument of the probe. Pure."""

import base64
import zlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.model.act import Act, Call, Given, Launch
from pytest_codexsandbox.model.base_acts import BASE_ACTS, FORBIDDEN
from pytest_codexsandbox.model.world import World

ENDING: Final = ("exit", "signal", "become")  # after these verbs there is no probe left
ONE_WORD: Final = 128 * 1024 - 1  # the kernel's limit for one word of an argv (MAX_ARG_STRLEN), its NUL included


def name_word(act_id: str) -> str:
    """Returns an act id as a part of a file name, the end of `@NAME@`."""
    return act_id.replace("/", "-").replace(".", "-")


def looked_at(act: Act) -> tuple[str, ...]:
    """Returns the paths of an act that are surveyed from outside, with their placeholders."""
    to = act.params.get("to") if act.verb in ("rename", "link") else None
    paths = (act.path, *(path for path in (to,) if isinstance(path, str)))
    return tuple(dict.fromkeys((*(path for path in paths if path.startswith(("@", "/"))), *act.looks)))


def in_order(acts: Mapping[str, Act], call: Call) -> dict[str, Act]:
    """Returns the acts of one call in the order of execution: base acts first, the act that ends the probe last.

    A call with a command of its own performs no acts. The paths that the command was told to change are surveyed.
    """
    if call.argv:
        return {FORBIDDEN: BASE_ACTS[FORBIDDEN], **acts}
    every = {**BASE_ACTS, **acts}
    ending = [act_id for act_id, act in every.items() if act.verb in ENDING]
    if len(ending) > 1:
        raise InputError("several acts of one call end the probe", why=f"only one may; these do: {', '.join(ending)}")
    return {act_id: every[act_id] for act_id in sorted(every, key=lambda act_id: act_id in ending)}


def fill(world: World, value: Any, act_id: str = "") -> Any:
    """Returns `value` with every text in it filled, at any depth."""
    if isinstance(value, str):
        return _fill_text(world, value, act_id)
    if isinstance(value, Mapping):
        return {key: fill(world, held, act_id) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(fill(world, held, act_id) for held in value)
    return value


def _fill_text(world: World, text: str, act_id: str) -> str:
    try:
        return world.fill(text, act=name_word(act_id))
    except KeyError as unknown:
        raise InputError(f"{text!r}: {unknown.args[0]}", where=act_id or "the call") from None


def fill_act(world: World, act_id: str, act: Act) -> Act:
    return Act(
        verb=act.verb,
        path=fill(world, act.path, act_id),
        params=fill(world, act.params, act_id),
        given=tuple(fill_given(world, act_id, given) for given in act.given),
        looks=fill(world, act.looks, act_id),
    )


def fill_given(world: World, act_id: str, given: Given) -> Given:
    path, content = fill(world, given.path, act_id), fill(world, given.content, act_id)
    return Given(kind=given.kind, path=path, content=content, mode=given.mode)


def fill_launch(world: World, launch: Launch) -> Launch:
    return msgspec.structs.replace(
        launch, stdin_file=fill(world, launch.stdin_file), descriptors=fill(world, launch.descriptors)
    )


def plan_word(filled: Mapping[str, Act]) -> str:
    """Returns the PLAN argument of the probe."""
    word = base64.b64encode(zlib.compress(plan_text(filled).encode(), 9)).decode()
    if len(word) >= ONE_WORD:
        raise InputError(
            f"the plan of {len(filled)} acts has {len(word)} bytes; one argument of a command may have {ONE_WORD - 1}",
            next_step="give some promises a call of their own, or make what they write shorter",
        )
    return word


def plan_text(filled: Mapping[str, Act]) -> str:
    """Returns a PLAN argument unpacked, which is how an observation keeps it: JSON that a reader can read."""
    acts = [{"id": act_id, "verb": a.verb, "path": a.path, "params": a.params} for act_id, a in filled.items()]
    return msgspec.json.encode({"acts": acts}).decode()


def read_plan(word: str) -> list[dict[str, Any]]:
    """Returns the acts of a PLAN argument, packed or unpacked. Journals of schema 1 have it packed."""
    text = word.encode() if word.startswith("{") else zlib.decompress(base64.b64decode(word))
    acts: list[dict[str, Any]] = msgspec.json.decode(text)["acts"]
    return acts

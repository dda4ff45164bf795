"""A bad generator is the good one with one thing spoilt: what it writes, or how it writes it."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from pytest_codexsandbox.config_writer import PolicyRequest, Refusal, plan, request_of
from pytest_codexsandbox.config_writer.atomic_write import rewrite, where
from pytest_codexsandbox.model.generator import Request

Given = Request | Mapping[str, Any]
Result = dict[str, Any]
Generator = Callable[[Given], Result]


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One run: what was asked for, and what lay there."""

    request: Request
    before: bytes | None
    good: bytes  # what the good one would leave
    alone: bytes  # and where there is no file

    @property
    def path(self) -> Path:
        return where(self.request.config)


class Declined(Exception):
    """The good one refuses, and a bad one with another flaw does as well."""


def told(given: Given, **changes: Any) -> Told:
    """With `changes` the good one is asked for something else than the request says."""
    request = request_of(given)
    path = where(request.config)
    before = path.read_bytes() if path.exists() else None
    said = PolicyRequest(
        roots=request.roots, network=request.network, approval=request.approval, platform=request.platform
    )
    wanted = msgspec.structs.replace(said, **changes)
    planned, alone = plan(before, wanted), plan(None, wanted)
    if isinstance(planned, Refusal) or isinstance(alone, Refusal):
        raise Declined(planned.what if isinstance(planned, Refusal) else "")
    return Told(request=request, before=before, good=planned.content, alone=alone.content)


def at_once(run: Told, content: bytes) -> None:
    """As the good one writes: the whole file replaced, and only where something changes."""
    rewrite(run.path, lambda now: None if now == content else content, patience=10)


def declining(generate: Generator) -> Generator:
    """What the good one refuses, this one does as well."""

    @functools.wraps(generate)
    def wrapped(given: Given) -> Result:
        try:
            return generate(given)
        except Declined as problem:
            return {"refused": True, "reason": str(problem)}

    return wrapped


def spoilt(change: Callable[[Told], bytes], **changes: Any) -> Generator:
    """A generator that writes something else than the good one, as well as it can be written."""
    return performing(lambda run: at_once(run, change(run)), **changes)


def performing(act: Callable[[Told], None], **changes: Any) -> Generator:
    """A generator that does something else once it knows what the good one would leave."""

    @declining
    def generate(given: Given) -> Result:
        act(told(given, **changes))
        return {}

    return generate

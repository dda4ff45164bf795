"""File writing: how the re-created systems write a file, each in its own way with its effect on links and modes."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_codexsandbox.config_writer import PolicyRequest, Refusal, Refused, plan
from pytest_codexsandbox.config_writer.atomic_write import refused, rewrite, where
from pytest_codexsandbox.config_writer.policy_writer import of_project
from pytest_codexsandbox.model.generator import Request

Given = Request | Mapping[str, Any]
Result = dict[str, Any]


def text_of(request: Request) -> str:
    """Returns the file's text; "" if there is no file. A file that is not UTF-8 ends the generator, as it does the real
    ones."""
    path = Path(request.config)
    return path.read_bytes().decode("utf-8") if path.exists() else ""


def bytes_of(request: Request, content: bytes, *, mode: int = 0o644) -> Result:
    """Writes in place: the file is emptied and written, links are followed, an existing mode stays."""
    path = Path(request.config)
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
        file.write(content)
    return {}


def moved_over(request: Request, change: Callable[[str], str]) -> Result:
    """Writes like `awk … > tmp && mv tmp file`: a link is replaced, the mode is that of a new file. Bytes that are not
    UTF-8 stay."""
    path = Path(request.config)
    before = path.read_bytes() if path.exists() else b""
    text = change(before.decode("utf-8", "surrogateescape"))
    return renamed(request, text.encode("utf-8", "surrogateescape"), mode=0o644)


def renamed(request: Request, content: bytes, *, mode: int) -> Result:
    """Puts a new file in place of whatever had the name."""
    path = Path(request.config)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    new.replace(path)
    return {}


def put(request: Request, wanted: PolicyRequest, *, before: Callable[[bytes], bytes] = bytes) -> Result:
    """Writes as the exemplary generator does, after `before` has removed what an earlier release had written."""
    warnings: list[str] = []
    path = where(request.config)

    def change(content: bytes | None) -> bytes | None:
        planned = plan(None if content is None else before(content), wanted)
        if isinstance(planned, Refusal):
            raise refused(planned, path)
        if _has_policy(wanted):
            warnings[:] = of_project(planned.content, request.workspace, path)
        return None if planned.content == content else planned.content

    try:
        rewrite(path, change, patience=10)
    except Refused as problem:
        return {"refused": True, "reason": str(problem)}
    return {"warnings": warnings}


def _has_policy(wanted: PolicyRequest) -> bool:
    return bool(wanted.sandbox) or ("default_permissions",) in wanted.more

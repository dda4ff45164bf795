"""Local writers: run our other writers next to a generator in an environment.

They are Python functions of this machine. They work on a local copy of the file, which is then put into the
environment.
"""

import importlib
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.other_writers import WRITERS
from pytest_codexsandbox.generators.private_dirs import PrivateDirs
from pytest_codexsandbox.model.generator import CONFIG, Files, GeneratorRun, Intent
from pytest_codexsandbox.model.generator_spec import Generator


def is_ours(generator: Generator) -> bool:
    return WRITERS.get(generator.name) == generator


def write(writer: Generator, intent: Intent, *, run: int, stage: PrivateDirs, world: dict[str, str]) -> GeneratorRun:
    """Writes the result in place, as the writer does locally: the file's mode and owner stay."""
    before = stage.files()
    content, said = _written(writer, _content(before, world), {"params": intent.params, "run": run})
    if content is not None:
        place = {"top": "CODEX_HOME", "path": CONFIG.removeprefix("@CODEX_HOME@/"), "kind": "file", "content": content}
        stage.act("lay", stage.folders, entries=[place])
    return GeneratorRun(
        ended="exit", refused=bool(said.get("refused")), reason=said.get("reason", ""), told=True, files=stage.files()
    )


def _content(files: Files, world: dict[str, str]) -> bytes | None:
    state = case_view.config(files, world)
    return state.content if state.kind == "file" else None


def _written(
    writer: Generator, content: bytes | None, given: Mapping[str, Any]
) -> tuple[bytes | None, Mapping[str, Any]]:
    module, _, function = writer.spec.text.partition(":")
    change: Callable[[Mapping[str, Any]], Mapping[str, Any]] = getattr(importlib.import_module(module), function)
    with tempfile.TemporaryDirectory(prefix="codexsandbox-writer-") as folder:
        path = Path(folder) / "config.toml"
        if content is not None:
            path.write_bytes(content)
        said = change({**given, "config": str(path)})
        return (path.read_bytes() if path.is_file() else None), said

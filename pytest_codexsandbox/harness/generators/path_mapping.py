"""Path mapping: moves a generator's files from its private folders to the paths of a call's world. Pure but for
reading.

The names of the private folders occur nowhere else. So they are recognized wherever they were written: in a file's
bytes, an argument, a variable.
"""

import posixpath
from collections.abc import Iterator, Mapping
from typing import Final

from pytest_codexsandbox.generators import file_store
from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.generators.repository_files import steers_git
from pytest_codexsandbox.model.generator import CONFIG, CaseRun, Files, GeneratedConfig, GeneratedFile, GeneratorRun
from pytest_codexsandbox.model.world import World

FOLDERS: Final = ("CODEX_HOME", "HOME", "WORKSPACE", "ROOT0", "SIBLING", "OUTSIDE", "TMPDIR")
LAID: Final = ("@CODEX_HOME@/", "@WORKSPACE@/")
_HOME: Final = "@HOME@/.codex/"


def written(case_run: CaseRun, run: GeneratorRun, world: World) -> GeneratedConfig:
    """Returns everything that Codex may read of a run. Links become the files that they lead to."""
    pairs = _pairs(case_run.world, world.values)
    return GeneratedConfig(
        files={path: GeneratedFile(content=placed(content, pairs)) for path, content in readable(case_run, run.files)},
        argv=tuple(placed_text(word, pairs) for word in run.argv),
        env={name: placed_text(value, pairs) for name, value in run.env.items()},
        unset=run.unset,
    )


def readable(case_run: CaseRun, files: Files) -> Iterator[tuple[str, bytes]]:
    """Yields the files of the Codex home and of the workspace, and the configuration itself wherever a link leads.
    Leaves out what git obeys."""
    config = case_view.config(files, case_run.world)
    if config.kind == "file":
        yield CONFIG, config.content
    for path, state in files.items():
        name = path.replace(_HOME, "@CODEX_HOME@/")
        if name != CONFIG and name.startswith(LAID) and state.kind == "file" and not steers_git(name):
            yield name, file_store.read(state)


def _pairs(mine: Mapping[str, str], theirs: Mapping[str, str]) -> list[tuple[str, str]]:
    """Returns the pairs of folders, the innermost first: one folder is inside another."""
    known = [(mine[name], theirs[name]) for name in FOLDERS if name in mine and name in theirs]
    return sorted(known, key=lambda pair: -len(pair[0]))


def placed(content: bytes, pairs: list[tuple[str, str]]) -> bytes:
    for mine, theirs in pairs:
        content = content.replace(mine.encode(), theirs.encode())
    return content


def placed_text(text: str, pairs: list[tuple[str, str]]) -> str:
    for mine, theirs in pairs:
        text = text.replace(mine, theirs)
    return text


def meant(roots: tuple[str, ...] | None, world: Mapping[str, str]) -> tuple[str, ...] | None:
    """Returns the roots as Codex names them: without `..`, a slash at the end, duplicates, and the workspace, which is
    always granted."""
    if roots is None:
        return None
    places = {f"@{name}@": path for name, path in world.items()}
    filled = [posixpath.normpath(_filled(root, places)) for root in roots]
    named = [_named(root, places) for root in filled]
    return tuple(dict.fromkeys(root for root in named if root != "@WORKSPACE@"))


def _filled(root: str, places: Mapping[str, str]) -> str:
    name, sign, rest = root.partition("/")
    return places.get(name, name) + sign + rest


def _named(path: str, places: Mapping[str, str]) -> str:
    for name, place in sorted(places.items(), key=lambda pair: -len(pair[1])):
        if path == place or path.startswith(f"{place}/"):
            return name + path[len(place) :]
    return path

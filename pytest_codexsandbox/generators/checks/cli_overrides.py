"""Command-line overrides as Codex reads them: `-c key=value` with a TOML value or a string, and options that set a key.

Measured: Codex splits the key at dots, and quotes in a key have no meaning. It trims the value. A value that is no TOML
becomes a string without the quotes around it. The last option for a key wins, and an array replaces the file's array.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from pytest_codexsandbox.generators.checks.codex_toml import Path, read
from pytest_codexsandbox.generators.launches import work
from pytest_codexsandbox.model.generator import GeneratorRun
from pytest_codexsandbox.model.option_words import cut

_CONFIG: Final = ("-c", "--config")
_MEANS: Final[Mapping[str, Path]] = {
    "-s": ("sandbox_mode",), "--sandbox": ("sandbox_mode",), "-a": ("approval_policy",),
    "--ask-for-approval": ("approval_policy",), "-m": ("model",), "--model": ("model",),
}  # fmt: skip
_SWITCHES: Final[Mapping[str, Mapping[Path, Any]]] = {
    "--full-auto": {("sandbox_mode",): "workspace-write"},
    "--approve-for-me": {("sandbox_mode",): "workspace-write"},
    "--dangerously-bypass-approvals-and-sandbox": {
        ("sandbox_mode",): "danger-full-access",
        ("approval_policy",): "never",
    },
    "--yolo": {("sandbox_mode",): "danger-full-access", ("approval_policy",): "never"},
}
_PROFILE: Final = ("-p", "--profile")
_ADD: Final = "--add-dir"


class Override(msgspec.Struct, frozen=True, kw_only=True):
    path: Path
    value: Any
    raw: str  # as it was given
    became_text: bool = False  # the value was no TOML
    fault: str = ""  # why Codex exits at once with this option


class Words(msgspec.Struct, frozen=True, kw_only=True):
    overrides: tuple[Override, ...] = ()
    profile: str = ""
    folders: tuple[str, ...] = ()  # --add-dir

    @property
    def layer(self) -> dict[str, Any]:
        """Returns what all overrides together set."""
        data: dict[str, Any] = {}
        for one in self.overrides:
            if not one.fault:
                _put(data, one.path, one.value)
        return data


def given(run: GeneratorRun) -> tuple[str, ...]:
    """Returns the arguments for Codex: the generator's own, else those of the last recorded start that has any."""
    if run.argv:
        return run.argv
    starts = [launch.argv for launch in work(run.launches) if words(launch.argv) != Words()]
    return starts[-1] if starts else ()


def words(argv: Sequence[str]) -> Words:
    overrides: list[Override] = []
    profile, folders = "", []
    for name, value in _pairs(argv):
        if name in _CONFIG:
            overrides.append(override(value))
        elif name in _MEANS:
            overrides.append(Override(path=_MEANS[name], value=value, raw=value))
        elif name in _SWITCHES:
            overrides += [Override(path=path, value=one, raw=name) for path, one in _SWITCHES[name].items()]
        elif name in _PROFILE:
            profile = value
        elif name == _ADD:
            folders.append(value)
    return Words(overrides=tuple(overrides), profile=profile, folders=tuple(folders))


def _pairs(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields option and value, in both spellings. `--` ends the options."""
    rest = iter(argv)
    for word in rest:
        if word == "--":
            return
        name, equals, value = cut(word)
        if name in (*_CONFIG, *_MEANS, *_PROFILE, _ADD):
            yield name, value if equals else next(rest, "")
        elif word in _SWITCHES:
            yield word, ""


def override(text: str) -> Override:
    key, equals, value = text.partition("=")
    if not equals:
        return Override(path=(), value=None, raw=text, fault="no `=` in it")
    if not key.strip():
        return Override(path=(), value=None, raw=text, fault="no key in it")
    path = tuple(key.strip().split("."))
    found = read(b"_x_ = " + value.strip().encode("utf-8", "surrogatepass"))
    if found.loads and "_x_" in found.data:
        return Override(path=path, value=found.data["_x_"], raw=value)
    return Override(path=path, value=value.strip().strip("\"'"), raw=value, became_text=True)


def _put(data: dict[str, Any], path: Path, value: Any) -> None:
    for key in path[:-1]:
        below = data.get(key)
        data[key] = dict(below) if isinstance(below, dict) else {}
        data = data[key]
    data[path[-1]] = value


def merged(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Merges tables key by key; every other value of `upper` replaces the lower one."""
    found = dict(lower)
    for key, value in upper.items():
        here = found.get(key)
        both = isinstance(here, dict) and isinstance(value, dict)
        found[key] = merged(here, value) if isinstance(here, dict) and both else value
    return found

"""Settings: options from the command line and the ini, as data. A contradiction is one clear error."""

from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness import option_values
from pytest_codexsandbox.harness.option_defaults import DEFAULT_PRESET
from pytest_codexsandbox.matrix.budget import Budget
from pytest_codexsandbox.pytest_plugin.options import NO, YES, base, dest, ini, preset_of_ini, report_dir
from pytest_codexsandbox.reports.installed_formats import known_formats

_SWITCHES: Final = ("strict", "generator-unconfined")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    active: bool  # --codex-matrix was given
    preset: str
    releases: tuple[str, ...]
    binaries: tuple[str, ...]
    only: tuple[str, ...]
    skip: tuple[str, ...]
    reports: tuple[str, ...]
    report_dir: Path
    expectations: tuple[Path, ...]
    strict: bool
    timeout_scale: float
    keep_runs: int | None = None  # None: all
    pairs: int | None = None  # 0: every combination; None: as the matrix file says
    budget: Budget | None = None
    docker_hosts: tuple[str, ...] = ()
    generators: tuple[str, ...] = ()  # [NAME=]SPEC
    generator_in: str = ""
    generator_unconfined: bool = False


def settings(config: pytest.Config) -> Settings:
    asked = config.getoption(dest("matrix"))
    from_ini = preset_of_ini(config)
    matrix = asked if asked is not None else from_ini
    reports = _words(config, "report")
    option_values.check_formats(reports, known_formats(), where="--codex-report")
    return Settings(
        active=matrix is not None,
        preset=asked or _file_of_ini(config, from_ini or DEFAULT_PRESET),
        releases=_words(config, "release"),
        binaries=_lines(config, "bin"),
        only=_words(config, "only"),
        skip=_words(config, "skip"),
        reports=reports,
        report_dir=report_dir(config),
        expectations=tuple(base(config, "expectations") / name for name in _lines(config, "expectations")),
        strict=_switch(config, "strict"),
        timeout_scale=_scale(config),
        keep_runs=option_values.keep_runs(_either(config, "keep-runs"), where="--codex-keep-runs"),
        pairs=option_values.pairs(_either(config, "pairs")),
        budget=option_values.budget(_either(config, "budget")),
        docker_hosts=option_values.hosts(_words(config, "docker-hosts")),
        generators=_lines(config, "generator"),
        generator_in=str(_either(config, "generator-in") or ""),
        generator_unconfined=_switch(config, "generator-unconfined"),
    )


def generator_options(config: pytest.Config) -> tuple[str, ...]:
    """Returns the typed options about how generators run. Those of an ini are for the runs that have generators."""
    return tuple(name for name in ("generator-in", "generator-unconfined") if config.getoption(dest(name)))


def _file_of_ini(config: pytest.Config, preset: str) -> str:
    """Returns the path of a matrix file that the ini names, wherever pytest was called; else the preset itself."""
    path = base(config, "matrix") / preset
    return str(path) if path.parent != config.invocation_params.dir and path.is_file() else preset


def _switch(config: pytest.Config, name: str) -> bool:
    value = _either(config, name)
    word = str(False if value is None else value).strip().lower()
    if word not in (*YES, *NO):
        raise InputError(
            f"{value!r} is neither yes nor no", where=dest(name), why=f"as in {', '.join((*YES[1:], *NO))}"
        )
    return word in YES


def _scale(config: pytest.Config) -> float:
    given = _either(config, "timeout-scale")
    try:
        scale = float(given) if given is not None else 1.0
    except (TypeError, ValueError):
        scale = 0.0
    if not 0.1 <= scale <= 1000:
        raise InputError(f"{given!r} is not a factor", where="--codex-timeout-scale", why="a number from 0.1 to 1000")
    return scale


def _either(config: pytest.Config, name: str) -> Any:
    given = config.getoption(dest(name))
    return given if given is not None else (ini(config, name) if name in _SWITCHES else _first(ini(config, name)))


def _lines(config: pytest.Config, name: str) -> tuple[str, ...]:
    return option_values.lines(config.getoption(dest(name)) or _listed(ini(config, name)))


def _words(config: pytest.Config, name: str) -> tuple[str, ...]:
    return option_values.words(_lines(config, name), option=f"--codex-{name}")


def _first(value: Any) -> str | None:
    """Returns the single word of an ini value."""
    if value is None or value is False:
        return None
    return str(value[0] if isinstance(value, list) else value)


def _listed(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(word) for word in value] if isinstance(value, list) else [str(value)]


def workers(config: pytest.Config) -> int:
    """Returns how many workers of xdist will run side by side."""
    counted = (spec.partition("*") for spec in config.getoption("tx", None) or ())
    return max(1, sum(int(count) if star and count.isdigit() else 1 for count, star, _ in counted))

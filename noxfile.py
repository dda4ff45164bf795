"""`nox`: lint, tests, pythons (3.11 to the newest), compat (pytest and xdist, oldest to newest), packaging, docs
(mkdocs), engines (Podman, ssh). The gate is `.ci/run`."""

import os
from pathlib import Path

import nox

nox.options.sessions = ["lint", "tests"]
nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False  # also where the variable CI is set: nox names each that it skips
PYTESTS = {"pytest-8.3": "8.3.*", "pytest-9.0": "9.0.*", "pytest-newest": ""}
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
XDISTS = {"xdist-3.6": "3.6.*", "xdist-newest": ""}


def _name_pyenvs() -> None:
    """Makes pyenv start the newest patch of each Python: its `python3.12` refuses to start where none is chosen."""
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    by_minor = {}
    for name in sorted((path.name for path in folder.glob("3.*")), key=lambda one: [*map(_number, one.split("."))]):
        by_minor[name.rpartition(".")[0]] = name
    if found := [by_minor[minor] for minor in PYTHONS if minor in by_minor]:
        os.environ.setdefault("PYENV_VERSION", ":".join(found))


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else -1


_name_pyenvs()


def _install(session: nox.Session, *groups: str) -> None:
    session.install("-q", "-U", "pip>=25.1")
    session.install("-q", "-e", ".[all]", *(word for group in groups for word in ("--group", group)))


@nox.session
def lint(session: nox.Session) -> None:
    """ruff, mypy strict, import floors."""
    _install(session, "test", "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")


@nox.session
def tests(session: nox.Session) -> None:
    """All tests, with the installed Codex."""
    _install(session, "test")
    session.run("pytest", "-n", "2", *session.posargs)


@nox.session(python=PYTHONS)
def pythons(session: nox.Session) -> None:
    """Unit and plugin tests on each Python that is promised. nox skips one that this machine lacks, and says so."""
    _install(session, "test")
    session.run("pytest", "tests/unit", "tests/plugin", "-n", "2", *session.posargs)


@nox.session
@nox.parametrize("xdist", list(XDISTS.values()), ids=list(XDISTS))
@nox.parametrize("pytest", list(PYTESTS.values()), ids=list(PYTESTS))
def compat(session: nox.Session, pytest: str, xdist: str) -> None:
    """The plugin's own tests with each pytest and xdist that is promised."""
    _install(session, "test")
    session.install(
        "-q", f"pytest=={pytest}" if pytest else "pytest", f"pytest-xdist=={xdist}" if xdist else "pytest-xdist"
    )
    session.run("pytest", "tests/plugin", "-n", "2", *session.posargs)


@nox.session
def packaging(session: nox.Session) -> None:
    """Wheel and sdist, each in an empty environment, run the matrix from an empty folder."""
    session.install("-q", "build")
    folder = Path(session.create_tmp())
    session.run("python", "-m", "build", "-q", "--outdir", str(folder / "dist"), ".")
    for artefact in sorted((folder / "dist").iterdir()):
        session.install("-q", "--force-reinstall", str(artefact), "openai-codex-cli-bin")
        with session.chdir(folder):
            session.run("pytest", "--codex-matrix", "-q")


@nox.session
def docs(session: nox.Session) -> None:
    """The pages as a site. A broken link, a missing heading or a page outside the navigation is an error."""
    session.install("-q", "-U", "pip>=25.1")
    session.install("-q", "--group", "docs")
    session.run("mkdocs", "build", "--strict", "--site-dir", str(Path(session.create_tmp()) / "site"))


@nox.session
def engines(session: nox.Session) -> None:
    """Podman and a real ssh server, which have to be installed (apt install podman runc openssh-server), as root."""
    _install(session, "test")
    session.run(
        "pytest",
        "tests/docker/test_other_engines.py",
        *session.posargs,
        env={"CODEXSANDBOX_OTHER_ENGINES": "1", "CODEXSANDBOX_NEED_DOCKER": "1"},
    )


@nox.session
def nightly(session: nox.Session) -> None:
    """Eight releases, about 1 GB to download once, and the benchmarks."""
    _install(session, "test")
    session.run("pytest", "--codex-matrix=releases")
    session.run("python", "-m", "benchmarks.wall")
    session.run("python", "-m", "benchmarks.items")
    session.run("python", "-m", "benchmarks.report")

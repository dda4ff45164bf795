"""`nox`: lint, tests, compat (pytest and xdist, oldest to newest), packaging, engines
(Podman, ssh). The gate is `.ci/run`."""

from pathlib import Path

import nox

nox.options.sessions = ["lint", "tests"]
nox.options.default_venv_backend = "venv"
PYTESTS = {"pytest-8.3": "8.3.*", "pytest-9.0": "9.0.*", "pytest-newest": ""}
XDISTS = {"xdist-3.6": "3.6.*", "xdist-newest": ""}


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
def engines(session: nox.Session) -> None:
    """Podman and a real ssh server, which have to be installed (apt install podman runc openssh-server), as root."""
    _install(session, "test")
    session.run(
        "pytest", "tests/docker/test_other_engines.py", *session.posargs,
        env={"CODEXSANDBOX_OTHER_ENGINES": "1", "CODEXSANDBOX_NEED_DOCKER": "1"},
    )  # fmt: skip


@nox.session
def nightly(session: nox.Session) -> None:
    """Eight releases, about 1 GB to download once, and the benchmarks."""
    _install(session, "test")
    session.run("pytest", "--codex-matrix=releases")
    session.run("python", "-m", "benchmarks.wall")
    session.run("python", "-m", "benchmarks.items")
    session.run("python", "-m", "benchmarks.report")

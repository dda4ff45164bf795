"""Generators of a few lines, and folders for them: outside the temp directory, gone afterwards."""

import os
import sys
from pathlib import Path
from typing import Final

from pytest_codexsandbox.generators.case_run import CaseRunner
from pytest_codexsandbox.generators.confinement import UNCONFINED, Confinement, confinement
from pytest_codexsandbox.model.generator import Case, CaseRun, Declaration, GeneratorRun, Intent
from pytest_codexsandbox.model.generator_spec import Generator, Spec

GENEROUS: Final = 60.0
CASE: Final = Case(id="own", why="an ordinary file", config=b'# mine\nmodel = "x"\n')
INTENT: Final = Intent(roots=("@ROOT0@",), network=False)


def sh(script: str, *words: str, scheme: str = "cmd", timeout: float = GENEROUS, **declared: object) -> Generator:
    spec = Spec(scheme=scheme, text=script, words=("/bin/sh", "-c", script, "sh", *words))  # type: ignore[arg-type]
    return Generator(name="sh", spec=spec, declaration=Declaration(timeout=timeout, **declared))  # type: ignore[arg-type]


def python(script: str, **more: object) -> Generator:
    spec = Spec(scheme="cmd", text=script, words=(sys.executable, "-c", script))
    return Generator(name="python", spec=spec, declaration=Declaration(**{"timeout": GENEROUS, **more}))  # type: ignore[arg-type]


def told(runner: CaseRunner, generator: Generator, case: Case = CASE) -> CaseRun:
    return runner.run_case(generator, case, INTENT, version="0.163.0")


def first(runner: CaseRunner, generator: Generator, case: Case = CASE) -> GeneratorRun:
    return told(runner, generator, case).first


def how(word: str) -> Confinement:
    return confinement() if word == "confined" else UNCONFINED


def processes(word: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in path.read_bytes() and path.parent.name != str(os.getpid()):
                found.append(path.parent.name)
        except OSError:
            continue
    return found

"""Fake Codex script: makes an executable of a fake subject."""

import hashlib
import json
import shlex
import sys
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.protocols import Environment
from pytest_codexsandbox.selftest.fake import Fake

GUEST: Final = Path(__file__).resolve().parent.parent / "guest"
SOURCES: Final = (
    "fake_codex.py",
    "fake_call.py",
    "fake_doors.py",
    "kernel_restraint.py",
    "restrained_probe.py",
    "restraint.py",
    "sqlite_restraint.py",
    "world_flaws.py",
)
CAPABILITIES: Final = Capabilities(
    version="0.0.0",
    sandbox="sandbox",
    workspace_write="config",
    full_access=True,
    default_permissions=False,
    app_server=True,
    shell_snapshot=True,
)


class FakeSubject(msgspec.Struct, frozen=True, kw_only=True):
    """Implements protocols.Subject."""

    fake: Fake
    binary: str
    digest: str
    capabilities: Capabilities = CAPABILITIES
    version: str = CAPABILITIES.version
    source: str = "subject"
    disagreement: str = ""

    @property
    def spec(self) -> SubjectSpec:
        return SubjectSpec(label=self.fake.name, path=self.binary, source="path")

    def inside(self, environment: Environment) -> "FakeSubject":
        """Writes the executable into the environment, for the Python inside."""
        if environment.guest == (sys.executable, str(GUEST)):
            return self
        python, guest = environment.guest
        path = f"{environment.folder}/subjects/{Path(self.binary).name}"
        environment.put(path, script(self.fake, path, python=python, guest=guest).encode(), 0o755)
        return msgspec.structs.replace(self, binary=path)


def subject(folder: Path, fake: Fake) -> FakeSubject:
    path = write(folder, fake)
    return FakeSubject(fake=fake, binary=str(path), digest=digest(fake))


def write(folder: Path, fake: Fake) -> Path:
    """Writes an executable below `folder` that is called with Codex's command line."""
    path = folder / f"codex-{fake.name}"
    text = script(fake, str(path), python=sys.executable, guest=str(GUEST))
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
    return path


def script(fake: Fake, path: str, *, python: str, guest: str) -> str:
    settings = {"conduct": fake.conduct, "flaws": list(fake.flaws), "launcher": path}
    words = (python, "-I", "-S", f"{guest}/fake_codex.py", json.dumps(settings))
    return f'#!/bin/sh\n# {fake.name}: {fake.wrong or "keeps every promise"}\nexec {shlex.join(words)} "$@"\n'


def digest(fake: Fake) -> str:
    """Returns the digest of everything that decides how the subject behaves."""
    summed = hashlib.sha256(json.dumps([fake.conduct, list(fake.flaws)]).encode())
    for name in SOURCES:
        summed.update((GUEST / name).read_bytes())
    return summed.hexdigest()

"""Runs pytest with the plugin in a process of its own, as a user does."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pytest_codexsandbox.journal.store import read
from pytest_codexsandbox.model.ledger import ReadJournal

LIMIT = 300.0
# A shell starts what runs in the background with SIGINT ignored, and that is inherited.
INTERRUPTIBLE = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
)


@dataclass
class Done:
    code: int
    out: str
    folder: Path
    reports: list[Path] = field(default_factory=list)

    @property
    def journal(self) -> ReadJournal:
        assert len(self.reports) == 1, (self.reports, self.out)
        return read(self.reports[0])


@dataclass
class Matrix:
    """`run` starts pytest in a fresh folder; HOME and cache are the test's own."""

    root: Path
    home: Path
    cache: Path
    count: int = 0

    def prepare(self, files: dict[str, str]) -> Path:
        self.count += 1
        folder = self.root / f"run{self.count}"
        folder.mkdir()
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return folder

    def environment(self, changes: dict[str, str]) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
        kept |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return kept | {"HOME": str(self.home), "CODEXSANDBOX_CACHE": str(self.cache)} | changes

    def command(self, *words: str, plugins: tuple[str, ...] = ()) -> list[str]:
        named = [word for name in ("pytest_codexsandbox.plugin", *plugins) for word in ("-p", name)]
        return [sys.executable, "-m", "pytest", *named, *words]

    def run(
        self,
        *words: str,
        files: dict[str, str] | None = None,
        env: dict[str, str] | None = None,
        plugins: tuple[str, ...] = (),
        matrix: bool = True,
    ) -> Done:
        folder = self.prepare(files or {})
        flags = ("--codex-matrix",) if matrix else ()
        done = subprocess.run(
            self.command(*flags, *words, plugins=plugins),
            cwd=folder,
            env=self.environment(env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT,
            check=False,
        )
        return self.done(done.returncode, done.stdout.decode(errors="replace"), folder)

    def codexsandbox(
        self, *words: str, folder: Path, env: dict[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Runs a command of the product."""
        return subprocess.run(
            [sys.executable, "-m", "pytest_codexsandbox", *words],
            cwd=folder,
            env=self.environment(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def start(
        self,
        *words: str,
        files: dict[str, str] | None = None,
        plugins: tuple[str, ...] = (),
        env: dict[str, str] | None = None,
    ) -> "Started":
        folder = self.prepare(files or {})
        with (folder / "out.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", INTERRUPTIBLE, *self.command("--codex-matrix", *words, plugins=plugins)],
                cwd=folder,
                env=self.environment(env or {}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Started(self, process, folder)

    def done(self, code: int, out: str, folder: Path) -> Done:
        return Done(code, out, folder, sorted(folder.glob(".codexsandbox/*/journal.ndjson")))


@dataclass
class Started:
    matrix: Matrix
    process: "subprocess.Popen[bytes]"
    folder: Path

    def wait_for(self, text: str, *, count: int = 1) -> None:
        """Until the journal holds `text` that often."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            found = sorted(self.folder.glob(".codexsandbox/*/journal.ndjson"))
            if found and found[0].read_text(errors="replace").count(text) >= count:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"{text!r} never came:\n{(self.folder / 'out.log').read_text(errors='replace')}")

    def wait_for_word(self, text: str) -> None:
        """Until the terminal shows `text`."""
        end = time.monotonic() + LIMIT
        while text not in self._shown() and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        if text not in self._shown():
            os.killpg(self.process.pid, signal.SIGKILL)
            raise AssertionError(f"{text!r} never came:\n{self._shown()}")

    def _shown(self) -> str:
        return (self.folder / "out.log").read_text(errors="replace")

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> Done:
        try:
            code = self.process.wait(LIMIT)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
        return self.matrix.done(code, (self.folder / "out.log").read_text(errors="replace"), self.folder)


@pytest.fixture(scope="session")
def codex_cache() -> Iterator[Path]:
    """Outside the temp directory, below which Codex refuses its helper programs."""
    folder = Path(tempfile.mkdtemp(prefix="codexsandbox-tests-", dir="/var/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's home with a `.codex` of the user's own."""
    folder = tmp_path / "home"
    (folder / ".codex").mkdir(parents=True)
    (folder / ".codex" / "config.toml").write_text('sandbox_mode = "danger-full-access"\n')
    return folder


@pytest.fixture
def matrix(tmp_path: Path, home: Path, codex_cache: Path) -> Matrix:
    return Matrix(root=tmp_path, home=home, cache=codex_cache)

"""An engine that is stopped and started in the middle of a run costs the call that was running, and no other."""

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.journal.store import read
from tests.docker.engine_builders import own_engine
from tests.fakes.machine import run_folder

MATRIX = """
releases = ["installed"]
policies = ["read-only", "workspace-write"]
[containers]
distros = ["debian-bookworm"]
profiles = ["seccomp-unconfined-systempaths"]
users = ["u1000"]
"""
BEGUN = 30  # records


def test_the_rest_of_a_run_is_measured_when_the_engine_is_back() -> None:
    with run_folder() as folder, own_engine() as engine:
        (folder / "m.toml").write_text(MATRIX)
        words = (
            sys.executable,
            "-m",
            "pytest",
            "--codex-matrix=m.toml",
            f"--codex-docker-hosts={engine.host}",
            "-p",
            "no:cacheprovider",
        )
        with (folder / "out").open("wb") as out:
            run = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        journal = _begun(folder, run)
        engine.stop()
        engine.start()
        code, said = run.wait(120), (folder / "out").read_text()
        records = read(journal).states().values()
        verdicts = Counter(record.verdict.value for record in records)
        assert code == 10, said[-4000:]
        assert verdicts["conforms"] > BEGUN + 30 and 1 <= verdicts["broken"] < 10, said[-4000:]
        assert "INTERNALERROR" not in said and "left behind" not in said
        for record in records:
            if record.verdict.value == "broken":
                assert "the agent" in record.reason or "the container engine" in record.reason
        with Engine(engine.host) as there:
            assert there.api.containers(all=True) == []


def _begun(folder: Path, run: "subprocess.Popen[bytes]") -> Path:
    limit = time.monotonic() + 120
    while time.monotonic() < limit:
        assert run.poll() is None, (folder / "out").read_text()[-4000:]
        for journal in (folder / ".codexsandbox").glob("*/journal.ndjson"):
            if journal.read_bytes().count(b'"record"') > BEGUN:
                return journal
        time.sleep(0.02)
    raise AssertionError((folder / "out").read_text()[-4000:])

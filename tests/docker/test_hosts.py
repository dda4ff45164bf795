"""Several engines as one pool: environments are spread over them, and what they need is sent to them."""

import subprocess
import sys
from pathlib import Path

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.journal.store import read
from pytest_codexsandbox.registry import cache_folder
from tests.docker.engine_builders import own_engine
from tests.fakes.machine import run_folder

MATRIX = """
releases = ["installed"]
policies = ["workspace-write"]
[containers]
distros = ["debian-bookworm"]
profiles = ["seccomp-unconfined", "seccomp-unconfined-systempaths"]
users = ["u1000"]
"""


def test_two_engines_that_do_not_see_our_files_measure_one_matrix() -> None:
    cache_folder().mkdir(parents=True, exist_ok=True)
    hidden = (cache_folder(), Path(sys.prefix))  # the agent; the Codex that is installed
    with (
        run_folder() as folder,
        own_engine(hide=hidden) as one,
        own_engine(hide=hidden) as two,
    ):
        (folder / "m.toml").write_text(MATRIX)
        words = (
            sys.executable,
            "-m",
            "pytest",
            "--codex-matrix=m.toml",
            f"--codex-docker-hosts={one.host},{two.host}",
            "--codex-only=start.*,filesystem.outside-create-refused",
            "-p",
            "no:cacheprovider",
        )
        done = subprocess.run(words, check=False, cwd=folder, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
        (journal,) = (folder / ".codexsandbox").glob("*/journal.ndjson")
        verdicts = {record.verdict.value for record in read(journal).states().values()}
        assert verdicts == {"conforms"}
        for engine in (one, two):
            with Engine(engine.host) as there:
                assert there.api.volumes(filters={"label": "org.codexsandbox.kind=supply"})["Volumes"]
                assert there.api.containers(all=True) == []

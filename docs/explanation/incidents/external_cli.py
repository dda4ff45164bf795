"""openai/codex#23857: another agent's command line tool under Codex. `opencode` is not needed: `TOOL` writes what it
writes before it asks its provider (a database in WAL mode, a log, a lock, a folder of programs, its settings).

pytest --codex-matrix=incident-external-cli docs/explanation/incidents/external_cli.py
"""

import json
import sys

import pytest

from pytest_codexsandbox.model.act import Given

HOMES = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_STATE_HOME": ".local/state",
    "XDG_DATA_HOME": ".local/share",
    "XDG_CACHE_HOME": ".cache",
}
TOOL = """
import json, os, sqlite3, sys
homes = json.loads(sys.argv[1])
def own(name):
    folder = os.path.join(os.environ.get(name) or os.path.join(os.environ["HOME"], homes[name]), "opencode")
    os.makedirs(folder, exist_ok=True)
    return folder
settings, state, share, cache = map(own, homes)
open(os.path.join(settings, "opencode.jsonc"), "w").write("{}")
os.makedirs(os.path.join(state, "locks", "1.lock"))
open(os.path.join(state, "locks", "1.lock", "heartbeat"), "w").write("0")
os.makedirs(os.path.join(cache, "bin"))
open(os.path.join(share, "opencode.log"), "w").write("begun")
database = sqlite3.connect(os.path.join(share, "opencode.db"))
database.execute("PRAGMA journal_mode = wal")
database.execute("CREATE TABLE IF NOT EXISTS session (id TEXT)")
database.execute("INSERT INTO session VALUES ('one')")
database.commit()
print("ready")
"""
USED_BEFORE = [Given(kind="dir", path=f"@HOME@/{home}") for home in HOMES.values()]


@pytest.mark.codex(policies=("workspace-write-roots",))
def test_the_external_tool_comes_to_its_first_question(codex_sandbox):
    seen = codex_sandbox.run(sys.executable, "-c", TOOL, json.dumps(HOMES), given=USED_BEFORE)
    assert seen.stdout == "ready\n", seen.stderr.strip().rpartition("\n")[2]


@pytest.mark.codex(policies=("workspace-write-roots",))
def test_nothing_else_of_the_home_is_its_own(codex_sandbox):
    profile = Given(kind="file", path="@HOME@/.profile", content="mine\n")
    words = ("sh", "-c", 'echo x >> "$1"', "sh", "@HOME@/.profile")
    seen = codex_sandbox.run(*words, given=[profile], looks=["@HOME@/.profile"])
    assert codex_sandbox.look(seen, "@HOME@/.profile").text == "mine\n"

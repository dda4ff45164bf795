"""Real paths of a run become placeholders: whole paths only, the deepest first, in whatever holds them."""

import pytest

from pytest_codexsandbox.diagnosis.explain import diagnose
from pytest_codexsandbox.model.journal_lines import CallLine, PlanLine, RunLine
from pytest_codexsandbox.model.ledger import ReadJournal
from pytest_codexsandbox.model.private_paths import PrivatePaths
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.reports.path_masking import private
from tests.unit.diagnosis.builders import observation, record, row

RUN = "/home/quagga/.cache/codexsandbox/runs/2026-01-01-abc"
FOLDER = f"{RUN}/main/e-here/w1"
FOLDERS = {"HOME": "home", "CODEX_HOME": "codex-home", "WORKSPACE": "workspace", "OUTSIDE": "outside"}
WORLD = World(
    id="ab12w1",
    folder=FOLDER,
    values={name: f"{FOLDER}/{base}" for name, base in FOLDERS.items()}
    | {"TMPDIR": f"{RUN}/main/e-here/tmp", "TMP": "/tmp", "HTTP": "4711"},
)
PLACES = {"/home/quagga": "~", "/home/quagga/.cache/codexsandbox": "@CACHE@", RUN: "@RUN@"}
PATHS = PrivatePaths([WORLD], PLACES)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"touch: cannot touch '{FOLDER}/outside/x': Read-only", "touch: cannot touch '@OUTSIDE@/x': Read-only"),
        (f"{FOLDER}/outside.", "@OUTSIDE@."),
        (f"{FOLDER}/outside-too", "@WORLD@/outside-too"),
        (f"{FOLDER}/codex-home and {FOLDER}/home", "@CODEX_HOME@ and @HOME@"),
        (f"{FOLDER}0/outside", "@RUN@/w10/outside"),
        (f"-I{FOLDER}/workspace", "-I@WORKSPACE@"),
        (f"{RUN}/main/e-here/tmp/y", "@TMPDIR@/y"),
        (f"{RUN}/main/generators", "@RUN@/main/generators"),
        ("/home/quagga/.cache/codexsandbox/releases/1", "@CACHE@/releases/1"),
        ("/home/quagga/.venv/bin/codex", "~/.venv/bin/codex"),
        ("/home/quaggas/x /tmp/y port 4711", "/home/quaggas/x /tmp/y port 4711"),
    ],
)
def test_a_path_becomes_its_placeholder(text: str, shown: str) -> None:
    assert PATHS.text(text) == shown
    assert PATHS.text(shown) == shown


def test_a_home_of_one_name_is_no_part_of_another_path() -> None:
    paths = PrivatePaths(places={"/quagga": "~"})
    assert paths.text("/quagga/x, /srv/quagga/x, /quagga0, '/quagga'") == "~/x, /srv/quagga/x, /quagga0, '~'"


def test_a_root_inside_a_longer_path_is_no_second_path() -> None:
    paths = PrivatePaths(places={"/a/b": "~", "/c/a/b/d": "@RUN@"})
    assert paths.text("/c/a/b/d/x and /a/b/d") == "@RUN@/x and ~/d"


def test_a_path_that_is_not_ascii_is_found_in_a_stream_of_bytes() -> None:
    paths = PrivatePaths(places={"/home/zoë": "~"})
    assert paths.text("/home/zoë/x".encode().decode("latin-1")) == "~/x"


def test_a_refused_write_in_the_world_is_no_home_state() -> None:
    """The journal of an earlier version has real paths in its records."""
    said = f"touch: cannot touch '{FOLDER}/outside/x': Read-only file system"
    red = record(direction="denied", evidence=(row(held=False, direction="denied", saw=said, reason=""),), reason=said)
    found = diagnose(red, (observation(world=WORLD),), {})
    assert found is not None
    assert found.fingerprint == "write-outside-roots"
    assert "quagga" not in found.quote


def test_the_home_state_of_a_tool_is_still_known() -> None:
    said = f"OSError: [Errno 30] Read-only file system: '{FOLDER}/home/.local/state/tool'"
    red = record(direction="denied", evidence=(row(held=False, direction="denied", saw=said, reason=""),), reason=said)
    found = diagnose(red, (observation(world=WORLD),), {})
    assert found is not None
    assert found.fingerprint == "home-state-refused"


@pytest.mark.parametrize("places", [PLACES, {}], ids=["written-now", "of-an-earlier-version"])
def test_a_journal_for_readers_names_no_real_path(places: dict[str, str]) -> None:
    seen = observation(world=WORLD, id="c1", stderr=f"{FOLDER}/outside/x", cwd=f"{FOLDER}/workspace")
    call = CallLine(id="c1", environment="e", subject="s", cell="c", observation=seen)
    red = record(reason="" if places else f"saw: {FOLDER}/outside/x")
    journal = ReadJournal(
        run=RunLine(id="2026", started="", places=places),
        calls=(call,),
        records=(red,),
        plan=PlanLine(digest="", cells=(), promises=(), keys=(red.key,)),
    )
    shown = private(journal)
    assert "quagga" not in repr(shown)
    assert shown.calls[0].observation.stderr == "@OUTSIDE@/x"
    assert repr(private(shown)) == repr(shown)

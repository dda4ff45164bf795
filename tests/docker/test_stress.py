"""Under strain in a container: what needs no witness in there is asked, the rest says why it is not."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.environments.container.backend import ContainerBackend
from pytest_codexsandbox.generators.bad.catalogue import USER
from pytest_codexsandbox.generators.stress import STRESS_CHECKS, StressContext, named
from pytest_codexsandbox.generators.stress.atomic_replace import UNSEEN
from pytest_codexsandbox.generators.stress.setup import NOT_THERE
from pytest_codexsandbox.model.generator import Case, Declaration, Finding, Intent, Marker
from pytest_codexsandbox.model.generator_spec import Generator, Spec
from pytest_codexsandbox.protocols import Environment
from tests.docker.builders import container
from tests.fakes.machine import run_folder

# Its block first, the rest as it was; it waits for whoever else does the same.
MANAGES = """
exec 9< "$(dirname "$1")"; flock 9
[ -e "$1" ] || touch "$1"
[ "$2" = 1 ] && set -- "$1" true || set -- "$1" false
{ printf '# BEGIN x\\nsandbox_mode = "workspace-write"\\nsandbox_workspace_write.network_access = %s\\n# END x\\n' "$2"
  sed '/^# BEGIN x$/,/^# END x$/d' "$1"; } > "$1.new" || exit 1
chmod --reference="$1" "$1.new" && mv "$1.new" "$1"
"""
# Counts its runs, and forgets one that comes meanwhile.
COUNTS = """
[ -e "$1" ] || touch "$1"
count=$(grep -c '^# run' "$1"); sleep 1; sed '/^# run/d; /^run = /d' "$1" > "$1.$$"
{ printf 'run = "%s %s"\\n' "$2" "$count"; cat "$1.$$"; i=0
  while [ $i -le "$count" ]; do echo "# run"; i=$((i + 1)); done; } > "$1.$$.new"; rm "$1.$$"; mv "$1.$$.new" "$1"
"""


@pytest.fixture(scope="module")
def environment() -> Iterator[Environment]:
    with (
        run_folder() as folder,
        ContainerBackend().open(container(user="u1000"), folder / "e") as opened,
    ):
        yield opened


def asked(environment: Environment, kind: str, script: str, **more: Any) -> tuple[Finding, ...]:
    spec = Spec(scheme="cmd", text=script, words=("sh", "-c", script, "sh", "@CONFIG@", "@NETWORK@"))
    declaration = Declaration(markers=(Marker(begin="# BEGIN x", end="# END x"),), timeout=60.0)
    context = StressContext(
        generator=Generator(name="sh", spec=spec, declaration=declaration),
        environment=environment,
        version="0.163.0",
        case=Case(id="ordinary", why="an ordinary file", config=USER),
        intent=Intent(network=True),
        other=Intent(),
        folder=Path("/nowhere"),
        named=named,
        **more,
    )
    return STRESS_CHECKS[kind](context)


def red(found: tuple[Finding, ...]) -> set[str]:
    assert found
    assert all(one.control_held for one in found), found
    return {one.reason for one in found if not one.held}


@pytest.mark.parametrize(
    ("kind", "other", "reason"),
    [
        ("survives", "appends-a-server", ""),
        ("keeps-theirs", "appends-a-server", ""),
        ("survives", "saves-crlf", "duplicate-key"),
        ("keeps-theirs", "reserialises", "duplicate-key"),
        ("survives", "key-inside", ""),
        ("keeps-theirs", "key-inside", "key-lost"),
    ],
)
def test_a_second_writer_interferes_and_a_generator_that_loses_data_is_caught(
    environment: Environment, kind: str, other: str, reason: str
) -> None:
    """This one knows its marks by whole lines that end in LF, and takes away whatever is between them."""
    found = red(asked(environment, kind, MANAGES, beside=other))
    assert (reason in found) if reason else not found, found


def test_two_at_once_that_wait_for_each_other_pass_and_one_that_forgets_is_caught(environment: Environment) -> None:
    assert red(asked(environment, "together", MANAGES)) == set()
    assert "lost-update" in red(asked(environment, "together", COUNTS))


@pytest.mark.parametrize(("kind", "why"), [("at-once", UNSEEN), ("killed", NOT_THERE.why)])
def test_a_missing_file_watcher_in_the_container_is_reported(environment: Environment, kind: str, why: str) -> None:
    (one,) = asked(environment, kind, MANAGES)
    assert one.skipped == why

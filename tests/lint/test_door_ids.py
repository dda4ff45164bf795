"""Door ids: no code treats a door by its id. What is special about a door is an attribute of `protocols.Door`.

Every literal that equals a door's id counts: a comparison, a dict key, a default, a constant, an argument. An id may
stand in the module of its door, in the entry points (pyproject.toml), in tests and in data. Some ids are also words of
something else, such as subcommands of Codex: those are listed here, each with how often its module says it.
"""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.lint.tracked import ROOT, files

SEARCHED: Final = ("pytest_codexsandbox/", "scenarios/", "incidents/", "tools/", "benchmarks/")
COMMAND_LINE: Final = "a subcommand in Codex's own command line"
CAPABILITY: Final = "a field or a value of Capabilities, which speaks of a binary"
KEPT: Final = "a part of a policy that a generator leaves to the user (`Part`)"
NEEDED: Final = "what a promise needs: `sandbox` or `nothing`"
SETTING: Final = "a parameter of Codex's configuration or protocol"
BLAMED: Final = "what a fingerprint blames: `sandbox` or `not-sandbox`"
PROFILE: Final = "a value of a container's security options"
VERDICT: Final = "the verdict `unconfined`"
WALLS: Final = "a generator that ran without walls around it"
SUBJECTS: Final = "data: the catalogue of fake Codexes, one of them open at each of these doors"
# (module, word): how often, and what the word means there
OTHER_MEANINGS: Final = {
    ("benchmarks/containers.py", "sandbox"): (2, COMMAND_LINE),
    ("incidents/codexsandbox_incidents/multica.py", "sandbox"): (1, SETTING),
    ("pytest_codexsandbox/api.py", "sandbox"): (1, NEEDED),
    ("pytest_codexsandbox/commands/capabilities.py", "app-server"): (1, CAPABILITY),
    ("pytest_codexsandbox/commands/capabilities.py", "sandbox"): (2, CAPABILITY),
    ("pytest_codexsandbox/commands/diagnose.py", "sandbox"): (1, BLAMED),
    ("pytest_codexsandbox/config_writer/policy_writer.py", "sandbox"): (2, SETTING),
    ("pytest_codexsandbox/contract/document_strategies.py", "sandbox"): (1, SETTING),
    ("pytest_codexsandbox/contract/suite.py", "sandbox"): (1, "data: the one door of a made-up plan"),
    ("pytest_codexsandbox/diagnosis/boot.py", "sandbox"): (1, "where a request failed, in words"),
    ("pytest_codexsandbox/diagnosis/builtin_causes.py", "sandbox"): (3, BLAMED),
    ("pytest_codexsandbox/diagnosis/fingerprint.py", "sandbox"): (1, BLAMED),
    ("pytest_codexsandbox/doors/support/claim_parser.py", "sandbox"): (2, SETTING),
    ("pytest_codexsandbox/environments/container/config_verification.py", "unconfined"): (2, PROFILE),
    ("pytest_codexsandbox/generators/checks/exit_status.py", "sandbox"): (1, KEPT),
    ("pytest_codexsandbox/generators/checks/granted_policy.py", "sandbox"): (2, KEPT),
    ("pytest_codexsandbox/generators/own_policy.py", "sandbox"): (4, KEPT),
    ("pytest_codexsandbox/generators/runner.py", "unconfined"): (1, WALLS),
    ("pytest_codexsandbox/harness/generators/case_cache.py", "sandbox"): (1, KEPT),
    ("pytest_codexsandbox/harness/generators/kept_settings.py", "sandbox"): (1, KEPT),
    ("pytest_codexsandbox/matrix/generator_cells.py", "sandbox"): (1, KEPT),
    ("pytest_codexsandbox/model/capabilities.py", "sandbox"): (1, CAPABILITY),
    ("pytest_codexsandbox/model/container.py", "unconfined"): (1, PROFILE),
    ("pytest_codexsandbox/model/generator.py", "sandbox"): (1, KEPT),
    ("pytest_codexsandbox/model/ledger.py", "unconfined"): (1, VERDICT),
    ("pytest_codexsandbox/model/promise.py", "sandbox"): (1, NEEDED),
    ("pytest_codexsandbox/model/suite_traits.py", "sandbox"): (1, "the name of a suite"),
    ("pytest_codexsandbox/model/verdict.py", "unconfined"): (1, VERDICT),
    ("pytest_codexsandbox/harness/user_command.py", "sandbox"): (1, NEEDED),
    ("pytest_codexsandbox/pytest_plugin/recorder.py", "sandbox"): (1, BLAMED),
    ("pytest_codexsandbox/releases/capability_probe.py", "app-server"): (1, COMMAND_LINE),
    ("pytest_codexsandbox/releases/capability_probe.py", "sandbox"): (5, COMMAND_LINE),
    ("pytest_codexsandbox/reports/by_generator.py", "unconfined"): (1, VERDICT),
    ("pytest_codexsandbox/reports/readme_line.py", "unconfined"): (1, WALLS),
    ("pytest_codexsandbox/selftest/fake_codex_script.py", "sandbox"): (1, CAPABILITY),
    ("pytest_codexsandbox/selftest/door_fakes.py", "app-server"): (1, SUBJECTS),
    ("pytest_codexsandbox/selftest/door_fakes.py", "exec"): (1, SUBJECTS),
    ("pytest_codexsandbox/selftest/fake_codexes.py", "unconfined"): (1, "a conduct of a fake Codex"),
}
# Its programs stand alone: what they know is Codex's command line, and no door.
GUEST: Final = "pytest_codexsandbox/guest/"


def entry_points() -> dict[str, str]:
    """Returns the module of each door, by its id."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows: dict[str, str] = project["entry-points"]["codexsandbox.doors"]
    return {name: target.partition(":")[0].replace(".", "/") + ".py" for name, target in rows.items()}


def ids_in(source: str, ids: set[str]) -> Iterator[tuple[int, str]]:
    """Yields line and id of each literal that equals a door's id."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in ids:
            yield node.lineno, node.value


def searched() -> Iterator[tuple[str, Path]]:
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".py" and name.startswith(SEARCHED) and not name.startswith(GUEST):
            yield name, path


def faults(name: str, source: str, doors: dict[str, str]) -> list[str]:
    """Returns what a module says of doors that are not its own."""
    ids = {door for door, module in doors.items() if module != name}
    lines = list(ids_in(source, ids))
    said = Counter(word for _, word in lines)
    expected = {word: count for (module, word), (count, _) in OTHER_MEANINGS.items() if module == name}
    return [
        f"{name}:{line}: {word!r} ({said[word]} times, {expected.get(word, 0)} of them known as another word)"
        for line, word in lines
        if said[word] != expected.get(word, 0)
    ]


def test_no_code_treats_a_door_by_its_id() -> None:
    doors = entry_points()
    assert {"sandbox", "exec", "app-server", "unconfined"} <= doors.keys()
    found = [fault for name, path in searched() for fault in faults(name, path.read_text(encoding="utf-8"), doors)]
    assert found == [], "make it an attribute of protocols.Door, or say in OTHER_MEANINGS what the word means there"


def test_no_row_outlives_what_it_is_about() -> None:
    ids = set(entry_points())
    there = {(name, word) for name, path in searched() for _, word in ids_in(path.read_text(encoding="utf-8"), ids)}
    assert set(OTHER_MEANINGS) - there == set()


def test_no_caller_asks_for_the_class_of_a_door() -> None:
    found = [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name, path in searched()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "getattr", "hasattr")
        if re.search(r"\bdoor\b(?!\.)|Door", ast.unparse(node))
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        'found = door == "exec"',
        'found = door in ("sandbox", "app-server")',
        'TABLE = {"exec": 1}',
        'def run(*, door: str = "sandbox") -> None: ...',
        'class Asked:\n    doors: tuple[str, ...] = ("sandbox",)',
        'X = "exec"\nfound = door != X',
        'found = bench.door("unconfined")',
        'match door:\n    case "exec":\n        pass',
        'found = [door for door in ("app-server", "exec")]',
    ],
)
@pytest.mark.parametrize("module", ["matrix/plan.py", "doors/exec_turn.py", "releases/capability_probe.py"])
def test_each_way_to_treat_a_door_by_its_id_is_found(line: str, module: str) -> None:
    name = f"pytest_codexsandbox/{module}"
    whole = (ROOT / name).read_text(encoding="utf-8") + "\n\n" + line.replace('"exec"', '"bare-bwrap"') + "\n"
    assert faults(name, whole, entry_points())


def test_a_door_may_say_its_own_id() -> None:
    assert faults("pytest_codexsandbox/doors/exec_turn.py", 'name = "exec"', entry_points()) == []
    assert faults("pytest_codexsandbox/doors/app_server.py", 'name = "exec"', entry_points())

"""The house rules of scenarios/: what would let a promise pass without having been kept is refused here."""

import ast
import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_origin

import pytest

from pytest_codexsandbox.api import declared
from pytest_codexsandbox.harness.baseline_checks import STANDING
from pytest_codexsandbox.harness.suites.installed import installed_suites
from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.model import generator_suite
from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.promise import Promise
from pytest_codexsandbox.model.sandbox_state import SandboxState
from pytest_codexsandbox.model.suite_traits import SANDBOX
from pytest_codexsandbox.registry import data_folder
from pytest_codexsandbox.suite_protocols import Suite

OF_GENERATORS = {
    "holds",
    "loads",
    "claims",
    "enforces",
    "replaces_at_once",
    "survives",
    "keeps_theirs",
    "migrates",
    "loses_nothing_together",
    "survives_being_killed",
}
OWN_TRIALS = (SANDBOX, generator_suite.NAME)  # their fixtures are described in pytest_codexsandbox/api.py
OTHERS = [suite for name, suite in installed_suites().items() if name not in OWN_TRIALS]


def evidence_of(suite: Suite[Any]) -> set[str]:
    """Returns the public methods of the trial in `class MySuite(Suite[MyTrial])`."""
    (trial,) = get_args(next(base for base in vars(type(suite))["__orig_bases__"] if get_origin(base) is Suite))
    return {name for name, value in vars(trial).items() if callable(value) and not name.startswith("_")}


EVIDENCE = {"refused", "allowed", "says", "clean", "confined", "standing_evidence"} | OF_GENERATORS
EVIDENCE |= {name for suite in OTHERS for name in evidence_of(suite)}
CONTROLS = {"control_row", "control_look", "control_values", "controlled"}
CODES = {"returncode", "code", "exit", "exit_code", "status"}
ALLOWED_IMPORTS = re.compile(r"pytest_codexsandbox\.(api|model\.(act|boundary_acts|policy))|hashlib|json|signal")
SUITES = {type(suite).__module__ for suite in OTHERS}  # for the type of a fixture
FILES = sorted(data_folder("scenarios").glob("*/test_*.py"))
TOPICS = {
    "network": ("network", "dns"),
    "managed_block": ("managed-block",),
}  # what a folder holds, where that is not its name alone


# ---- the linter


def faults(source: str) -> list[str]:
    """What is wrong with a scenario file, as `line: rule`."""
    tree = ast.parse(source)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    found = [*_everywhere(tree), *_imports(tree)]
    for node in functions.values():
        if node.name.startswith("test_"):
            found += _test(node, functions)
    if len(source.splitlines()) > 300:
        found.append("301: a file has at most 300 lines")
    return sorted(found)


def _everywhere(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotEq) and _name(node.left) in CODES:
            yield f"{node.lineno}: a code that is only `!= 0` says nothing: name the code"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and _name(node.operand) in CODES:
            yield f"{node.lineno}: `not code` says nothing: name the code"
        if _name(node) in {"skip", "skipif", "xfail", "importorskip", "fail"}:
            yield f"{_line(node)}: what does not apply is said by data (requires=…), never by {_name(node)}"
        if isinstance(node, ast.Assert | ast.Try):
            yield f"{node.lineno}: {type(node).__name__.lower()} decides nothing here: give evidence to the trial"
        if _called(node) == "says":
            yield from _says(node)  # type: ignore[arg-type]


def _says(call: ast.Call) -> Iterator[str]:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    for word in ("claim", "saw", "held", "control", "control_held"):
        if word not in given:
            yield f"{call.lineno}: says() without {word}="
        elif word in ("held", "control_held") and isinstance(given[word], ast.Constant):
            yield f"{call.lineno}: {word} is a constant: it must be seen"


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            if not ALLOWED_IMPORTS.fullmatch(name) and name not in SUITES:
                allowed = "api, model.act, model.boundary_acts, model.policy or its own suite"
                yield f"{_line(node)}: a scenario needs {allowed}, not {name}"


def _test(node: ast.FunctionDef, functions: dict[str, ast.FunctionDef]) -> Iterator[str]:
    calls = set(_calls(node, functions))
    if not calls & EVIDENCE:
        yield f"{node.lineno}: {node.name} gives no evidence: call one of {', '.join(sorted(EVIDENCE))}"
    if "says" in calls and not calls & CONTROLS:
        yield f"{node.lineno}: {node.name} says something without looking at its control"
    if any(isinstance(inner, ast.Return | ast.If | ast.For | ast.While) for inner in ast.walk(node)):
        yield f"{node.lineno}: {node.name} is not straight: no return, if or loop in a scenario"
    if not any(_called(mark) in ("promise", "generator_promise") for mark in node.decorator_list):
        yield f"{node.lineno}: {node.name} declares no promise"
    text = ast.get_docstring(node) or ""
    if not re.fullmatch(r"\S.+\.\n\nSource: \S.+\.\sControl: \S.+\.", text, re.DOTALL):
        yield f"{node.lineno}: {node.name} has no docstring of promise, `Source: ….` and `Control: ….`"


def _calls(node: ast.FunctionDef, functions: dict[str, ast.FunctionDef]) -> Iterator[str]:
    """Names that a function calls, those of the same file followed."""
    for inner in ast.walk(node):
        name = _called(inner)
        if name and name in functions and functions[name] is not node:
            yield from _calls(functions[name], functions)
        elif name:
            yield name


def _called(node: ast.AST) -> str:
    return _name(node.func) if isinstance(node, ast.Call) else ""


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


GOOD = '''
from pytest_codexsandbox.api import Trial, promise

@promise("a.b", acts={})
def test_codex_keeps_a_word(trial: Trial) -> None:
    """It is kept.

    Source: a page.
    Control: the same without a sandbox.
    """
    trial.refused("write")
'''
SAYS = 'trial.says("", claim="c", saw="s", held=trial.row("a").ok, control="c", control_held=trial.control_row("a").ok)'


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("trial.refused('a') if trial.observed().code != 0 else None", "only `!= 0`"),
        ("trial.refused(str(trial.observed().returncode != 0))", "only `!= 0`"),
        ("trial.refused(str(not trial.observed().code))", "`not code`"),
        ("return", "not straight"),
        ("if trial.policy == 'read-only':\n        trial.refused('write')", "not straight"),
        ("for act in ():\n        trial.refused(act)", "not straight"),
        ("pytest.skip('not today')", "never by skip"),
        ("pytest.importorskip('socket')", "never by importorskip"),
        ("assert trial.row('write').errno", "assert decides nothing"),
        ("trial.row('write')", "gives no evidence"),
        (SAYS.replace('trial.control_row("a").ok', "bool(1)"), "without looking at its control"),
        (SAYS.replace('trial.control_row("a").ok', "True"), "control_held is a constant"),
        (SAYS.replace('trial.row("a").ok', "True"), "held is a constant"),
        (SAYS.replace(', control="c"', ""), "says() without control="),
    ],
)
def test_the_linter_refuses_what_could_pass_unseen(line: str, rule: str) -> None:
    found = faults(GOOD.replace('trial.refused("write")', line))
    assert any(rule in fault for fault in found), found


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("    Control: the same without a sandbox.\n", "", "no docstring of promise"),
        ("    Source: a page.\n", "", "no docstring of promise"),
        ("    Control: the same without a sandbox.\n", "    Control: .\n", "no docstring of promise"),
        ('@promise("a.b", acts={})\n', "", "declares no promise"),
        ("import Trial, promise\n", "import Trial, promise\nimport subprocess\n", "not subprocess"),
        ('trial.refused("write")\n', 'trial.refused("write")\n' + "# more\n" * 300, "at most 300 lines"),
    ],
)
def test_the_linter_refuses_a_file_that_does_not_say_what_it_promises(old: str, new: str, rule: str) -> None:
    assert old in GOOD
    found = faults(GOOD.replace(old, new))
    assert any(rule in fault for fault in found), found


@pytest.mark.parametrize(
    "line", ['trial.refused("write")', SAYS, "trial.clean()", "trial.confined()", 'helper(trial, "write")']
)
def test_the_linter_lets_a_good_scenario_pass(line: str) -> None:
    helper = f"\n\ndef helper(trial: Trial, act: str) -> None:\n    {SAYS}\n"
    assert faults(GOOD.replace('trial.refused("write")', line) + helper) == []


# ---- the shipped scenarios


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"scenario_{path.parent.name}_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def promises(path: Path) -> list[tuple[Promise, Callable[..., object]]]:
    found = [(declared(value), value) for value in vars(load(path)).values() if callable(value)]
    return [(promise, function) for promise, function in found if promise is not None]


ALL = [(path, promise, function) for path in FILES for promise, function in promises(path)]
OWN = [entry for entry in ALL if entry[1].topic not in STANDING]
OF_CODEX = [entry for entry in OWN if entry[1].suite == SANDBOX]
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
each_promise = pytest.mark.parametrize(("path", "promise", "function"), OWN, ids=lambda value: getattr(value, "id", ""))
each_promise_of_codex = pytest.mark.parametrize(
    ("path", "promise", "function"), OF_CODEX, ids=lambda value: getattr(value, "id", "")
)


@each_file
def test_a_shipped_scenario_file_keeps_the_rules(path: Path) -> None:
    assert faults(path.read_text()) == []
    assert path.name.startswith("test_codex_")


def test_promise_ids_and_file_names_are_unique() -> None:
    ids = [promise.id for _, promise, _ in ALL]
    assert sorted(set(ids)) == sorted(ids)
    names = [path.name for path in FILES]
    assert sorted(set(names)) == sorted(names)
    assert len(OWN) >= 60


@each_promise
def test_a_promise_is_complete(path: Path, promise: Promise, function: Callable[..., object]) -> None:
    topics = TOPICS.get(path.parent.name, (path.parent.name,))
    assert promise.topic in topics, f"{promise.id} in scenarios/{path.parent.name}: the topic of an id is its folder"
    assert promise.policies and set(promise.policies) <= set(installed_suites()[promise.suite].traits.policies)
    assert promise.source.startswith("https://") or has_heading(promise.source)
    if promise.suite == generator_suite.NAME:
        assert promise.over and promise.kind == "generator" and promise.needs == "nothing"
    if promise.suite != SANDBOX:
        return
    assert promise.acts or (promise.call and promise.call.argv), "nothing is done"
    if promise.call and promise.call.argv:
        assert "@OUTSIDE@/@NAME@" in " ".join(promise.call.argv), "nothing would prove that this very call is confined"
    for act in promise.acts.values():
        for place in (act.path, *act.looks, *(given.path for given in act.given), str(act.params.get("to", ""))):
            if re.search("@(TMP|TMPDIR|SHM)@", place) and act.verb != "try-folder":  # which leaves nothing there
                assert "@NAME@" in place, f"{place} lies in a folder that others share"


def has_heading(source: str) -> bool:
    """Whether it is a page of ours with that heading."""
    page, _, anchor = source.partition("#")
    path = Path(__file__).parents[2] / page
    lines = path.read_text().splitlines() if path.is_file() else []
    headings = [line.lstrip("# ").lower() for line in lines if line.startswith("#")]
    return anchor in [re.sub(r"[^a-z0-9 -]", "", heading).replace(" ", "-") for heading in headings]


class Watched(RealTrial):
    """A trial that remembers which acts its scenario looked at."""

    asked: set[str]

    def _sides(self, name: str, spec: Act, copy: int) -> Any:
        self.asked.add(name)
        return super()._sides(name, spec, copy)

    def _add(self, act: str, **rest: Any) -> None:
        self.asked |= {act} - {""}
        super()._add(act, **rest)


def blank(policy: str) -> Observation:
    return Observation(
        id="call",
        door="sandbox",
        policy=policy,
        nonce="n",
        argv=(),
        cwd="",
        env={},
        ended="lost",
        code=0,
        seconds=0.0,
        stdout_sha256="",
        stdout_total=0,
        stdout="",
        stderr="",
    )


@each_promise_of_codex
def test_a_scenario_over_a_call_that_showed_nothing_never_holds(
    path: Path, promise: Promise, function: Callable[..., object]
) -> None:
    asked: set[str] = set()
    for policy in promise.policies:
        for case in promise.cases:
            seen = (blank(policy),) * (promise.call.copies * promise.call.starts if promise.call else 1)
            key = Key(cell="c", door="sandbox", policy=policy, promise=promise.id, case=case)
            trial = Watched(key, promise, seen=seen, control=seen, started=SandboxState(state="on", why=""))
            trial.asked = asked
            function(trial)
            assert trial.rows, f"{promise.id} gave no evidence under {policy}"
            assert not any(row.held and row.control_held for row in trial.rows)
    assert asked == set(promise.acts), "an act that no evidence looks at is never judged"

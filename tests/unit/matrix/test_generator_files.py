"""How generators are named, and what their authors say of them."""

from pathlib import Path
from typing import Any

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix import decision_table, generator_files
from pytest_codexsandbox.matrix.generator_specs import asked, of_file, parse
from pytest_codexsandbox.model.generator import DecisionRow, Declaration, ExpectedPolicy, Intent


def refused(*texts: str, **more: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        asked(texts, **more)
    return caught.value


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / "generators" / f"{name}.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


# ---- SPEC
@pytest.mark.parametrize(
    ("text", "name", "scheme", "words"),
    [
        ("mytool render --out @CONFIG@", "mytool", "cmd", ("mytool", "render", "--out", "@CONFIG@")),
        ("cmd:/opt/My-Tool/run.sh 'a b'", "run.sh", "cmd", ("/opt/My-Tool/run.sh", "a b")),
        ("mine=sh -c 'a=b; c'", "mine", "cmd", ("sh", "-c", "a=b; c")),
        ("tool --set a=b", "tool", "cmd", ("tool", "--set", "a=b")),
        ("launch:hermes worker", "hermes", "launch", ("hermes", "worker")),
        ("h=launch:hermes worker", "h", "launch", ("hermes", "worker")),
        ("py:pkg.mod:func", "mod-func", "py", ()),
        ("ep:mytool", "mytool", "ep", ()),
        ("tool '{\"a\": {}}' $HOME", "tool", "cmd", ("tool", '{"a": {}}', "$HOME")),
        ("tool x@ABC/y @scope/name me@host", "tool", "cmd", ("tool", "x@ABC/y", "@scope/name", "me@host")),
    ],
)
def test_a_spec_is_taken_apart_and_given_to_no_shell(text: str, name: str, scheme: str, words: tuple[str, ...]) -> None:
    (found,) = asked([text])
    assert (found.name, found.spec.scheme, found.spec.words) == (name, scheme, words)


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        ("tool @CONFG@", "@CONFG@", "did you mean 'CONFIG'?"),
        ("tool --x=@CODEX_HOM@/y", "@CODEX_HOM@", "CODEX_HOME"),
        ("Mine=tool", "'Mine' cannot be the name", "lower-case"),
        ("tool 'a", "cannot be split", "No closing quotation"),
        ("", "no command", ""),
        ("cmd:", "no command", ""),
        ("mine=", "no command", ""),
        ("lanch:tool x", "no scheme 'lanch'", "did you mean 'launch'?"),
        ("py:pkg.mod", "names no function", ""),
        ("ep:", "names no entry point", ""),
        ("chain:good", "two generators or more", ""),
        ("chain:good,,good", "two generators or more", ""),
        ("chain:good,goood", "no generator 'goood'", "did you mean 'good'?"),
        ("nowhere.toml", "no declaration nowhere.toml", ""),
    ],
)
def test_a_wrong_spec_is_reported(text: str, what: str, why: str) -> None:
    error = refused(text)
    assert what in error.what
    assert why in error.why


def test_two_of_one_name_are_refused_and_the_same_twice_is_one() -> None:
    assert "'a'" in refused("a=x", "a=y").what
    assert len(asked(["a=x", "a=x"])) == 1


def test_a_bare_name_of_the_catalogue_is_that_and_may_be_given_another_name() -> None:
    good, other = asked(["good", "mine=good"])
    assert (good.name, other.name) == ("good", "mine")
    assert good.spec == other.spec
    assert good.declaration.refuse_exit == (3,)


def test_a_chain_names_what_was_named_before_it_and_what_is_declared() -> None:
    _, chain = asked(["first=tool a", "chain:first,good,first"])
    assert chain.name == "first+good+first"
    assert [part.name for part in chain.spec.parts] == ["first", "good", "first"]


def test_a_chain_of_chains_is_refused_even_of_itself(tmp_path: Path) -> None:
    written(tmp_path, "loop", 'run = "chain:loop,good"')
    assert "chain: loop " in refused("loop", beside=tmp_path).what
    assert "chain: a " in refused("a=chain:good,good", "chain:a,good").what


def test_a_folder_of_ones_own_declares_generators_whose_paths_start_there(tmp_path: Path) -> None:
    path = written(tmp_path, "mine", 'run = "./mine.sh @CONFIG@"\n')
    for (found,) in (asked(["mine"], beside=tmp_path), asked([str(path)]), (of_file(path),)):
        assert (found.name, found.spec.words, found.base) == ("mine", ("./mine.sh", "@CONFIG@"), str(path.parent))


def test_a_shipped_generator_keeps_its_name(tmp_path: Path) -> None:
    written(tmp_path, "good", 'run = "x"')
    assert "shipped" in refused("good", beside=tmp_path).what


def test_real_means_every_tool_that_people_use(tmp_path: Path) -> None:
    written(tmp_path, "a-tool", 'run = "x"\nreal = true\n')
    written(tmp_path, "my-own", 'run = "y"\n')
    names = {one.name for one in asked(["real"], beside=tmp_path)}
    assert "a-tool" in names
    assert not names & {"my-own", "good"}


# ---- declarations
KEPT = 'run = "x"\n[[semantics]]\nexpect = {keeps'


@pytest.mark.parametrize(
    ("text", "what", "place"),
    [
        ('runn = "x"', "unknown field `runn`", ":1:1 (runn)"),
        ('owns = ["a"]', "run is missing", ":1:1 (run)"),
        ('run = "x"\ntimeout = 0', "above zero", ":2:1 (timeout)"),
        ('run = "x"\nname = "y"', "name is not written", ":2:1 (name)"),
        ('run = "x"\nowns = "a"', "expected `array", ":2:1 (owns)"),
        ('run = "x"\nmarkers = [{begin = "", end = "x"}]', "a marker is empty", ":2:1 (markers)"),
        ('run = "x"\n[[semantics]]\nwhen = {platfrm = "linux"}', "'platfrm' is not a condition", ":3:1 (when)"),
        ('run = "x"\n[[semantics]]\nwhen = {network = "yes"}', "network is never 'yes'", ":3:1 (when)"),
        ('run = "x"\n[[semantics]]\nwhen = {}\n[[semantics]]\nwhen = {version = ">=x"}', "not a version range", ":5:1"),
        ('run = "x"\n[[semantics]]\nexpect = {sandbox = "open"}', "Invalid enum value", "sandbox"),
        ('run = "x"\n[[semantics]]\nexpect = {keeps = ["rots"]}', "Invalid enum value 'rots'", ":2:1 (keeps)"),
        ('run = "x"\n[[semantics]]\nexpect = {keeps = "roots"}', "Expected `bool | array`", ":2:1 (keeps)"),
        (
            f"{KEPT} = ['network', 'roots'], roots = []}}",
            "roots is kept as the user has it, but is expected to be ()",
            ":3:1 (expect)",
        ),
        (
            f"{KEPT} = true, sandbox = 'read-only'}}",
            "sandbox is kept as the user has it, but is expected to be",
            ":3:1 (expect)",
        ),
        ('run = "x', "the TOML is broken", ":1:"),
    ],
)
def test_a_wrong_declaration_is_reported_with_its_place(tmp_path: Path, text: str, what: str, place: str) -> None:
    path = written(tmp_path, "mine", text)
    with pytest.raises(InputError) as caught:
        of_file(path)
    assert what.lower() in caught.value.what.lower()
    assert place in caught.value.where, caught.value.where


def test_a_misspelt_placeholder_is_found_at_every_place(tmp_path: Path) -> None:
    for text in ('run = "x"\nenv = {A = "@HOM@"}', 'run = "x"\nsetup = {"@HOM@/x" = "y"}', 'run = "x @HOM@"'):
        path = written(tmp_path, f"m{len(text)}", text)
        with pytest.raises(InputError, match="@HOM@"):
            of_file(path)


def test_every_shipped_declaration_loads_and_can_be_taken_apart() -> None:
    for name, path in generator_files.files().items():
        found = of_file(path)
        assert found.name == name
        assert found.declaration.source or not found.declaration.real


# ---- rows
@pytest.mark.parametrize(
    ("when", "intent", "version", "fits"),
    [
        ({}, Intent(), "", True),
        ({"platform": "darwin"}, Intent(platform="darwin"), "", True),
        ({"platform": "darwin"}, Intent(), "", False),
        ({"network": "on"}, Intent(network=True), "", True),
        ({"network": "off"}, Intent(network=None), "", False),
        ({"network": "unsaid"}, Intent(network=None), "", True),
        ({"roots": "some"}, Intent(roots=("@ROOT0@",)), "", True),
        ({"roots": "none"}, Intent(roots=("@ROOT0@",)), "", False),
        ({"version": ">=0.130"}, Intent(), "0.144.5", True),
        ({"version": ">=0.130"}, Intent(), "0.130.0-alpha.1", False),
        ({"version": ">=0.130"}, Intent(version="0.121.0"), "0.144.5", False),
        ({"version": "0.121.0"}, Intent(), "0.121.0", True),
        ({"version": ">=0.130"}, Intent(version=""), "0.144.5", False),
        ({"version": "unknown"}, Intent(version="garbage"), "0.144.5", True),
        ({"version": "unknown"}, Intent(), "0.144.5", False),
        ({"userns": "no"}, Intent(capabilities={"userns": False}), "", True),
        ({"userns": "yes"}, Intent(), "", True),
        ({"userns": "no"}, Intent(), "", False),
        ({"userns": "no", "network": "on"}, Intent(capabilities={"userns": False}), "", False),
    ],
)
def test_a_row_speaks_of_what_is_asked(when: dict[str, str], intent: Intent, version: str, fits: bool) -> None:
    assert decision_table.matches(when, intent, version) is fits


def test_the_first_row_that_fits_decides() -> None:
    first, last = (
        DecisionRow(when={"network": "on"}, expect=ExpectedPolicy(refuses=True)),
        DecisionRow(expect=ExpectedPolicy(sandbox="read-only")),
    )
    declared = Declaration(run="x", semantics=(first, last))
    assert decision_table.row(declared, Intent(network=True), "") is first
    assert decision_table.row(declared, Intent(), "") is last
    assert decision_table.row(Declaration(run="x"), Intent(), "") is None


def test_a_program_may_have_a_colon_in_its_name(tmp_path: Path) -> None:
    (tmp_path / "odd:name").write_text("")
    assert parse("odd:name", base=tmp_path).scheme == "cmd"

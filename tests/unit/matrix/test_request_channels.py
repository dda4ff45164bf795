"""A generator that has no way to learn the requested roots and network is not asked for them."""

from pathlib import Path

import pytest

from pytest_codexsandbox.matrix.generator_cells import writers
from pytest_codexsandbox.matrix.request_channels import UNTOLD, is_told
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec, SubjectSpec
from pytest_codexsandbox.model.generator import DecisionRow, Declaration, Intent
from pytest_codexsandbox.model.generator_spec import Generator

HERE = EnvironmentSpec(id="here", backend="local", distro="debian-12")


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def one(text: str, base: Path) -> Generator:
    (name,) = (known := writers([text], beside=None, base=base)).asked
    return known.generators[name]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("./gen.sh", False),
        ("./gen.sh --out @CONFIG@ --home @HOME@", False),
        ("./gen.sh @ROOTS_JSON@", True),
        ("./gen.sh --net=@NETWORK@", True),
        ("./gen.sh @REQUEST@", True),
        ("./gen.sh @ROOT0@/x", True),
        ("sh -c 'echo $CXG_NETWORK'", True),
        ("sh ./reads.sh", True),
        ("./reads.sh", True),
        ("sh ./gen.sh", False),
        ("launch:./gen.sh", False),
        ("codex mcp add demo -- npx", False),
        ("./missing.sh", True),
        ("sh -c 'cd / && ./reads.sh'", True),
        ("sh -c 'cd / && ./gen.sh'", False),
        ("./calls.sh", True),
        ("./deep/gen.py", True),
        ("py:json:loads", True),
        ("good", True),
        ("chain:good,codex-mcp-add", True),
    ],
)
def test_placeholders_and_variables_tell_it(tmp_path: Path, words: str, told: bool) -> None:
    program(tmp_path / "gen.sh", "#!/bin/sh\ncodex mcp add demo -- npx demo\n")
    program(tmp_path / "reads.sh", '#!/bin/sh\necho "$CXG_WRITABLE_ROOTS"\n')
    program(tmp_path / "calls.sh", "#!/bin/sh\nset -e; ./deep/other.sh\n")
    program(tmp_path / "deep" / "other.sh", "#!/bin/sh\necho $CXG_NETWORK\n")
    program(tmp_path / "deep" / "gen.py", "#!/usr/bin/env python3\nimport one\n")
    (tmp_path / "deep" / "one.py").write_text("import two\n")
    (tmp_path / "deep" / "two.py").write_text("CXG_REQUEST\n")
    assert one(words, tmp_path).told is told


def test_a_module_that_a_program_loads_is_searched_as_well(tmp_path: Path) -> None:
    package = tmp_path / "node_modules" / "@mine" / "tool"
    entry = program(package / "bin.js", "#!/usr/bin/env node\nrequire('./lib')\n")
    link = tmp_path / "node_modules" / ".bin" / "tool"
    link.parent.mkdir()
    link.symlink_to(entry)
    assert not one(str(link), tmp_path).told
    (package / "lib.js").write_text("process.env.CXG_REQUEST")
    assert one(str(link), tmp_path).told

    script = program(tmp_path / "venv" / "bin" / "tool", "#!/usr/bin/python3\nfrom mytool.cli import main\nmain()\n")
    module = tmp_path / "venv" / "lib" / "python3.11" / "site-packages" / "mytool" / "cli.py"
    module.parent.mkdir(parents=True)
    (module.parent / "__init__.py").touch()
    module.write_text("def main(): ...\n")
    assert not one(str(script), tmp_path).told
    module.write_text("import os\nos.environ['CXG_NETWORK']\n")
    assert one(str(script), tmp_path).told
    script.write_text("#!/usr/bin/python3\nfrom lies_elsewhere import main\nmain()\n")
    assert one(str(script), tmp_path).told, "what cannot be searched counts as told"


def test_placeholders_of_a_declaration_carry_the_request(tmp_path: Path) -> None:
    program(tmp_path / "gen.sh", "#!/bin/sh\n")
    plain = one("./gen.sh", tmp_path)
    for declared in (Declaration(env={"NET": "@NETWORK@"}), Declaration(setup={"@HOME@/x": "@ROOTS_JSON@"})):
        assert is_told(Generator(name="g", spec=plain.spec, base=plain.base, declaration=declared))
    assert not is_told(Generator(name="g", spec=plain.spec, base=plain.base, declaration=Declaration(env={"A": "b"})))


def test_the_row_of_a_generator_without_request_keeps_the_policy_and_leads_to_no_suite(tmp_path: Path) -> None:
    program(tmp_path / "gen.sh", "#!/bin/sh\n")
    known = writers(["./gen.sh", "asked=./gen.sh @NETWORK@"], beside=None, base=tmp_path)

    def cell(name: str) -> Cell:
        return Cell(environment=HERE, subject=SubjectSpec(label="0.163.0", generator=name))

    assert known.row(cell("gen.sh"), Intent()) is UNTOLD
    assert known.intents(cell("gen.sh")) == {}
    assert known.row(cell("asked"), Intent()) is None
    assert known.intents(cell("asked"))
    declared = tmp_path / "mine.toml"
    declared.write_text('run = "./gen.sh"\n[[semantics]]\nexpect = { sandbox = "read-only" }\n')
    known = writers(["./mine.toml"], beside=None, base=tmp_path)
    row = known.row(cell("mine"), Intent())
    assert isinstance(row, DecisionRow)
    assert row.expect.sandbox == "read-only", "the author's own row decides"

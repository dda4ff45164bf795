"""Careful generators: what they install, how they mark, and what they leave when they decline is no false alarm."""

import msgspec
import pytest

from pytest_codexsandbox.generators.checks.block_markers import one_marker_pair
from pytest_codexsandbox.generators.checks.exit_status import agrees
from pytest_codexsandbox.generators.checks.file_attributes import no_leftovers
from pytest_codexsandbox.generators.checks.idempotence import second_run_same
from pytest_codexsandbox.model.generator import FileState
from tests.unit.generators.builders import (
    ANY,
    BLOCK,
    GOOD,
    MARKED,
    USER,
    case_run,
    ended,
    files,
    held,
    reasons,
    skips,
    state,
    with_files,
)

# ---- litter
SKILLS = {"@HOME@/.tool/skills/a.md": state(b"a"), "@HOME@/.tool/skills": FileState(kind="dir")}


def test_files_installed_on_an_empty_home_too_are_no_leftovers() -> None:
    told = with_files(files(USER), files(GOOD) | SKILLS, installed=("@HOME@/.tool/", "@HOME@/.tool/skills/"))
    (one,) = no_leftovers(told, ANY)
    assert one.held and one.control_held
    assert one.saw.endswith(": @HOME@/.tool/skills")
    assert reasons(no_leftovers(with_files(files(USER), files(GOOD) | SKILLS), ANY)) == {"left-behind"}


def test_files_installed_behind_a_linked_home_of_codex_are_no_leftovers() -> None:
    linked = {"@CODEX_HOME@": FileState(kind="symlink", target="dotfiles/codex")}
    before = {**linked, "@HOME@/dotfiles/codex/config.toml": state(USER)}
    after = {**linked, "@HOME@/dotfiles/codex/config.toml": state(GOOD)}
    skills = {"@HOME@/dotfiles/codex/skills": FileState(kind="dir"), "@HOME@/dotfiles/codex/skills/a": state(b"a")}
    told = with_files(before, after | skills, installed=("@CODEX_HOME@/skills/", "@CODEX_HOME@/skills/a"))
    assert held(no_leftovers(told, ANY))
    own_name = {"@CODEX_HOME@/skills": FileState(kind="dir")}
    assert held(no_leftovers(with_files(before, after | skills | own_name, installed=told.installed), ANY))
    assert reasons(no_leftovers(with_files(before, after | skills), ANY)) == {"left-behind"}


@pytest.mark.parametrize("name", ["@CODEX_HOME@/config.toml.bak", "@CODEX_HOME@/.config.toml.7.tmp", "@WORKSPACE@/x"])
def test_a_copy_of_the_configuration_and_a_file_in_the_workspace_are_litter_everywhere(name: str) -> None:
    told = with_files(files(USER), files(GOOD) | {name: state(b"")}, installed=("@CODEX_HOME@/", name))
    assert reasons(no_leftovers(told, ANY)) == {"left-behind"}


def test_the_folder_of_the_configuration_installs_nothing() -> None:
    """An empty home lacks the folder too, so not everything in it is the generator's own."""
    told = with_files(files(USER), files(GOOD) | {"@CODEX_HOME@/x": state(b"")}, installed=("@HOME@/.codex/",))
    assert reasons(no_leftovers(told, ANY)) == {"left-behind"}


# ---- marks
IN_PLACE = USER.replace(b'"m"', b'"x"')


def test_marks_that_are_only_inferred_are_not_missed_in_a_file_that_is_edited_in_place() -> None:
    assert "inferred" in skips(one_marker_pair(case_run(USER, IN_PLACE), ANY))
    assert reasons(one_marker_pair(case_run(USER, IN_PLACE), MARKED)) == {"no-marks"}


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (GOOD, USER, "no-marks"),  # they were there, and are gone
        (USER, GOOD + BLOCK, "two-blocks"),
        (USER, GOOD.replace(b"# END x\n", b""), "orphan-mark"),
        (USER, USER + b"a = '''\n" + BLOCK + b"'''\n", "inside-a-string"),
    ],
)
def test_a_mistake_with_inferred_marks_is_found_all_the_same(before: bytes, after: bytes, reason: str) -> None:
    assert reasons(one_marker_pair(case_run(before, after), ANY)) == {reason}


# ---- declining
OF_CODEX = {"@CODEX_HOME@/tmp/arg0-linux/codex-arg0LK2sbn/.lock": state(b"")}


@pytest.mark.parametrize(("code", "words"), [(3, "it declined with 3, wrote nothing,"), (0, "no file was changed,")])
def test_files_of_each_call_of_codex_do_not_count_as_a_generators_work(code: int, words: str) -> None:
    told = with_files(files(USER), files(USER) | OF_CODEX)
    runs = tuple(msgspec.structs.replace(one, code=code, stderr="no") for one in told.runs)
    assert words in agrees(msgspec.structs.replace(told, runs=runs), ANY)[0].saw


def test_a_declining_generator_is_reported_with_the_files_that_it_wrote_meanwhile() -> None:
    more = {f"@HOME@/.tool/{number}": state(b"x") for number in range(430)}
    told = with_files(files(USER), files(USER) | more)
    runs = tuple(msgspec.structs.replace(one, code=3, stderr="no") for one in told.runs)
    told = msgspec.structs.replace(told, runs=runs)
    words = "left the configuration as it was, but 430 other files are new or changed"
    assert words in skips(one_marker_pair(told, MARKED))
    assert words in agrees(told, ANY)[0].saw
    assert words in skips(second_run_same(told, ANY))


def test_a_generator_that_declines_and_writes_nothing_is_reported() -> None:
    told = ended(USER, code=3, stderr="no")
    assert "wrote nothing" in skips(one_marker_pair(told, MARKED))
    assert "wrote nothing" in skips(second_run_same(told, ANY))

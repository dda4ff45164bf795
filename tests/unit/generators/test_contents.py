"""Contents of files: once in a journal and once on the disk, and whole again for a reader."""

from pathlib import Path

import msgspec
import pytest

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.generators import file_store
from pytest_codexsandbox.generators.file_store import FileStore
from pytest_codexsandbox.model import contents
from pytest_codexsandbox.model.contents import EACH, LISTED, MOST, Writer, whole
from pytest_codexsandbox.model.generator import CONFIG, CaseRun, Files, Intent
from pytest_codexsandbox.model.journal_lines import RunLine, StoryLine
from pytest_codexsandbox.model.story_log import SHOWN, Told, told_files, told_runs
from tests.unit.generators.builders import case_run, run, state

MANY = 435
USER = b'model = "x"\n'


def skills(word: bytes) -> Files:
    return {f"@CODEX_HOME@/skills/{n:03}.md": state(b"%d %s " % (n, word) + b"words " * 300) for n in range(MANY)}


def brings(*words: bytes, config: bytes = USER) -> CaseRun:
    """A run for each word: the configuration, and hundreds of files beside it."""
    runs = tuple(run(None, files={CONFIG: state(config + b"# %d" % n), **skills(word)}) for n, word in enumerate(words))
    return case_run(USER, USER, runs=runs)


def line(told: CaseRun, name: str = "s") -> StoryLine:
    return StoryLine(
        id=name, cell="c", generator="g", case=name, wish=Intent(), before=told_files(told.before), runs=told_runs(told)
    )


def size(one: object) -> int:
    return len(msgspec.json.encode(one))


def test_a_text_common_to_all_case_runs_is_written_once() -> None:
    writer, every = Writer(), [line(brings(b"", b"", b""), f"s{n}") for n in range(10)]
    thin = [writer.thin(one) for one in every]
    assert size(thin) < size(every) / 8
    assert size(thin[1:]) < 20_000
    assert whole(one for one in thin if isinstance(one, StoryLine)) == tuple(map(cut, every))


def cut(one: StoryLine) -> StoryLine:
    """Cut files beside the configuration to their first part, as a journal does."""

    def files(told: Told) -> Told:
        return {
            path: file if contents.is_configuration(path) else msgspec.structs.replace(file, text=file.text[:EACH])
            for path, file in told.items()
        }

    runs = tuple(msgspec.structs.replace(each, changed=files(each.changed)) for each in one.runs)
    return msgspec.structs.replace(one, runs=runs)


def test_texts_that_differ_in_every_case_run_are_bounded() -> None:
    writer = Writer()
    thin = [writer.thin(line(brings(b"%d" % n, b"%d again" % n), f"s{n}")) for n in range(200)]
    assert sum(len(text) for one in thin if isinstance(one, StoryLine) for text in one.texts.values()) < MOST * 1.1
    assert size(thin[-1]) < 40_000
    told = whole(one for one in thin if isinstance(one, StoryLine))[-1]
    assert told.runs[0].more == MANY - LISTED
    assert told.runs[0].changed[CONFIG].text == (USER + b"# 0").decode()


def test_a_configuration_is_kept_whole_after_any_earlier_one() -> None:
    """A copy of it under another name was seen first, and cut."""
    long = b"# " + b"x" * (2 * EACH) + b"\n"
    copied = case_run(USER, USER, runs=(run(None, files={"@CODEX_HOME@/a-copy": state(long)}),))
    writer = Writer()
    first, second = writer.thin(line(copied)), writer.thin(line(brings(b"", config=long)))
    assert isinstance(first, StoryLine)
    assert isinstance(second, StoryLine)
    again = msgspec.structs.replace(second.runs[0].changed[CONFIG])
    assert again.text == ""
    of_copy = whole([first, msgspec.structs.replace(first, id="other")])
    assert len(of_copy[0].runs[0].changed["@CODEX_HOME@/a-copy"].text) == EACH
    third = writer.thin(line(case_run(USER, USER, runs=(run(None, files={CONFIG: state(long)}),))))
    assert isinstance(third, StoryLine)
    assert len(long) < SHOWN
    assert whole([first, second, third])[2].runs[0].changed[CONFIG].text == long.decode()
    assert whole([third, first])[0].runs[0].changed[CONFIG].text == long.decode(), "whatever the order of workers"


def test_journals_of_before_are_read_as_they_are() -> None:
    old = line(brings(b"", b""))
    assert whole([old]) == (old,)
    other = RunLine(id="r", started="")
    assert Writer().thin(other) is other


def test_a_text_lost_with_its_line_is_read_as_empty() -> None:
    writer = Writer()
    writer.thin(line(brings(b"")))
    later = writer.thin(line(brings(b"")))
    assert isinstance(later, StoryLine)
    told = whole([later])[0].runs[0].changed[CONFIG]
    assert (told.text, told.size) == ("", len(USER) + 3)


def test_toml_that_is_no_configuration_is_bounded_too() -> None:
    """A tool may bring hundreds of agents, each a TOML file below the Codex home."""
    assert not contents.is_configuration("@CODEX_HOME@/agents/one.toml")
    assert not contents.is_configuration("@WORKSPACE@/pyproject.toml")
    known = ("@CODEX_HOME@/config.toml", "@CODEX_HOME@/work.config.toml", "@WORKSPACE@/.codex/config.toml")
    assert all(map(contents.is_configuration, known))


# ---- in memory
def test_a_case_run_keeps_only_the_files_that_are_read(tmp_path: Path) -> None:
    first = brings(b"one", b"two")
    slim = FileStore(tmp_path / "store").slim(first)
    path = "@CODEX_HOME@/skills/007.md"
    assert slim.runs[0].files[CONFIG] == first.runs[0].files[CONFIG]
    assert slim.runs[1].files[path].content == b""
    assert file_store.read(slim.runs[1].files[path]) == first.runs[1].files[path].content
    assert sum(len(one.content) for each in slim.runs for one in each.files.values()) < 100
    assert len(list((tmp_path / "store").iterdir())) == MANY


def test_equal_contents_are_stored_once(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    one, other = store.slim(brings(b"same", b"same")), store.slim(brings(b"same", b"same"))
    path = "@CODEX_HOME@/skills/007.md"
    assert one.runs[-1].files[path].stored == other.runs[-1].files[path].stored
    assert len(list(tmp_path.iterdir())) == MANY


def test_a_configuration_behind_a_link_stays(tmp_path: Path) -> None:
    link = {CONFIG: msgspec.structs.replace(state(b""), kind="symlink", target="@HOME@/dotfiles/codex", content=b"")}
    text = b"a = 1\n" * 100
    files = {**link, "@HOME@/dotfiles/codex": state(text)}
    slim = FileStore(tmp_path).slim(msgspec.structs.replace(case_run(USER, USER), runs=(run(None, files=files),)))
    assert slim.runs[0].files["@HOME@/dotfiles/codex"].content == text


def test_a_stored_file_that_was_changed_or_was_never_kept_is_a_fault(tmp_path: Path) -> None:
    slim = FileStore(tmp_path).slim(brings(b"one", b"two"))
    earlier, last = (each.files["@CODEX_HOME@/skills/007.md"] for each in slim.runs)
    with pytest.raises(HarnessError, match="cannot be read"):
        file_store.read(earlier)
    Path(last.stored).write_bytes(b"another")
    with pytest.raises(HarnessError, match="cannot be read"):
        file_store.read(last)
    Path(last.stored).unlink()
    with pytest.raises(HarnessError, match="gone"):
        file_store.read(last)

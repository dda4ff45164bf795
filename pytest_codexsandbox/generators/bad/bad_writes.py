"""Bad writes: generators that write the right content the wrong way: through links, in halves, over other writers'
text."""

import os
import re
import time
from pathlib import Path
from typing import Final

from pytest_codexsandbox.config_writer import request_of
from pytest_codexsandbox.config_writer.managed_block import Marks
from pytest_codexsandbox.generators.bad.bad_builder import (
    Given,
    Result,
    Told,
    at_once,
    declining,
    performing,
    run_of,
    spoilt,
)

_MARKS: Final = Marks("codexsandbox")
_PAUSE: Final = 0.3  # long enough for a reader that samples often, and for a second writer


def _mode(run: Told) -> None:
    at_once(run, run.good)
    run.path.chmod(0o666 if run.path.stat().st_mode & 0o777 != 0o666 else 0o600)


def _over_the_link(run: Told) -> None:
    """Replaces the link itself: its target stays as it was."""
    if run.good == run.before:
        return
    new = Path(run.request.config + ".tmp")
    new.write_bytes(run.good)
    new.replace(run.request.config)


def _always(run: Told) -> None:
    """Puts a new file in place at every start, whatever the old one holds."""
    new = run.path.with_name(f".{run.path.name}.new")
    new.write_bytes(run.good)
    new.chmod(run.path.stat().st_mode & 0o7777 if run.before is not None else 0o600)
    new.replace(run.path)


def _always_in_place(run: Told) -> None:
    """Writes the same bytes over themselves: no reader ever sees another text."""
    at_once(run, run.good)
    with run.path.open("r+b", buffering=0) as file:
        file.write(run.good)


def _truncated(run: Told) -> None:
    """Empties the file, then writes it in two halves. A reader in between gets the policy of an empty file."""
    if run.good == run.before:
        return
    with run.path.open("wb", buffering=0) as file:
        time.sleep(_PAUSE)
        file.write(run.good[: len(run.good) // 2])
        time.sleep(_PAUSE)
        file.write(run.good[len(run.good) // 2 :])


def _amid_other_files(run: Told) -> None:
    """Empties the file and writes it, between a few and many calls on other files. A sample of calls misses that
    moment."""
    if run.good == run.before:
        return
    _other_files(run.path.parent, 1)
    with run.path.open("wb", buffering=0) as file:
        file.write(run.good)
    _other_files(run.path.parent, 33)


def _other_files(folder: Path, count: int) -> None:
    """Writes and removes other files: three calls that change a file for each of them."""
    for number in range(count):
        other = folder / f"cache-{number}"
        other.write_bytes(b"other")
        other.unlink()


def _end_later(run: Told) -> None:
    """Writes the end marker last, in place. A crash before that leaves a block without an end."""
    if run.good == run.before:
        return
    end = run.good.index(_MARKS.end.encode())
    run.path.write_bytes(run.good[:end] + run.good[end + len(_MARKS.end) + 1 :])
    time.sleep(_PAUSE)
    run.path.write_bytes(run.good)


def _leaves_a_copy(run: Told) -> None:
    at_once(run, run.good)
    Path(f"{run.path}.bak").write_bytes(run.before or b"")


def _leaves_a_temporary_file(run: Told) -> None:
    at_once(run, run.good)
    Path(f"{run.path}.{os.getpid()}.tmp").write_bytes(run.good)


def _loses_an_update(run: Told) -> None:
    """Writes in place, in two pieces, what it read earlier. Two parallel runs write into each other's text."""
    half = len(run.good) // 2
    time.sleep(_PAUSE)
    with run.path.open("r+b" if run.before is not None else "w+b", buffering=0) as file:
        file.write(run.good[:half])
        time.sleep(_PAUSE)
        file.write(run.good[half:])
        file.truncate(len(run.good))


def _block(run: Told) -> bytes:
    stop = run.good.index(_MARKS.end.encode()) + len(_MARKS.end) + 1
    return run.good[run.good.index(_MARKS.begin.encode()) : stop]


def deletes_what_follows(given: Given) -> Result:
    """Takes a block without an end marker to reach to the next one or the end of the file. So it deletes the user's
    tables."""
    request = request_of(given)
    path = Path(request.config)
    before = path.read_bytes() if path.exists() else b""
    begin = before.find(_MARKS.begin.encode())
    if begin >= 0 and _MARKS.end.encode() not in before:
        path.write_bytes(before[:begin])
    return spoilt(lambda run: run.good)(given)


@declining
def gives_up_on_moved_marks(given: Given) -> Result:
    """Treats everything between its markers as its own and deletes it."""
    run = run_of(given)
    before = run.before or b""
    begin, end = before.find(_MARKS.begin.encode()), before.find(_MARKS.end.encode())
    if 0 <= begin < end:
        run.path.write_bytes(before[:begin] + before[end + len(_MARKS.end) + 1 :])
        run = run_of(given)
    at_once(run, run.good)
    return {}


@declining
def knows_its_own_words_only(given: Given) -> Result:
    """Does not recognise a block with an earlier release's markers, and writes a second one."""
    run = run_of(given)
    if run.before is None or _MARKS.begin.encode() in run.before or b"# >>> codexsandbox: " not in run.before:
        at_once(run, run.good)
        return {}
    at_once(run, _block(run) + run.before)
    return {}


@declining
def looks_for_marks_only(given: Given) -> Result:
    """Looks for its markers only. If another program dropped all comments, it writes its keys a second time."""
    run = run_of(given)
    before = run.before or b""
    marked = _MARKS.begin.encode() in before
    at_once(run, run.good if marked or b"sandbox_mode" not in before else run.alone + before)
    return {}


@declining
def earlier_words(given: Given) -> Result:
    """Writes as an earlier release did: the same block with other markers. It has no flaw of its own."""
    run = run_of(given)
    if run.before and b"# >>> codexsandbox: sandbox >>>" in run.before:
        return {}
    text = run.good.replace(_MARKS.begin.encode(), b"# >>> codexsandbox: sandbox >>>")
    at_once(run, re.sub(re.escape(_MARKS.end).encode(), b"# <<< codexsandbox: sandbox <<<", text))
    return {}


changes_mode = performing(_mode)
writes_the_same_anew = performing(_always)
writes_in_place_anew = performing(_always_in_place)
replaces_the_link = performing(_over_the_link)
writes_in_halves = performing(_truncated)
empties_amid_other_files = performing(_amid_other_files)
ends_its_block_later = performing(_end_later)
leaves_a_copy = performing(_leaves_a_copy)
leaves_a_temporary_file = performing(_leaves_a_temporary_file)
loses_an_update = performing(_loses_an_update)

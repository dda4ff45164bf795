"""Who reads all the time sees also what came while it was not let run."""

import base64
import json
import subprocess
import sys
from pathlib import Path

# The file changes between a look and the question whether to go on: as where a busy machine lets nobody run in between.
PROGRAM = """
import sys
from pathlib import Path
from pytest_codexsandbox.guest import file_watcher

def is_over():
    Path(sys.argv[2]).write_bytes(b"new")
    return True

file_watcher._is_over = is_over
file_watcher.main(sys.argv[1], sys.argv[2])
"""


def test_the_last_look_is_after_the_end(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"old")
    words = (sys.executable, "-c", PROGRAM, str(tmp_path), str(path))
    first, told = subprocess.run(words, stdin=subprocess.PIPE, capture_output=True, check=True).stdout.splitlines()
    assert first == b""
    seen = [base64.b64decode(one["content"]) for one in json.loads(told)["seen"]]
    assert seen[-1] == b"new"


REPLACING = """
import os, sys
from pathlib import Path
from pytest_codexsandbox.guest import file_watcher

path, looks = Path(sys.argv[2]), iter(range(99))

def is_over():
    if next(looks) == 0:
        return False
    path.write_bytes(b"in place")
    return True

def content(fd, read=file_watcher._content):
    told = read(fd)
    if told == b"old":
        Path(f"{path}.new").write_bytes(b"renamed")
        os.replace(f"{path}.new", path)
    return told

file_watcher._is_over, file_watcher._content = is_over, content
file_watcher.main(sys.argv[1], sys.argv[2])
"""


def test_a_replaced_file_differs_from_one_that_was_written_in_place(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"old")
    words = (sys.executable, "-c", REPLACING, str(tmp_path), str(path))
    _, told = subprocess.run(words, stdin=subprocess.PIPE, capture_output=True, check=True).stdout.splitlines()
    seen = [(base64.b64decode(one["content"]), one["file"]) for one in json.loads(told)["seen"]]
    assert seen == [(b"old", 1), (b"renamed", 2), (b"in place", 2)]

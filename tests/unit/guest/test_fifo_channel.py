"""What a command says and hears through a channel, past whoever started it. Real FIFOs, and no Codex."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_codexsandbox.guest.fifo_channel import INHERITED, made, wrapped

GUEST = Path(__file__).resolve().parents[3] / "pytest_codexsandbox" / "guest"
DRIVE = f"""
import os, subprocess, sys
sys.path.insert(0, {str(GUEST)!r})
from fifo_channel import INHERITED, Channel, wrapped
channel = Channel(sys.argv[1])
quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
code = subprocess.call(wrapped(sys.argv[1], sys.argv[2:]), pass_fds=INHERITED, **quiet)
channel.finish()
os._exit(code)
"""


def drive(folder: Path, *command: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", DRIVE, str(folder), *command],
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "a channel"
    made(str(place))
    return place


def test_every_byte_arrives_in_both_directions_and_nothing_else(folder: Path) -> None:
    data = bytes(range(256)) * 4096
    done = drive(folder, "cat", stdin=data)
    assert (done.returncode, hashlib.sha256(done.stdout).digest()) == (0, hashlib.sha256(data).digest())


def test_an_empty_stdin_has_its_end(folder: Path) -> None:
    assert drive(folder, "sh", "-c", "wc -c; exit 3").stdout.split() == [b"0"]


def test_a_silent_command_is_no_trouble_and_its_exit_code_is_kept(folder: Path) -> None:
    done = drive(folder, "sh", "-c", "exit 7", stdin=b"never read")
    assert (done.returncode, done.stdout) == (7, b"")


def test_a_command_may_stop_reading(folder: Path) -> None:
    assert drive(folder, "head", "-c", "3", stdin=b"x" * 1_000_000).stdout == b"xxx"


def test_the_words_of_the_process_are_the_commands_own(folder: Path) -> None:
    code = "import sys; print(open('/proc/self/cmdline').read().split('\\0')[:-1])"
    argv = [sys.executable, "-I", "-S", "-c", code, "a b", ""]
    assert drive(folder, *argv).stdout.decode().strip() == repr(argv)


def test_a_channel_that_cannot_be_opened_is_inherited(folder: Path, tmp_path: Path) -> None:
    """As under Landlock: here its name leads nowhere."""
    words = wrapped(str(folder), ["cat"])
    words[2] = words[2].replace(str(folder), str(tmp_path / "nowhere"))
    given, said = os.pipe(), os.pipe()
    os.write(given[1], b"through")
    os.close(given[1])
    ends = {given[0]: INHERITED[0], said[1]: INHERITED[1]}
    script = "".join(f"os.dup2({here}, {there}); " for here, there in ends.items())
    program = f"import os, sys; {script}os.execv(sys.argv[1], sys.argv[1:])"
    subprocess.run([sys.executable, "-c", program, *words], pass_fds=tuple(ends), timeout=60, check=True)
    assert os.read(said[0], 100) == b"\x06through"


def test_the_agent_makes_new_channels_over_any_old_file(folder: Path) -> None:
    kept = os.open(folder / "out", os.O_RDWR)  # as a driver keeps it: its inode is nobody else's
    first = os.fstat(kept)
    (folder / "out").unlink()
    (folder / "out").symlink_to("/etc/passwd")
    second = made(str(folder))
    os.close(kept)
    assert (first.st_dev, first.st_ino) != second and not (folder / "out").is_symlink()
    status = (folder / "out").stat()
    assert (status.st_dev, status.st_ino) == second

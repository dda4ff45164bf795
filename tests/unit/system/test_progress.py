"""A person at a terminal sees bars and what tasks came to, a log has lines alone."""

import io

import pytest

from pytest_codexsandbox.system.progress import BarProgress, LineProgress, Progress, progress_on


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def test_a_log_gets_one_line_at_the_start_of_a_download_and_one_at_its_end() -> None:
    out = io.StringIO()
    with progress_on(out).download("Codex 0.136.0 from npm", 92_000_000) as arrived:
        for _ in range(50):
            arrived(1_840_000)
    lines = out.getvalue().splitlines()
    assert lines[0] == "Codex 0.136.0 from npm (92 MB) ..."
    assert lines[1].startswith("Codex 0.136.0 from npm: 92 MB in ")
    assert len(lines) == 2


def test_a_log_gets_one_line_for_each_task() -> None:
    out = io.StringIO()
    with progress_on(out) as progress:
        for done in range(5):
            progress.stage("debian-trixie (none)", "pulling", done, 5)
        progress.end("debian-trixie (none)", "image debian-trixie (none): pulled, 80 MB in 3 s")
    assert out.getvalue() == "image debian-trixie (none): pulled, 80 MB in 3 s\n"


def test_a_terminal_sees_what_goes_on_and_what_it_came_to(terminal: Terminal) -> None:
    with progress_on(terminal) as progress:
        progress.stage("debian-trixie (none)", "pulling [80 MB]", 1, 2)
        progress.say("process 12 makes the image debian-sid; waiting for it")
        progress.end("debian-trixie (none)", "image debian-trixie (none): pulled, 80 MB in 3 s")
        progress.end("never begun", "there")
    assert "pulling [80 MB]" in terminal.getvalue()
    assert "waiting for it" in terminal.getvalue()
    assert "image debian-trixie (none): pulled, 80 MB in 3 s" in terminal.getvalue()


def test_a_download_has_a_bar_that_is_gone_when_it_ends_or_fails(terminal: Terminal) -> None:
    progress = progress_on(terminal)
    assert isinstance(progress, BarProgress)
    for number in range(2):
        with progress.download(f"Codex 0.13{number}.0", 100_000_000) as arrived:
            arrived(100_000_000)
    with pytest.raises(ZeroDivisionError), progress.download("Codex 0.140.0", 0) as arrived:
        arrived(1)
        raise ZeroDivisionError
    assert "100 of 100 MB" in terminal.getvalue()
    assert "Codex 0.131.0: 100 MB in " in terminal.getvalue()
    assert "Codex 0.140.0: " not in terminal.getvalue()
    progress.say("printed at once")
    assert terminal.getvalue().endswith("printed at once\n")


def test_silence_is_silent() -> None:
    assert isinstance(progress_on(io.StringIO()), LineProgress)
    with Progress() as progress, progress.download("it", 0) as arrived:
        arrived(1)

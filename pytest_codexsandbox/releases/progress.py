"""Who shows a download: a bar on a terminal, a line at the start and at the end elsewhere, or nobody."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from pytest_codexsandbox.system.download import Progress


class NoDownloadProgress:
    @contextmanager
    def download(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        yield lambda count: None

    def say(self, line: str) -> None:
        pass


class DownloadLineProgress:
    """For logs: what begins, what it came to."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @contextmanager
    def download(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        self.say(f"{label} ({total / 1e6:,.0f} MB) ..." if total else f"{label} ...")
        begun, counts = time.monotonic(), [0]

        def arrived(count: int) -> None:
            counts[0] += count

        yield arrived
        self.say(f"{label}: {counts[0] / 1e6:,.0f} MB in {time.monotonic() - begun:.1f} s")

    def say(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()


class DownloadBarProgress(DownloadLineProgress):
    """For a person at a terminal."""

    @contextmanager
    def download(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(file=self._stream)) as bar:
            task = bar.add_task(label, total=total or None)
            yield lambda count: bar.advance(task, count)


def progress_on(stream: TextIO | None = None) -> Progress:
    stream = stream or sys.stderr
    return DownloadBarProgress(stream) if stream.isatty() else DownloadLineProgress(stream)

"""Who sees that images are made: a moving line for each on a terminal, one line for each elsewhere, or nobody."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TextIO


class Watch(Protocol):
    """Told from many threads at once; `what` is the image."""

    def stage(self, what: str, doing: str, done: int = 0, total: int = 0) -> None:
        """It goes on: `done` of `total`, in whatever is counted; 0 where nobody knows."""

    def end(self, what: str, line: str) -> None: ...
    def say(self, line: str) -> None: ...


class NoBuildProgress:
    def stage(self, what: str, doing: str, done: int = 0, total: int = 0) -> None:
        pass

    def end(self, what: str, line: str) -> None:
        pass

    def say(self, line: str) -> None:
        pass


class BuildLineProgress(NoBuildProgress):
    """For logs: what it came to, and who waits for whom."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._one = threading.Lock()

    def end(self, what: str, line: str) -> None:
        self.say(f"image {what}: {line}")

    def say(self, line: str) -> None:
        with self._one:
            self._stream.write(line + "\n")
            self._stream.flush()


class BuildScreenProgress(BuildLineProgress):
    """For a person at a terminal."""

    def __init__(self, stream: TextIO, progress: Any) -> None:
        super().__init__(stream)
        self._progress = progress
        self._tasks: dict[str, Any] = {}

    def stage(self, what: str, doing: str, done: int = 0, total: int = 0) -> None:
        with self._one:
            if what not in self._tasks:
                self._tasks[what] = self._progress.add_task(what, total=None, doing="")
            self._progress.update(self._tasks[what], doing=doing, completed=done, total=total or None)

    def end(self, what: str, line: str) -> None:
        with self._one:
            task = self._tasks.pop(what, None)
            if task is not None:
                self._progress.remove_task(task)
        self.say(f"image {what}: {line}")

    def say(self, line: str) -> None:
        from rich.text import Text

        with self._one:
            self._progress.console.print(Text(line), soft_wrap=True)


@contextmanager
def watching(stream: TextIO) -> Iterator[Watch]:
    if not stream.isatty():
        yield BuildLineProgress(stream)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=16), TextColumn("{task.fields[doing]}"))
    with Progress(*columns, TimeElapsedColumn(), console=Console(file=stream), transient=True) as progress:
        yield BuildScreenProgress(stream, progress)


@contextmanager
def timed() -> Iterator[Any]:
    """Seconds so far, as words."""
    begun = time.monotonic()
    yield lambda: f"{time.monotonic() - begun:.1f} s"

"""Progress of downloads and builds: bars on a terminal, single lines in a log, or nothing."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TextIO


class Progress:
    """Shows nothing; its subclasses show. Its methods are called from many threads at once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def stage(self, task: str, doing: str, done: int = 0, total: int = 0) -> None:
        """Shows that a task goes on: `done` of `total`, in any unit; 0 where that is not known."""

    def end(self, task: str, line: str) -> None:
        """Ends a task, and says what it came to."""

    def say(self, line: str) -> None:
        """Prints a line above what moves."""

    @contextmanager
    def download(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        """Yields a function that is called with the bytes that arrived; `total` is 0 where the server named none."""
        yield lambda count: None


class LineProgress(Progress):
    """Prints what begins and what it came to: for logs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._one = threading.Lock()

    def end(self, task: str, line: str) -> None:
        self.say(line)

    def say(self, line: str) -> None:
        with self._one:
            self._print(line)

    def _print(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()

    @contextmanager
    def download(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        begun, done, of = time.monotonic(), 0, f" of {total / 1e6:,.0f}" if total else ""

        def arrived(count: int) -> None:
            nonlocal done
            done += count
            self.stage(label, f"{done / 1e6:,.0f}{of} MB", done, total)

        self._announce(f"{label} ({total / 1e6:,.0f} MB) ..." if total else f"{label} ...")
        try:
            yield arrived
        except BaseException:
            self._forget(label)
            raise
        self.end(label, f"{label}: {done / 1e6:,.0f} MB in {time.monotonic() - begun:.1f} s")

    def _announce(self, line: str) -> None:
        self.say(line)

    def _forget(self, task: str) -> None:
        """Takes away what moves for a task."""


class BarProgress(LineProgress):
    """Moves a bar for each task: for a person at a terminal. Bars are there while a task is."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}

    def __exit__(self, *_: object) -> None:
        for task in tuple(self._tasks):
            self._forget(task)

    def stage(self, task: str, doing: str, done: int = 0, total: int = 0) -> None:
        with self._one:
            if self._bars is None:
                self._bars = _bars(self._stream)
            if task not in self._tasks:
                self._tasks[task] = self._bars.add_task(task, total=None, doing="")
            self._bars.update(self._tasks[task], doing=doing, completed=done, total=total or None)
            self._bars.start()  # no second time

    def end(self, task: str, line: str) -> None:
        self._forget(task)
        super().end(task, line)

    def _print(self, line: str) -> None:
        if self._bars is None:
            super()._print(line)
        else:
            from rich.text import Text

            self._bars.console.print(Text(line), soft_wrap=True)

    def _announce(self, line: str) -> None:
        """Prints nothing: the bar shows it."""

    def _forget(self, task: str) -> None:
        with self._one:
            number = self._tasks.pop(task, None)
            if number is not None:
                self._bars.remove_task(number)
            if self._bars is not None and not self._tasks:
                self._bars.stop()
                self._bars = None


def _bars(stream: TextIO) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=16), TextColumn("{task.fields[doing]}"))
    return Progress(*columns, TimeElapsedColumn(), console=Console(file=stream), transient=True)


def progress_on(stream: TextIO) -> Progress:
    return BarProgress(stream) if stream.isatty() else LineProgress(stream)

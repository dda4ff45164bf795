"""Length of the way of one item through the product's modules: `python -m benchmarks.walk [--item PROMISE] [--list]`.

A real `pytest --codex-matrix` runs in this process, narrowed to one promise. Three of its items are run:

- opening: the first item of the run. It opens the environment, resolves Codex and runs the canaries. Not shown.
- warm: the promise under the same policy. All of its calls of Codex were made by the opening.
- walk: the promise under the next policy. Its call of Codex is made in it, in the main thread: the next call is not
  started beside the item before, as in an ordinary run. Other items seem to follow, so that nothing is closed in it.

An item is traced in the main thread from pytest's `pytest_runtest_protocol` until that hook is done: by then its last
report has passed the controller, and its lines are in the journal.

What is counted, in the modules below the package, except `guest` (which runs elsewhere) and `model` (frozen data):

- call: the start of a function that has a name. Comprehensions, lambdas, class bodies and the resumption of a generator
  are none.
- module: a file in which a function was called.
- hop: the first call from one module, or from pytest or a scenario, into another one. Frames of other packages between
  the two are passed over. The same pair counts once, however often it is called.
- return: a hop into a module in which the walk has been before. A tree of calls that only go down has none.

The program ends with 1 if the walk has more hops or returns than MOST_HOPS and MOST_RETURNS, or the warm item more
calls or modules than MOST_CALLS and MOST_MODULES.
"""

import argparse
import contextlib
import inspect
import io
import itertools
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import pytest

import pytest_codexsandbox

ROOT = Path(pytest_codexsandbox.__file__).parent
LEFT_OUT = ("guest", "model")
MOST_HOPS, MOST_RETURNS = 28, 4  # of the walk
MOST_CALLS, MOST_MODULES = 140, 18  # of the warm item
OUTSIDE = "pytest"  # a frame of pytest or of a scenario, which belongs to no counted module


class Hop(NamedTuple):
    caller: str
    module: str
    function: str
    is_return: bool


class Walk:
    """The calls of one item."""

    def __init__(self) -> None:
        self.calls = 0
        self.hops: list[Hop] = []
        self.modules: list[str] = []  # in the order in which the item reached them
        self._pairs: set[tuple[str, str]] = set()
        self._begun: set[FrameType] = set()  # kept alive, so that a resumed generator is known again

    def take(self, frame: FrameType, event: str, _: object) -> None:
        """Counts a call; a function for `sys.setprofile`."""
        module = module_of(frame.f_code)
        if event != "call" or not module or not is_named(frame.f_code) or frame in self._begun:
            return
        self._begun.add(frame)
        self.calls += 1
        caller = next((name for name in map(module_of, codes_above(frame)) if name), OUTSIDE)
        if caller != module and (caller, module) not in self._pairs:
            self._pairs.add((caller, module))
            self.hops.append(Hop(caller, module, frame.f_code.co_qualname, module in self.modules))
        if module not in self.modules:
            self.modules.append(module)

    @property
    def returns(self) -> int:
        return sum(hop.is_return for hop in self.hops)

    def __str__(self) -> str:
        return f"{len(self.hops)} hops, {self.returns} returns; {self.calls} calls in {len(self.modules)} modules"


def codes_above(frame: FrameType) -> Iterator[CodeType]:
    above = frame.f_back
    while above is not None:
        yield above.f_code
        above = above.f_back


def module_of(code: CodeType) -> str:
    """Returns the module's name below the package; "" if it is not counted."""
    path = Path(code.co_filename)
    if not path.is_relative_to(ROOT):
        return ""
    words = path.relative_to(ROOT).with_suffix("").parts
    return "" if words[0] in LEFT_OUT else ".".join(words)


def is_named(code: CodeType) -> bool:
    """Checks for the code of a `def`. The code of a class or a module has no fast locals."""
    return bool(code.co_flags & inspect.CO_OPTIMIZED) and not code.co_name.startswith("<")


class Tracer:
    """A pytest plugin that runs the three items and traces the last two."""

    def __init__(self, promise: str) -> None:
        self.promise = promise
        self.warm, self.walk = Walk(), Walk()
        self._traces: dict[pytest.Item, Walk] = {}
        self._order: list[pytest.Item] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Shows other plugins the items in reverse: what they start ahead of time would run in other threads."""
        asked = [item for item in session.items if promise_of(item) == self.promise]
        if len(asked) < 3:
            raise pytest.UsageError(f"{self.promise} is not planned under three policies")
        warm, walk, rest = asked[:3]
        self._order, self._traces = [session.items[0], warm, walk, rest], {warm: self.warm, walk: self.walk}
        session.items[:] = reversed(self._order)
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        """Runs the three items in their own order when pytest comes to the first of the reversed list."""
        if any(item is one and nextitem is following for one, following in itertools.pairwise(self._order)):
            return None
        if item is not self._order[-1]:
            return True
        for one, following in itertools.pairwise(self._order):
            trace = self._traces.get(one)
            sys.setprofile(trace.take if trace else None)
            try:
                one.config.hook.pytest_runtest_protocol(item=one, nextitem=following)
            finally:
                sys.setprofile(None)
        return True


def promise_of(item: pytest.Item) -> str:
    params = getattr(getattr(item, "callspec", None), "params", {})
    return next((str(key.promise) for key in params.values() if hasattr(key, "promise")), "")


def too_much(walk: Walk, warm: Walk) -> str:
    """Returns what exceeds the limits, in words; "" if nothing does."""
    counted = (
        ("walk", "hops", len(walk.hops), MOST_HOPS),
        ("walk", "returns", walk.returns, MOST_RETURNS),
        ("warm", "calls", warm.calls, MOST_CALLS),
        ("warm", "modules", len(warm.modules), MOST_MODULES),
    )
    return "\n".join(f"{item}: {count} {what}, at most {most}" for item, what, count, most in counted if count > most)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--item", default="filesystem.outside-change-refused", metavar="PROMISE")
    parser.add_argument("--list", action="store_true", help="number the hops of the walk")
    asked = parser.parse_args()
    tracer = Tracer(asked.item)
    screen = io.StringIO()  # output of a run that leaves most items out
    with tempfile.TemporaryDirectory(prefix="codexsandbox-walk-") as folder, contextlib.redirect_stdout(screen):
        words = ["--codex-matrix", f"--codex-only={asked.item}", f"--codex-report-dir={folder}", "-q"]
        code = pytest.main([*words, f"--rootdir={folder}", "-p", "no:cacheprovider"], plugins=[tracer])
    if not tracer.walk.calls:
        sys.exit(f"{screen.getvalue()}\nno item was traced: the run ended with {int(code)}")
    for number, hop in enumerate(tracer.walk.hops if asked.list else (), 1):
        print(f"{number:3} {'<' if hop.is_return else ' '} {hop.caller} -> {hop.module}.{hop.function}")
    print(f"walk  {tracer.walk}\nwarm  {tracer.warm}")
    if found := too_much(tracer.walk, tracer.warm):
        sys.exit(found)


if __name__ == "__main__":
    main()

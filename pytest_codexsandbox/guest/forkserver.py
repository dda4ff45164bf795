"""Fork server: a Python that has imported a user's module and forks for each call, so that a call costs no start.

`PYTHON forkserver.py FD`: requests arrive on the socket FD as JSON, each with the three streams of its call. The answer
is the number of the process that performs the call. That process is no child of the fork server: the process that
started the fork server waits for it.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import json
import os
import signal
import socket
import sys
import traceback
from typing import Any, Callable, Final, NoReturn  # noqa: UP035

LARGEST: Final = 1 << 20  # of a request
_TELLS: Final = ("files", "argv", "env", "unset", "refused", "reason", "warnings")


def main(fd: int) -> None:
    asked = socket.socket(fileno=fd)
    if sys.path and os.path.abspath(sys.path[0]) == os.path.dirname(os.path.abspath(__file__)):
        del sys.path[0]  # a user's module must not see the folder of this file
    while True:
        data, streams, _, _ = socket.recv_fds(asked, LARGEST, 3)
        if not data:
            return
        try:
            words = json.loads(data)
            answer: dict[str, Any] = {"pid": _begin(_function(words), words, streams, asked)}
        except BaseException as problem:  # also SystemExit: a module may raise it when it is imported
            answer = {"error": _said(problem)}
        for stream in streams:
            os.close(stream)
        asked.send(json.dumps(answer).encode())


def _said(problem: BaseException) -> str:
    return "".join(traceback.format_exception_only(type(problem), problem)).strip()[-2000:]


def _function(words: dict[str, Any]) -> Callable[..., Any]:
    for path in words["path"]:
        if path not in sys.path:
            sys.path.append(path)
    module = importlib.import_module(words["module"])
    found: Any = module
    for name in words["function"].split("."):
        found = getattr(found, name)
    if not callable(found):
        raise TypeError(f"{words['function']} is no function")
    gc.freeze()  # what is here now is shared with every call
    function: Callable[..., Any] = found
    return function


def _begin(function: Callable[..., Any], words: dict[str, Any], streams: list[int], asked: socket.socket) -> int:
    """Returns the number of a grandchild that performs the call.

    Its parent ends at once, so that the kernel passes the grandchild to the process that adopts orphans.
    """
    reading, writing = os.pipe()
    middle = os.fork()
    if not middle:
        try:
            child = os.fork()
        except OSError:
            os._exit(1)
        if child:
            os.write(writing, str(child).encode())
            os._exit(0)
        asked.close()
        _perform(function, words, streams, {reading, writing})
    os.close(writing)
    number = os.read(reading, 32)
    os.close(reading)
    os.waitpid(middle, 0)
    if not number:
        raise OSError("no process could be made for it")
    return int(number)


def _perform(function: Callable[..., Any], words: dict[str, Any], streams: list[int], ours: set[int]) -> NoReturn:
    code = 1
    try:
        os.setsid()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        for fd in {*streams, *ours}:
            os.close(fd)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.environ.clear()
        os.environ.update(words["env"])
        os.chdir(words["cwd"])
        code = call(function, words["request"], words["result"])
    except BaseException:
        traceback.print_exc()
    finally:
        for out in (sys.stdout, sys.stderr):
            try:
                out.flush()
            except BaseException:
                code = code or 1
        os._exit(code)


def call(function: Callable[..., Any], request: dict[str, Any], result: str) -> int:
    """Returns the exit code: the value of a SystemExit, 1 for any other exception."""
    try:
        returned = function(_wanted(function, request))
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else 1 if end.code else 0
    if returned is not None:
        with open(result, "w", encoding="utf-8") as file:
            json.dump(_plain(returned), file)
    return 0


def _wanted(function: Callable[..., Any], request: dict[str, Any]) -> Any:
    """Returns a Request for a function that declares one, a dict for any other."""
    try:
        first = next(iter(inspect.signature(function).parameters.values()))
    except (StopIteration, TypeError, ValueError):
        return request
    name = first.annotation if isinstance(first.annotation, str) else getattr(first.annotation, "__name__", "")
    if name.rpartition(".")[2] != "Request":
        return request
    kind: Any = first.annotation
    if isinstance(kind, str):
        kind = function.__globals__.get(name.partition(".")[0])
        for word in name.split(".")[1:]:
            kind = getattr(kind, word)
    import msgspec

    return msgspec.convert(request, kind)


def _plain(result: Any) -> Any:
    if isinstance(result, dict):
        return result
    return {name: getattr(result, name) for name in _TELLS if hasattr(result, name)}


def once(words: dict[str, Any]) -> int:
    """Performs a call without forking, for a tracer that needs a process of its own."""
    try:
        return call(_function(words), words["request"], words["result"])
    except Exception:
        traceback.print_exc()
        return 1


if __name__ == "__main__":
    if sys.argv[1] == "once":
        with open(sys.argv[2], encoding="utf-8") as _file:
            _words = json.load(_file)
        sys.path.pop(0)
        sys.exit(once(_words))
    main(int(sys.argv[1]))

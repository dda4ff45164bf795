"""Requests a URL and prints the result as one line of JSON: `PYTHON -I -S http_get.py URL SECONDS`.

    {"status": 200}
    {"stage": "resolve", "error": "EAI_AGAIN", "text": "Temporary failure in name resolution"}

`stage` names the step that failed: `resolve`, `connect` (TLS included) or `answer`. The program always exits with 0:
the printed line is the result, and a missing line means that the program did not run to its end.
"""

from __future__ import annotations

import errno
import json
import socket
import sys
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any, Dict, Final  # noqa: UP035

try:
    from ssl import SSLError
except ImportError:  # a Python without OpenSSL

    class SSLError(OSError):  # type: ignore[no-redef]
        """Stand-in for ssl's error; never raised without OpenSSL."""


_NAMES: Final = {number: name for name, number in vars(socket).items() if name.startswith("EAI_")}


def request(url: str, seconds: float) -> Dict[str, Any]:  # noqa: UP006
    """Returns the status of a GET request, or the step that failed and its error."""
    try:
        with urllib.request.urlopen(url, timeout=seconds) as answer:
            return {"status": answer.status}
    except urllib.error.HTTPError as refused:
        return {"status": refused.code}
    except urllib.error.URLError as problem:
        return failure(problem.reason)
    except (OSError, HTTPException, ValueError) as problem:
        return failure(problem, stage="answer")


def failure(problem: object, *, stage: str = "connect") -> Dict[str, Any]:  # noqa: UP006
    """Describes an error by its step, its symbolic name and its text."""
    if isinstance(problem, socket.gaierror):
        return {"stage": "resolve", "error": _NAMES.get(problem.errno or 0, "EAI"), "text": str(problem.strerror)}
    if isinstance(problem, TimeoutError):
        return {"stage": stage, "error": "ETIMEDOUT", "text": "timed out"}
    if isinstance(problem, SSLError):  # its errno is a number of OpenSSL: 1 there is no EPERM
        return {"stage": stage, "error": "TLS", "text": str(problem)[:300]}
    number = problem.errno if isinstance(problem, OSError) else None
    text = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
    return {"stage": stage, "error": errno.errorcode.get(number or 0, ""), "text": text[:300]}


if __name__ == "__main__":
    print(json.dumps(request(sys.argv[1], float(sys.argv[2]))), flush=True)

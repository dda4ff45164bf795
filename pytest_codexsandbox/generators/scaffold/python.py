"""NAME: called with the request, a dict of all that is asked for."""

from typing import Any

from pytest_codexsandbox import config_writer


def generate(request: dict[str, Any]) -> dict[str, Any]:
    """Put what you do in the place of this: it passes every check, so that you see what of yours turns red."""
    return config_writer.generate({**request, "params": {**request["params"], "owner": "NAME"}})

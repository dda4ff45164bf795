"""A process of its own that outlives its maker by a moment: it removes the network that the maker could not.

    python -m pytest_codexsandbox.environments.container.network_cleanup HOST NETWORK

Containers end with the pipe that holds them; a network has no such pipe. This one's stdin ends when the maker does.
"""

import sys
import time
from typing import Final

from pytest_codexsandbox.environments.container.engine import Engine
from pytest_codexsandbox.errors import CodexSandboxError

_PATIENCE: Final = 60.0


def main() -> None:
    host, network = sys.argv[1:]
    sys.stdin.buffer.read()
    limit = time.monotonic() + _PATIENCE
    while time.monotonic() < limit:
        try:
            with Engine(host, timeout=10) as engine:
                engine.remove_network(network)
            return
        except CodexSandboxError:  # its containers are still ending
            time.sleep(0.1)


if __name__ == "__main__":
    main()

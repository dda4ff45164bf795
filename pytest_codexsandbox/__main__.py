"""`python -m pytest_codexsandbox` is `codexsandbox`."""

import sys

from pytest_codexsandbox.cli import main

if __name__ == "__main__":
    sys.exit(main())

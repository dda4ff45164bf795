"""Bad generators: each breaks one promise, and a check must notice it."""

from pytest_codexsandbox.generators.bad.catalogue import BAD, Bad, named

__all__ = ["BAD", "Bad", "named"]

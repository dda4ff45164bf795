"""Generators that must not pass: each breaks one promise, and somebody must notice."""

from pytest_codexsandbox.generators.bad.catalogue import BAD, Bad, named

__all__ = ["BAD", "Bad", "named"]

"""Argument types: checks that argparse runs on the words of a command."""

import argparse

from pytest_codexsandbox.harness.option_defaults import EMPTY_VALUE


def filled(text: str) -> str:
    """Refuses an empty value: `--codex-bin "$BUILD"` without such a variable must not measure something else."""
    if not text.strip():
        raise argparse.ArgumentTypeError(EMPTY_VALUE)
    return text


def count(text: str) -> int:
    """Refuses a value that is not a whole number from 1 up."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)

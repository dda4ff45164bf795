"""The way of one item through the product's modules: no longer than the benchmark permits."""

import re
import subprocess
import sys
from functools import cache

import pytest

from benchmarks.walk import MOST_CALLS, MOST_HOPS, MOST_MODULES, MOST_RETURNS, Hop, Walk, too_much
from tests.lint.tracked import ROOT


@cache
def ended() -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.walk"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )


def numbers(item: str) -> list[int]:
    """Returns hops, returns, calls and modules of one item."""
    numbered = rf"^{item} +([0-9]+) hops, ([0-9]+) returns; ([0-9]+) calls in ([0-9]+) modules$"
    found = re.search(numbered, ended().stdout, re.MULTILINE)
    assert found is not None, ended().stdout + ended().stderr
    return [int(number) for number in found.groups()]


def test_one_item_passes_through_as_few_modules_as_permitted() -> None:
    hops, returns, _, _ = numbers("walk")
    assert (hops > 10, hops <= MOST_HOPS, returns <= MOST_RETURNS) == (True, True, True), ended().stdout
    assert ended().returncode == 0, ended().stderr


def test_a_warm_item_makes_as_few_calls_as_permitted() -> None:
    _, _, calls, modules = numbers("warm")
    assert (calls > 50, calls <= MOST_CALLS, modules <= MOST_MODULES) == (True, True, True), ended().stdout


@pytest.mark.parametrize(
    ("item", "hops", "calls", "modules", "found"),
    [
        ("walk", MOST_HOPS + 1, 0, 0, f"walk: {MOST_HOPS + 1} hops, at most {MOST_HOPS}"),
        ("warm", 0, MOST_CALLS + 1, 0, f"warm: {MOST_CALLS + 1} calls, at most {MOST_CALLS}"),
        ("warm", 0, 0, MOST_MODULES + 1, f"warm: {MOST_MODULES + 1} modules, at most {MOST_MODULES}"),
        ("warm", MOST_HOPS + 1, MOST_CALLS, MOST_MODULES, ""),
    ],
)
def test_one_more_than_permitted_is_named(item: str, hops: int, calls: int, modules: int, found: str) -> None:
    items = {"walk": Walk(), "warm": Walk()}
    long = items[item]
    long.hops = [Hop("a", "b", "c", is_return=False)] * hops
    long.calls, long.modules = calls, [str(number) for number in range(modules)]
    assert too_much(**items) == found


def test_one_more_return_than_permitted_is_named() -> None:
    walk = Walk()
    walk.hops = [Hop("a", "b", "c", is_return=True)] * (MOST_RETURNS + 1)
    assert too_much(walk, Walk()) == f"walk: {MOST_RETURNS + 1} returns, at most {MOST_RETURNS}"

"""The facts that make another sandbox, and the names of cells on both sides of a change."""

from typing import Any

import pytest

from pytest_codexsandbox.model.journal_lines import EnvironmentLine
from pytest_codexsandbox.model.machine import changes, differences

FACTS: dict[str, Any] = {
    "boot_id": "b",
    "kernel": "6.1",
    "sysctls": {"user.max_user_namespaces": "15000", "kernel.unprivileged_userns_clone": "1"},
    "bwrap_of_calls": {"path": "/usr/bin/bwrap", "sha256": "a" * 64, "mode": "755", "version": "bubblewrap 0.8.0"},
    "etc_codex": {},
    "image": "sha256:1",
}


def but(**words: Any) -> dict[str, Any]:
    return {**FACTS, **words}


def line(spec: str, **words: Any) -> EnvironmentLine:
    return EnvironmentLine(id=spec, spec=spec, facts=but(**words))


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (but(), ""),
        (but(kernel="another word", bwrap_of_calls={**FACTS["bwrap_of_calls"], "version": "asked again"}), ""),
        ({"sysctls": FACTS["sysctls"]}, ""),
        (but(bwrap_of_calls={}), "bwrap was /usr/bin/bwrap aaaaaaaaaaaa 755, and is none"),
        (but(bwrap_of_calls={**FACTS["bwrap_of_calls"], "sha256": "b" * 64}), "and is /usr/bin/bwrap bbbbbbbbbbbb 755"),
        (but(bwrap_of_calls={**FACTS["bwrap_of_calls"], "mode": "4755"}), "and is /usr/bin/bwrap aaaaaaaaaaaa 4755"),
        (but(bwrap_of_calls={**FACTS["bwrap_of_calls"], "path": "/opt/bwrap"}), "and is /opt/bwrap"),
        (
            but(sysctls={**FACTS["sysctls"], "user.max_user_namespaces": "0"}),
            "user.max_user_namespaces was 15000, and is 0",
        ),
        (but(sysctls={"user.max_user_namespaces": "15000"}), "kernel.unprivileged_userns_clone was 1, and is none"),
        (
            but(etc_codex={"/etc/codex/requirements.toml": "c" * 64}),
            "/etc/codex was none, and is /etc/codex/requirements",
        ),
        (but(image="sha256:2"), "image was sha256:1, and is sha256:2"),
    ],
)
def test_facts_that_decide_over_a_sandbox_are_compared(now: dict[str, Any], told: str) -> None:
    found = differences(FACTS, now)
    assert len(found) == bool(told)
    assert told in "".join(found)


def test_a_recorded_change_without_a_fact_is_reported_too() -> None:
    told = "sandboxes of 0.163.0 were set up by one, and now by another"
    assert changes([line("here"), line("here", changed=[told])]) == {"here": (told,)}


def test_the_cells_of_an_environment_that_changed_are_named() -> None:
    assert changes([line("here"), line("here"), line("there")]) == {}
    assert changes([line("here"), line("there"), line("here", bwrap_of_calls={})]) == {
        "here": ("bwrap was /usr/bin/bwrap aaaaaaaaaaaa 755, and is none",)
    }


def test_a_setting_of_the_whole_kernel_names_the_cells_on_both_sides() -> None:
    off = {**FACTS["sysctls"], "kernel.unprivileged_userns_clone": "0"}
    told = "kernel.unprivileged_userns_clone was 1 at here, and 0 at there"
    assert changes([line("here"), line("there", sysctls=off)]) == {"here": (told,), "there": (told,)}
    assert changes([line("here"), line("there", sysctls=off, boot_id="another machine")]) == {}
    inside = {**FACTS["sysctls"], "user.max_user_namespaces": "7"}
    assert changes([line("here"), line("there", sysctls=inside)]) == {}, "a user namespace has its own"

"""A candidate that cannot do what a release could violates; an old build is judged by the releases of its own time."""

from pathlib import Path

import pytest

from pytest_codexsandbox.model.verdict import Verdict
from pytest_codexsandbox.releases.known_releases import capabilities, newest_before
from pytest_codexsandbox.selftest import GOOD, subject
from tests.plugin.conftest import Matrix

ONLY = "--codex-only=danger-full-access"


def test_the_place_of_a_build_decides_what_it_is_compared_with() -> None:
    assert newest_before("0.114.0") == "0.114.0"
    assert newest_before("0.114.99") in capabilities()
    assert not capabilities()[newest_before("0.40.5")].full_access
    assert capabilities()[newest_before("")].full_access
    assert newest_before("") == newest_before("99.0.0")


@pytest.mark.parametrize(("place", "verdict"), [("0.170.0", Verdict.VIOLATES), ("0.114.0", Verdict.NOT_APPLICABLE)])
def test_a_candidate_that_lost_full_access_violates(matrix: Matrix, place: str, verdict: Verdict) -> None:
    binary = Path(subject(matrix.prepare({}), GOOD).binary)
    old = matrix.prepare({}) / "codex"
    # An old command line: workspace-write is a flag of its own, so nothing at this door asks for full access.
    old.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        '  "sandbox --help"*) echo "Usage: codex sandbox [OPTIONS] [COMMAND]...\n\nOptions:\n  --full-auto  x" ;;\n'
        f'  *) exec "{binary}" "$@" ;;\n'
        "esac\n"
    )
    old.chmod(0o755)
    run = matrix.run(ONLY, f"--codex-bin=mine={old}@{place}")
    found = {
        record.verdict for key, record in run.journal.states().items() if key.promise == "filesystem.workspace-writable"
    }
    assert found == {verdict}, run.out
    assert (run.code == 1) == (verdict is Verdict.VIOLATES)
    if verdict is Verdict.VIOLATES:
        assert "lost" in run.out

"""Checks of generators: pure functions of a case run (`CaseRun`) and its author's declaration (`Declaration`)."""

from collections.abc import Callable, Mapping
from typing import Final

from pytest_codexsandbox.generators.checks.argv import argv_as_codex_reads
from pytest_codexsandbox.generators.checks.block_markers import one_marker_pair
from pytest_codexsandbox.generators.checks.comments import comments_kept
from pytest_codexsandbox.generators.checks.exit_status import agrees
from pytest_codexsandbox.generators.checks.file_attributes import mode_owner_links, no_leftovers
from pytest_codexsandbox.generators.checks.grant_limits import grants_no_more
from pytest_codexsandbox.generators.checks.idempotence import (
    does_not_grow,
    same_meaning,
    second_run_same,
    third_run_same,
)
from pytest_codexsandbox.generators.checks.key_placement import own_place
from pytest_codexsandbox.generators.checks.line_endings import line_ends_kept
from pytest_codexsandbox.generators.checks.termination import ends_by_itself, stays_inside
from pytest_codexsandbox.generators.checks.toml_syntax import parses
from pytest_codexsandbox.generators.checks.unneeded_writes import touches_nothing
from pytest_codexsandbox.generators.checks.user_values import values_kept
from pytest_codexsandbox.model.generator import CaseRun, Declaration, Finding

Check = Callable[[CaseRun, Declaration], tuple[Finding, ...]]

CHECKS: Final[Mapping[str, Check]] = {
    "generator.exit-and-refusal-agree": agrees,
    "generator.parses": parses,
    "generator.user-keys-keep-their-values": values_kept,
    "generator.keys-at-their-own-place": own_place,
    "generator.comments-stay": comments_kept,
    "generator.line-ends-stay": line_ends_kept,
    "generator.second-run-changes-nothing": second_run_same,
    "generator.third-run-changes-nothing": third_run_same,
    "generator.second-run-touches-nothing": touches_nothing,
    "generator.does-not-grow": does_not_grow,
    "generator.means-the-same-again": same_meaning,
    "generator.mode-owner-links-stay": mode_owner_links,
    "generator.leaves-nothing-behind": no_leftovers,
    "generator.ends-by-itself": ends_by_itself,
    "generator.stays-inside": stays_inside,
    "managed-block.one-balanced-pair": one_marker_pair,
    "effective.argv-reads-as-asked": argv_as_codex_reads,
    "effective.grants-no-more": grants_no_more,
}
"""Promise id → the check that answers it."""

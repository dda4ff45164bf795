"""A generator without a request must enforce the mode that it writes, and keep the rest of the user's policy."""

import pytest

from pytest_codexsandbox.generators.own_policy import row
from pytest_codexsandbox.matrix.request_channels import UNTOLD
from pytest_codexsandbox.model.generator import ExpectedPolicy
from tests.unit.generators.builders import WORLD, run

ROOT = WORLD["ROOT0"]


@pytest.mark.parametrize(
    ("config", "expect"),
    [
        (
            b'sandbox_mode = "workspace-write"\n',
            ExpectedPolicy(sandbox="workspace-write", keeps=("network", "roots", "approval")),
        ),
        (
            b'default_permissions = ":workspace"\napproval_policy = "never"\n',
            ExpectedPolicy(sandbox="workspace-write", network=False, roots=(), approval="never", keeps=()),
        ),
        (
            b'sandbox_mode = "danger-full-access"\n',
            ExpectedPolicy(sandbox="workspace-write", network=False, roots=(), keeps=("approval",)),
        ),
        (
            b'sandbox_mode = "read-only"\n',
            ExpectedPolicy(sandbox="read-only", network=False, roots=(), keeps=("approval",)),
        ),
        (
            f'sandbox_mode = "workspace-write"\n[sandbox_workspace_write]\nwritable_roots = ["{ROOT}/x"]\n'.encode(),
            ExpectedPolicy(sandbox="workspace-write", roots=(), keeps=("network", "approval")),
        ),
    ],
)
def test_the_mode_it_writes_alone_must_be_in_force_and_grants_nothing_that_was_not_asked_for(
    config: bytes, expect: ExpectedPolicy
) -> None:
    assert row(run(config), WORLD).expect == expect


def test_arguments_count_as_well() -> None:
    argv = ("-c", 'sandbox_mode="workspace-write"', "-c", "sandbox_workspace_write.network_access=true")
    told = row(run(None, argv=argv), WORLD).expect
    assert told == ExpectedPolicy(sandbox="workspace-write", network=False, keeps=("roots", "approval"))


@pytest.mark.parametrize(
    "config", [None, b"", b'[mcp_servers.demo]\ncommand = "npx"\n', b'default_permissions = ":no-such"\n', b"= broken"]
)
def test_without_a_policy_of_its_own_all_of_it_stays(config: bytes | None) -> None:
    assert row(run(config), WORLD) is UNTOLD


def test_a_failed_generator_has_no_known_policy() -> None:
    assert row(run(b'sandbox_mode = "read-only"\n', code=1), WORLD) is UNTOLD
    assert row(run(b'sandbox_mode = "read-only"\n', ended="timeout"), WORLD) is UNTOLD

"""What file, project, profile and arguments grant together, layer by layer."""

from typing import Any

import pytest

from pytest_codexsandbox.generators.checks.granted_policy import Grants, Layer, granted, layers, place, said
from tests.unit.generators.builders import WORLD, files, run, state

TRUSTED = b'[projects."/stage/workspace"]\ntrust_level = "trusted"\n'
ROOT = "/stage/root0"


def of(data: dict[str, Any]) -> Grants:
    return granted((Layer(name="file", data=data),), WORLD)


def profile(**words: Any) -> dict[str, Any]:
    return {"default_permissions": "p", "permissions": {"p": words}}


@pytest.mark.parametrize(
    ("data", "mode", "network"),
    [
        ({}, "read-only", False),
        ({"projects": {"/stage/workspace": {"trust_level": "trusted"}}}, "workspace-write", False),
        ({"projects": {"/stage/workspace": {"trust_level": "untrusted"}}}, "read-only", False),
        ({"sandbox_mode": "danger-full-access"}, "danger-full-access", True),
        ({"sandbox_mode": "read-only", "sandbox_workspace_write": {"network_access": True}}, "read-only", False),
        ({"sandbox_mode": "nonsense"}, "", False),
        ({"default_permissions": ":read-only"}, "read-only", False),
        ({"default_permissions": ":workspace"}, "workspace-write", False),
        ({"default_permissions": ":danger-full-access"}, "danger-full-access", True),
        ({"default_permissions": ":danger-no-sandbox"}, "danger-full-access", True),
        ({"default_permissions": ":nonsense"}, "", False),
        (profile(), "read-only", False),
        (profile(extends=":workspace"), "workspace-write", False),
        (profile(extends=":danger-full-access"), "danger-full-access", True),
        (profile(extends=":workspace", network={"enabled": True}), "workspace-write", True),
        (profile(extends="p", network={"enabled": True}), "", True),
        (
            {
                "default_permissions": "p",
                "permissions": {"p": {"extends": "q"}, "q": {"extends": ":workspace", "network": {"enabled": True}}},
            },
            "workspace-write",
            True,
        ),
        (
            {
                "default_permissions": "p",
                "permissions": {
                    "p": {"extends": "q", "network": {"enabled": False}},
                    "q": {"network": {"enabled": True}},
                },
            },
            "read-only",
            False,
        ),
        (
            {
                "default_permissions": "p",
                "permissions": {
                    "p": {"extends": "q", "network": {"enabled": "no"}},
                    "q": {"network": {"enabled": True}},
                },
            },
            "read-only",
            True,
        ),
    ],
)
def test_a_mode_and_a_network_come_from_the_deciding_option(data: dict[str, Any], mode: str, network: bool) -> None:
    assert (of(data).mode, of(data).network) == (mode, network)


@pytest.mark.parametrize(
    ("filesystem", "roots"),
    [
        ({ROOT: "write", "/read": "read", "/none": "none"}, {ROOT}),
        ({ROOT: {".": "read", "in": "write", "deep/er": "write"}}, {f"{ROOT}/in", f"{ROOT}/deep/er"}),
        ({":root": "write"}, {"/"}),
        ({":root": {".": "read", "x": "write"}}, {"/x"}),
        ({":workspace_roots": "write"}, {"/stage/workspace"}),
        ({":project_roots": {"sub": "write"}}, {"/stage/workspace/sub"}),
        ({":tmpdir": "write", ":slash_tmp": "write", ":cwd": "write"}, set()),
        ("nonsense", set()),
    ],
)
def test_the_folders_of_a_profile_are_those_that_may_be_written(filesystem: Any, roots: set[str]) -> None:
    found = of(profile(extends=":workspace", filesystem=filesystem))
    assert {place(root, WORLD) for root in found.roots} == roots


def test_the_later_layer_decides_and_folders_of_the_arguments_come_to_those_of_the_file() -> None:
    user = f'sandbox_mode = "workspace-write"\n[sandbox_workspace_write]\nwritable_roots = ["{ROOT}", 1]\n'.encode()
    project = {"@WORKSPACE@/.codex/config.toml": state(b'sandbox_mode = "danger-full-access"\n')}
    chosen = {"@CODEX_HOME@/mine.config.toml": state(b'sandbox_mode = "danger-full-access"\n')}

    def found(before: bytes, *argv: str, more: Any = None) -> Grants:
        there = files(before) | (more or {})
        return granted(layers(there, run(before, argv=argv), WORLD), WORLD)

    assert found(user).roots == (ROOT,)
    assert found(user, "--add-dir", "/x").roots == (ROOT, "/x")
    listed = 'sandbox_workspace_write.writable_roots=["/y"]'
    assert found(user, "-c", listed, "--add-dir", "/x").roots == ("/y", "/x")
    assert found(user, more=project).mode == "workspace-write", "nobody trusts the project"
    assert found(TRUSTED, more=project).mode == "danger-full-access"
    assert found(user, more=chosen).mode == "workspace-write"
    assert (found(user, "-p", "mine", more=chosen).mode, found(user, "-p", "mine", more=chosen).layer) == (
        "danger-full-access",
        "profile",
    )
    assert found(user, "-p", "mine", "-s", "read-only", more=chosen).mode == "read-only"


def test_a_value_in_a_profile_that_is_not_in_force_is_named() -> None:
    data = profile(filesystem={ROOT: "write"}, network={"enabled": True}) | {"sandbox_mode": "read-only"}
    del data["default_permissions"]
    told = said((Layer(name="file", data=data),))
    assert (told.roots, told.network) == ((ROOT,), True)
    assert not said((Layer(name="file", data={"permissions": 1}),)).roots


@pytest.mark.parametrize(
    ("root", "folder"),
    [
        ("~", "/stage/home"),
        ("~/x", "/stage/home/x"),
        ("~x", "/stage/workspace/~x"),
        ("", "/stage/workspace"),
        ("x", "/stage/workspace/x"),
        (".", "/stage/workspace"),
        ("/x/../y/", "/y"),
        ("../x", "/stage/x"),
    ],
)
def test_the_folder_of_a_root(root: str, folder: str) -> None:
    assert place(root, WORLD) == folder

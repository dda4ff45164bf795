"""The page that says what is public names what there is."""

import importlib
import re
import tomllib

import pytest

from pytest_codexsandbox import hookspecs, plugin
from tests.lint.tracked import ROOT

PAGE = (ROOT / "docs" / "reference" / "stability.md").read_text(encoding="utf-8")
PUBLIC = PAGE.partition("## Public")[2].partition("\n## ")[0]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(pytest_codexsandbox(?:\.\w+)+)`", PUBLIC))))
def test_a_public_module_can_be_imported(name: str) -> None:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute)


def test_every_entry_point_group_is_public() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {group for group in project["entry-points"] if group.startswith("codexsandbox.")}
    assert set(re.findall(r"`(codexsandbox\.\w+)`", PUBLIC)) == groups


def test_every_hook_and_every_fixture_is_public() -> None:
    hooks = {name for name in vars(hookspecs) if name.startswith("pytest_codexsandbox_")}
    assert set(re.findall(r"`(pytest_codexsandbox_\w+)`", PUBLIC)) == hooks
    fixtures = re.findall(
        r"^@pytest\.fixture.*\ndef (\w+)", (ROOT / "pytest_codexsandbox" / "plugin.py").read_text(), re.M
    )
    assert fixtures and all(hasattr(plugin, name) and f"`{name}`" in PUBLIC for name in fixtures)

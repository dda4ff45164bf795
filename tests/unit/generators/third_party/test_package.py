"""What a declaration's `install` may name."""

import re
from pathlib import Path

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.generators.third_party.package import Package, package_of
from pytest_codexsandbox.model.generator import Declaration


def of(**install: str) -> Package | None:
    return package_of(Declaration(name="mine", install=install))


def test_a_package_is_named_with_its_registry_and_its_version() -> None:
    found = of(npm="@intellectronica/ruler==0.3.44")
    assert found == Package(source="npm", name="@intellectronica/ruler", version="0.3.44")
    assert of(pypi="hermes-agent==0.19.0") == Package(source="pypi", name="hermes-agent", version="0.19.0")


def test_without_an_installation_there_is_no_package() -> None:
    assert of() is None


@pytest.mark.parametrize(
    "text",
    [
        "add-mcp",
        "add-mcp@latest",
        "add-mcp==",
        "add-mcp==^2.0",
        "add-mcp==2.*",
        "add-mcp>=2",
        "==2.0",
        "a b==1",
        "../add-mcp==1.0",
        "https://example.org/add-mcp.tgz==1",
        "--registry==1",
        "add-mcp==1 --force",
        "Add==1.0",
    ],
)
def test_a_name_without_exactly_one_version_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=re.escape(repr(text))) as told:
        of(npm=text)
    assert "mine" in told.value.where


@pytest.mark.parametrize("install", [{"cargo": "x==1"}, {"npm": "x==1", "pypi": "x==1"}])
def test_it_comes_from_one_registry_that_is_known(install: dict[str, str]) -> None:
    with pytest.raises(InputError, match=" and ".join(sorted(install))):
        of(**install)


def test_the_cache_knows_it_by_a_name_that_is_one_part_of_a_path_and_no_release() -> None:
    found = of(npm="@intellectronica/ruler==0.3.44")
    assert found is not None
    assert "/" not in found.key
    assert "@" in found.key.removeprefix("@")


def test_a_python_package_fits_one_python_and_a_node_package_any() -> None:
    python, node = of(pypi="a==1"), of(npm="a==1")
    assert python is not None
    assert node is not None
    assert "cpython-3" in python.fits or "pypi-" in python.fits
    assert "cpython" not in node.fits
    assert python.fits != node.fits


def test_its_lock_lies_beside_the_others(tmp_path: Path) -> None:
    node, python = of(npm="@a/b==1.0"), of(pypi="c==2")
    assert node is not None
    assert python is not None
    assert node.lock(tmp_path) == tmp_path / "@a+b-1.0.json"
    assert python.lock(tmp_path) == tmp_path / "c-2.txt"

"""A function that a module does not have is named before anything starts; the module is not imported."""

from pathlib import Path

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.generators.function_lookup import check_function

RUNS = "raise SystemExit('imported')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "plain.py": f"{RUNS}def write_config(run): ...\nclass Tool:\n    def write(self, run): ...\n",
        "star.py": f"{RUNS}from plain import *\n",
        "lazy.py": f"{RUNS}def __getattr__(name): ...\n",
        "broken.py": "def write(:\n",
        "pkg/__init__.py": RUNS,
        "pkg/sub.py": "def write(run): ...\n",
        "split/__init__.py": "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def look(folder: Path, target: str) -> None:
    module, _, function = target.partition(":")
    check_function(module, function, [str(folder)], where=f"py:{target}")


@pytest.mark.parametrize(
    "target",
    [
        "plain:write_config",
        "plain:Tool.write",
        "star:write_config",
        "lazy:whatever",
        "pkg.sub:write",
        "split.elsewhere:write",
        "of_a_finder:write",
    ],
)
def test_names_that_a_module_has_or_may_make_at_import_pass(folder: Path, target: str) -> None:
    look(folder, target)


@pytest.mark.parametrize(
    ("target", "what", "why"),
    [
        ("plain:write_confg", "module plain has no function 'write_confg'", "did you mean 'write_config'?"),
        ("pkg.sub:render", "module pkg.sub has no function 'render'", "known: write"),
        ("broken:render", "module broken has no function 'render'", "known: none"),
        ("pkg.nosuch:write", "there is no module 'pkg.nosuch'", "package pkg holds no such file"),
    ],
)
def test_a_name_that_a_module_lacks_is_an_error(folder: Path, target: str, what: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        look(folder, target)
    assert caught.value.what == what
    assert caught.value.where == f"py:{target}"
    assert why in caught.value.why

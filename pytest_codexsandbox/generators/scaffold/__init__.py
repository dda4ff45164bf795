"""Scaffold: the files that `codexsandbox generator new` writes: a declaration and a program that work at once."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pytest_codexsandbox.registry import data_folder

_HERE: Final = Path(__file__).parent
LANGUAGES: Final[Mapping[str, str]] = {"sh": ".sh", "python": ".py", "toml": ""}
README: Final = "README.md"
_OWNER: Final = "codexsandbox"  # in the markers of the exemplary generator
_SAID: Final = "# Declaration of NAME. Every key: docs/reference/generators.md of pytest-codexsandbox.\n"
_YOURS: Final = """\
# Put your own command here, such as "cmd:mytool render --out @CONFIG@": this one is an example that passes every check.
"""


def written(name: str, language: str) -> dict[str, tuple[str, bool]]:
    """Returns file name → content, and whether the file is executable. Reads only shipped files."""
    module = re.sub(r"[-.+]", "_", name)
    files = {f"{name}.toml": (_declaration(language, module), False)}
    if language == "sh":
        files[f"{name}.sh"] = ((_HERE / "sh.sh").read_text(encoding="utf-8"), True)
    if language == "python":
        files[f"{module}.py"] = ((_HERE / "python.py").read_text(encoding="utf-8"), False)
    files[README] = ((_HERE / README).read_text(encoding="utf-8"), False)
    return {file: (text.replace("NAME", name), executable) for file, (text, executable) in files.items()}


def _declaration(language: str, module: str) -> str:
    if language == "sh":
        return _SAID + (_HERE / "sh.toml").read_text(encoding="utf-8")
    text = (data_folder("matrix") / "generators" / "good.toml").read_text(encoding="utf-8")
    rest = re.sub(r"^(run|description|source) = .*\n", "", text, flags=re.MULTILINE)
    description = 'description = "a block at the root; refuses a policy that would be void"\n'
    if language == "toml":
        return f'{_SAID}{_YOURS}run = "py:pytest_codexsandbox.config_writer:generate"\n{description}{rest}'
    return f'{_SAID}run = "py:{module}:generate"\n{description}{rest}'.replace(f">>> {_OWNER}:", ">>> NAME:").replace(
        f"<<< {_OWNER}:", "<<< NAME:"
    )

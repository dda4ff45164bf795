"""Generator locks: writes the versions of all that a published tool needs, below matrix/generators/locks.

`python -m tools.generator_lock NAME …`, after a version was changed in matrix/generators/NAME.toml.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from pytest_codexsandbox.errors import CodexSandboxError
from pytest_codexsandbox.generators.third_party import npm, pypi
from pytest_codexsandbox.generators.third_party.package import Package, package_of
from pytest_codexsandbox.matrix.generator_files import declared
from pytest_codexsandbox.releases.artefact import Run
from pytest_codexsandbox.system import process

_UNUSED: Final = ("license", "funding", "engines", "bin", "deprecated")


def locked(package: Package, *, run: Run = process.run) -> str:
    """Returns the text of a lock, with the newest versions that fit today."""
    with TemporaryDirectory(prefix="codexsandbox-lock-", ignore_cleanup_errors=True) as folder:
        place, aside = Path(folder) / "package", Path(folder) / "aside"
        place.mkdir()
        aside.mkdir()
        if package.source == "npm":
            npm.bring(package, place, aside, lock=None, run=run)
            return of_npm((place / "package-lock.json").read_text(encoding="utf-8"))
        pypi.bring(package, place, aside, lock=None, run=run)
        return of_pip((aside / pypi.REPORT).read_text(encoding="utf-8"))


def of_npm(text: str) -> str:
    """Removes what `npm ci` does not read, and addresses: any registry may serve a package, because its hash
    decides."""
    lock: dict[str, Any] = json.loads(text)
    for entry in lock["packages"].values():
        for name in (*_UNUSED, "resolved"):
            entry.pop(name, None)
    return json.dumps(lock, indent=1, sort_keys=True) + "\n"


def of_pip(report: str) -> str:
    found = {one["metadata"]["name"]: one["metadata"]["version"] for one in json.loads(report)["install"]}
    return "".join(f"{name}=={version}\n" for name, version in sorted(found.items(), key=lambda pair: pair[0].lower()))


def main(names: list[str]) -> int:
    for name in names:
        package = package_of(declared(name))
        if package is None:
            print(f"{name}: nothing is installed for it")
            continue
        try:
            text = locked(package)
        except CodexSandboxError as problem:
            print(problem, file=sys.stderr)
            return 1
        package.lock().parent.mkdir(exist_ok=True)
        package.lock().write_text(text, encoding="utf-8")
        print(f"{name}: {package.lock()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

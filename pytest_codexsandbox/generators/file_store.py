"""File store: keeps other files that a generator wrote on the disk, each content once by its digest.

Case runs are kept until the run ends. A generator may write hundreds of files in every case of the corpus. In memory
they would exist once for each case and each run.
"""

import hashlib
import sys
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.generators.checks import case_view
from pytest_codexsandbox.model.contents import is_configuration
from pytest_codexsandbox.model.generator import CONFIG, CaseRun, Files, FileState, GeneratorRun

SMALL: Final = 256  # bytes that stay in memory


class FileStore:
    """`folder`: of this worker; the harness removes it with the other folders of the run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._there: set[str] = set()

    def slim(self, case_run: CaseRun) -> CaseRun:
        """Returns the case run without contents that no check reads. Those of the last run stay readable (`read`)."""
        keep = {
            case_view.resolved(files, CONFIG, case_run.world)
            for files in (case_run.before, *(run.files for run in case_run.runs))
        }
        runs: list[GeneratorRun] = []
        for run in case_run.runs:
            above = runs[-1].files if runs else {}
            files = self._slimmed(run.files, keep, above, store=run is case_run.runs[-1])
            runs.append(msgspec.structs.replace(run, files=files))
        return msgspec.structs.replace(case_run, runs=tuple(runs))

    def _slimmed(self, files: Files, keep: set[str], above: Files, *, store: bool) -> Files:
        return {sys.intern(path): self._state(path, state, keep, above, store=store) for path, state in files.items()}

    def _state(self, path: str, state: FileState, keep: set[str], above: Files, *, store: bool) -> FileState:
        if len(state.content) > SMALL and path not in keep and not is_configuration(path):
            digest = hashlib.sha256(state.content).hexdigest()
            stored = self._stored(digest, state.content) if store else ""
            state = msgspec.structs.replace(state, content=b"", sha256=digest, stored=stored)
        known = above.get(path)
        return known if known == state and known is not None else state

    def _stored(self, digest: str, content: bytes) -> str:
        path = self._folder / digest
        if digest not in self._there:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(content)
            self._there.add(digest)
        return str(path)


def read(state: FileState) -> bytes:
    """Returns the content, from the store if it was moved there. Raises HarnessError if the stored file changed."""
    if state.content or not state.sha256:
        return state.content
    try:
        content = Path(state.stored).read_bytes() if state.stored else b""
    except OSError as problem:
        raise HarnessError("a file of a generator is gone", where=state.stored, why=str(problem)) from problem
    if hashlib.sha256(content).hexdigest() != state.sha256:
        why = "its content has changed" if state.stored else "only the files of the last run are kept"
        raise HarnessError("a file of a generator cannot be read", where=state.stored, why=why)
    return content

"""Worker agreement: checks that one name means the same program and the same image to all workers of a run."""

from pytest_codexsandbox.model.journal_lines import EnvironmentLine, Line, SubjectLine


class WorkerAgreement:
    """Compares in the controller what each worker found when it looked up programs and images for itself."""

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}  # subject label → version
        self.faults: list[str] = []
        self._digests: dict[str, str] = {}  # of each Codex and each image of the user's, as first reported

    def take(self, line: Line) -> None:
        """Compares a line of the journal with what was reported before."""
        if isinstance(line, SubjectLine):
            self.versions[line.label] = line.version
            self._compare(f"Codex {line.label}", line.digest)
            self._compare(f"the version of Codex {line.label}", line.version)  # a script may start another one by now
        if isinstance(line, EnvironmentLine) and (given := line.facts.get("image_given")):
            self._compare(f"image {given['name']} at {given['engine']}", given["id"])

    def _compare(self, name: str, digest: str) -> None:
        first = self._digests.setdefault(name, digest)
        if first != digest:
            difference = f"{name} was {first[:19]} to one of them and {digest[:19]} to another"
            self.faults.append(f"{difference}: it was replaced during the run")

"""Plan scope: what suites may know of a run request."""

from collections.abc import Callable, Sequence

from pytest_codexsandbox.matrix.generator_cells import GeneratorSet
from pytest_codexsandbox.matrix.load import MatrixFile


class PlanScope:
    """Implements `suite_protocols.SuiteScope`; the shipped suites also read the generators' declarations."""

    def __init__(self, matrix: MatrixFile, generators: Sequence[str], writers: Callable[[], GeneratorSet]) -> None:
        self._matrix, self._writers = matrix, writers
        self.generators = generators

    @property
    def doors(self) -> Sequence[str]:
        return self._matrix.doors

    @property
    def policies(self) -> Sequence[str]:
        return self._matrix.policies

    @property
    def writers(self) -> GeneratorSet:
        return self._writers()

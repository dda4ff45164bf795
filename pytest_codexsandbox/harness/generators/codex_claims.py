"""Codex claims: asks the real Codex of a cell how it reads files. One app-server answers for many files
(doors.claims)."""

from collections.abc import Callable
from contextlib import suppress

from pytest_codexsandbox.doors.claims import Claimant
from pytest_codexsandbox.errors import EnvironmentLost, HarnessError
from pytest_codexsandbox.harness.generators.path_mapping import written
from pytest_codexsandbox.harness.worker_resources import WorkerResources
from pytest_codexsandbox.model.cell import Cell, EnvironmentSpec
from pytest_codexsandbox.model.generator import CONFIG, CaseRun, Claim, GeneratorRun, Mode


class CodexClaimSource:
    def __init__(self, resources: WorkerResources) -> None:
        self._resources = resources
        self._claimants: dict[tuple[str, str], Claimant] = {}

    def text(self, cell: Cell, config: bytes) -> Claim:
        """Returns the claim about a configuration text of the harness."""
        return self._asked(cell, lambda claimant: claimant.claim(config))

    def before(self, cell: Cell, case_run: CaseRun, mode: Mode = "") -> Claim:
        """Returns the claim about the files from before the run. `mode`: as if they named this sandbox mode."""
        return self._of_files(cell, case_run, GeneratorRun(ended="exit", files=case_run.before), mode)

    def after(self, cell: Cell, case_run: CaseRun) -> Claim:
        """Returns the claim about the files that the last run left, with the arguments that it gave."""
        return self._of_files(cell, case_run, case_run.runs[-1])

    def close(self) -> None:
        for key in list(self._claimants):
            self._end(key)

    # ---- inside
    def _of_files(self, cell: Cell, case_run: CaseRun, run: GeneratorRun, mode: Mode = "") -> Claim:
        def ask(claimant: Claimant) -> Claim:
            found = written(case_run, run, claimant.world)
            files = dict(found.files)
            config = files.pop(CONFIG, None)
            return claimant.claim(
                config.content if config is not None else None, files=files, argv=found.argv, env=found.env, mode=mode
            )

        return self._asked(cell, ask)

    def _asked(self, cell: Cell, ask: Callable[[Claimant], Claim]) -> Claim:
        """Asks the app-server of a cell. If the environment dies meanwhile, the next question starts a new one."""
        key = (cell.environment.id, cell.subject.label)
        try:
            if key not in self._claimants:
                environment, subject = self._resources.enter(cell)
                self._claimants[key] = Claimant(
                    environment, subject, timeout_scale=self._resources.options.timeout_scale
                )
            self._resources.pool.acquire(cell.environment)  # no background call runs there now
            claim = ask(self._claimants[key])
            self._resources.check(cell)
            return claim
        except EnvironmentLost as fault:
            self.leave(cell.environment)
            raise self._resources.pool.lose(cell.environment, fault.why or fault.what) from None

    def leave(self, spec: EnvironmentSpec) -> None:
        """Ends what runs in an environment, before the environment ends."""
        for key in [key for key in self._claimants if key[0] == spec.id]:
            self._end(key)

    def _end(self, key: tuple[str, str]) -> None:
        with suppress(HarnessError, TimeoutError):  # its environment has ended
            self._claimants.pop(key).close()

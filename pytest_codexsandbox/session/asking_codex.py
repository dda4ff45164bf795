"""Asks the real Codex of a cell what it makes of files: one app-server for many of them (doors.claims)."""

from pytest_codexsandbox.doors.claims import Claimant
from pytest_codexsandbox.model.cell import Cell
from pytest_codexsandbox.model.generator import CONFIG, Claim, Outcome, Story
from pytest_codexsandbox.session.bench import Bench
from pytest_codexsandbox.session.placing import written


class RealAsking:
    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._claimants: dict[tuple[str, str], Claimant] = {}

    def text(self, cell: Cell, config: bytes) -> Claim:
        """Of a file of ours."""
        return self._of(cell).claim(config)

    def before(self, cell: Cell, story: Story) -> Claim:
        """Of what the user had."""
        return self._ask(cell, story, Outcome(ended="exit", files=story.before))

    def after(self, cell: Cell, story: Story) -> Claim:
        """Of what the last run left, with the words that it gave."""
        return self._ask(cell, story, story.runs[-1])

    def close(self) -> None:
        while self._claimants:
            self._claimants.popitem()[1].close()

    # ---- inside
    def _ask(self, cell: Cell, story: Story, run: Outcome) -> Claim:
        claimant = self._of(cell)
        found = written(story, run, claimant.world)
        files = dict(found.files)
        config = files.pop(CONFIG, None)
        return claimant.claim(
            config.content if config is not None else None, files=files, argv=found.argv, env=found.env
        )

    def _of(self, cell: Cell) -> Claimant:
        key = (cell.environment.id, cell.subject.label)
        if key not in self._claimants:
            environment = self._bench.environment(cell.environment)
            self._claimants[key] = Claimant(environment, self._bench.subject(cell.subject).inside(environment))
        return self._claimants[key]

"""Can the harness be believed about generators? If not, nothing is; its failure is broken, never red about one."""

from pytest_codexsandbox.api import GeneratorTrial, generator_promise


@generator_promise(
    "trust.confinement-and-known-generators", severity="critical", source="the harness itself", over="once"
)
def test_generators_are_confined_and_those_whose_answer_is_known_are_judged_rightly(
    codex_writing: GeneratorTrial,
) -> None:
    """The confinement holds what a program tries that wants out; a generator that doubles its block is caught, and the
    exemplary one passes.

    Source: the harness itself. Control: these are the controls.
    """
    codex_writing.standing_evidence()

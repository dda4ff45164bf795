"""A block of a generator's own in a file that others write as well."""

from pytest_codexsandbox.api import GeneratorTrial, generator_promise

CONTRACT = "docs/explanation/what-a-generator-promises.md#a-managed-block"
OTHERS = "https://github.com/openai/codex/issues/45432"


@generator_promise("managed-block.one-balanced-pair", severity="high", source=CONTRACT, over="configs")
def test_there_is_one_balanced_pair_of_markers(codex_writing: GeneratorTrial) -> None:
    """After a run there is one begin and one end, in this order, outside of any string, array or table of the user's.

    Source: the contract of generators.
    Control: the check sees a second pair, and a marker that is taken away.
    """
    codex_writing.holds()


@generator_promise("managed-block.survives-other-writers", severity="high", source=OTHERS, over="writers")
def test_it_is_right_again_after_another_program_wrote_the_file(codex_writing: GeneratorTrial) -> None:
    """After another program has written the same file, the next run leaves a file that loads and says what was asked.

    Source: openai/codex#45432; `codex mcp add` and `codex features enable` write the file anew.
    Control: the other program has really changed the file.
    """
    codex_writing.survives()


@generator_promise("managed-block.deletes-nothing-of-theirs", severity="critical", source=OTHERS, over="writers")
def test_it_deletes_nothing_that_others_wrote(codex_writing: GeneratorTrial) -> None:
    """The run after another program's takes away neither what the user nor what that program wrote.

    Source: openai/codex#45432.
    Control: what is looked for was there before that run.
    """
    codex_writing.keeps_theirs()

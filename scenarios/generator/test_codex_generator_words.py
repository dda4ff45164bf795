"""A generator's own words (exit code, output), and whether the files that it leaves can be read."""

from pytest_codexsandbox.api import GeneratorTrial, generator_promise

CONTRACT = "docs/explanation/what-a-generator-promises.md#every-generator"
TOML = "https://github.com/toml-lang/toml/blob/1.1.0/toml.md"
LOADING = "https://developers.openai.com/codex/config-basic"
ABLE = ("capability:app-server",)  # by which a configuration file is asked about


@generator_promise("generator.ends-by-itself", severity="high", source=CONTRACT, over="configs")
def test_a_generator_ends_by_itself_and_leaves_no_process(codex_writing: GeneratorTrial) -> None:
    """It ends within its time limit, by itself, and none of its processes outlives it.

    Source: the contract of generators.
    Control: a process that would have stayed is seen by the same search.
    """
    codex_writing.holds()


@generator_promise("generator.stays-inside", severity="critical", source=CONTRACT, over="configs")
def test_a_generator_writes_nothing_outside_the_folders_it_was_given(codex_writing: GeneratorTrial) -> None:
    """It touches nothing but the home, the Codex home and the workspace that it was told of.

    Source: the contract of generators.
    Control: the confinement was proved with a program that tries.
    """
    codex_writing.holds()


@generator_promise("generator.exit-and-refusal-agree", severity="high", source=CONTRACT, over="configs")
def test_the_exit_code_says_whether_it_was_applied(codex_writing: GeneratorTrial) -> None:
    """Exit 0 means applied; a refusal leaves every byte as it was.

    Source: the contract of generators.
    Control: the check sees a byte that is changed behind a refusal, and an application that is taken back.
    """
    codex_writing.holds()


@generator_promise("generator.parses", severity="critical", source=TOML, over="configs")
def test_the_file_is_toml(codex_writing: GeneratorTrial) -> None:
    """A file that was TOML before is TOML afterwards, by a parser of TOML 1.1.

    Source: TOML 1.1.
    Control: the same file with a torn line is refused by the same parser.
    """
    codex_writing.holds()


@generator_promise("generator.config-loads", severity="critical", source=LOADING, over="configs", requires=ABLE)
def test_codex_starts_a_thread_with_the_file(codex_writing: GeneratorTrial) -> None:
    """The real Codex of the cell loads the file: it starts a thread with it.

    Source: Codex documentation, configuration.
    Control: the same Codex refuses the same file with a torn line behind it.
    """
    codex_writing.loads()

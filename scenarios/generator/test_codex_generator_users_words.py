"""The user's text stays: keys, types, comments, line ends, the file itself."""

from pytest_codexsandbox.api import GeneratorTrial, generator_promise

CONTRACT = "docs/explanation/what-a-generator-promises.md#every-generator"


@generator_promise("generator.user-keys-keep-their-values", severity="critical", source=CONTRACT, over="configs")
def test_every_key_of_the_user_keeps_its_value_and_its_type(codex_writing: GeneratorTrial) -> None:
    """Every key path that the generator does not own has the value and the type that the user gave it.

    Source: the contract of generators.
    Control: the check sees a key that is taken away from this very file.
    """
    codex_writing.holds()


@generator_promise("generator.keys-at-their-own-place", severity="critical", source=CONTRACT, over="configs")
def test_each_key_is_at_its_own_place(codex_writing: GeneratorTrial) -> None:
    """The generator's keys are where Codex reads them, and no table or string above captures them.

    Source: the contract of generators.
    Control: the check sees the same key where a table captures it.
    """
    codex_writing.holds()


@generator_promise("generator.comments-stay", severity="medium", source=CONTRACT, over="configs")
def test_every_comment_stays_next_to_its_key(codex_writing: GeneratorTrial) -> None:
    """Every comment of the user is there, in order, next to the key that it stood by.

    Source: the contract of generators.
    Control: the check sees a comment that is taken away from this very file.
    """
    codex_writing.holds()


@generator_promise("generator.line-ends-stay", severity="low", source=CONTRACT, over="configs")
def test_line_ends_stay(codex_writing: GeneratorTrial) -> None:
    """Line ends, a byte order mark and a missing final newline are what they were.

    Source: the contract of generators.
    Control: the check sees one line end that is changed in this very file.
    """
    codex_writing.holds()


@generator_promise("generator.mode-owner-links-stay", severity="medium", source=CONTRACT, over="configs")
def test_mode_owner_and_links_stay(codex_writing: GeneratorTrial) -> None:
    """The file keeps its mode and owner, a symbolic link stays one and its target is written, a hard link is kept.

    Source: the contract of generators.
    Control: the check sees another mode, another owner and a replaced link.
    """
    codex_writing.holds()


@generator_promise("generator.leaves-nothing-behind", severity="low", source=CONTRACT, over="configs")
def test_nothing_is_left_behind(codex_writing: GeneratorTrial) -> None:
    """No temporary file, no backup, no lock is left in home, Codex home or workspace.

    Source: the contract of generators.
    Control: the check sees a name that is put there.
    """
    codex_writing.holds()

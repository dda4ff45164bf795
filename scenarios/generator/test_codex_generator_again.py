"""A generator runs at every start: the second run must change nothing, and no reader may see half a file."""

from pytest_codexsandbox.api import GeneratorTrial, generator_promise

CONTRACT = "docs/explanation/what-a-generator-promises.md#every-generator"


@generator_promise("generator.second-run-changes-nothing", severity="high", source=CONTRACT, over="configs")
def test_the_second_run_changes_no_byte(codex_writing: GeneratorTrial) -> None:
    """The same request on what the first run left gives the same bytes.

    Source: the contract of generators.
    Control: the check sees one byte that differs.
    """
    codex_writing.holds()


@generator_promise("generator.third-run-changes-nothing", severity="high", source=CONTRACT, over="configs")
def test_the_third_run_changes_no_byte(codex_writing: GeneratorTrial) -> None:
    """And a third time: some generators settle, or break, only then.

    Source: the contract of generators.
    Control: the check sees one byte that differs.
    """
    codex_writing.holds()


@generator_promise("generator.second-run-touches-nothing", severity="low", source=CONTRACT, over="configs")
def test_a_second_run_with_nothing_to_change_does_not_write_the_file(codex_writing: GeneratorTrial) -> None:
    """A run that would write the same bytes writes nothing: the file keeps its inode and its time.

    Source: the contract of generators.
    Control: the write of the first run is seen by the inode or by the time.
    """
    codex_writing.holds()


@generator_promise("generator.does-not-grow", severity="medium", source=CONTRACT, over="configs")
def test_the_file_does_not_grow_with_each_run(codex_writing: GeneratorTrial) -> None:
    """The file is as long after the third run as after the first.

    Source: the contract of generators.
    Control: the check sees one byte more.
    """
    codex_writing.holds()


@generator_promise("generator.means-the-same-again", severity="high", source=CONTRACT, over="configs")
def test_every_run_means_the_same(codex_writing: GeneratorTrial) -> None:
    """Whatever the bytes are, the values after each run are those after the first.

    Source: the contract of generators.
    Control: the check sees one value that differs.
    """
    codex_writing.holds()


@generator_promise("generator.replaced-at-once", severity="high", source=CONTRACT, over="once")
def test_no_reader_sees_half_a_file(codex_writing: GeneratorTrial) -> None:
    """While the generator works, every reader of the file finds the old one or the new one.

    Source: the contract of generators.
    Control: a writer that empties the file first is seen by the same reader.
    """
    codex_writing.replaces_at_once()


@generator_promise("generator.migrates", severity="high", source=CONTRACT, over="shapes")
def test_an_older_shape_is_taken_over(codex_writing: GeneratorTrial) -> None:
    """A file that an older release wrote becomes what an empty one becomes, and the user's words in it stay.

    Source: the contract of generators; the shapes are the declaration's own.
    Control: before the run the file is in the older shape and means something else, or has other bytes.
    """
    codex_writing.migrates()


@generator_promise("generator.two-at-once-lose-nothing", severity="medium", source=CONTRACT, over="once")
def test_two_requests_at_once_lose_nothing(codex_writing: GeneratorTrial) -> None:
    """Two different requests at the same time leave a whole file that answers one of them, and nothing of the user's
    is lost.

    Source: the contract of generators.
    Control: each request alone gives its own file, and the two differ.
    """
    codex_writing.loses_nothing_together()


@generator_promise("generator.crash-leaves-a-whole-file", severity="high", source=CONTRACT, over="once")
def test_a_killed_generator_leaves_the_old_file_or_the_new_one(codex_writing: GeneratorTrial) -> None:
    """Killed at each system call that changes a file, it leaves the old file or the new one, and that one loads.

    Source: the contract of generators.
    Control: the kill is seen to have struck, at every call that was counted in a run without it.
    """
    codex_writing.survives_being_killed()

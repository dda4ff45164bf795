"""Writers that disturb the lines around somebody's block: facts of Codex Desktop, `codex mcp add` and of people."""

from pytest_codexsandbox.generators.other_writers.file_save import Given, line_of, marks, saving


def _without(text: str, mark: str) -> str:
    found = line_of(text, mark)
    return text if found is None else text[: found[0]] + text[found[1] :]


def _uncommented(text: str, given: Given) -> str:
    """As openai/codex#24718 reports: the mark stays, and is no comment any more."""
    for mark in marks(given):
        found = line_of(text, mark)
        if found is not None:
            text = text[: found[0]] + text[found[0] : found[1]].replace("# ", "", 1) + text[found[1] :]
    return text


loses_end = saving(lambda text, given: _without(text, marks(given)[1]))
loses_marks = saving(lambda text, given: _without(_without(text, marks(given)[1]), marks(given)[0]))
uncomments_marks = saving(_uncommented)

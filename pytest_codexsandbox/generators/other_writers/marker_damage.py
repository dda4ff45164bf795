"""Marker damage: writers that disturb marker lines, as Codex Desktop, `codex mcp add` and people do."""

from pytest_codexsandbox.generators.other_writers.file_save import Given, line_of, marks, saving


def _without(text: str, mark: str) -> str:
    found = line_of(text, mark)
    return text if found is None else text[: found[0]] + text[found[1] :]


def _uncommented(text: str, given: Given) -> str:
    """Uncomments the markers, as openai/codex#24718 reports: the text stays, and is no comment any more."""
    for mark in marks(given):
        found = line_of(text, mark)
        if found is not None:
            text = text[: found[0]] + text[found[0] : found[1]].replace("# ", "", 1) + text[found[1] :]
    return text


loses_end = saving(lambda text, given: _without(text, marks(given)[1]))
loses_marks = saving(lambda text, given: _without(_without(text, marks(given)[1]), marks(given)[0]))
uncomments_marks = saving(_uncommented)

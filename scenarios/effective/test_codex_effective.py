"""The policy that is in force in the end: what the real Codex says, and what it does."""

from pytest_codexsandbox.api import GeneratorTrial, generator_promise

CONFIG = "https://developers.openai.com/codex/config-reference"
OVERRIDES = "https://developers.openai.com/codex/config-advanced#one-off-overrides-from-the-cli"
SECURITY = "https://developers.openai.com/codex/agent-approvals-security#sandbox-and-approvals"
ABLE = ("capability:app-server",)  # by which a configuration file is asked about


@generator_promise("effective.says-what-was-asked", severity="critical", source=CONFIG, over="configs", requires=ABLE)
def test_codex_says_that_it_will_enforce_what_was_asked(codex_writing: GeneratorTrial) -> None:
    """Asked by its app-server, the real Codex names the mode, the network and the roots that the generator was asked
    for, whatever else the user's files say.

    Source: Codex configuration reference.
    Control: of the same folder without the generator's words the same Codex says something else, or the same file with
    another mode is told apart.
    """
    codex_writing.claims()


@generator_promise("effective.does-what-was-asked", severity="critical", source=SECURITY, over="configs", requires=ABLE)
def test_codex_does_enforce_what_was_asked(codex_writing: GeneratorTrial) -> None:
    """In a process that was started after the file was written, the acts that were asked for work, and no others.

    Source: Codex documentation, sandbox modes.
    Control: the same acts without a sandbox, and their effects seen from outside.
    """
    codex_writing.enforces()


@generator_promise("effective.argv-reads-as-asked", severity="critical", source=OVERRIDES, over="inputs")
def test_overrides_are_read_as_they_were_meant(codex_writing: GeneratorTrial) -> None:
    """Parsed as Codex parses `-c`, the arguments name the roots byte for byte, and nothing more.

    Source: Codex documentation, one-off overrides.
    Control: the check sees the same arguments with one sign more.
    """
    codex_writing.holds()


@generator_promise("effective.grants-no-more", severity="critical", source=SECURITY, over="inputs")
def test_no_more_is_granted_than_was_asked(codex_writing: GeneratorTrial) -> None:
    """The writable roots are those that were asked for: no home, no parent, no sibling, no whole file system.

    Source: least privilege; Codex documentation, writable roots.
    Control: the check sees a parent of a root among them.
    """
    codex_writing.holds()

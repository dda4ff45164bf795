"""A pytest plugin and conformance harness for the sandbox of the OpenAI Codex CLI."""

__version__ = "0.2.0"

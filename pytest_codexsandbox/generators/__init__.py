"""Whatever writes Codex's configuration: how it is named, brought here, run and confined."""

"""Whatever writes Codex's configuration: how it is named, brought here, run, confined, and looked at."""

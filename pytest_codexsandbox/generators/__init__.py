"""Whatever writes Codex's configuration: named, run, confined, and looked at."""

"""Where Codex runs: one backend for each kind of place. Here: this machine."""

"""Codex releases: which exist, where they are published, which are cached here, and what a binary can do."""

"""Codex releases: what exists, where it is to be had, what is here, and what a binary can do."""

"""Measures configuration generators: runs, claims of Codex, enforcement."""

"""Doors: the ways a command reaches Codex, how a call is observed, and how it is reproduced."""

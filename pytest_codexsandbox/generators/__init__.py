"""Generators, the programs that write Codex's configuration: how they are named, installed, run, confined and
checked."""

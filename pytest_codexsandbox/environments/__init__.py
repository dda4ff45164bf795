"""Environments: the places where Codex runs, one backend for each kind. Here: this machine."""

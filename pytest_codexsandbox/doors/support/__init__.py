"""Support of doors: what more than one of them needs to call Codex and to read what came back."""

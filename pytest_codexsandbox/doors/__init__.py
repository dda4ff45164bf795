"""How a command reaches Codex, what is seen while it does, and how to show it again."""

"""What writes Codex's configuration: named by anybody, run by us in private folders, confined."""

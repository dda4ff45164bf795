"""System: processes, downloads, locks, signals and environment variables."""

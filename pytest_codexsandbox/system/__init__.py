"""Processes, downloads, signals and environment variables."""

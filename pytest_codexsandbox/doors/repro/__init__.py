"""Repro scripts: a recorded call as a shell script."""

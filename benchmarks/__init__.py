"""Measured as ratios in one run, never as a timed test."""

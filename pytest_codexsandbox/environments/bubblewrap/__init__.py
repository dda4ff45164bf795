"""Bubblewraps that belong to no distribution: built from upstream's sources, or unpacked from a wheel."""

"""Sessions: lint, tests, compat (pytest and xdist versions), packaging."""

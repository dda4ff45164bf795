"""Contract suites for authors of backends, doors, suites and report formats: subclass one in your own test module."""

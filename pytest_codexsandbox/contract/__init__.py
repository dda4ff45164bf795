"""Contract suites for those who add a backend or a door: subclass one in a test module of your own."""

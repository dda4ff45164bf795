"""Suites: one module for each shipped suite, and the modules that find and run all installed suites."""

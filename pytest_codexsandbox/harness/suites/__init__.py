"""Suites: what is asked, one module for each suite that is shipped, and what finds all installed ones."""

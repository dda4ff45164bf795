"""Toys: modules that tests install as packages. pytest collects none of their scenarios."""

collect_ignore = ["version_scenarios"]

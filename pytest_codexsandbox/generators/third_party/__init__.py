"""Tools that people use, as they were published: brought into the cache from npm or PyPI, each at one version."""

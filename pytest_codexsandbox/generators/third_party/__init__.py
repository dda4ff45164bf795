"""Third-party tools, as published: installed into the cache from npm or PyPI, each at one version."""

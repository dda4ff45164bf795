"""Config generators: how one is named, run and confined, what is asked of it, and those that are shipped."""

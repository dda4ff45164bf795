"""Containers: environments in containers of any engine that speaks Docker's API."""

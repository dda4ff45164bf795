"""Containers of any engine that speaks Docker's API."""

"""Pytest plugin: every module that uses pytest. Imported only when the plugin is activated."""

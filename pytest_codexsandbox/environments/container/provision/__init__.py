"""Provision: makes images: a base that is pulled or bootstrapped, one second stage for all, a lock file that pins
both.
"""

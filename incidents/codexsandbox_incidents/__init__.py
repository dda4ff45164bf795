"""Generators of other systems, written from their documented behaviour and measurements of them.

Each is present as it was in a release, with its defects, and in a correct form. So their incidents can be repeated
without their programs.
"""

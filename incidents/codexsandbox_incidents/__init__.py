"""Generators of other systems, written anew from what they promise and what was measured of them: as each was in a
release, with its defects, and as it would be right. Their incidents can be shown again without their programs.
"""

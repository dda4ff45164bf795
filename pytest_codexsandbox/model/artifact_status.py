"""Artifact status: what environments are made of, and whether it is present. For plans."""

import msgspec


class ArtifactStatus(msgspec.Struct, frozen=True, kw_only=True):
    kind: str  # `image`, `bubblewrap`
    name: str
    ready: bool
    megabytes: int = 0  # about what is downloaded for it

"""Resolve: finds the binary of a release or a path on this machine: cached, else installed, else from PyPI, else from
npm."""

from pathlib import Path
from typing import Any

import msgspec

from pytest_codexsandbox.errors import Unavailable
from pytest_codexsandbox.model.capabilities import Capabilities
from pytest_codexsandbox.model.cell import SubjectSpec
from pytest_codexsandbox.protocols import Environment
from pytest_codexsandbox.releases import installed_package, known_releases, user_binaries
from pytest_codexsandbox.releases.artefact import Run
from pytest_codexsandbox.releases.binary_cache import asked_by_each, digest_of, is_script, probed
from pytest_codexsandbox.releases.cache_entry import Entry
from pytest_codexsandbox.releases.cache_limits import limit_from
from pytest_codexsandbox.releases.install import install
from pytest_codexsandbox.releases.locks import hold
from pytest_codexsandbox.releases.platform_tag import Platform, here, of_a_build
from pytest_codexsandbox.releases.sources import published
from pytest_codexsandbox.releases.store import Store
from pytest_codexsandbox.releases.version_names import release_name
from pytest_codexsandbox.system import process
from pytest_codexsandbox.system.progress import Progress


class ResolvedSubject(msgspec.Struct, frozen=True, kw_only=True):
    """Codex that is present on this machine. Implements protocols.Subject."""

    spec: SubjectSpec
    binary: str
    digest: str
    capabilities: Capabilities
    version: str  # as the binary says
    source: str  # installed | pypi | npm | path
    provenance: dict[str, Any] = {}  # where it came from, nothing secret: facts of the journal's subject line
    disagreement: str = ""  # how the probe differs from golden data of this release: red

    def inside(self, environment: Environment) -> "ResolvedSubject":
        return msgspec.structs.replace(self, binary=environment.bring(self.binary))


def resolve(
    spec: SubjectSpec, *, cache: Path, progress: Progress | None = None, offline: bool = False, run: Run = process.run
) -> ResolvedSubject:
    """Returns the binary of a subject. InputError for a file that is no Codex, Unavailable for a release that is not
    available, each with what to do."""
    if spec.path:
        binary = user_binaries.examine(spec.path, of_a_build())
        return _resolved(spec, binary, "path", {"path": spec.path}, cache, run)
    platform = here()
    release = release_name(spec.release or spec.label)
    store = Store(cache)
    there = installed_package.find()
    is_installed = there is not None and there.release == release
    if there is not None and is_installed and spec.source == "installed":
        return _installed(spec, there, cache, run)
    entry = cached(store, release, platform)
    if entry is None and there is not None and is_installed:
        return _installed(spec, there, cache, run)
    if entry is None:
        if offline:
            raise not_here(release, store)
        entry = _downloaded(release, store, platform, progress or Progress(), run)
    return _from_entry(spec, entry, cache, run)


def cached(store: Store, release: str, platform: Platform) -> Entry | None:
    """Returns the entry, protected for as long as this process lives. None where there is none, or its binary has
    changed."""
    entry = store.find(release, platform.arch)
    if entry is None or not hold(entry):
        return None
    try:
        return entry if digest_of(entry.program, store.folder) == entry.digest else None
    except OSError:
        return None


def _downloaded(release: str, store: Store, platform: Platform, progress: Progress, run: Run) -> Entry:
    limit = limit_from()  # a wrong limit is reported before the download
    with store.building(release, platform.arch, say=progress.say) as staging:
        entry = cached(store, release, platform)  # another process may have built it meanwhile
        if entry is None:
            damaged = store.find(release, platform.arch)
            if damaged is not None:
                store.discard(damaged)
            entry = published(release, platform, run, lambda it: install(it, store, staging, platform, progress))
    store.prune(limit)
    return entry


def not_here(release: str, store: Store) -> Unavailable:
    return Unavailable(
        f"Codex {release} is not in the cache, and nothing may be downloaded",
        where=str(store.folder),
        why=f"cached: {', '.join(store.releases()) or 'none'}",
        next_step="run once with a network, or use --codex-bin PATH",
    )


def _installed(spec: SubjectSpec, there: installed_package.InstalledPackage, cache: Path, run: Run) -> ResolvedSubject:
    return _resolved(
        spec, there.binary, "installed", {"package": f"{installed_package.PACKAGE} {there.release}"}, cache, run
    )


def _from_entry(spec: SubjectSpec, entry: Entry, cache: Path, run: Run) -> ResolvedSubject:
    facts = {"url": entry.origin.url, "integrity": entry.origin.integrity, "entry": entry.id}
    return _resolved(spec, entry.program, entry.origin.source, facts, cache, run, digest=entry.digest)


def _resolved(
    spec: SubjectSpec, binary: str, source: str, facts: dict[str, str], cache: Path, run: Run, *, digest: str = ""
) -> ResolvedSubject:
    digest = digest or digest_of(binary, cache)
    of_users = source == "path" and is_script(binary)
    found = asked_by_each(binary, cache, run) if of_users else probed(binary, digest, cache, run)
    release = "" if source == "path" else release_name(spec.release or spec.label)
    return ResolvedSubject(
        spec=spec,
        binary=binary,
        digest=digest,
        capabilities=found,
        version=found.version,
        source=source,
        provenance=facts,
        disagreement=known_releases.disagreement(release, found) if release else "",
    )

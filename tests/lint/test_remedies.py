"""Remedies as data: each is for causes that exist, has its price, and a proof where a container's test can have one."""

from itertools import product
from typing import Final

import pytest

from pytest_codexsandbox.commands.remedies_paste import filter_text
from pytest_codexsandbox.diagnosis.bubblewrap_family import OWN, family_in
from pytest_codexsandbox.diagnosis.match import fingerprints, match
from pytest_codexsandbox.diagnosis.remedies import At, Remedy, remedies
from pytest_codexsandbox.diagnosis.remedy_text import ANYWHERE, Where, here, price, remedies_here, sentence, shown
from pytest_codexsandbox.environments.container.docker_command import words_of
from pytest_codexsandbox.environments.container.host_config import security_options
from pytest_codexsandbox.matrix.axis_files import SHIPPED
from pytest_codexsandbox.model.ids import is_value
from pytest_codexsandbox.model.policy import POLICIES

ALL = remedies()
each_remedy = pytest.mark.parametrize("remedy", ALL, ids=[one.do[:50] for one in ALL])


@each_remedy
def test_it_is_for_causes_that_exist_and_names_its_price_in_one_line(remedy: Remedy) -> None:
    assert remedy.causes
    assert set(remedy.causes) <= {known.id for known in fingerprints()}
    for words in (remedy.do, remedy.price):
        assert words.isprintable()
        assert words == words.strip()
    assert 10 < len(remedy.price) < 300


@each_remedy
def test_it_is_proved_or_says_that_it_is_not(remedy: Remedy) -> None:
    assert bool(remedy.proofs) is remedy.is_tried
    assert not (remedy.proofs and remedy.shown)
    for proof in remedy.proofs:
        assert proof.before != proof.after
        assert proof.causes
        assert proof.family
        assert set(proof.about) <= set(remedy.causes)
        assert len(set(proof.about)) == len(proof.about)
        # What a filter of ours imitates was not seen to become green.
        assert not proof.imitates or (SHIPPED.profile(proof.before.profile).synthetic and proof.turns != "green")
        for place in (proof.before, proof.after):
            assert _exists(place)
    for cause in remedy.causes:
        known = here(remedy, cause)
        unproved = "not proved for this cause" if remedy.proofs else "not proved"
        assert (known.proof == unproved) is not bool(remedy.shown or remedy.proofs_for(cause))
        assert f"Price: {remedy.price}" in sentence(remedy, known)


@each_remedy
def test_one_place_has_one_recorded_result(remedy: Remedy) -> None:
    """The same cause, family and profile never both helps and does not."""
    for cause in remedy.causes:
        found: dict[tuple[str, str], set[str]] = {}
        for proof in remedy.proofs_for(cause):
            found.setdefault((proof.family, proof.before.profile), set()).add(proof.turns)
        assert [place for place, turns in found.items() if len(turns) > 1] == []


@each_remedy
def test_a_remedy_without_a_proof_is_never_called_proved(remedy: Remedy) -> None:
    """Every cause, family and profile: `proved` comes first only where a proof with these three is green."""
    families = {proof.family for one in ALL for proof in one.proofs} | {"bubblewrap 0.14"}
    profiles = {proof.before.profile for one in ALL for proof in one.proofs} | {"cap-drop-all"}
    for cause, family, profile in product(remedy.causes, sorted(families), sorted(profiles)):
        turns, words = shown(remedy, cause, Where(family=family, profile=profile))
        green = [
            proof
            for proof in remedy.proofs_for(cause)
            if (proof.family, proof.before.profile, proof.turns) == (family, profile, "green")
        ]
        helps = bool(green or remedy.shown)
        assert words.startswith("proved ") is helps, (cause, family, profile, words)
        assert (turns == "green") is helps


@each_remedy
def test_a_pasted_command_is_the_proved_one(remedy: Remedy) -> None:
    """The filter and the options are those of each profile that was green."""
    words = remedy.docker_run("seccomp.json", "IMAGE")
    for proof in remedy.proofs:
        if not words or remedy.kind != "container" or proof.turns != "green" or "--cap-add" in words:
            continue
        after = SHIPPED.profile(proof.after.profile)
        if remedy.filter:
            assert after.seccomp == filter_text(remedy)
        unconfined = any(option.startswith("seccomp=unconfined") for option in security_options(after))
        assert unconfined or "seccomp=unconfined" not in words
        bare_before = not SHIPPED.profile(proof.before.profile).masked_paths
        hides_nothing = ["--security-opt", "systempaths=unconfined"]
        assert words_of({"MaskedPaths": []}) == hides_nothing
        assert (hides_nothing[1] in words or bare_before) is not after.masked_paths


def test_its_name_is_its_own() -> None:
    """A command takes names of causes, of profiles and of remedies."""
    names = [remedy.name for remedy in ALL]
    assert len(set(names)) == len(names)
    assert not {known.id for known in fingerprints()} & set(names)
    assert not set(SHIPPED.values("profiles")) & set(names)
    assert all(is_value(name) for name in names)


def by_name(name: str) -> Remedy:
    (found,) = [one for one in ALL if one.name == name]
    return found


def test_a_proof_for_one_cause_is_not_shown_for_another() -> None:
    """Docker's own filter refuses another call than one that forgets mount."""
    remedy = by_name("no-filter")
    assert shown(remedy, "userns-refused-by-outer-filter")[1].startswith("proved in docker-default")
    assert shown(remedy, "mount-refused-by-seccomp")[1].startswith("proved in seccomp-plus-userns")
    unproved = [(one.name, cause) for one in ALL if one.proofs for cause in one.causes if not one.proofs_for(cause)]
    assert unproved == [
        ("systempaths-unconfined", "fresh-proc-given-up"),
        ("cap-add-sys-admin", "namespace-refused-to-root"),
    ]


IN_DOCKER: Final = Where(family="bubblewrap 0.12", profile="docker-default", masked=True)


def test_with_bubblewrap_0_12_the_filter_alone_is_not_called_proved() -> None:
    """There /proc stays masked, and Codex does not go on without a fresh one."""
    cause = "userns-refused-by-outer-filter"
    for name in ("docker-filter-plus-bubblewrap", "podman-filter", "no-filter"):
        remedy = by_name(name)
        turns, why = shown(remedy, cause, IN_DOCKER)
        assert turns == "no better" and why.endswith("docker-default with bubblewrap 0.12")
        older = Where(family="bubblewrap before 0.12", profile="docker-default")
        turns, why = shown(remedy, cause, older)
        assert turns == "green" and why.startswith("proved ") and why.endswith("before 0.12")
    helps = by_name("docker-filter-and-bare-proc")
    turns, why = shown(helps, cause, IN_DOCKER)
    assert turns == "green" and why.startswith("proved ") and "docker-default" in why
    newer = Where(family="bubblewrap 0.14", profile="docker-default")
    lacking, proved = shown(helps, cause, newer)[1].split("; ", 1)
    assert lacking.startswith("not proved ") and lacking.endswith("bubblewrap 0.14")
    assert proved.startswith("proved in docker-default")
    other = Where(family="bubblewrap 0.12", profile="cap-drop-all")
    lacking, proved = shown(helps, cause, other)[1].split("; ")
    assert lacking.startswith("not proved ") and lacking.endswith(" cap-drop-all")
    assert proved.startswith("proved in docker-default")


def test_a_price_follows_the_profile() -> None:
    stays, bare = by_name("docker-filter-plus-bubblewrap"), by_name("docker-filter-and-bare-proc")
    masked, open_ = Where(masked=True), Where(masked=False)
    assert "/proc stays masked" in price(stays, masked)
    assert price(stays, open_) == stays.price
    assert "engine masks /proc" in price(stays, ANYWHERE) and "engine masks" not in price(stays, masked)
    assert "are exposed" in price(bare, masked)
    assert price(bare, open_) == bare.price


def _exists(place: At) -> bool:
    axes = {"profiles": place.profile, "bwrap": place.bwrap, "users": place.user}
    return place.policy in POLICIES and all(value in SHIPPED.values(name) for name, value in axes.items())


FACTS: Final = {"seccomp": "2", "kernel": "6.18", "bwrap.path": "/usr/bin/bwrap", "masked": "/proc/kcore",
                "profile": "docker-default"}  # fmt: skip


@pytest.mark.parametrize(
    ("version", "first"),
    [
        ("bubblewrap 0.8.0", "docker-filter-plus-bubblewrap"),
        ("bubblewrap 0.12.0", "docker-filter-and-bare-proc"),
        ("bubblewrap 0.13.1", "docker-filter-and-bare-proc"),
    ],
)
def test_a_diagnosis_carries_them_what_helps_there_first(version: str, first: str) -> None:
    facts = FACTS | {"bwrap.version": version}
    found = match("bwrap: No permissions to create new namespace", facts=facts)
    assert found is not None
    known = remedies_here("userns-refused-by-outer-filter", facts)
    assert (found.ways, found.remedies) == (tuple(one for one, _ in known), tuple(one for _, one in known))
    turns = [one.turns for one in found.remedies]
    assert (found.remedies[0].name, turns[0]) == (first, "green")
    order = ["green", "not proved", "no sandbox", "no better"]
    assert turns == sorted(turns, key=order.index)
    assert {"green", "no sandbox", "no better"} <= set(turns)


def test_the_family_is_read_from_the_facts() -> None:
    assert family_in({}) == ""
    assert family_in({"kernel": "6.18", "bwrap.path": "/usr/bin/bwrap", "bwrap.version": "bubblewrap 0.11.2"}) == (
        "bubblewrap before 0.12"
    )
    assert family_in({"bwrap.version": "bubblewrap 0.13.0-2"}) == "bubblewrap 0.13"
    assert family_in({"kernel": "6.18", "bwrap_asked.source": "none"}) == OWN
    assert family_in({"kernel": "6.18"}) == OWN
    unreadable = {"kernel": "6.18", "bwrap.path": "/usr/bin/bwrap", "bwrap.version": "Permission denied"}
    assert family_in(unreadable | {"bwrap_asked.version": "0.13.0"}) == "bubblewrap 0.13"
    assert family_in(unreadable) == ""

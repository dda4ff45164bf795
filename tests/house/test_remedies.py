"""Remedies as data: each is for causes that exist, has its price, and a proof where a container's test can have one."""

import pytest

from pytest_codexsandbox.diagnosis.match import fingerprints, match
from pytest_codexsandbox.diagnosis.remedies import At, Remedy, remedies, ways_of
from pytest_codexsandbox.matrix.axes import SHIPPED
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
    assert len({proof.turns for proof in remedy.proofs}) <= 1
    for proof in remedy.proofs:
        assert proof.before != proof.after
        assert proof.causes
        assert set(proof.about) <= set(remedy.causes)
        assert len(set(proof.about)) == len(proof.about)
        # What a filter of ours imitates was not seen to become green.
        assert not proof.imitates or (SHIPPED.profile(proof.before.profile).synthetic and proof.turns != "green")
        for place in (proof.before, proof.after):
            assert _exists(place)
    told: dict[str, str] = {
        "green": "(proved in ",
        "no sandbox": "(then there is no sandbox",
        "no better": "(does not help",
    }
    for cause in remedy.causes:
        shown = remedy.shown or remedy.proofs_for(cause)
        unproved = "(not proved for this cause)" if remedy.proofs else "(not proved)"
        assert (told[remedy.turns] if shown else unproved) in remedy.told(cause)
        assert f"Price: {remedy.price}" in remedy.told(cause)


def test_its_name_is_its_own() -> None:
    """A command takes names of causes, of profiles and of remedies."""
    names = [remedy.name for remedy in ALL]
    assert len(set(names)) == len(names)
    assert not {known.id for known in fingerprints()} & set(names)
    assert not set(SHIPPED.values("profiles")) & set(names)
    assert all(is_value(name) for name in names)


def test_what_was_shown_for_one_cause_is_not_told_as_proof_for_another() -> None:
    """Docker's own filter refuses another call than one that forgets mount."""
    (remedy,) = [one for one in ALL if one.name == "no-filter"]
    assert "(proved in docker-default)" in remedy.told("userns-refused-by-outer-filter")
    assert "(proved in seccomp-plus-userns)" in remedy.told("mount-refused-by-seccomp")
    unproved = [(one.name, cause) for one in ALL if one.proofs for cause in one.causes if not one.proofs_for(cause)]
    assert unproved == [
        ("systempaths-unconfined", "fresh-proc-given-up"),
        ("cap-add-sys-admin", "namespace-refused-to-root"),
    ]


def _exists(place: At) -> bool:
    axes = {"profiles": place.profile, "bwrap": place.bwrap, "users": place.user}
    return place.policy in POLICIES and all(value in SHIPPED.values(name) for name, value in axes.items())


def test_a_diagnosis_carries_them_what_helps_first() -> None:
    found = match("bwrap: No permissions to create new namespace", facts={"seccomp": "2"})
    assert found is not None
    assert found.ways == ways_of("userns-refused-by-outer-filter") != ()
    kinds = [[word in way for word in ("(proved in ", "no sandbox", "does not help")].index(True) for way in found.ways]
    assert kinds == sorted(kinds)
    assert set(kinds) == {0, 1, 2}

"""Words of options that several commands have in common."""

import pytest

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.harness import option_values


@pytest.mark.parametrize(("text", "number"), [(None, None), ("2", 2), ("3", 3), ("all", 0), (" 2 ", 2)])
def test_a_valid_number_of_pairs_is_read(text: str | None, number: int | None) -> None:
    assert option_values.pairs(text) == number


@pytest.mark.parametrize("text", ["", "1", "4", "two", "2.0"])
def test_other_numbers_are_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        option_values.pairs(text)
    assert caught.value.where == "--codex-pairs"


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("1h", 3600), ("1h30m", 5400), ("1h2m3s", 3723), (" 5m ", 300)]
)
def test_a_time_is_read(text: str, seconds: int) -> None:
    found = option_values.budget(text)
    assert found is not None
    assert (found.seconds, found.text) == (seconds, text.strip())


@pytest.mark.parametrize("text", ["", "10", "0s", "ten minutes", "10 m", "-5m", "5m1h", "1d", "1.5h"])
def test_an_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(InputError) as raised:
        option_values.budget(text)
    assert raised.value.what.startswith(repr(text)) and raised.value.where == "--codex-budget"


def test_engines_are_named_by_address() -> None:
    words = ("unix:///run/docker.sock", "ssh://me@build2", "tcp://10.0.0.1:2376")
    assert option_values.hosts(words) == words


@pytest.mark.parametrize(
    "word", ["build2", "unix://", "unix://relative", "ssh://-oProxyCommand=x", "http://x", "fd://3"]
)
def test_an_invalid_address_is_refused(word: str) -> None:
    with pytest.raises(InputError) as raised:
        option_values.hosts((word,))
    assert raised.value.what.startswith(repr(word)) and raised.value.where == "--codex-docker-hosts"


def test_names_are_a_list_with_commas_each_once() -> None:
    assert option_values.words([" a , b", "", "b,c "], option="--codex-only") == ("a", "b", "c")


@pytest.mark.parametrize("text", ["a,", ",a", "a,,b", ","])
def test_an_empty_name_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--codex-skip"):
        option_values.words([text], option="--codex-skip")

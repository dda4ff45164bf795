"""The head of a repro script of a container: outside, it makes an equal one, hands itself in, and says what it said."""

import shlex
from typing import Final

from pytest_codexsandbox.model.repro_shell import FILES, NETWORK, ReproShell

# The script comes in by stdin and is kept, so that no program that it starts can read the rest of it.
AGAIN: Final = 'cat > "$HOME/again.sh" && exec sh "$HOME/again.sh" < /dev/null'
NOBODY: Final = "no container engine answers; another command than docker: DOCKER=podman sh THIS-FILE"
_KNOWN: Final = {FILES: '"$F"', NETWORK: '"$N"'}
BEGIN: Final = """\
if [ -z "${CODEXSANDBOX_INSIDE-}" ]; then  # on the host: creates an equal container, and runs the rest in it
set -u
D=${DOCKER:-docker} C= N=
F=$(mktemp -d "${TMPDIR:-/tmp}/codexsandbox-repro.XXXXXX") || exit 1
leave() {
  for one in $C; do "$D" rm -f -v "$one" > /dev/null 2>&1; done
  [ -z "$N" ] || "$D" network rm "$N" > /dev/null 2>&1
  rm -rf "$F"
}
trap leave EXIT; trap 'exit 1' HUP INT TERM"""
END: Final = """\
"$D" start --attach --interactive "${C%% *}" < "$0"
exit
fi"""


def enter(into: ReproShell) -> list[str]:
    image = shlex.quote(into.image)
    return [
        BEGIN,
        *_host(into.host),
        f'"$D" version > /dev/null || {{ echo {shlex.quote(NOBODY)} >&2; exit 2; }}',
        *_missing('"$D" image inspect', into.image, f"the image of that run is missing: {into.image}", into.made_by),
        *(line for name, text in into.files.items() for line in _written(name, text)),
        *(_network(into, image) if into.neighbour else ()),
        'C="$("$D" create --interactive --env CODEXSANDBOX_INSIDE=1 --env CODEX --env PY \\',
        f"  --env HOME={shlex.quote(into.home)} --entrypoint sh \\",
        *(f"  {line} \\" for line in _by_option(into.words)),
        f'  {image} -c {shlex.quote(AGAIN)} 2> "$F/said") $C" || {{ cat "$F/said" >&2; exit 1; }}',
        *(_laid(into.archive) if into.archive else ()),
        END,
    ]


def _host(host: str) -> list[str]:
    return [f"DOCKER_HOST={shlex.quote(host)}; export DOCKER_HOST"] if host else []


def _missing(look: str, what: str, words: str, next_step: str) -> list[str]:
    hint = shlex.quote(f"{words}{f'; to build it: {next_step}' if next_step else ''}")
    return [f"{look} {shlex.quote(what)} > /dev/null || {{ echo {hint} >&2; exit 2; }}"]


def _written(name: str, text: str) -> list[str]:
    return [f"cat > \"$F\"/{shlex.quote(name)} <<'END-OF-FILE'\n{text}\nEND-OF-FILE"]


def _network(into: ReproShell, image: str) -> list[str]:
    return [
        "N=codexsandbox-repro-$$",
        '"$D" network create --internal "$N" > /dev/null || { N=; exit 1; }',
        f'C=$("$D" run --detach --rm --network "$N" --network-alias {shlex.quote(into.neighbour)} --read-only \\',
        f"  --cap-drop ALL --user 65534:65534 --entrypoint sleep {image} 600) || exit 1",
    ]


def _laid(archive: str) -> list[str]:
    return [
        *_missing("ls", archive, f"the bubblewrap of that run is missing: {archive}", ""),
        f'"$D" cp - "${{C%% *}}:/" < {shlex.quote(archive)} || exit 1',
    ]


def _by_option(words: tuple[str, ...]) -> list[str]:
    """Returns lines with one option and its value each."""
    lines: list[str] = []
    for word in words:
        lines.append(_word(word)) if word.startswith("--") or not lines else lines.append(
            f"{lines.pop()} {_word(word)}"
        )
    return lines


def _word(word: str) -> str:
    for known, variable in _KNOWN.items():
        if known in word:
            before, after = word.split(known)
            return "".join((shlex.quote(before) if before else "", variable, shlex.quote(after) if after else ""))
    return shlex.quote(word)

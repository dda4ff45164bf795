"""Generator specs: parses `[NAME=]SPEC` of --codex-generator and of a declaration's `run`. Starts nothing.

Words are split as a shell would split them, but no shell runs. A placeholder is a whole `@WORD@` of capitals. A
misspelt one is an error, because the program would receive it unchanged.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from pytest_codexsandbox.errors import InputError
from pytest_codexsandbox.matrix import generator_files
from pytest_codexsandbox.matrix.suggestions import did_you_mean
from pytest_codexsandbox.model.generator import Declaration
from pytest_codexsandbox.model.generator_spec import FOLDERS, PLACEHOLDERS, SCHEMES, Generator, Scheme, Spec
from pytest_codexsandbox.model.ids import as_value, is_value

OPTION: Final = "--codex-generator"
REAL: Final = "real"
_FORM: Final = f'{OPTION} "[NAME=]mytool render --out @CONFIG@"'
_NAMED: Final = re.compile(r"(?P<name>[^\s\"'=:/\\@-][^\s\"'=:/\\@]*)=(?P<rest>.*)", re.DOTALL)
_SCHEMED: Final = re.compile(r"(?P<scheme>[a-z]+):(?P<rest>.*)", re.DOTALL)
_PLACEHOLDER: Final = re.compile(r"@([A-Z][A-Z0-9_]*)@")
_PYTHON: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_KNOWN: Final = frozenset((*PLACEHOLDERS, *FOLDERS))


def asked(
    texts: Sequence[str], *, beside: Path | None = None, base: Path | None = None, where: str = OPTION
) -> tuple[Generator, ...]:
    """Returns all named generators in order. `real` means every published third-party tool.

    `beside`: the folder of a user's matrix file. `base`: where relative paths start.
    """
    base = base or Path.cwd()
    found: dict[str, Generator] = {}
    for text in texts:
        for one in _all(text, found, beside=beside, base=base, where=where):
            if one.name in found and found[one.name] != one:
                raise InputError(
                    f"two generators are called {one.name!r}",
                    where=f"{where} {text}",
                    next_step=f"name one of them: {_FORM}",
                )
            found[one.name] = one
    return tuple(found.values())


def _all(
    text: str, before: Mapping[str, Generator], *, beside: Path | None, base: Path, where: str
) -> tuple[Generator, ...]:
    if text.strip() == REAL:
        return tuple(of_declaration(name, beside) for name in generator_files.real(beside))
    name, rest = _split_name(text, where)
    declared = _declared(rest.strip(), beside, base)
    if declared is not None:
        return (msgspec.structs.replace(declared, name=name or declared.name),)
    spec = parse(rest, before=before, beside=beside, base=base, where=f"{where} {text}")
    return (Generator(name=name or default_name(spec), spec=spec, base=str(base)),)


def _declared(text: str, beside: Path | None, base: Path) -> Generator | None:
    """Returns a declared generator: by a name of the catalogue or of the folder `generators` beside `base`, or by the
    path of a declaration."""
    if text in generator_files.files(beside):
        return of_declaration(text, beside)
    own = base / generator_files.FOLDER / f"{text}.toml"
    if is_value(text) and own.is_file():
        return of_file(own)
    if text.endswith(".toml") and not re.search(r"\s", text):
        path = base / Path(text).expanduser()
        if not path.is_file():
            raise InputError(f"there is no declaration {text}", where=str(path))
        return of_file(path)
    return None


def of_declaration(name: str, beside: Path | None = None) -> Generator:
    generator_files.declared(name, beside)
    return of_file(generator_files.files(beside)[name], beside)


def of_file(path: Path, beside: Path | None = None) -> Generator:
    declaration: Declaration = generator_files.load(path)
    base = path.resolve().parent
    spec = parse(declaration.run, beside=beside, base=base, where=f"{path} (run)")
    for text in (*declaration.env.values(), *declaration.setup, *declaration.installed):
        check_placeholders(text, str(path))
    shipped = path.resolve() == generator_files.files().get(declaration.name)
    return Generator(
        name=declaration.name,
        spec=spec,
        declaration=declaration,
        base=str(base),
        file="" if shipped else str(base / path.name),
    )


def parse(
    text: str,
    *,
    before: Mapping[str, Generator] | None = None,
    beside: Path | None = None,
    base: Path | None = None,
    where: str = OPTION,
) -> Spec:
    """Parses a SPEC. `before`: generators that a chain may name besides those of the catalogue."""
    scheme, rest = _split_scheme(text.strip(), base or Path.cwd(), where)
    if scheme == "chain":
        return Spec(scheme=scheme, text=rest, parts=_parts(rest, before or {}, beside, where))
    if scheme == "py" and not _PYTHON.fullmatch(rest):
        raise InputError(f"{rest!r} names no function", where=where, next_step="py:package.module:function")
    if scheme == "ep" and not re.fullmatch(r"\S+", rest):
        raise InputError(f"{rest!r} names no entry point", where=where, next_step="ep:NAME")
    if scheme in ("py", "ep"):
        return Spec(scheme=scheme, text=rest)
    return Spec(scheme=scheme, text=rest, words=_words(rest, where))


def _split_name(text: str, where: str) -> tuple[str, str]:
    found = _NAMED.fullmatch(text.strip())
    if found is None:
        return "", text
    if not is_value(found["name"]):
        raise InputError(
            f"{found['name']!r} cannot be the name of a generator",
            where=f"{where} {text}",
            why="it becomes part of cell ids: lower-case letters, digits, `.`, `+`, `_` and `-`",
            next_step=_FORM,
        )
    return found["name"], found["rest"]


def _split_scheme(text: str, base: Path, where: str) -> tuple[Scheme, str]:
    found = _SCHEMED.fullmatch(text)
    if found is None or (base / text.split(maxsplit=1)[0]).exists():
        return "cmd", text
    for scheme in SCHEMES:
        if scheme == found["scheme"]:
            return scheme, found["rest"].strip()
    raise InputError(
        f"there is no scheme {found['scheme']!r}",
        where=where,
        why=did_you_mean(found["scheme"], SCHEMES),
        next_step=f"a program whose name has a colon in it: cmd:{text}",
    )


def _words(text: str, where: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(
            "the command cannot be split into words", where=where, why=str(error), next_step="close the quote"
        ) from error
    if not words or not words[0]:
        raise InputError("no command was given", where=where, next_step=_FORM)
    for word in words:
        check_placeholders(word, where)
    return words


def check_placeholders(text: str, where: str) -> None:
    for found in _PLACEHOLDER.finditer(text):
        if found[1] not in _KNOWN:
            near = did_you_mean(found[1], PLACEHOLDERS, limit=len(PLACEHOLDERS))
            raise InputError(f"there is no placeholder @{found[1]}@", where=where, why=near)


def _parts(text: str, before: Mapping[str, Generator], beside: Path | None, where: str) -> tuple[Generator, ...]:
    names = [name.strip() for name in text.split(",")]
    if len(names) < 2 or not all(names):
        raise InputError("a chain names two generators or more", where=where, next_step="chain:one,other,one")
    every = {*before, *generator_files.files(beside)}
    for name in names:
        if name not in every:
            raise InputError(
                f"chain: there is no generator {name!r}",
                where=where,
                why=did_you_mean(name, every),
                next_step=f"name it before the chain: {OPTION} {name}=…",
            )
    return tuple(_part(name, before, beside, where) for name in names)


def _part(name: str, before: Mapping[str, Generator], beside: Path | None, where: str) -> Generator:
    named = before.get(name)
    is_chain = (
        named.spec.scheme == "chain" if named else generator_files.declared(name, beside).run.startswith("chain:")
    )
    if is_chain:  # checked before it is split: a chain may name itself
        raise InputError(f"chain: {name} is a chain itself", where=where, next_step="name its generators instead")
    return named or of_declaration(name, beside)


def default_name(spec: Spec) -> str:
    """Returns the program's name; for Python the function's module and name, for a chain the names of its parts."""
    if spec.scheme == "chain":
        return as_value("+".join(part.name for part in spec.parts))
    if spec.scheme in ("py", "ep"):
        module, _, function = spec.text.partition(":")
        return as_value("-".join(filter(None, (module.rpartition(".")[2], function))))
    return as_value(Path(spec.words[0]).name)

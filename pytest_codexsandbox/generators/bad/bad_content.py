"""Bad content: generators that write wrong values, places, comments or line ends, or more text in each run."""

import re
from typing import Final

from pytest_codexsandbox.config_writer.edits import Edit, applied
from pytest_codexsandbox.config_writer.managed_block import Marks
from pytest_codexsandbox.config_writer.toml_statements import TomlStatement, cut
from pytest_codexsandbox.generators.bad.bad_builder import Told, spoilt

_MARKS: Final = Marks("codexsandbox")
_BOM: Final = "\ufeff"


def _text(run: Told) -> str:
    return run.good.decode().removeprefix(_BOM)


def _theirs(piece: TomlStatement) -> bool:
    """Checks for a comment of the user's on a line of its own."""
    return piece.kind == "comment" and "codexsandbox" not in piece.comment


def _breaks_toml(run: Told) -> bytes:
    return run.good.replace(b'sandbox_mode = "workspace-write"', b'sandbox_mode = "workspace-write', 1)


def _wrong_type(run: Told) -> bytes:
    return re.sub(rb"(network_access = )(true|false)", rb'\1"\2"', run.good)


def _means_nothing(run: Told) -> bytes:
    before = re.sub(rb"(?m)^sandbox_workspace_write\.writable_root = .*\n", b"", run.good)
    return before.replace(b"sandbox_workspace_write.writable_roots", b"sandbox_workspace_write.writable_root")


def _unescaped(run: Told) -> bytes:
    roots = ", ".join(f'"{root}"' for root in run.request.roots)
    return re.sub(rb"(writable_roots = )\[.*\]", lambda found: found[1] + f"[{roots}]".encode(), run.good)


def _floats_to_strings(run: Told) -> bytes:
    return re.sub(rb"(?m)^(\w+ *= *)(\d+\.\d+)(?=\r?$)", rb'\1"\2"', run.good)


def _eats_comments(run: Told) -> bytes:
    text = _text(run)
    return applied(text, (_gone(piece) for piece in cut(text) if _theirs(piece))).encode()


def _gone(piece: TomlStatement) -> Edit:
    return Edit(begin=piece.start, end=piece.stop, text="")


def _reorders_comments(run: Told) -> bytes:
    """Collects the user's comments and puts them on top in sorted order, as some programs do."""
    text = _text(run)
    theirs = [piece for piece in cut(text) if _theirs(piece)]
    lines = sorted(text[piece.start : piece.stop].rstrip("\n") for piece in theirs)
    return ("".join(line + "\n" for line in lines) + applied(text, map(_gone, theirs))).encode()


def _at_the_end(run: Told) -> bytes:
    """Appends its keys below the last table of the file. Later runs find them there and change nothing."""
    if run.before and _MARKS.begin.encode() in run.before:
        return run.before
    begin, end = run.good.index(_MARKS.begin.encode()), run.good.index(_MARKS.end.encode())
    stop = end + len(_MARKS.end) + 1
    rest = run.good[:begin] + run.good[stop:]
    return rest + (b"" if rest.endswith(b"\n") or not rest else b"\n") + run.good[begin:stop]


def _duplicates_its_block(run: Told) -> bytes:
    """Never looks for its own block, as earlier releases of several tools do."""
    if not run.before or _MARKS.begin.encode() not in run.before:
        return run.good
    block = run.good[run.good.index(_MARKS.begin.encode()) : run.good.index(_MARKS.end.encode()) + len(_MARKS.end) + 1]
    return block + run.before


def _run_in_a_comment(run: Told) -> bytes:
    return _numbered(run, min(run.request.run, 2))


def _third_run_in_a_comment(run: Told) -> bytes:
    return _numbered(run, 3 if run.request.run >= 3 else 1)


def _other_network(run: Told) -> bytes:
    """From the second run on, mistakes the present network value for the opposite of the requested one."""
    if run.request.run == 1:
        return run.good
    return run.good.replace(b"network_access = false", b"network_access = true", 1)


def _numbered(run: Told, number: int) -> bytes:
    line = f"# codexsandbox, before: run = {number}\n".encode()
    return re.sub(rb"# codexsandbox, before: run = \d\n", b"", run.good).replace(
        b"sandbox_mode = ", line + b"sandbox_mode = ", 1
    )


def _forgets_end(run: Told) -> bytes:
    """Leaves out the end of its block if the user's text follows. Alone it is right."""
    return run.good.replace(_MARKS.end.encode() + b"\n", b"", 1) if run.before else run.good


breaks_toml = spoilt(_breaks_toml)
wrong_type = spoilt(_wrong_type)
means_nothing = spoilt(_means_nothing)
unescaped = spoilt(_unescaped)
floats_to_strings = spoilt(_floats_to_strings)
eats_comments = spoilt(_eats_comments)
reorders_comments = spoilt(_reorders_comments)
at_the_end = spoilt(_at_the_end)
duplicates_its_block = spoilt(_duplicates_its_block)
second_run_differs = spoilt(_run_in_a_comment)
third_run_differs = spoilt(_third_run_in_a_comment)
flips_the_network = spoilt(_other_network)
grows = spoilt(lambda run: run.good + b"\n")
line_feeds_only = spoilt(lambda run: run.good.replace(b"\r\n", b"\n"))
drops_bom = spoilt(lambda run: run.good.removeprefix(_BOM.encode()))
adds_final_newline = spoilt(lambda run: run.good if run.good.endswith(b"\n") else run.good + b"\n")
forgets_end = spoilt(_forgets_end)

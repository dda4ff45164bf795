"""Printed text: bytes that a program printed or a file holds, as text. Pure.

They are read as UTF-8. A byte that is no UTF-8 is shown as `\\xff`, so nothing of it is lost.
"""

import codecs
from typing import Any


def text_of(data: bytes, *, whole: bool = True) -> str:
    """Decodes `data`. If it is the beginning of more (not `whole`), a character that the cut splits is left out."""
    return codecs.getincrementaldecoder("utf-8")("backslashreplace").decode(data, final=whole)


def text_of_end(data: bytes) -> str:
    """Decodes the end of a longer output. The rest of a character that the cut splits is left out."""
    split = next((number for number, byte in enumerate(data[:3]) if byte & 0xC0 != 0x80), 0)
    return text_of(data[split:])


def spelled(value: Any) -> Any:
    """Returns `value` with the characters that UTF-8 cannot encode spelled out."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {spelled(name): spelled(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [spelled(member) for member in value]
    return value

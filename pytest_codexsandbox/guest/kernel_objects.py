"""Kernel objects: a segment of shared memory and a key, which the agent keeps outside the sandbox.

Both end with the agent, however it ends. The segment is marked for removal at once and lives while the agent has it.
The key is in a session keyring that the agent makes for itself and for the commands that it starts, as a login does.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, Final

from pytest_codexsandbox.guest import probe_kernel_verbs

_PAGE: Final = 4096
_JOIN_SESSION: Final = 1
_PRIVATE, _MAKE, _REMOVE = 0, 0o1000 | 0o600, 0


class KernelObjects:
    """The objects of one agent. `values` are the placeholders that name them; "" where the kernel refuses one."""

    def __init__(self, word: str) -> None:
        self._text = f"kept-{word}".encode("ascii")
        self.values = {"SEGMENT": self._made(self._segment), "KEY": self._made(lambda: self._key(f"ticket-{word}"))}

    @property
    def kept(self) -> list[str]:
        """Returns the names of the objects that could be made, as requirements of promises name them."""
        return [name.lower() for name, value in self.values.items() if value]

    def _made(self, make: Any) -> str:
        try:
            return str(make())
        except (OSError, KeyError, AttributeError):
            return ""

    def _segment(self) -> int:
        libc = probe_kernel_verbs.libc()
        number = probe_kernel_verbs.checked(libc.shmget(_PRIVATE, ctypes.c_size_t(_PAGE), _MAKE))
        libc.shmat.restype = ctypes.c_void_p
        address = libc.shmat(number, None, 0)
        probe_kernel_verbs.checked(libc.shmctl(number, _REMOVE, None))
        if address in (None, ctypes.c_void_p(-1).value):
            probe_kernel_verbs.checked(-1)
        ctypes.memmove(address, self._text + b"\0", len(self._text) + 1)
        return number

    def _key(self, name: str) -> str:
        libc, machine = probe_kernel_verbs.libc(), os.uname().machine
        keyctl, add_key = (
            ctypes.c_long(table[machine]) for table in (probe_kernel_verbs.KEYCTL, probe_kernel_verbs.ADD_KEY)
        )
        probe_kernel_verbs.checked(libc.syscall(keyctl, _JOIN_SESSION, None))
        ring = probe_kernel_verbs.SESSION_KEYRING
        length = ctypes.c_size_t(len(self._text))
        probe_kernel_verbs.checked(libc.syscall(add_key, b"user", name.encode("ascii"), self._text, length, ring))
        return name

"""Hook answer: what a pytest process answers when it has asked the hooks that change the cells."""

import msgspec

from pytest_codexsandbox.errors import CodexSandboxError, InputError
from pytest_codexsandbox.matrix.expand import Expanded


class HookAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The cells, or the error in the words of `InputError`."""

    cells: Expanded | None = None
    what: str = ""
    where: str = ""
    why: str = ""
    next_step: str = ""

    @classmethod
    def refused(cls, fault: CodexSandboxError) -> "HookAnswer":
        return cls(what=fault.what, where=fault.where, why=fault.why, next_step=fault.next_step)

    def checked(self) -> Expanded:
        """Returns the cells, or raises the error."""
        if self.cells is None:
            raise InputError(self.what, where=self.where, why=self.why, next_step=self.next_step)
        return self.cells

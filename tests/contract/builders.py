"""This machine as an ordinary user has it, also for root: /tmp is shared with everybody."""

from pytest_codexsandbox.environments.local import LocalBackend


class SharingBackend(LocalBackend):
    def __init__(self) -> None:
        super().__init__(own_tmp=False)

"""Live process: the runner's handles of live processes and streams of an environment."""

from pytest_codexsandbox.environments.agent_client import AgentClient, as_finished
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.guest.wire import Message
from pytest_codexsandbox.model.command import CommandResult


class _Conversation:
    def __init__(self, client: AgentClient, number: int) -> None:
        self._client, self._number = client, number
        self._over = False

    def _talk(self, word: str, *, blobs: tuple[bytes, ...] = (), within: float = 0.0, **words: object) -> Message:
        return self._client.ask("talk", conversation=self._number, word=word, blobs=blobs, within=within, **words)

    def _read(self, stream: str, limit: int, timeout: float) -> bytes:
        _, blobs = self._talk("read", within=timeout, stream=stream, limit=limit, timeout=timeout)
        return blobs[0]

    def close(self) -> None:
        if not self._over:
            self._over = True
            try:
                self._talk("forget")
            except HarnessError:  # the agent is gone, and with it what it held
                pass


class LiveProcess(_Conversation):
    """Implements protocols.Spawned."""

    def __init__(self, client: AgentClient, number: int, pid: int) -> None:
        super().__init__(client, number)
        self._pid = pid

    @property
    def pid(self) -> int:
        return self._pid

    def write(self, data: bytes) -> None:
        self._talk("write", blobs=(data,))

    def close_stdin(self) -> None:
        self._talk("close-stdin")

    def read(self, limit: int, timeout: float) -> bytes:
        return self._read("stdout", limit, timeout)

    def read_error(self, limit: int, timeout: float) -> bytes:
        return self._read("stderr", limit, timeout)

    def signal(self, number: int) -> None:
        self._talk("signal", number=number)

    def resize(self, rows: int, columns: int) -> None:
        self._talk("resize", rows=rows, columns=columns)

    def wait(self, timeout: float) -> CommandResult:
        body, (stdout, stderr) = self._talk("wait", within=timeout, timeout=timeout)
        return as_finished(body["results"][0], stdout, stderr)


class LiveStream(_Conversation):
    """Implements protocols.Stream."""

    def send(self, data: bytes) -> None:
        self._talk("write", blobs=(data,))

    def receive(self, limit: int, timeout: float) -> bytes:
        return self._read("stdout", limit, timeout)

"""Datagrams to unix sockets outside: a system log, systemd's notify socket, a container engine's helpers."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.policy import NO_TMP, READ_ONLY, ROOTS, WORKSPACE_WRITE

README = "https://github.com/openai/codex/blob/main/codex-rs/linux-sandbox/README.md#current-behavior"
OFF = (READ_ONLY, WORKSPACE_WRITE, ROOTS, NO_TMP)
REFUSED = ("EPERM", "EACCES")
# In a network namespace of its own no server has an abstract name. A path leads to the server all the same.
ANSWERS = {"path": REFUSED, "abstract": (*REFUSED, "ECONNREFUSED")}
CASES = {"path": "@DGRAM@", "abstract": "@ABSTRACT@"}


def sent(by: str) -> dict[str, Act]:
    return {
        case: Act(verb="unix-send", params={"address": address, "by": by, "token": "@NAME@"})
        for case, address in CASES.items()
    }


@promise(
    "network.unix-sendto-refused",
    kind="boundary",
    severity="high",
    source=README,
    policies=OFF,
    acts=sent("sendto"),
)
def test_sendto_reaches_no_unix_socket_with_the_network_off(trial: Trial) -> None:
    """With the network off sendto(2) with an address reaches no unix socket outside, with a path or abstract.

    Source: codex-linux-sandbox: the seccomp filter refuses sendto(2) for every family.
    Control: without a sandbox the same datagrams arrive outside.
    """
    trial.refused("path", errno=ANSWERS["path"])
    trial.refused("abstract", errno=ANSWERS["abstract"])


@promise(
    "network.unix-sendmsg-refused",
    kind="boundary",
    severity="high",
    source=README,
    policies=OFF,
    acts=sent("sendmsg"),
    cases=tuple(CASES),
)
def test_sendmsg_reaches_no_unix_socket_with_the_network_off(trial: Trial) -> None:
    """With the network off sendmsg(2) with an address reaches no unix socket outside, with a path or abstract.

    Source: codex-linux-sandbox: the network is off, and connect(2) and sendto(2) are refused for that reason.
    Control: without a sandbox the same datagrams arrive outside.
    """
    trial.refused(trial.case, errno=ANSWERS[trial.case])


@promise(
    "network.unix-sendmmsg-refused",
    kind="boundary",
    severity="high",
    source=README,
    policies=OFF,
    acts=sent("sendmmsg"),
    cases=tuple(CASES),
)
def test_sendmmsg_reaches_no_unix_socket_with_the_network_off(trial: Trial) -> None:
    """With the network off sendmmsg(2) with an address reaches no unix socket outside, with a path or abstract.

    Source: codex-linux-sandbox: the network is off, and connect(2) and sendto(2) are refused for that reason.
    Control: without a sandbox the same datagrams arrive outside.
    """
    trial.refused(trial.case, errno=ANSWERS[trial.case])

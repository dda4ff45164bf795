"""A network that was granted serves as well as it asks: servers on the loopback, and the resolver's own call."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.policy import FULL_ACCESS, NETWORK

CONFIG = "https://developers.openai.com/codex/config-reference#sandbox_workspace_write.network_access"
ON = (NETWORK, FULL_ACCESS)
NO_IPV6 = ("EAFNOSUPPORT", "EADDRNOTAVAIL", "EACCES", "EPERM")  # without any sandbox


def as_outside(trial: Trial, act: str, *, claim: str) -> None:
    """Adds a row that holds if the same text went through as without a sandbox."""
    row, control = trial.row(act), trial.control_row(act)
    trial.says(
        act,
        claim=claim,
        saw=row.value or f"{row.step}: {row.errno or row.detail}",
        held=row.ok and row.value == control.value,
        control=control.value or control.errno,
        control_held=control.ok and control.value != "",
        reason=row.errno,
        direction="denied",
    )


def serves_on_both(trial: Trial) -> None:
    """Adds a row for each address of the loopback that the machine has."""
    as_outside(trial, "ipv4", claim="a client of 127.0.0.1 is accepted and answered")
    errno = trial.control_row("ipv6").errno
    if errno in NO_IPV6 and not trial.row("ipv6").ok:
        trial.leave_out(f"ipv6, a server on ::1 ({errno} without a sandbox)")
    else:
        as_outside(trial, "ipv6", claim="a client of ::1 is accepted and answered")


@promise(
    "network.tcp-server-works",
    kind="capability",
    severity="high",
    source=CONFIG,
    policies=ON,
    acts={
        "ipv4": Act(verb="serve", params={"family": "inet", "address": "127.0.0.1"}),
        "ipv6": Act(verb="serve", params={"family": "inet6", "address": "::1"}),
    },
)
def test_a_server_on_the_loopback_works_with_the_network_on(trial: Trial) -> None:
    """With network_access a command listens on 127.0.0.1 and on ::1, and accepts a client: tests with a server run.

    Source: configuration reference: network_access allows network access in the sandbox.
    Control: the same server without a sandbox. Where the machine has no ::1, that address is left out.
    """
    serves_on_both(trial)


@promise(
    "network.send-many-works",
    kind="capability",
    severity="medium",
    source=CONFIG,
    policies=ON,
    acts={"datagram": Act(verb="send-many")},
)
def test_sendmmsg_works_with_the_network_on(trial: Trial) -> None:
    """With network_access sendmmsg(2) sends datagrams: the C library's resolver asks for two kinds of address by it.

    Source: configuration reference: network_access allows network access in the sandbox.
    Control: the same datagram without a sandbox.
    """
    as_outside(trial, "datagram", claim="the datagram arrives")

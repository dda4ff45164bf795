"""The network: off unless it was granted, and really there when it was."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.policy import FULL_ACCESS, NETWORK, NO_TMP, READ_ONLY, ROOTS, SANDBOXED, WORKSPACE_WRITE

SECURITY = "https://developers.openai.com/codex/agent-approvals-security#network-access"
CONFIG = "https://developers.openai.com/codex/config-reference#sandbox_workspace_write.network_access"
README = "https://github.com/openai/codex/blob/main/codex-rs/linux-sandbox/README.md"
OFF = (READ_ONLY, WORKSPACE_WRITE, ROOTS, NO_TMP)
ON = (NETWORK, FULL_ACCESS)
REFUSED = ("EPERM",)  # the answer of Codex's seccomp filter
HTTP = {"http": Act(verb="http", params={"port": "@HTTP@", "token": "@NAME@"})}
UNIX = {
    "path": Act(verb="unix-connect", params={"address": "@UNIX@", "token": "@NAME@"}),
    "abstract": Act(verb="unix-connect", params={"address": "@ABSTRACT@", "token": "@NAME@"}),
}
UNIX_BIND = {"bind": Act(verb="unix-bind", path="@WORKSPACE@/@NAME@")}


def sockets(family: str, *kinds: str) -> dict[str, Act]:
    return {f"{family}-{kind}": Act(verb="socket", params={"family": family, "type": kind}) for kind in kinds}


@promise(
    "network.ip-socket-refused",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=OFF,
    acts=sockets("inet", "stream", "dgram") | sockets("inet6", "stream", "dgram"),
)
def test_no_ip_socket_can_be_made_with_the_network_off(trial: Trial) -> None:
    """With the network off socket(2) is refused with EPERM for IPv4 and IPv6, for TCP and UDP.

    Source: Codex documentation, network access is off by default.
    Control: the same sockets can be made without a sandbox.
    """
    trial.refused("inet-stream", errno=REFUSED)
    trial.refused("inet-dgram", errno=REFUSED)
    trial.refused("inet6-stream", errno=REFUSED)
    trial.refused("inet6-dgram", errno=REFUSED)


@promise(
    "network.netlink-socket-refused",
    kind="boundary",
    severity="high",
    source=f"{README}#current-behavior",
    policies=OFF,
    acts=sockets("netlink", "raw", "dgram"),
)
def test_no_netlink_socket_can_be_made_with_the_network_off(trial: Trial) -> None:
    """With the network off socket(AF_NETLINK) is refused with EPERM: no looking at interfaces and routes.

    Source: codex-linux-sandbox: the seccomp filter lets only AF_UNIX sockets be made.
    Control: the same sockets can be made without a sandbox.
    """
    trial.refused("netlink-raw", errno=REFUSED)
    trial.refused("netlink-dgram", errno=REFUSED)


@promise(
    "network.loopback-http-refused",
    kind="boundary",
    severity="critical",
    source=SECURITY,
    policies=OFF,
    acts=HTTP,
)
def test_loopback_http_reaches_no_server_with_the_network_off(trial: Trial) -> None:
    """With the network off a request to 127.0.0.1 fails, and no server outside hears of it.

    Source: Codex documentation, network access is off by default.
    Control: the same request without a sandbox arrives at the server outside.
    """
    trial.refused("http", errno=REFUSED)


@promise(
    "network.loopback-http-arrives",
    kind="capability",
    severity="high",
    source=CONFIG,
    policies=ON,
    acts=HTTP,
)
def test_loopback_http_arrives_with_the_network_on(trial: Trial) -> None:
    """With network_access a request to 127.0.0.1 arrives at a server outside, and its answer inside.

    Source: configuration reference: network_access allows outbound network access in the sandbox.
    Control: the same request without a sandbox arrives too, and gives the same answer.
    """
    row, control = trial.row("http"), trial.control_row("http")
    trial.allowed("http")
    trial.says(
        "http",
        claim="the server's answer is read inside",
        saw=row.value or row.errno or row.detail,
        held=bool(row.value) and row.ok,
        control=control.value or control.errno,
        control_held=bool(control.value) and control.ok,
        reason=row.errno,
        direction="denied",
    )


@promise(
    "network.ip-socket-allowed",
    kind="capability",
    severity="high",
    source=CONFIG,
    policies=ON,
    acts=sockets("inet", "stream") | sockets("inet6", "dgram"),
)
def test_ip_sockets_can_be_made_with_the_network_on(trial: Trial) -> None:
    """With network_access IPv4 and IPv6 sockets can be made.

    Source: configuration reference: network_access allows outbound network access in the sandbox.
    Control: the same sockets can be made without a sandbox.
    """
    trial.allowed("inet-stream")
    trial.allowed("inet6-dgram")


@promise(
    "network.unix-sockets-unreachable",
    kind="boundary",
    severity="high",
    source=f"{README}#current-behavior",
    policies=OFF,
    acts=UNIX,
)
def test_no_unix_socket_can_be_reached_with_the_network_off(trial: Trial) -> None:
    """With the network off connect(2) to a unix socket is refused, with a path (Docker's, an ssh agent's) or abstract.

    Source: codex-linux-sandbox: the seccomp filter refuses connect(2) for every family.
    Control: the same connections without a sandbox reach the servers outside.
    """
    trial.refused("path", errno=REFUSED)
    trial.refused("abstract", errno=REFUSED)


@promise(
    "network.unix-sockets-reachable",
    kind="claim",
    severity="medium",
    source=CONFIG,
    policies=ON,
    acts=UNIX,
)
def test_every_unix_socket_can_be_reached_with_the_network_on(trial: Trial) -> None:
    """With network_access a command reaches unix sockets outside the workspace, with a path or abstract.

    Source: configuration reference: network_access; written down as it is, for Docker's socket is one of them.
    Control: the same connections without a sandbox reach the servers outside.
    """
    trial.allowed("path")
    trial.allowed("abstract")


@promise(
    "network.unix-listen-refused",
    kind="claim",
    severity="low",
    source=f"{README}#current-behavior",
    policies=OFF,
    acts=UNIX_BIND,
)
def test_a_unix_socket_cannot_be_offered_with_the_network_off(trial: Trial) -> None:
    """With the network off a command cannot even bind a unix socket in its own workspace.

    Source: codex-linux-sandbox: the seccomp filter refuses bind(2) for every family.
    Control: the same bind without a sandbox, and the socket seen from outside.
    """
    trial.refused("bind", errno=REFUSED)


@promise(
    "network.unix-listen-allowed",
    kind="capability",
    severity="low",
    source=CONFIG,
    policies=ON,
    acts=UNIX_BIND,
)
def test_a_unix_socket_can_be_offered_with_the_network_on(trial: Trial) -> None:
    """With network_access a command can bind a unix socket in its workspace.

    Source: configuration reference: network_access.
    Control: the same bind without a sandbox, and the socket seen from outside.
    """
    trial.allowed("bind")


@promise(
    "network.socketpair-works",
    kind="capability",
    severity="medium",
    source=f"{README}#current-behavior",
    policies=SANDBOXED,
    acts={"pair": Act(verb="socketpair")},
)
def test_a_socket_pair_works_with_and_without_the_network(trial: Trial) -> None:
    """A pair of connected unix sockets works by write(2) and read(2) with the network off as well.

    Source: codex-linux-sandbox: the seccomp filter leaves AF_UNIX socketpair(2) alone (and refuses sendto(2) on it).
    Control: what went through the same pair without a sandbox.
    """
    row, control = trial.row("pair"), trial.control_row("pair")
    trial.says(
        "pair",
        claim="what is sent at one end is received at the other",
        saw=row.value or row.errno or row.detail,
        held=row.ok and row.value == control.value,
        control=control.value or control.errno,
        control_held=control.ok and bool(control.value),
        reason=row.errno,
        direction="denied",
    )

"""Socket families beside IP and unix, and the network namespace."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.policy import NO_TMP, READ_ONLY, ROOTS, WORKSPACE_WRITE

README = "https://github.com/openai/codex/blob/main/codex-rs/linux-sandbox/README.md#current-behavior"
OFF = (READ_ONLY, WORKSPACE_WRITE, ROOTS, NO_TMP)
REFUSED = ("EPERM", "EACCES")
# The kernel has not loaded it, or this user may not have it without any sandbox.
NOT_OUTSIDE = ("EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EPERM", "EACCES")
STREAM, DATAGRAM, RAW, SEQUENCED = 1, 2, 3, 5
NOT_ASKED = "protocols"  # the step that failed
ROUTES = "netlink"  # which every kernel has, for every user
FAMILIES = {
    ROUTES: ("NETLINK", 16, RAW, 0),
    "netlink-generic": ("NETLINK", 16, RAW, 16),
    "vsock": ("AF_VSOCK", 40, STREAM, 0),
    "packet": ("PACKET", 17, DATAGRAM, 0),
    "packet-raw": ("PACKET", 17, RAW, 0),
    "xdp": ("XDP", 44, RAW, 0),
    "alg": ("ALG", 38, SEQUENCED, 0),
    "bluetooth": ("L2CAP", 31, SEQUENCED, 0),
    "ip-raw": ("RAW", 2, RAW, 1),
    "ip6-raw": ("RAWv6", 10, RAW, 58),
    "ping": ("PING", 2, DATAGRAM, 1),
    "multipath": ("MPTCP", 2, STREAM, 262),
    "tipc": ("TIPC", 30, STREAM, 0),
    "shared-memory": ("SMC", 43, STREAM, 0),
}


def family(known: str, number: int, kind: int, protocol: int) -> Act:
    return Act(verb="family", params={"known": known, "family": number, "type": kind, "protocol": protocol})


def each_is_refused(trial: Trial) -> None:
    """Adds a row for each family that this user has without a sandbox."""
    for name in FAMILIES:
        left_out = () if name == ROUTES else NOT_OUTSIDE
        if name != ROUTES and trial.row(name).step == NOT_ASKED:
            trial.leave_out(f"{name}, not asked for: the list of protocols cannot be read in the sandbox")
        else:
            trial.refused(name, errno=REFUSED, unless=left_out, claim=f"a socket is refused: {name}")


@promise(
    "network.other-families-refused",
    kind="boundary",
    severity="critical",
    source=README,
    policies=OFF,
    acts={name: family(*words) for name, words in FAMILIES.items()},
)
def test_no_socket_of_another_family_can_be_made_with_the_network_off(trial: Trial) -> None:
    """With the network off no socket of another family is made: not to the hypervisor, not to the network card, not to
    the kernel's cryptography, not raw.

    Source: codex-linux-sandbox: the seccomp filter lets only AF_UNIX sockets be made.
    Control: the same sockets without a sandbox. A family that the kernel has not loaded, or that this user may not
    have, is left out; netlink is always there. Where the list of protocols cannot be read, netlink alone is asked for.
    """
    each_is_refused(trial)


@promise(
    "network.namespace-is-its-own",
    kind="boundary",
    severity="high",
    source=README,
    policies=OFF,
    acts={"namespace": Act(verb="namespace", params={"name": "net"})},
)
def test_the_network_namespace_is_not_the_one_outside(trial: Trial) -> None:
    """With the network off a command has a network namespace of its own, so that the filter is not the only wall.

    The agent reads the number outside as well, wherever the command has a user namespace of its own.

    Source: codex-linux-sandbox: bubblewrap gives the command a network namespace of its own.
    Control: without a sandbox the command has the namespace outside.
    """
    row, control = trial.row("namespace"), trial.control_row("namespace")
    readings = [one for one in trial.observed().readings if one.namespaces.get("user") != one.hand_namespaces["user"]]
    seen = [one.namespaces.get("net", "not readable") for one in readings]
    shared = row.value == control.value or control.value in seen
    trial.says(
        "namespace",
        claim="the network namespace is not the one outside",
        saw=", ".join(dict.fromkeys([row.value or row.errno or row.detail, *seen])),
        held=row.ok and not shared and "not readable" not in seen,
        control=control.value or control.errno,
        control_held=control.ok and control.value.startswith("net:"),
        reason=row.errno,
        direction="leak" if shared else "wrong-claim",
    )

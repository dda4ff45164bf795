"""Names: looked up at our resolver on the loopback, through the system's resolver where that is ours, and at the name
service of a container engine, which knows the neighbouring containers."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.policy import FULL_ACCESS, NETWORK, NO_TMP, READ_ONLY, ROOTS, WORKSPACE_WRITE

SECURITY = "https://developers.openai.com/codex/agent-approvals-security#network-access"
CONFIG = "https://developers.openai.com/codex/config-reference#sandbox_workspace_write.network_access"
OFF = (READ_ONLY, WORKSPACE_WRITE, ROOTS, NO_TMP)
ON = (NETWORK, FULL_ACCESS)
ADDRESS = "192.0.2.7"  # what the resolver outside answers for every name
NEIGHBOUR = "neighbour.codexsandbox.test"  # known to the engine's name service alone


ASK = {
    transport: Act(verb="dns", params={"transport": transport, "port": "@DNS@", "name": "@NAME@.test"})
    for transport in ("udp", "tcp")
}


def fails_at_socket(trial: Trial, act: str) -> None:
    row, control = trial.row(act), trial.control_row(act)
    trial.refused(act, errno=("EPERM",))
    trial.says(
        act,
        claim="it ends at socket(2): there is no name service to wait for",
        saw=f"{row.errno} at {row.step}" if row.step else row.value,
        held=row.step == "socket",
        control=control.value or control.errno,
        control_held=control.value == ADDRESS,
        reason=row.errno,
    )


def answers(trial: Trial, act: str) -> None:
    row, control = trial.row(act), trial.control_row(act)
    trial.allowed(act)
    trial.says(
        act,
        claim=f"the answer is {ADDRESS}",
        saw=row.value or row.errno or row.detail,
        held=row.value == ADDRESS,
        control=control.value or control.errno,
        control_held=control.value == ADDRESS,
        reason=row.errno,
        direction="denied",
    )


@promise("dns.direct-question-refused", kind="boundary", severity="high", source=SECURITY, policies=OFF, acts=ASK)
def test_no_resolver_can_be_asked_with_the_network_off(trial: Trial) -> None:
    """With the network off a question to a resolver ends at socket(), at once, over UDP and TCP. None arrives.

    Source: Codex documentation, network access is off by default.
    Control: the same questions without a sandbox arrive and are answered.
    """
    fails_at_socket(trial, "udp")
    fails_at_socket(trial, "tcp")


@promise("dns.direct-question-answered", kind="capability", severity="high", source=CONFIG, policies=ON, acts=ASK)
def test_a_resolver_answers_with_the_network_on(trial: Trial) -> None:
    """With network_access a question to a resolver of the machine is answered, over UDP and over TCP.

    Source: configuration reference: network_access allows outbound network access in the sandbox.
    Control: the same questions without a sandbox are answered with the same address.
    """
    answers(trial, "udp")
    answers(trial, "tcp")


@promise(
    "dns.system-resolver-fails",
    kind="boundary",
    severity="high",
    source=SECURITY,
    policies=OFF,
    acts={"lookup": Act(verb="getaddrinfo", params={"name": "codexsandbox.test"})},
    requires=("resolver:ours",),
)
def test_the_system_resolver_finds_no_name_with_the_network_off(trial: Trial) -> None:
    """With the network off getaddrinfo() fails: by EAI_AGAIN or the like, never by an address.

    Source: Codex documentation, network access is off by default.
    Control: the same lookup without a sandbox gives the address of our resolver.
    """
    trial.refused("lookup", errno=("EAI_AGAIN", "EAI_NONAME", "EAI_FAIL", "EAI_SYSTEM", "EAI_NODATA"))


@promise(
    "dns.system-resolver-answers",
    kind="capability",
    severity="high",
    source=CONFIG,
    policies=ON,
    acts={"lookup": Act(verb="getaddrinfo", params={"name": "codexsandbox.test"})},
    requires=("resolver:ours",),
)
def test_the_system_resolver_answers_with_the_network_on(trial: Trial) -> None:
    """With network_access getaddrinfo() gives inside what it gives outside.

    Source: configuration reference: network_access allows outbound network access in the sandbox.
    Control: the same lookup without a sandbox gives the address of our resolver.
    """
    row, control = trial.row("lookup"), trial.control_row("lookup")
    trial.says(
        "lookup",
        claim="the lookup gives the address that it gives outside",
        saw=row.value or row.errno or row.detail,
        held=row.ok and row.value == control.value,
        control=control.value or control.errno,
        control_held=control.ok and ADDRESS in control.value,
        reason=row.errno,
        direction="denied",
    )


@promise(
    "dns.neighbour-not-found",
    kind="boundary",
    severity="high",
    source=SECURITY,
    policies=OFF,
    acts={"lookup": Act(verb="getaddrinfo", params={"name": NEIGHBOUR})},
    requires=("network:own",),
)
def test_a_neighbour_in_the_engines_network_is_not_found_with_the_network_off(trial: Trial) -> None:
    """With the network off no question reaches the name service of a container engine, which knows the neighbours.

    Source: Codex documentation, network access is off by default.
    Control: the same lookup without a sandbox gives the neighbour's address.
    """
    trial.refused("lookup", errno=("EAI_AGAIN", "EAI_NONAME", "EAI_FAIL", "EAI_SYSTEM", "EAI_NODATA"))


@promise(
    "dns.neighbour-found",
    kind="capability",
    severity="high",
    source=CONFIG,
    policies=ON,
    acts={"lookup": Act(verb="getaddrinfo", params={"name": NEIGHBOUR})},
    requires=("network:own",),
)
def test_a_neighbour_in_the_engines_network_is_found_with_the_network_on(trial: Trial) -> None:
    """With network_access the name service of a container engine gives inside what it gives outside.

    Source: configuration reference: network_access allows outbound network access in the sandbox.
    Control: the same lookup without a sandbox gives an address, and not the one that our own resolver has for any name.
    """
    row, control = trial.row("lookup"), trial.control_row("lookup")
    trial.says(
        "lookup",
        claim="the lookup gives the address that it gives outside",
        saw=row.value or row.errno or row.detail,
        held=row.ok and row.value == control.value,
        control=control.value or control.errno,
        control_held=control.ok and bool(control.value) and ADDRESS not in control.value,
        reason=row.errno,
        direction="denied",
    )

"""Names: asked of a resolver of ours on the loopback, and through the system's own resolver where that is ours."""

from pytest_codexsandbox.declare import Trial, promise
from pytest_codexsandbox.model.act import Act
from pytest_codexsandbox.model.policy import FULL_ACCESS, NETWORK, NO_TMP, READ_ONLY, ROOTS, WORKSPACE_WRITE

SECURITY = "https://developers.openai.com/codex/agent-approvals-security#network-access"
CONFIG = "https://developers.openai.com/codex/config-reference#sandbox_workspace_write.network_access"
OFF = (READ_ONLY, WORKSPACE_WRITE, ROOTS, NO_TMP)
ON = (NETWORK, FULL_ACCESS)
ADDRESS = "192.0.2.7"  # what the resolver outside answers for every name


def asking(transport: str) -> dict[str, Act]:
    return {"ask": Act(verb="dns", params={"transport": transport, "port": "@DNS@", "name": "@NAME@.test"})}


def fails_at_socket(trial: Trial) -> None:
    row, control = trial.row("ask"), trial.control_row("ask")
    trial.refused("ask", errno=("EPERM",))
    trial.says(
        "ask",
        claim="it ends at socket(2): there is no name service to wait for",
        saw=f"{row.errno} at {row.step}" if row.step else row.value,
        held=row.step == "socket",
        control=control.value or control.errno,
        control_held=control.value == ADDRESS,
        reason=row.errno,
    )


def answers(trial: Trial) -> None:
    row, control = trial.row("ask"), trial.control_row("ask")
    trial.allowed("ask")
    trial.says(
        "ask",
        claim=f"the answer is {ADDRESS}",
        saw=row.value or row.errno or row.detail,
        held=row.value == ADDRESS,
        control=control.value or control.errno,
        control_held=control.value == ADDRESS,
        reason=row.errno,
        direction="denied",
    )


@promise("dns.udp-refused", kind="boundary", severity="high", source=SECURITY, policies=OFF, acts=asking("udp"))
def test_a_name_cannot_be_asked_for_over_udp_with_the_network_off(trial: Trial) -> None:
    """With the network off a question over UDP ends at socket(), at once, and no resolver outside hears of it.

    Source: Codex documentation, network access is off by default.
    Control: the same question without a sandbox arrives and is answered.
    """
    fails_at_socket(trial)


@promise("dns.tcp-refused", kind="boundary", severity="high", source=SECURITY, policies=OFF, acts=asking("tcp"))
def test_a_name_cannot_be_asked_for_over_tcp_with_the_network_off(trial: Trial) -> None:
    """With the network off a question over TCP ends at socket(), at once, and no resolver outside hears of it.

    Source: Codex documentation, network access is off by default.
    Control: the same question without a sandbox arrives and is answered.
    """
    fails_at_socket(trial)


@promise("dns.udp-answered", kind="capability", severity="high", source=CONFIG, policies=ON, acts=asking("udp"))
def test_a_name_is_answered_over_udp_with_the_network_on(trial: Trial) -> None:
    """With network_access a question over UDP to a resolver of the machine is answered.

    Source: configuration reference: network_access allows outbound network access in the sandbox.
    Control: the same question without a sandbox is answered with the same address.
    """
    answers(trial)


@promise("dns.tcp-answered", kind="capability", severity="high", source=CONFIG, policies=ON, acts=asking("tcp"))
def test_a_name_is_answered_over_tcp_with_the_network_on(trial: Trial) -> None:
    """With network_access a question over TCP to a resolver of the machine is answered.

    Source: configuration reference: network_access allows outbound network access in the sandbox.
    Control: the same question without a sandbox is answered with the same address.
    """
    answers(trial)


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

"""Shell snapshot: the shell of the user that `codex exec` starts beside a command, to learn what the user set there."""

from pytest_codexsandbox.api import Trial, promise
from pytest_codexsandbox.model.act import Act, Call, Given
from pytest_codexsandbox.model.policy import WORKSPACE_WRITE

SECURITY = "https://developers.openai.com/codex/agent-approvals-security#sandbox-and-approvals"
OF_THE_ACT = "started by the act"
LEFT, RAN = "@OUTSIDE@/@NAME@-", "@WORKSPACE@/@NAME@-"
KEPT = "kept-snapshot"
# A shell says by its own words who started it: the act, Codex for the command (the probe), or Codex for itself. It does
# so without another program: /proc/self is that of the shell. A shell whose file is in the workspace has tried the one
# outside before.
STARTUP = f"""\
who=codex
while IFS= read -r line || [ -n "$line" ]; do
    case $line in
        *'{OF_THE_ACT}'*) who=act ;;
        *'@PROBE@'*) who=command ;;
    esac
done < /proc/self/cmdline
{{ echo let through > '{LEFT}'$who; }} 2> /dev/null
{{ echo ran > '{RAN}'$who; }} 2> /dev/null
:
"""
# Codex starts its shell beside the turn, which may end before. So the act waits for that shell and its snapshot, where
# there is a Codex. It prints the snapshot's name after a word of its own: /etc/profile may print something too.
WAIT = f"""\
: {OF_THE_ACT}
turns=100
kept() {{ ls "$CODEX_HOME/shell_snapshots" 2> /dev/null; }}
until [ -z "$CODEX_SANDBOX_NETWORK_DISABLED" ] || [ $turns = 0 ] || {{ [ -e '{RAN}codex' ] && [ -n "$(kept)" ]; }}; do
    turns=$((turns - 1))
    sleep 0.1
done
for name in $(kept); do echo "{KEPT} $name"; done
:
"""
FILES = (".profile", ".bashrc", ".zshenv")  # read by the shells of the snapshot: sh, bash and zsh


@promise(
    "process.shell-of-codex-is-confined",
    kind="boundary",
    severity="high",
    source=SECURITY,
    policies=(WORKSPACE_WRITE,),
    requires=("program:sh", "capability:shell-snapshot"),
    acts={
        "shell": Act(
            verb="run",
            params={"argv": ["sh", "-lc", WAIT], "timeout": 30},
            given=tuple(Given(kind="file", path=f"@HOME@/{name}", content=STARTUP) for name in FILES),
            looks=tuple(place + who for place in (LEFT, RAN) for who in ("act", "command", "codex")),
        )
    },
    call=Call(shell_snapshot=True, timeout=60.0),
)
def test_the_shell_that_codex_starts_for_itself_is_confined(trial: Trial) -> None:
    """Codex takes a snapshot of the user's shell beside a command. That shell's startup files write nothing outside.

    The feature is on in this call, also where the release has it off. Each shell writes a file in the workspace and one
    outside, and says by its own words who started it.

    Source: Codex documentation, sandbox modes: they hold for every command that is started.
    Control: without a sandbox a shell of the act makes both files. In the sandbox, its file outside is refused. Codex's
    own shell left its file in the workspace, and Codex keeps its snapshot: without both the result is no finding.
    """
    seen = {
        (place, who): trial.look(place + who, act="shell").kind for place in (LEFT, RAN) for who in ("act", "codex")
    }
    plain = {place: trial.control_look(f"{place}act", act="shell").kind for place in (LEFT, RAN)}
    kept = [line for line in trial.row("shell").value.splitlines() if line.startswith(f"{KEPT} ")]
    refused = seen[RAN, "act"] == "file" and seen[LEFT, "act"] == "missing"
    trial.says(
        "shell",
        claim="the shell that Codex starts for itself writes nothing outside",
        saw=f"outside {seen[LEFT, 'codex']}",
        held=seen[LEFT, "codex"] == "missing",
        control=f"unconfined: in the workspace {plain[RAN]}, outside {plain[LEFT]}; "
        f"a shell in the sandbox: in the workspace {seen[RAN, 'act']}, outside {seen[LEFT, 'act']}; "
        f"Codex's own shell: in the workspace {seen[RAN, 'codex']}, snapshots {len(kept)}",
        control_held=plain[RAN] == plain[LEFT] == "file" and refused and seen[RAN, "codex"] == "file" and bool(kept),
        direction="leak",
    )

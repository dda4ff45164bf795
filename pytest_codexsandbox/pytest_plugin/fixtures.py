"""Fixtures: opens `trial` for the shipped scenarios and `codex_sandbox` for a user's own test."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

import msgspec
import pytest

from pytest_codexsandbox.errors import CodexSandboxError, EnvironmentLost, InputError, LostCapability, NotApplicable
from pytest_codexsandbox.harness.act_effects import ending, look_of
from pytest_codexsandbox.harness.baseline_checks import control_words, control_worked
from pytest_codexsandbox.harness.trial import RealTrial
from pytest_codexsandbox.harness.user_arguments import check_look, check_run
from pytest_codexsandbox.harness.user_command import ACT, by_itself, compared
from pytest_codexsandbox.model.act import Act, Call, Given, PathState
from pytest_codexsandbox.model.observation import Observation
from pytest_codexsandbox.model.plan_key import Key
from pytest_codexsandbox.model.policy import POLICIES
from pytest_codexsandbox.model.printed_text import text_of
from pytest_codexsandbox.model.private_paths import PrivatePaths
from pytest_codexsandbox.model.record import Evidence
from pytest_codexsandbox.model.redact import redact, redact_bytes
from pytest_codexsandbox.pytest_plugin.run import RUN, PytestRun

TRIAL = pytest.StashKey[Any]()  # a suite_protocols.SuiteTrial
NOT_APPLICABLE = pytest.StashKey[str]()
FAULT = pytest.StashKey[CodexSandboxError]()  # why there is no trial
LOST = pytest.StashKey[str]()  # a capability that the user's own build no longer has
_NOT_YOURS: Final = "the fixture `{}` is reserved for shipped scenarios; use `codex_sandbox` in your own tests"
_FOUND_TOO_LATE: Final = (
    "`codex_sandbox` was requested while the test ran, but its cells are made at collection: name it as an argument "
    "of the test or of a fixture, or in `usefixtures`"
)


def open_trial(request: pytest.FixtureRequest) -> Any:
    """Returns the trial of the item's key, as its suite makes it. Skips what the plan or a probe rules out, and records
    it as n/a with the reason."""
    key, stash = _key(request), request.node.stash
    run = request.config.stash[RUN]
    if run.plan is not None and (planned := run.plan.not_applicable.get(str(key), "")):
        _not_applicable(request, planned)
    if FAULT in stash:
        del stash[FAULT]  # from an earlier attempt
    try:
        stash[TRIAL] = run.measurement.runner_of(key).open_trial(key)
    except NotApplicable as why:
        _not_applicable(request, why.what)
    except LostCapability as why:
        stash[LOST] = why.what
        raise pytest.fail.Exception(why.what, pytrace=False) from None
    except CodexSandboxError as fault:
        # pytest would parse the plugin's files for a traceback that is never shown: 20 ms for each of 10,000 items.
        stash[FAULT] = fault
        raise pytest.fail.Exception(str(fault), pytrace=False) from None
    return stash[TRIAL]


def _not_applicable(request: pytest.FixtureRequest, reason: str) -> NoReturn:
    request.node.stash[NOT_APPLICABLE] = reason
    pytest.skip(f"not applicable: {reason}")


def _key(request: pytest.FixtureRequest) -> Key:
    if not isinstance(getattr(request, "param", None), Key):
        name = request.fixturename
        pytest.fail(_FOUND_TOO_LATE if name == "codex_sandbox" else _NOT_YOURS.format(name), pytrace=False)
    key: Key = request.param
    return key


class CodexSandbox:
    """Runs commands through the real Codex, each in a fresh world, under the test's policy.

    def test_mine(codex_sandbox):
        seen = codex_sandbox.run("sh", "-c", "echo x > made", looks=["@WORKSPACE@/made"])
        assert seen.code == 0
        assert codex_sandbox.look(seen, "@WORKSPACE@/made").kind == "file"
    """

    def __init__(self, run: PytestRun, trial: RealTrial) -> None:
        self._run, self._trial = run, trial
        self.policy = trial.policy
        self.cell = trial.key.cell
        self.started = trial.started

    def run(
        self,
        *argv: str,
        given: Sequence[Given] = (),
        looks: Sequence[str] = (),
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout: float = 20.0,
        control: bool = True,
    ) -> Observation:
        """Runs `argv` in the sandbox; `looks` are seen from outside before and after.

        The probe shows that the sandbox is on in this very call, and then becomes the command. The same command also
        runs once without a sandbox, in a fresh world with the same files and the same time limit. Only that comparison
        can attribute a failure to the sandbox. `control=False` omits it, for a command whose effects must not happen
        outside; its failures then have no direction.
        """
        check_run(argv, given=given, looks=looks, stdin=stdin, env=env, timeout=timeout)
        if self._trial.is_judged:
            raise InputError(
                "codex_sandbox.run() was called after the test",
                where=self._trial.key.promise,
                why="the test's result is made, so that no result would hold what this command did",
                next_step="call it in the test, or in a fixture before the test",
            )
        cache, key = self._run.measurement.cache, self._trial.key
        cell, own = cache.cells[key.cell], dict(env or {})
        call = Call(stdin=stdin, env=own, timeout=timeout * self._run.settings.timeout_scale)
        # Python adds LC_CTYPE where the locale is C: the user's command must not get it.
        words = {"argv": list(argv), "without": sorted({"LC_CTYPE"} - own.keys())}
        acts = {ACT: Act(verb="become", params=words, given=tuple(given), looks=tuple(looks))}
        environment, subject = cache.resources.enter(cell)
        try:
            seen = cache.door_of(cell, key.door, key.policy).observe(
                environment, subject, POLICIES[key.policy], acts, call
            )[0]
        except EnvironmentLost as fault:
            raise cache.pool.lose(cell.environment, fault.why or fault.what) from None
        cache.resources.check(cell, (seen,))
        if seen.ended == "lost":
            cache.resources.events.call(seen, cell=cell, stdin=stdin, timeout=call.timeout)
            raise cache.pool.lose(cell.environment, seen.error)
        outside = cache.outside(cell, acts, call, of=f"{key.promise} {key.case}") if control else None
        self._trial.seen += (seen,)  # what explains a failure, and what a repro shows again; the result names it
        self._trial.control += (outside,) if outside is not None else ()
        cache.resources.events.call(seen, cell=cell, stdin=stdin, timeout=call.timeout)
        command = redact(shlex.join(argv))[:100]
        self._trial.outside[seen.id] = compared(seen, outside)
        self._trial.rows += [self._sandbox_is_on(seen, command), self._ends(seen, command)]
        self._trial.stdin[seen.id] = redact_bytes(stdin)
        return self._for_the_test(seen)

    def _for_the_test(self, seen: Observation) -> Observation:
        """Returns the observation with placeholders for the world. In what the command printed, other paths stay: the
        test reads them."""
        shown, said = PrivatePaths([seen.world], self._run.places).of(seen), PrivatePaths([seen.world]).of(seen)
        return msgspec.structs.replace(
            shown, stdout=said.stdout, stderr=said.stderr, before=said.before, after=said.after
        )

    def look(self, seen: Observation, path: str, *, before: bool = False) -> Any:
        check_look(path, (name.partition("|")[2] for name in seen.after if name.startswith(f"{ACT}|")))
        found = look_of(seen, ACT, path, before=before)
        return msgspec.structs.replace(found, text=_as_utf8(found))

    def _ends(self, seen: Observation, command: str) -> Evidence:
        found = self._trial.outside[seen.id]
        return Evidence(
            claim=f"`{command}` ends by itself",
            act=ACT,
            nonce=seen.nonce,
            call=seen.id,
            control=found.shown,
            control_held=found.held or by_itself(seen),
            saw=ending(seen),
            held=by_itself(seen),
            reason=found.reason,
            direction="" if by_itself(seen) else found.direction,
        )

    def _sandbox_is_on(self, seen: Observation, command: str) -> Evidence:
        """Returns the row that the sandbox was on in this call. Its control is the probe's own, as in any call of the
        probe."""
        key, control = self._trial.key, self._trial.control[0]
        cache = self._run.measurement.cache
        own = cache.assessed(cache.cells[key.cell], key.policy, seen, control)
        wanted = "on" if POLICIES[self.policy].sandboxed else "off"
        proved = own.state == wanted
        known = own.state != "unknown" and not seen.error
        outside = control_words(control) if known else seen.error or own.why
        return Evidence(
            claim=f"in the call of `{command}` the sandbox is {wanted}",
            act=ACT,
            nonce=seen.nonce,
            call=seen.id,
            control=outside,
            control_held=control_worked(control) and known,
            saw=f"the sandbox is {wanted}" if proved else f"{ending(seen)}; {own.why}",
            held=proved,
            direction="" if proved else "leak" if own.state == "off" and wanted == "on" else "denied",
        )


def open_sandbox(request: pytest.FixtureRequest) -> Iterator[CodexSandbox]:
    trial: RealTrial = open_trial(request)
    if trial.started.state in ("failed", "unknown"):
        pytest.skip(f"blocked: {trial.started.why}")
    yield CodexSandbox(request.config.stash[RUN], trial)


def _as_utf8(found: PathState) -> str:
    """Returns the text as UTF-8. A look keeps bytes as Latin-1; a test compares them with the text that it wrote."""
    try:
        data = found.text.encode("latin-1")
    except UnicodeEncodeError:  # it was stored as text already
        return found.text
    return text_of(data, whole=found.size <= len(data))

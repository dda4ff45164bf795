"""Contract of commands in an environment: bytes, exit codes, limits, and no process that outlives its command."""

import hashlib
import signal
import time
import uuid

import msgspec
import pytest

from pytest_codexsandbox.contract.process_tools import GENEROUS, fresh, processes_with, python, sh, shell
from pytest_codexsandbox.model.act import FIRST_DESCRIPTOR, Given, Launch
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.protocols import Environment

MEGABYTES = 10_000_000


class CommandContract:
    def test_output_is_bytes_and_the_streams_stay_apart(self, environment: Environment) -> None:
        done = sh(environment, r"printf '\000\377\n\r'; printf 'oops\200' >&2")
        assert (done.stdout, done.stderr) == (b"\x00\xff\n\r", b"oops\x80")

    @pytest.mark.parametrize("code", [0, 1, 42, 255])
    def test_the_exit_code_is_kept(self, environment: Environment, code: int) -> None:
        done = sh(environment, f"exit {code}")
        assert (done.ended, done.exit, done.signal, done.code) == ("exit", code, 0, code)

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
    def test_death_by_a_signal_stays_one(self, environment: Environment, number: int) -> None:
        done = sh(environment, f"kill -{number} $$")
        assert (done.ended, done.signal, done.code) == ("signal", number, 128 + number)

    def test_ten_megabytes_arrive_intact(self, environment: Environment) -> None:
        script = f"import sys; sys.stdout.buffer.write(bytes(range(250)) * ({MEGABYTES} // 250))"
        with fresh(environment) as world:
            done = environment.run(python(world, script))
        assert done.stdout_total == MEGABYTES
        expected = hashlib.sha256(bytes(range(250)) * (MEGABYTES // 250)).hexdigest()
        assert hashlib.sha256(done.stdout).hexdigest() == expected

    def test_output_past_the_limit_is_counted_and_not_kept(self, environment: Environment) -> None:
        done = sh(environment, "head -c 1000000 /dev/zero", output_limit=1000)
        assert (len(done.stdout), done.stdout_total, done.ended) == (1000, 1_000_000, "exit")

    def test_stdin_arrives_whole_and_ends(self, environment: Environment) -> None:
        sent = bytes(range(256)) * 4096
        done = sh(environment, "cat", stdin=sent)
        assert done.stdout == sent

    def test_a_command_that_does_not_read_its_stdin_still_ends(self, environment: Environment) -> None:
        assert sh(environment, "exit 3", stdin=b"x" * 3_000_000).exit == 3

    def test_without_stdin_it_reads_the_end(self, environment: Environment) -> None:
        assert sh(environment, "cat; echo ended").stdout == b"ended\n"

    def test_it_says_how_a_shell_enters_an_equal_one_or_that_it_is_in_already(self, environment: Environment) -> None:
        entrance = environment.entrance
        assert entrance is None or (entrance.image and entrance.words and entrance.home == environment.folder)

    def test_the_program_that_no_sandbox_sees_is_there_outside(self, environment: Environment) -> None:
        with fresh(environment) as world:
            done = environment.run(shell(world, f"{world.values['HIDDEN']} ../documents/made"))
            assert (done.exit, done.stderr) == (0, b"")
            assert environment.look(world, ["@OUTSIDE@/made"])["@OUTSIDE@/made"].text == "through"

    def test_nothing_is_inherited_but_what_it_is_given(
        self, environment: Environment, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CODEXSANDBOX_CONTRACT", "leaked")
        script = "import os, json; print(json.dumps(dict(os.environ)))"
        with fresh(environment) as world:
            done = environment.run(python(world, script, env={"ONE": "1", "TWO": "ä\n"}))
        seen = done.stdout.decode()
        assert '"ONE": "1"' in seen
        assert "leaked" not in seen
        assert "HOME" not in seen

    def test_the_command_runs_in_the_given_folder(self, environment: Environment) -> None:
        with fresh(environment) as world:
            done = environment.run(shell(world, "pwd -P"))
            assert done.stdout.decode().strip() == world.values["WORKSPACE"]

    def test_no_signal_is_ignored_or_blocked(self, environment: Environment) -> None:
        """A Codex binary that inherits an ignored SIGINT could not be interrupted."""
        done = sh(environment, "grep -E '^Sig(Ign|Blk)' /proc/self/status")
        lines = done.stdout.decode().split()
        assert [int(word, 16) & ~(1 << 31 | 1 << 32) for word in lines[1::2]] == [0, 0]

    # ---- commands that cannot be started
    @pytest.mark.parametrize("program", ["/no/such/program", "/etc/passwd", "/"])
    def test_a_program_that_cannot_be_started_says_so(self, environment: Environment, program: str) -> None:
        done = environment.run(Command(argv=(program,), cwd="/", env={}))
        assert done.ended == "not-started"
        assert program in done.error

    def test_a_folder_that_is_not_there_says_so(self, environment: Environment) -> None:
        done = environment.run(Command(argv=("/bin/sh", "-c", "true"), cwd="/no/such/folder", env={}))
        assert done.ended == "not-started"
        assert "/no/such/folder" in done.error

    def test_no_words_at_all_are_no_command(self, environment: Environment) -> None:
        assert environment.run(Command(argv=(), cwd="/", env={})).ended == "not-started"

    # ---- endings
    def test_the_time_limit_ends_grandchildren_in_their_own_sessions_too(self, environment: Environment) -> None:
        word = f"sleeper{uuid.uuid4().hex}"
        script = f"(setsid sh -c 'sleep 1000; : {word}' &) ; setsid sh -c 'sleep 1000; : {word}' & sleep 1000"
        done = sh(environment, script, timeout=1.0, why="the sleepers")
        assert done.ended == "timeout"
        assert "the sleepers" in done.error
        assert processes_with(environment, word) == []

    def test_the_time_limit_keeps_what_was_printed(self, environment: Environment) -> None:
        done = sh(environment, "echo said; exec sleep 1000", timeout=4.0)
        assert (done.ended, done.stdout) == ("timeout", b"said\n")

    def test_a_process_that_outlives_the_command_is_named_and_ended(self, environment: Environment) -> None:
        word = f"lingerer{uuid.uuid4().hex}"
        started = time.monotonic()
        # A file shows that the process runs; only then does the command end.
        script = (
            f"(setsid sh -c ': >here; sleep 1000; : {word}' >/dev/null 2>&1 &); until [ -e here ]; do :; done; exit 7"
        )
        done = sh(environment, script)
        assert (done.ended, done.exit) == ("exit", 7)
        assert any(word in survivor for survivor in done.survivors), done
        assert processes_with(environment, word) == []
        assert time.monotonic() - started < GENEROUS

    def test_a_survivor_that_hides_its_environment_is_found(self, environment: Environment) -> None:
        word = f"hider{uuid.uuid4().hex}"
        script = f"(env -i setsid sh -c ': >here; sleep 1000; : {word}' &); until [ -e here ]; do :; done"
        done = sh(environment, script)
        assert any(word in survivor for survivor in done.survivors), done
        assert processes_with(environment, word) == []

    def test_a_quick_child_is_no_survivor(self, environment: Environment) -> None:
        done = sh(environment, "true & true & exit 0")
        assert (done.ended, done.survivors) == ("exit", ())

    def test_an_interrupt_reaches_the_whole_group_once_it_is_ready(self, environment: Environment) -> None:
        script = """
            import os, signal, sys, time

            def interrupted(number, frame):
                os.write(1, sys.argv[1].encode() + b"\\n" if child else b"inner\\n")
                if child:
                    os.waitpid(child, 0)
                os._exit(9)

            child = 1
            signal.signal(signal.SIGINT, interrupted)
            child = os.fork()
            if not child:
                os.write(1, b'\\x1ecx:%s:{"ready": {}}\\n' % sys.argv[2].encode())
            while True:
                time.sleep(1)
        """
        with fresh(environment) as world:
            done = environment.run(python(world, script, "outer", "n0nce", probe_nonce="n0nce", interrupt_after=0.2))
        assert (done.ended, done.exit) == ("exit", 9)
        assert sorted(done.stdout.splitlines()[1:]) == [b"inner", b"outer"]

    @pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    def test_a_signal_reaches_the_command_alone_if_asked(self, environment: Environment, number: int) -> None:
        script = """
            import os, sys, time

            if os.fork():
                os.write(1, b'\\x1ecx:n0nce:{"ready": {}}\\n')
            else:
                os.setpgid(0, 0)
            while True:
                time.sleep(1)
        """
        launch = Launch(signal=int(number), signal_alone=True)
        with fresh(environment) as world:
            done = environment.run(python(world, script, probe_nonce="n0nce", interrupt_after=0.2, launch=launch))
        assert (done.ended, done.signal) == ("signal", number)
        assert len(done.survivors) == 1

    def test_descriptors_are_left_open(self, environment: Environment) -> None:
        script = f"""
            import os

            os.chdir("/")

            os.close(os.open("below", os.O_CREAT | os.O_WRONLY, dir_fd={FIRST_DESCRIPTOR}))
            os.write({FIRST_DESCRIPTOR + 1}, b" and more")
            os.write({FIRST_DESCRIPTOR + 2}, b"through the socket\\n")
            print(os.read({FIRST_DESCRIPTOR + 2}, 99))
        """
        with fresh(environment) as world:
            file = f"{world.values['OUTSIDE']}/kept"
            environment.lay(world, [Given(kind="file", path=file, content="first")])
            words = (f"folder:{world.values['OUTSIDE']}", f"file:{file}", f"unix:{world.values['UNIX']}")
            done = environment.run(python(world, script, launch=Launch(descriptors=words)))
            seen = environment.look(world, [f"{world.values['OUTSIDE']}/below", file])
            below, kept = seen[f"{world.values['OUTSIDE']}/below"], seen[file]
        assert (done.exit, done.stdout) == (0, b"b'through the socket\\n'\n"), done
        assert (below.kind, kept.text) == ("file", "first and more")

    def test_nothing_else_is_left_open(self, environment: Environment) -> None:
        done = sh(environment, "ls /proc/self/fd")
        assert set(done.stdout.split()) - {b"3"} == {b"0", b"1", b"2"}, done

    def test_a_file_is_standard_input(self, environment: Environment) -> None:
        script = """
            import os, stat, sys, time

            found = b""
            while not found.endswith(b"\\n"):
                found += os.read(0, 99)
                time.sleep(0.01)
            print(stat.S_ISREG(os.fstat(0).st_mode), found)
        """
        with fresh(environment) as world:
            file = f"{world.values['OUTSIDE']}/growing"
            environment.lay(world, [Given(kind="file", path=file, content="")])
            done = environment.run(python(world, script, stdin=b"a line\n", launch=Launch(stdin_file=file)))
        assert done.stdout == b"True b'a line\\n'\n", done

    def test_a_terminal_is_the_commands_own(self, environment: Environment) -> None:
        script = """
            import os, sys

            here = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
            print([os.isatty(one) for one in (0, 1, 2)], os.tcgetpgrp(here) == os.getpgrp(), os.read(0, 5))
        """
        with fresh(environment) as world:
            done = environment.run(python(world, script, stdin=b"typed\n", launch=Launch(terminal=True)))
        assert (done.exit, done.stdout) == (0, b"[True, True, True] True b'typed'\n"), done

    def test_streams_are_closed_and_the_umask_is_anothers(self, environment: Environment) -> None:
        script = """
            import os, sys

            umask = os.umask(0)
            os.write(1, f"{sys.stdin is None} {umask:o}\\n".encode())
        """
        with fresh(environment) as world:
            done = environment.run(python(world, script, launch=Launch(closed=(0,), umask=0o7)))
        assert (done.exit, done.stdout) == (0, b"True 7\n"), done

    @pytest.mark.parametrize(
        ("launch", "before"),
        [
            (Launch(closed=(0,)), ()),
            (Launch(stdin_file="/dev/null"), ()),
            (Launch(), ("/bin/sh", "-c", 'exec "$@" </dev/null', "sh")),  # as a door may, without a word to the agent
        ],
        ids=["closed", "null", "null-on-the-way"],
    )
    def test_a_signal_lets_a_probe_without_stdin_go_on(
        self, environment: Environment, launch: Launch, before: tuple[str, ...]
    ) -> None:
        script = f"""
            import os, signal

            signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGUSR1}})
            os.write(1, b'\\x1ecx:n0nce:{{"ready": {{"go": "signal"}}}}\\n')
            os.write(1, b"%r" % (signal.sigtimedwait({{signal.SIGUSR1}}, {GENEROUS}) is not None))
        """
        with fresh(environment) as world:
            command = python(world, script, probe_nonce="n0nce", launch=launch)
            inner = command.argv
            done = environment.run(msgspec.structs.replace(command, argv=(*before, *inner), probe_argv=inner))
        assert (done.exit, done.stdout.splitlines()[1:]) == (0, [b"True"]), done
        assert len(done.readings) == 1

    # ---- several commands at once
    def test_commands_run_together_and_answers_keep_their_order(self, environment: Environment) -> None:
        """Each command waits for all others: run one after the other, they would never end."""
        count = 16
        with fresh(environment) as world:
            script = "touch {0}; until [ $(ls | wc -l) -ge {1} ]; do sleep 0.02; done; echo {0}"
            done = environment.run_together([shell(world, script.format(at, count)) for at in range(count)])
        assert [one.stdout for one in done] == [f"{at}\n".encode() for at in range(count)]

    def test_each_ends_by_its_own_limit(self, environment: Environment) -> None:
        with fresh(environment) as world:
            slow, quick = environment.run_together(
                [shell(world, "exec sleep 1000", timeout=1.0), shell(world, "sleep 2; echo done")]
            )
        assert (slow.ended, quick.ended, quick.stdout) == ("timeout", "exit", b"done\n")

    def test_nothing_together_is_nothing(self, environment: Environment) -> None:
        assert environment.run_together([]) == ()

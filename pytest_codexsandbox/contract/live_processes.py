"""Contract of live processes and byte streams."""

import signal

import pytest

from pytest_codexsandbox.contract.process_tools import GENEROUS, fresh, python, shell
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.protocols import Environment, SpawnedProcess, Stream


def line_of(source: SpawnedProcess | Stream) -> bytes:
    """Reads one line, in however many parts it arrives."""
    got = b""
    while not got.endswith(b"\n"):
        part = source.read(1, GENEROUS) if hasattr(source, "read") else source.receive(1, GENEROUS)
        assert part, got
        got += part
    return got


class LiveProcessContract:
    def test_a_live_process_answers_line_by_line(self, environment: Environment) -> None:
        with fresh(environment) as world:
            live = environment.spawn(shell(world, 'while read -r word; do echo "<$word>"; done; echo end >&2; exit 5'))
            for word in (b"one", b"two"):
                live.write(word + b"\n")
                assert line_of(live) == b"<" + word + b">\n"
            live.close_stdin()
            assert live.read_error(100, GENEROUS) == b"end\n"
            assert live.read(100, GENEROUS) == b""
            done = live.wait(GENEROUS)
            live.close()
        assert (done.ended, done.exit) == ("exit", 5)

    def test_its_pid_is_its_own(self, environment: Environment) -> None:
        with fresh(environment) as world:
            live = environment.spawn(shell(world, "echo $$; read -r word"))
            assert int(line_of(live)) == live.pid
            live.close()

    def test_silence_is_a_timeout_that_says_what_was_awaited(self, environment: Environment) -> None:
        with fresh(environment) as world:
            live = environment.spawn(shell(world, "exec sleep 1000"))
            with pytest.raises(TimeoutError, match="printed"):
                live.read(10, 0.2)
            with pytest.raises(TimeoutError, match="ended"):
                live.wait(0.2)
            live.close()

    def test_a_signal_reaches_it(self, environment: Environment) -> None:
        with fresh(environment) as world:
            live = environment.spawn(shell(world, "echo ready; exec sleep 1000"))
            assert line_of(live) == b"ready\n"
            live.signal(signal.SIGTERM)
            done = live.wait(GENEROUS)
            live.close()
        assert (done.ended, done.signal) == ("signal", signal.SIGTERM)

    def test_waiting_collects_unread_output(self, environment: Environment) -> None:
        with fresh(environment) as world:
            live = environment.spawn(shell(world, "head -c 1000000 /dev/zero; echo oops >&2"))
            done = live.wait(GENEROUS)
            live.close()
        assert (len(done.stdout), done.stderr, done.exit) == (1_000_000, b"oops\n", 0)

    def test_its_time_limit_ends_it(self, environment: Environment) -> None:
        with fresh(environment) as world:
            live = environment.spawn(shell(world, "exec sleep 1000", timeout=0.5))
            assert live.wait(GENEROUS).ended == "timeout"
            live.close()

    def test_closing_ends_all_that_it_started(self, environment: Environment) -> None:
        with fresh(environment) as world:
            live = environment.spawn(shell(world, "setsid sleep 1000 & echo $!; wait"))
            child = line_of(live).decode().strip()
            live.close()
            done = environment.run(shell(world, f"test -d /proc/{child} || echo gone"))
        assert done.stdout == b"gone\n"

    def test_closing_twice_is_fine(self, environment: Environment) -> None:
        with fresh(environment) as world:
            live = environment.spawn(shell(world, "true"))
            live.close()
            live.close()

    def test_a_program_that_cannot_be_spawned_is_an_error(self, environment: Environment) -> None:
        with fresh(environment) as world, pytest.raises(HarnessError, match="/no/such/folder"):
            environment.spawn(shell(world, "true", cwd="/no/such/folder"))

    # ---- terminals
    def test_a_terminal_is_one_and_has_a_size(self, environment: Environment) -> None:
        script = """
            import os, sys
            assert all(os.isatty(fd) for fd in (0, 1, 2))
            open("/dev/tty").close()
            for line in sys.stdin:
                size = os.get_terminal_size()
                print(size.lines, size.columns, flush=True)
            print("ended", flush=True)
        """
        with fresh(environment) as world:
            live = environment.spawn(python(world, script), pty=True)
            live.resize(33, 99)
            live.write(b"\n")
            seen = b""
            while b"33 99" not in seen:
                seen += live.read(100, GENEROUS)
            live.close_stdin()
            while b"ended" not in seen:
                seen += live.read(100, GENEROUS)
            assert live.wait(GENEROUS).exit == 0
            live.close()

    # ---- streams
    def test_streams_to_a_port_and_to_sockets_carry_bytes_both_ways(self, environment: Environment) -> None:
        with fresh(environment) as world:
            addresses = [f"unix:{world.values['UNIX']}", f"abstract:{world.values['ABSTRACT']}"]
            for address in addresses:
                stream = environment.dial(address)
                stream.send(b"word \xff\n")
                assert line_of(stream) == b"word \xff\n"
                stream.close()
            stream = environment.dial(f"tcp:{world.values['HTTP']}")
            stream.send(b"GET /token HTTP/1.1\r\nHost: x\r\n\r\n")
            got = b""
            while part := stream.receive(4096, GENEROUS):
                got += part
            assert got.endswith(b"\r\n\r\ntoken")
            stream.close()

    @pytest.mark.parametrize("address", ["tcp:1", "unix:/no/such/socket", "abstract:nobody-listens-here"])
    def test_an_unused_address_is_an_error(self, environment: Environment, address: str) -> None:
        with pytest.raises(HarnessError):
            environment.dial(address, GENEROUS)

    @pytest.mark.parametrize("address", ["", "tcp:", "tcp:http", "unix:relative", "carrier-pigeon:1"])
    def test_an_invalid_address_is_an_error(self, environment: Environment, address: str) -> None:
        with pytest.raises(HarnessError, match="no address"):
            environment.dial(address)

    def test_a_silent_stream_is_a_timeout(self, environment: Environment) -> None:
        with fresh(environment) as world:
            stream = environment.dial(f"unix:{world.values['UNIX']}")
            with pytest.raises(TimeoutError):
                stream.receive(10, 0.2)
            stream.close()

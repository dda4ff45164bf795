"""Contract of fresh worlds: what is set up exists, what is observed is correct, and nothing is left."""

import base64
import hashlib
import json
import posixpath
import uuid
import zlib
from pathlib import PurePosixPath

import pytest

from pytest_codexsandbox.contract.process_tools import GENEROUS, PATH, fresh, processes_with, python, shell
from pytest_codexsandbox.errors import HarnessError
from pytest_codexsandbox.model.act import PLACEHOLDERS, Given, PathState
from pytest_codexsandbox.model.base_acts import SEARCHED
from pytest_codexsandbox.model.command import Command
from pytest_codexsandbox.model.world import World
from pytest_codexsandbox.protocols import Environment

SQLITE = """
    import sqlite3, sys
    try:
        connection = sqlite3.connect(sys.argv[1], timeout=0)
        print(connection.execute("select * from t").fetchall())
    except sqlite3.Error as problem:
        print(problem)
"""

NOT_IN_A_CALL = ("PYTHON", "GUEST", "HIDDEN")  # the user's interpreter, our own programs outside, and a path of /proc
TELLING = ("codexsandbox", "outside", "probe", "cx-")


def one(environment: Environment, world: World, path: str) -> PathState:
    return environment.look(world, [path])[path]


class WorldContract:
    def test_a_world_names_every_placeholder(self, environment: Environment) -> None:
        with fresh(environment) as world:
            assert set(world.values) == set(PLACEHOLDERS) - {"NAME"}
            for name in ("HOME", "CODEX_HOME", "WORKSPACE", "OUTSIDE", "ROOT0", "SIBLING", "TMPDIR", "TMP", "SHM"):
                assert one(environment, world, f"@{name}@").kind == "dir", name
            root, sibling = PurePosixPath(world.values["ROOT0"]), PurePosixPath(world.values["SIBLING"])
            assert root.parent == sibling.parent

    def test_no_folder_of_a_world_lies_where_every_policy_may_write(self, environment: Environment) -> None:
        with fresh(environment) as world:
            for name in ("HOME", "CODEX_HOME", "WORKSPACE", "OUTSIDE", "ROOT0", "SIBLING"):
                assert not world.values[name].startswith(("/tmp/", "/dev/shm/", world.values["TMPDIR"] + "/"))

    def test_two_worlds_do_not_see_each_other(self, environment: Environment) -> None:
        with fresh(environment) as mine, fresh(environment) as theirs:
            assert mine.id != theirs.id
            environment.lay(
                mine, [Given(kind="file", path="@WORKSPACE@/@NAME@"), Given(kind="file", path="@TMP@/@NAME@")]
            )
            assert environment.litter(theirs, []) == ()
            assert one(environment, mine, "@TMP@/@NAME@").kind == "file"
            assert one(environment, theirs, "@TMP@/@NAME@").kind == "missing"
            assert one(environment, theirs, mine.fill("@WORKSPACE@/@NAME@")).kind == "unreadable"

    def test_a_cleared_world_is_gone_and_an_error_says_so(self, environment: Environment) -> None:
        with fresh(environment) as world:
            environment.lay(world, [Given(kind="file", path=f"@{top}@/@NAME@") for top in ("TMP", "SHM", "TMPDIR")])
            names = [world.fill(f"@{top}@/@NAME@") for top in ("TMP", "SHM", "TMPDIR")]
        with fresh(environment) as other:
            done = environment.run(shell(other, f"ls -d {world.folder} {' '.join(names)} 2>/dev/null"))
            assert done.stdout == b""
        with pytest.raises(HarnessError, match="cleared"):
            environment.look(world, ["@WORKSPACE@"])

    # ---- setting up and looking
    def test_a_created_file_is_seen(self, environment: Environment) -> None:
        given = [
            Given(kind="file", path="@WORKSPACE@/deep/er/file", content="text ä", mode=0o640),
            Given(kind="dir", path="@ROOT0@/folder", mode=0o555),
            Given(kind="symlink", path="@WORKSPACE@/link", content="@OUTSIDE@/target"),
            Given(kind="hardlink", path="@WORKSPACE@/hard", content="@WORKSPACE@/deep/er/file"),
        ]
        with fresh(environment) as world:
            environment.lay(world, given)
            environment.lay(world, given[1:])  # several acts may need the same thing
            file, folder, link, hard, top, none = environment.look(
                world, [*(laid.path for laid in given), "@WORKSPACE@", "@WORKSPACE@/none"]
            ).values()
            content = "text ä".encode()
            assert (file.kind, file.size, file.mode, file.text) == ("file", 7, 0o640, content.decode("latin-1"))
            assert file.sha256 == hashlib.sha256(content).hexdigest()
            assert (folder.kind, folder.mode, folder.names) == ("dir", 0o555, ())
            assert (link.kind, link.link) == ("symlink", world.fill("@OUTSIDE@/target"))
            assert hard.inode == file.inode
            assert top.names == ("deep", "hard", "link")
            assert none.kind == "missing"
            assert file.path == "@WORKSPACE@/deep/er/file"

    def test_a_look_never_follows_a_link(self, environment: Environment) -> None:
        given = [
            Given(kind="file", path="@OUTSIDE@/secret/file", content="secret"),
            Given(kind="symlink", path="@WORKSPACE@/link", content="@OUTSIDE@/secret/file"),
            Given(kind="symlink", path="@WORKSPACE@/folder", content="@OUTSIDE@/secret"),
        ]
        with fresh(environment) as world:
            environment.lay(world, given)
            link = one(environment, world, "@WORKSPACE@/link")
            assert (link.kind, link.text, link.sha256) == ("symlink", "", "")
            below = one(environment, world, "@WORKSPACE@/folder/file")
            assert below.kind == "unreadable"
            assert world.fill("@OUTSIDE@/secret") in below.error
            assert one(environment, world, "@WORKSPACE@/link/file").kind in ("missing", "unreadable")

    def test_a_subject_sees_neutral_names(self, environment: Environment) -> None:
        """Checks what a subject finds in its words, folder and variables: a Codex that confines only tests reads it."""
        with fresh(environment) as world:
            above = posixpath.dirname(world.folder)
            own = {name: value.removeprefix(above) for name, value in world.values.items() if name not in NOT_IN_A_CALL}
            names = [*own.values(), world.folder.removeprefix(above), world.fill("@NAME@")]
            assert [name for name in names for word in TELLING if word in name] == []

    def test_dots_are_words_and_lead_nowhere_else(self, environment: Environment) -> None:
        with fresh(environment) as world:
            environment.lay(world, [Given(kind="file", path="@OUTSIDE@/x", content="here")])
            assert one(environment, world, "@WORKSPACE@/../documents/./x").text == "here"
            assert one(environment, world, "@WORLD@/../../../etc/passwd").kind == "unreadable"

    def test_a_path_that_is_not_of_the_world_is_not_read(self, environment: Environment) -> None:
        with fresh(environment) as world:
            for path in ("/etc/passwd", "@TMP@/somebody-elses", "/"):
                seen = one(environment, world, path)
                assert (seen.text, seen.sha256) == ("", "")
                assert seen.kind in ("unreadable", "missing")

    def test_a_look_is_bounded_and_never_waits(self, environment: Environment) -> None:
        script = "mkfifo pipe; head -c 1000000 /dev/zero >big; mkdir many; cd many; for i in $(seq 300); do : >$i; done"
        with fresh(environment) as world:
            environment.run(shell(world, script))
            pipe, big, many = environment.look(
                world, ["@WORKSPACE@/pipe", "@WORKSPACE@/big", "@WORKSPACE@/many"]
            ).values()
            assert pipe.kind == "other"
            assert (big.size, len(big.text)) == (1_000_000, 4096)
            assert len(many.names) == 200

    # ---- databases
    def test_databases_are_as_they_were_asked_for(self, environment: Environment) -> None:
        given = [
            Given(kind="sqlite", path="@OUTSIDE@/plain.db"),
            Given(kind="sqlite-wal", path="@OUTSIDE@/wal.db"),
            Given(kind="sqlite-held", path="@OUTSIDE@/read.db", content="reader"),
            Given(kind="sqlite-held", path="@OUTSIDE@/locked.db"),
        ]
        row = "[('laid outside',)]"
        with fresh(environment) as world:
            environment.lay(world, given)
            for expected in ([row, row, row, "database is locked"],) * 2:  # looking must not release the lock
                files = [world.fill(laid.path) for laid in given]
                said = [environment.run(python(world, SQLITE, file)).stdout.decode().strip() for file in files]
                assert said == expected
                assert all(one(environment, world, laid.path).size > 0 for laid in given)
            assert {"read.db-wal", "read.db-shm"} <= set(one(environment, world, "@OUTSIDE@").names)
            assert one(environment, world, "@OUTSIDE@/read.db#rows").text == '["laid outside"]'

    # ---- leftovers
    def test_new_names_are_litter_unless_they_are_known(self, environment: Environment) -> None:
        with fresh(environment) as world:
            environment.lay(world, [Given(kind="dir", path="@WORKSPACE@/asked/for")])
            known = ["@WORKSPACE@/asked/for", "@ROOT0@/known"]
            assert environment.litter(world, known) == ()
            script = "touch new asked/for/inside ../data/known ../data/unknown ../home/.trace ../sibling/s"
            environment.run(shell(world, script))
            expected = {"@WORKSPACE@/new", "@ROOT0@/unknown", "@HOME@/.trace", "@SIBLING@/s"}
            assert set(environment.litter(world, known)) == expected

    def test_litter_is_found_wherever_it_is_searched(self, environment: Environment) -> None:
        with fresh(environment) as world:
            names = [world.fill(f"@{place}@/@NAME@") for place in SEARCHED]
            environment.run(shell(world, f"touch {' '.join(names)}"))
            name = world.fill("@NAME@")
            assert set(environment.litter(world, [])) == {f"@{place}@/{name}" for place in SEARCHED}

    def test_mount_points_that_a_call_leaves_are_reported_and_removed(self, environment: Environment) -> None:
        with fresh(environment) as world:
            environment.run(shell(world, "mkdir $TMPDIR/.agents", env={"PATH": PATH, "TMPDIR": world.values["TMPDIR"]}))
            assert environment.litter(world, []) == ("@TMPDIR@/.agents",)
            assert one(environment, world, "@TMPDIR@/.agents").kind == "missing"

    def test_folders_that_were_closed_are_cleared(self, environment: Environment) -> None:
        script = """
            import os
            for name, mode in (("a", 0o000), ("b", 0o555), ("c", 0o111)):
                os.makedirs(name + "/deep/er"); open(name + "/deep/file", "w").close(); os.symlink("/", name + "/link")
                os.chmod(name + "/deep", mode); os.chmod(name, mode)
        """
        with fresh(environment) as world:
            assert environment.run(python(world, script)).exit == 0
        with fresh(environment) as other:
            assert environment.run(shell(other, f"test -e {world.folder} || echo gone")).stdout == b"gone\n"

    # ---- files
    def test_a_file_that_was_put_can_be_read_back(self, environment: Environment) -> None:
        with fresh(environment) as world:
            path = world.fill("@WORKSPACE@/new/file")
            environment.put(path, b"\x00\xff" * 1000, 0o600)
            environment.put(path, b"again", 0o755)
            assert environment.get(path, 100) == b"again"
            assert one(environment, world, "@WORKSPACE@/new/file").mode == 0o755

    def test_getting_has_a_limit_and_says_what_it_cannot(self, environment: Environment) -> None:
        with fresh(environment) as world:
            path = world.fill("@WORKSPACE@/file")
            environment.put(path, b"x" * 101)
            assert len(environment.get(path, 101)) == 101
            with pytest.raises(HarnessError, match="larger than 100"):
                environment.get(path, 100)
            with pytest.raises(HarnessError, match="No such file"):
                environment.get(path + "-none", 100)
            with pytest.raises(HarnessError):
                environment.get(world.values["WORKSPACE"], 100)

    def test_neither_follows_a_link_that_a_subject_made(self, environment: Environment) -> None:
        with fresh(environment) as world:
            environment.run(
                shell(world, "ln -s ../documents folder; ln -s ../documents/x link; echo secret >../documents/x")
            )
            for path in ("@WORKSPACE@/folder/x", "@WORKSPACE@/link"):
                with pytest.raises(HarnessError):
                    environment.get(world.fill(path), 100)
                with pytest.raises(HarnessError):
                    environment.put(world.fill(path), b"changed")
            assert environment.get(world.fill("@OUTSIDE@/x"), 100) == b"secret\n"

    # ---- listeners
    def test_an_arrival_at_a_listener_is_recorded_by_its_exact_word(self, environment: Environment) -> None:
        script = """
            import socket, sys
            http, dns, path, name, word = sys.argv[1:]
            def say(family, kind, address, data):
                one = socket.socket(family, kind)
                one.connect(address); one.send(data); got = one.recv(4096); one.close()
                return got
            name_asked = bytes([len(word)]) + word.encode() + b"\\4test\\0"
            question = b"ab\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + name_asked + b"\\0\\1\\0\\1"
            inet, unix, stream = socket.AF_INET, socket.AF_UNIX, socket.SOCK_STREAM
            answers = [
                say(inet, stream, ("127.0.0.1", int(http)), b"GET /" + word.encode() + b" HTTP/1.0\\r\\n\\r\\n"),
                say(inet, socket.SOCK_DGRAM, ("127.0.0.1", int(dns)), question),
                say(inet, stream, ("127.0.0.1", int(dns)), len(question).to_bytes(2, "big") + question),
                say(unix, stream, "\\0" + name, word.encode() + b"\\n"),
            ]
            print(answers[0].startswith(b"HTTP/1.1 200"), *(a[-4:] == bytes([192, 0, 2, 7]) for a in answers[1:3]))
        """
        with fresh(environment) as world:
            word, values = world.fill("@NAME@", act="a-b"), world.values
            done = environment.run(
                python(world, script, values["HTTP"], values["DNS"], values["UNIX"], values["ABSTRACT"], word)
            )
            assert done.stdout == b"True True True\n", done.stderr
            assert environment.arrivals(word) == ("http", "dns-udp", "dns-tcp", "abstract")
            assert environment.arrivals(word[:-1]) == ()
            assert environment.arrivals(word + "-c") == ()

    # ---- the probe, stopped and inspected
    def test_a_waiting_probe_is_read_from_outside_and_then_goes_on(self, environment: Environment) -> None:
        with fresh(environment) as world:
            done = environment.run(_probe(world, "/bin/sh", "-c", '"$@"; exit 6', "sh"))
            assert (done.ended, done.exit) == ("exit", 6)
            assert b'"done": 1' in done.stdout
            assert hashlib.sha256(b"all of stdin").hexdigest().encode() in done.stdout
            (reading,) = done.readings
            assert [link.name for link in reading.chain] == ["sh"]
            assert reading.chain[0].sha256
            assert reading.stdout_is_ours
            assert reading.namespaces == reading.hand_namespaces
            assert {"mnt", "net", "pid", "user"} <= set(reading.namespaces)
            assert reading.filters == reading.hand_filters
            assert reading.cap_eff == reading.hand_cap_eff

    def test_output_of_other_programs_is_kept_apart(self, environment: Environment) -> None:
        with fresh(environment) as world:
            done = environment.run(_probe(world, "/bin/sh", "-c", '"$@" | cat', "sh"))
            (reading,) = done.readings
            assert not reading.stdout_is_ours

    def test_a_claim_to_be_ready_gives_no_reading(self, environment: Environment) -> None:
        word = f"claimer{uuid.uuid4().hex}"
        with fresh(environment) as world:
            script = f'printf \'\\036cx:n0nce:{{"ready": {{"pid": 1}}}}\\n\'; read -r go; echo "$go"; : {word}'
            done = environment.run(shell(world, script, probe_nonce="n0nce", probe_argv=("/no/such", "argv")))
            assert done.readings == ()
            assert done.stdout.endswith(b"go\n")
            silent = environment.run(shell(world, "cat", probe_nonce="n0nce", probe_argv=("x",), timeout=1.0))
            assert (silent.ended, silent.readings) == ("timeout", ())
        assert processes_with(environment, word) == []

    # ---- facts
    def test_facts_name_the_kernel_the_user_and_what_restricts_them(self, environment: Environment) -> None:
        facts = environment.facts()
        wanted = {
            "kernel",
            "arch",
            "distro",
            "distro_version",
            "uid",
            "gid",
            "lsms",
            "sysctls",
            "cap_eff",
            "cap_bnd",
            "seccomp",
            "no_new_privs",
            "uid_map",
            "container",
            "landlock_abi",
            "bwrap",
            "etc_codex",
            "private_tmp",
            "boot_id",
        }
        assert wanted <= set(facts)
        with fresh(environment) as world:
            done = environment.run(shell(world, "uname -r; id -u"))
        assert done.stdout.decode().split() == [facts["kernel"], str(facts["uid"])]
        json.dumps(dict(facts))


def _probe(world: World, *before: str) -> Command:
    acts = {"acts": [{"id": "t/stdin", "verb": "stdin", "path": "", "params": {}}]}
    plan = base64.b64encode(zlib.compress(json.dumps(acts).encode())).decode()
    inner = (world.values["PYTHON"], "-I", "-S", world.values["PROBE"], "n0nce", plan)
    return Command(
        argv=(*before, *inner),
        cwd=world.values["WORKSPACE"],
        env={"PATH": PATH},
        stdin=b"all of stdin",
        timeout=GENEROUS,
        probe_nonce="n0nce",
        probe_argv=inner,
    )

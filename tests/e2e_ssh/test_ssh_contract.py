"""A machine reached by SSH keeps the promises of all hosts; one machine, up once, is asked again and again."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from chaos.core.errors import DeadlineError, DeployError, UsageError

pytestmark = pytest.mark.e2e


def commands(host) -> str:
    """The command lines of all processes that the host sees."""
    return host.run("sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '", timeout_s=10).text


def until_gone(host, words: str) -> None:
    end = time.monotonic() + 10
    while words in commands(host).replace(f"sh -c {words}", ""):
        assert time.monotonic() < end, f"{words} is still there"


def test_run_gives_back_what_the_command_did(contract):
    host = contract("b1").hosts["b1"]
    done = host.run("sh", "-c", "cat; echo oops >&2; exit 3", stdin=b"in" * 200_000, timeout_s=20)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"in" * 200_000, b"oops\n")
    assert host.run("sh", "-c", "kill -9 $$", timeout_s=10).returncode == -signal.SIGKILL
    assert host.run("true", stdin=b"unread" * 100_000, timeout_s=10).returncode == 0
    missing = host.run("no-such-program", timeout_s=10)
    assert (missing.returncode, missing.stderr) == (127, b"no-such-program: No such file or directory")
    with pytest.raises(DeployError, match=r"sh -c .*: exit 3: oops"):
        done.check()
    with pytest.raises(UsageError, match="b1: a command line beyond 100 KiB"):
        host.run("echo", "x" * 300_000, timeout_s=10)
    odd = ("a b", "'", '"', "$HOME", "\\", "*", "", "ä\n;")
    assert host.run("printf", "[%s]", *odd, timeout_s=10).stdout.decode() == "".join(f"[{word}]" for word in odd)


def test_commands_see_a_clean_environment(contract, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("SECRET_OF_THE_HARNESS", "1")
    up = contract("b1")
    lines = up.hosts["b1"].run("env", timeout_s=10).text.splitlines()
    env = dict(line.split("=", 1) for line in lines)
    assert {"PATH", "LANG", "HOME", "TMPDIR", "CHAOS_RUN"} <= env.keys()
    assert env.keys() <= {"PATH", "LANG", "HOME", "TMPDIR", "CHAOS_RUN", "JAVA_HOME", "PWD", "XTABLES_LOCKFILE"} | {
        "CHAOS_OWNER", "CHAOS_COMMAND",
    }  # fmt: skip
    assert env["HOME"] == up.hosts["b1"].home == up.hosts["b1"].run("pwd", timeout_s=10).text
    assert "/usr/sbin" in env["PATH"].split(":")


def test_a_command_gets_three_descriptors(contract):
    host = contract("b1").hosts["b1"]
    for stdin in (b"", b"x"):
        assert host.run("sh", "-c", "ls /proc/$$/fd", stdin=stdin, timeout_s=10).text.split() == ["0", "1", "2"]


def test_many_commands_at_once_on_one_host(contract):
    host = contract("b1").hosts["b1"]
    answers: dict[int, str] = {}

    def ask(number: int) -> None:
        answers[number] = host.run("sh", "-c", f"cat; echo {number}", stdin=b"x", timeout_s=60).text

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: f"x{number}" for number in range(40)}


def test_a_timeout_kills_the_command_and_its_children(contract):
    host = contract("b1").hosts["b1"]
    children = "sleep 7531 & setsid sleep 7531 & sleep 7531"
    with pytest.raises(DeadlineError, match=r"waited 1 s for `sh -c sleep 7531.*` on b1"):
        host.run("sh", "-c", children, timeout_s=1)
    until_gone(host, "sleep 7531")
    assert host.run("echo", "still here", timeout_s=10).text == "still here"


def test_a_command_has_ended_when_its_process_has(contract):
    host = contract("b1").hosts["b1"]
    done = host.run("sh", "-c", "echo started; sleep 8642 & exit 0", timeout_s=10)
    assert done.stdout == b"started\n"
    assert "sleep 8642" in commands(host)


def test_output_has_a_bound(contract):
    host = contract("b1").hosts["b1"]
    with pytest.raises(DeployError, match="more than 64 MiB"):
        host.run("cat", "/dev/zero", timeout_s=120)
    until_gone(host, "cat /dev/zero")


def test_files_go_both_ways_whole_or_not_at_all(contract, tmp_path: Path):
    host = contract("b1").hosts["b1"]
    big = os.urandom(3 << 20)
    (tmp_path / "big").write_bytes(big)
    host.put(tmp_path / "big", f"{host.home}/deep/er/big", mode=0o755)
    assert host.run("stat", "-c", "%a", f"{host.home}/deep/er/big", timeout_s=10).text == "755"
    host.get(f"{host.home}/deep/er/big", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == big
    host.put(b"", f"{host.home}/empty")
    host.get(f"{host.home}/empty", tmp_path / "empty")
    assert (tmp_path / "empty").read_bytes() == b""
    with pytest.raises(FileNotFoundError, match="b1:/no/such"):
        host.get("/no/such", tmp_path / "none")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["back", "big", "empty"]
    assert ".partial" not in host.run("find", host.home, timeout_s=10).text
    with pytest.raises(DeployError, match=r"^b1: writing /proc/no/such/place: exit 1: mkdir: .*$"):
        host.put(b"x", "/proc/no/such/place")


def test_provided_folders_are_visible_on_hosts(contract, tmp_path: Path):
    up = contract("b1")
    (tmp_path / "given" / "below").mkdir(parents=True)
    (tmp_path / "given" / "below" / "file").write_text("content")
    (tmp_path / "given" / "program").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "given" / "program").chmod(0o755)
    for path in (up.backend.provide(tmp_path / "given"), up.backend.provide(tmp_path / "given")):
        assert up.hosts["b1"].run("cat", f"{path}/below/file", timeout_s=10).text == "content"
        assert up.hosts["b1"].run(f"{path}/program", timeout_s=10).text == "ran"


def test_a_backend_is_up_once(contract, tmp_path: Path):
    up = contract("b1")
    with pytest.raises(UsageError, match="up already"):
        up.backend.up("again", [], tmp_path)
    assert up.hosts["b1"].run("echo", "unharmed", timeout_s=10).text == "unharmed"

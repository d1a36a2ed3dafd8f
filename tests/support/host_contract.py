"""What a host owes to whoever runs commands on it, on every backend: each function is a test of one promise.

``gone(words)`` waits until no process of the run has these words in its command line, seen as the backend allows.
"""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from host_support import marked, until

from chaos.core.errors import DeadlineError, DeployError, UsageError
from cluster.host import Host

Gone = Callable[[str], None]


def gives_back_what_the_command_did(host: Host) -> None:
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


def gives_a_command_three_descriptors(host: Host) -> None:
    for stdin in (b"", b"x"):  # the shell's own; it opens nothing before
        assert host.run("sh", "-c", "ls /proc/$$/fd", stdin=stdin, timeout_s=10).text.split() == ["0", "1", "2"]


def takes_many_commands_at_once(host: Host) -> None:
    answers: dict[int, str] = {}

    def ask(number: int) -> None:
        answers[number] = host.run("sh", "-c", f"cat; echo {number}", stdin=b"x", timeout_s=60).text

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: f"x{number}" for number in range(40)}


def kills_what_a_command_started_when_its_time_is_up(host: Host, gone: Gone) -> None:
    children = "sleep 7531 & setsid sleep 7531 & sleep 7531"
    with pytest.raises(DeadlineError, match=r"waited 0\.5 s for `sh -c sleep 7531.*` on b1"):
        host.run("sh", "-c", children, timeout_s=0.5)
    gone("sleep 7531")
    assert host.run("echo", "still here", timeout_s=10).text == "still here"


def ends_a_command_with_its_process(host: Host) -> None:
    done = host.run("sh", "-c", "sleep 8642 & until pgrep -x sleep; do :; done; echo started", timeout_s=20)
    assert done.text.endswith("started")
    assert "8642" in host.run("sh", "-c", "cat /proc/[0-9]*/cmdline", timeout_s=10).text


def bounds_what_a_command_writes(host: Host, gone: Gone) -> None:
    with pytest.raises(DeployError, match="more than 64 MiB"):
        host.run("cat", "/dev/zero", timeout_s=120)
    gone("cat /dev/zero")


def copies_files_whole_or_not_at_all(host: Host, here: Path) -> None:
    big = os.urandom(3 << 20)
    (here / "big").write_bytes(big)
    host.put(here / "big", f"{host.home}/deep/er/big", mode=0o755)
    assert host.run("stat", "-c", "%a", f"{host.home}/deep/er/big", timeout_s=10).text == "755"
    host.get(f"{host.home}/deep/er/big", here / "back")
    assert (here / "back").read_bytes() == big
    host.put(b"", f"{host.home}/empty")
    host.get(f"{host.home}/empty", here / "empty")
    assert (here / "empty").read_bytes() == b""
    with pytest.raises(FileNotFoundError, match="b1:/no/such"):
        host.get("/no/such", here / "none")
    assert sorted(path.name for path in here.iterdir() if path.is_file()) == ["back", "big", "empty"]
    assert ".partial" not in host.run("find", host.home, timeout_s=10).text
    with pytest.raises(DeployError, match=r"^b1: writing /proc/no/such/place: exit 1: mkdir: .*$"):
        host.put(b"x", "/proc/no/such/place")


def tells_a_command_that_its_host_ended(host: Host, run_id: str, end: Callable[[], None], said: str) -> None:
    raised: list[DeployError] = []

    def wait() -> None:
        try:
            host.run("sleep", "600", timeout_s=600)
        except DeployError as error:
            raised.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    until(lambda: any("sleep 600" in line for line in marked(run_id).values()), "the command to run")
    end()
    waiting.join(20)
    assert [str(error) for error in raised] == [said]

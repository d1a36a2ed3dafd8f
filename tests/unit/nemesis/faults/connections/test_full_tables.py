"""Full queues and tables: what their programs find and send, and how what fills goes on and is ended."""

import json
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chaos.core.clock import Deadline
from cluster.network.connection_matrix import Tried
from nemesis.faults.connections import backlog, backlog_program, conntrack_program
from nemesis.faults.connections.backlog import BacklogParams
from nemesis.faults.connections.filler import filler
from nemesis.faults.params import read
from nemesis.faults.registry import faults

SERVER = """
import socket, threading
servers = [socket.create_server((host, 0)) for host in ("0.0.0.0", "127.0.0.1")]
print(*(server.getsockname()[1] for server in servers), flush=True)
threading.Event().wait()
"""
FILLER = """
import json, os, sys, time
orders = json.loads(sys.argv[1])
if "pid_file" in orders:
    if os.fork():
        sys.exit()
    os.setsid()
    open(orders["pid_file"], "w").write(f"{os.getpid()}\\n")
    time.sleep(60)
else:
    os.remove(orders["made"])
"""


@pytest.fixture
def server():
    """A process that listens for everybody on one port, and for itself on another: its pid and both."""
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as process:
        yield process.pid, *map(int, process.stdout.readline().split())
        process.kill()


def test_ports_are_those_on_which_the_process_listens_for_others(server):
    pid, port, own = server
    assert [found for found, _ in backlog_program.listeners(pid)] == [port]
    assert backlog_program.listeners(os.getppid()) == [] or port not in dict(backlog_program.listeners(os.getppid()))
    assert own != port


def test_the_option_of_another_process_is_set_and_set_back(server):
    pid, port, _ = server
    try:
        backlog_program.attempt()
    except OSError as error:
        pytest.skip(str(error))
    assert backlog_program.look(pid, [port]) == {"half": 0, "options": [0]}
    backlog_program.options(pid, [port], 600)
    held, all_taken = backlog_program.open_connections("127.0.0.1", port, 3)
    assert all_taken
    assert backlog_program.look(pid, [port])["half"] == 3, "they stay half-open"
    for one in held:
        one.close()
    backlog_program.options(pid, [port], 0)
    assert backlog_program.look(pid, [port]) == {"half": 0, "options": [0]}


def test_nothing_is_set_of_a_process_that_is_gone():
    assert backlog_program.look(2**22 + 1, [7000])["options"] == []
    backlog_program.main({"do": "back", "pid": 2**22 + 1, "ports": [7000], "option": 0})


def test_words_of_connections_to_a_full_port():
    timeout, ok, refused = Tried("timeout", 0, ""), Tried("ok", 0, "ok"), Tried("refused", 0, "")
    assert [backlog._never_began(one) for one in (timeout, ok, refused)] == [True, False, False]
    assert [backlog._answered(one) for one in (timeout, ok, refused)] == [False, True, True]
    assert read(BacklogParams, {"port": "7000", "most": "0"}) == BacklogParams(port=7000, most=0)


def attributes(data):
    found, at = {}, 0
    while at < len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        found[kind & 0x7FFF] = data[at + 4 : at + length]
        at += (length + 3) & ~3
    return found


def test_entries_are_of_nobody_and_each_is_another():
    seen = set()
    for number in (0, 1, 0x7FFF, 0x8000, 299_999):
        data = conntrack_program.entry(number, mark=77)
        assert struct.unpack_from("=I", data)[0] == len(data)
        held = attributes(data[20:])
        addresses = attributes(attributes(held[1])[1])
        ports = attributes(attributes(held[1])[2])
        assert addresses[1][0] in range(0xF0, 0xF1), "240.0.0.0/8 is nobody's"
        assert ports[1] == b"\x11"
        assert struct.unpack("!H", ports[2])[0] >= 1024
        back = attributes(attributes(held[2])[1])
        assert (back[1], back[2]) == (addresses[2], addresses[1])
        assert struct.unpack("!I", held[8])[0] == 77
        assert struct.unpack("!I", held[3])[0] == 0b1110, "answered, assured, confirmed"
        seen.add((addresses[1], ports[2]))
    assert len(seen) == 5


def test_the_first_error_of_the_kernel_counts():
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, kernel:
        assert conntrack_program.failure(ours) == 0
        kernel.send(struct.pack("=IHHIIi", 20, 2, 0, 0, 0, 0) + struct.pack("=IHHIIi", 20, 2, 0, 0, 0, -12))
        kernel.send(struct.pack("=IHHIIi", 20, 2, 0, 0, 0, -17))
        assert conntrack_program.failure(ours) == 12


class Here:
    """This machine, as far as a filler needs a host."""

    def put(self, source, target):
        Path(target).write_bytes(source)


def run(command):
    subprocess.run(command, check=True, timeout=60)


def test_what_fills_goes_on_until_it_is_ended_and_leaves_nothing(tmp_path):
    program, made = tmp_path / "program.py", tmp_path / "made"
    program.write_text(FILLER)
    made.touch()
    file = tmp_path / "it"
    fill, back = filler(Here(), str(file), program, {}, {"made": str(made)})
    run(fill)
    deadline = Deadline("the program", 20)
    while not (file.exists() and file.read_text().endswith("\n")):
        deadline.check()
        time.sleep(0.02)
    pid = int(file.read_text())
    assert json.loads(Path(f"{file}.fill").read_text()) == {"pid_file": str(file)}
    run(back)
    assert not Path(f"/proc/{pid}").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program.py"]
    run(back)


def test_a_process_that_has_its_pid_by_chance_is_left_alone(tmp_path):
    program, made = tmp_path / "program.py", tmp_path / "made"
    program.write_text(FILLER)
    made.touch()
    file = tmp_path / "it"
    _, back = filler(Here(), str(file), program, {}, {"made": str(made)})
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            file.write_text(f"{other.pid}\n")
            run(back)
            assert other.poll() is None
            assert not made.exists()
        finally:
            other.kill()


def test_they_are_no_part_of_all():
    assert not any(faults()[name].in_all for name in ("backlog", "conntrack", "swap-disks"))

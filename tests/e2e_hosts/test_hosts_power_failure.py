"""Power failures on hosts: what was not synced is gone and nothing else, seen by programs that know of no fault."""

import threading

import pytest
from disk_nodes import RUN, fault, listing, nodes_up, python
from test_hosts_nemesis import healed, in_force

from chaos.core.clock import Deadline
from cluster.nodes import process
from nemesis.faults.disks.diskfs.disk_checks import NodeDisks
from nemesis.faults.disks.diskfs.mounts import DISKS, disks_of, obstacle

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

# Writes a record every few milliseconds, tells each once it is synced, and has more that never are; and a map.
SERVER = b"""
import mmap, os, time
os.chdir("data")
log = open("log", "ab", buffering=0)
loose = open("loose", "ab", buffering=0)
with open("map", "a+b") as file:
    file.truncate(1 << 20)
    os.fsync(file.fileno())
    whole = mmap.mmap(file.fileno(), 1 << 20)
print("serving", flush=True)
for number in range(1 << 30):
    loose.write(b"%08d" % number)
    log.write(b"%08d" % number)
    os.fsync(log.fileno())
    whole[:8] = b"%08d" % number
    if number % 10 == 0:
        whole.flush()
    whole[4096 * 100:4096 * 100 + 8] = b"%08d" % number
    print("synced", number, number // 10 * 10, flush=True)
    time.sleep(0.01)
"""
BEGIN = """
import os
def write(name, content, sync=False):
    with open(name, "wb", buffering=0) as file:
        file.write(content)
        if sync:
            os.fsync(file.fileno())
def sync_folder(path="."):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
"""


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    with nodes_up(tmp_path_factory.mktemp("nodes"), SERVER) as (cluster, client):
        yield cluster, client


@pytest.fixture
def disk(up):
    """One disk, with nothing on it that is not durable, and nothing that writes to it."""
    node = up[0].nodes["b3"]
    process.kill(node)
    python(node, "import os, shutil\nfor n in os.listdir('.'): shutil.rmtree(n) if os.path.isdir(n) else os.remove(n)")
    (one,) = disks_of(node)
    one.ask("sync")
    yield node, one
    process.start(node, RUN)
    process.await_ready(node, Deadline("b3", 30))


def told(node):
    """The last record that the node's process told to be synced, and the last of its map."""
    lines = node.host.run("tail", "-n", "2", f"{node.host.home}/{process.STDOUT}", timeout_s=10).text.splitlines()
    whole = next(line for line in reversed(lines) if len(line.split()) == 3)
    return tuple(map(int, whole.split()[1:]))


def test_what_was_not_synced_is_gone_and_what_was_is_there(up, tmp_path):
    cluster, _ = up
    node, others = cluster.nodes["b2"], [cluster.nodes[name] for name in ("b1", "b3")]
    before = {one.name: process.state(one) for one in others}
    with fault(up, tmp_path, "leader-power-failure") as run:
        event = in_force(run)
        assert event.targets == ("b2",)
        assert "of 65,536 bytes written without a sync 0 are left, a synced file is whole" in event.evidence.summary
        assert process.state(node).gone
        last, mapped = told(node)
        files = listing(node)
        records = len(files["log"]) // 8
        assert records in (last + 1, last + 2), "every record that was told is there, and at most the one under way"
        assert files["log"][-8:] == b"%08d" % (records - 1)
        assert int(files["map"][:8]) >= mapped, "what msync made durable"
        assert int(files["map"][:8]) % 10 == 0, "and nothing after it"
        assert len(files["loose"]) < len(files["log"]), "never synced"
        assert {one.name: process.state(one) for one in others} == before
        least = {one.name: 8 * told(one)[0] for one in others}
        assert all(len(listing(one)["loose"]) >= least[one.name] for one in others), "nothing of theirs is lost"
        end = healed(run)
    assert "its disk works" in end.evidence.summary
    assert not any(name.startswith(".chaos") for name in listing(node))


def test_a_kill_alone_loses_nothing(up, tmp_path):
    cluster, _ = up
    with fault(up, tmp_path, "leader-kill") as run:
        in_force(run)
        node = cluster.nodes["b2"]
        assert int(listing(node)["loose"][-8:]) >= told(node)[0]
        healed(run)


def test_all_nodes_at_once(up, tmp_path):
    cluster, _ = up
    with fault(up, tmp_path, "all-power-failure") as run:
        event = in_force(run)
        assert event.targets == ("b1", "b2", "b3")
        for node in cluster.nodes.values():
            files = listing(node)
            assert process.state(node).gone
            assert len(files["loose"]) < len(files["log"])
            assert len(files["log"]) // 8 >= told(node)[0] + 1
        healed(run)
    assert all(process.state(node).alive for node in cluster.nodes.values())


def test_a_share_of_the_unsynced_blocks_may_have_reached_the_disk(disk):
    node, one = disk
    python(node, f"{BEGIN}\nwrite('blocks', bytes(4096 * 1000), True)")
    python(node, "file = open('blocks', 'r+b')\nfile.write(b'x' * 4096 * 1000)\nfile.close()")
    one.ask("drop", 30)
    content = listing(node)["blocks"]
    assert len(content) == 4096 * 1000
    assert 200 <= sum(content[at] == ord("x") for at in range(0, len(content), 4096)) <= 400
    assert all(len(set(content[at : at + 4096])) == 1 for at in range(0, len(content), 4096)), "blocks are whole"


@pytest.mark.parametrize(
    ("program", "left"),
    [
        pytest.param("write('a', b'1')", {}, id="a new file"),
        pytest.param("write('a', b'1', True)", {"a": b"1"}, id="a new file that was synced"),
        pytest.param("write('a', b'1'); write('b', b'2', True)", {"a": b"", "b": b"2"}, id="names before a sync"),
        pytest.param("write('a', b'1'); sync_folder()", {"a": b""}, id="a synced folder"),
        pytest.param("write('a', b'1', True); os.rename('a', 'b')", {"a": b"1"}, id="a rename"),
        pytest.param("write('a', b'1', True); os.rename('a', 'b'); sync_folder()", {"b": b"1"}, id="a synced rename"),
        pytest.param(
            "write('a', b'1', True); write('b', b'2', True); os.rename('b', 'a')",
            {"a": b"1", "b": b"2"},
            id="a replacement",
        ),
        pytest.param(
            "write('a', b'1', True); write('b', b'2'); os.rename('b', 'a'); sync_folder()",
            {"a": b""},
            id="a replacement whose bytes were not synced",
        ),
        pytest.param("write('a', b'1', True); os.remove('a')", {"a": b"1"}, id="a removal"),
        pytest.param("write('a', b'1', True); os.remove('a'); sync_folder()", {}, id="a synced removal"),
        pytest.param(
            "write('a', b'12345678', True); os.truncate('a', 3)", {"a": b"12345678"}, id="bytes that were cut off"
        ),
        pytest.param(
            "write('a', b'1234', True); f = os.open('a', os.O_RDWR); os.pwrite(f, b'zz', 1); os.pwrite(f, b'y', 9000)",
            {"a": b"1234"},
            id="bytes that were overwritten and appended",
        ),
        pytest.param(
            "f = os.open('a', os.O_CREAT | os.O_RDWR | os.O_DSYNC); os.write(f, b'12')", {"a": b"12"}, id="O_DSYNC"
        ),
        pytest.param(
            "os.makedirs('d/e'); write('d/e/a', b'1', True); os.rename('d', 'f')", {"d/e/a": b"1"}, id="folders"
        ),
        pytest.param("write('a', b'1', True); os.link('a', 'b')", {"a": b"1"}, id="a link"),
    ],
)
def test_what_each_operation_leaves(disk, program, left):
    """As on ext4 and XFS, but that a replacement syncs no bytes by itself."""
    node, one = disk
    python(node, f"{BEGIN}\n{program}")
    one.ask("drop")
    assert listing(node) == left
    one.ask("drop")
    assert listing(node) == left, "what is left is durable"


def test_what_waits_for_long_is_written_back(disk):
    node, one = disk
    python(node, f"{BEGIN}\nwrite('a', b'1')")
    one.ask("written-back-after", 0.1)
    deadline = Deadline("everything to be written back", 20)
    while one.ask("unsynced")["names"] != "0":
        deadline.check()
        threading.Event().wait(0.1)
    one.ask("drop")
    one.ask("written-back-after", 30)
    assert listing(node) == {"a": b"1"}


def test_a_failure_without_effect_is_not_proven(disk):
    node, one = disk
    disks = NodeDisks(node, "token")
    disks.write_canary()
    assert disks.canary_lost() == (
        False,
        "of 65,536 bytes written without a sync 65,536 are left, a synced file is whole",
    )
    one.ask("drop")
    assert disks.canary_lost()[0]


def test_what_is_written_to_a_stopped_disk_never_was_and_its_writer_hears_nothing(disk):
    node, _ = disk
    disks = NodeDisks(node, "token")
    disks.stop()
    argv = ("sh", "-c", f'cd "{node.host.home}/data"; (echo 1 >a; echo told >../told) & echo $!')
    pid = node.host.run(*argv, timeout_s=20).check().text
    assert node.host.run("cat", f"/proc/{pid}/cmdline", timeout_s=10).returncode == 0
    node.host.run("kill", "-KILL", pid, timeout_s=10).check()
    deadline = Deadline("the writer to end", 10)
    while node.host.run("test", "-d", f"/proc/{pid}", timeout_s=10).returncode == 0:
        deadline.check()
    disks.go_on()
    disks.go_on()
    assert listing(node) == {}
    assert node.host.run("test", "-e", f"{node.host.home}/told", timeout_s=10).returncode != 0


def test_without_its_file_system_a_node_is_not_healed(tmp_path):
    with nodes_up(tmp_path, SERVER) as up, fault(up, tmp_path, "leader-power-failure") as run:
        node = up[0].nodes["b2"]
        in_force(run)
        DISKS.disarm(node)
        run.stop.set()
        events = run.finish()
        assert not events[-1].evidence.proven
        assert run.nemesis.unhealed() == (1,)
        DISKS.arm(node)


def test_disarming_leaves_the_files_and_nothing_else(tmp_path):
    with nodes_up(tmp_path, SERVER) as (cluster, _):
        node = cluster.nodes["b1"]
        process.kill(node)
        before = listing(node)
        mounted = node.host.run("cat", "/proc/self/mounts", timeout_s=10).text
        assert f"diskfs {node.host.home}/data fuse.diskfs" in mounted
        DISKS.disarm(node)
        DISKS.disarm(node)
        assert "fuse.diskfs" not in node.host.run("cat", "/proc/self/mounts", timeout_s=10).text
        assert listing(node) == before
        assert obstacle(node.host) is None, "and hosts can be tried, whatever was mounted there before"

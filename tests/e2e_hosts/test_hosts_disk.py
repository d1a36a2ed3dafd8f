"""Faults of disks on hosts: what they do to programs that know of no fault, and that nothing of them is left."""

import errno
import json
import threading

import pytest
from disk_nodes import RUN, fault, listing, nodes_up, python
from test_hosts_nemesis import healed, in_force

from chaos.core.clock import Deadline
from cluster.nodes import process
from nemesis.faults.disks.diskfs.mounts import disks_of

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

# Appends and syncs records, renames a file over another after each tenth, and goes on whatever fails.
SERVER = b"""
import os, time
os.chdir("data")
done = {"fsync": 0, "rename": 0}
print("serving", flush=True)
for number in range(1 << 30):
    try:
        with open("log", "ab", buffering=0) as log:
            log.write(b"%08d" % number)
            print("asked fsync", done["fsync"] + 1, flush=True)
            os.fsync(log.fileno())
            done["fsync"] += 1
        if number % 10 == 9:
            with open("mark.new", "wb") as mark:
                mark.write(b"%d" % number)
            print("asked rename", done["rename"] + 1, flush=True)
            os.rename("mark.new", "mark")
            done["rename"] += 1
    except OSError as error:
        print("failed", error.errno, flush=True)
    time.sleep(0.01)
"""
DO = """
import json, os, sys, time
def attempt(word, action):
    began = time.monotonic()
    try:
        action()
        said = "ok"
    except OSError as error:
        said = error.errno
    return word, [said, time.monotonic() - began]
held = os.open("held", os.O_RDWR | os.O_CREAT)
def read():
    with open("old", "rb") as file:
        file.read()
print(json.dumps(dict([
    attempt("write", lambda: os.write(held, b"x" * 5000)),
    attempt("fsync", lambda: os.fsync(held)),
    attempt("read", read),
    attempt("create", lambda: os.close(os.open("new", os.O_CREAT | os.O_EXCL))),
    attempt("rename", lambda: os.rename("old", "older")),
    attempt("back", lambda: os.rename("older", "old")),
    attempt("truncate", lambda: os.truncate("old", 2)),
    attempt("remove", lambda: os.remove("new" if os.path.exists("new") else "old")),
    attempt("open", lambda: os.close(os.open("held", os.O_WRONLY))),
])))
"""
PREPARE = "open('old', 'w').write('12345'); open('held', 'w').close()"


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    with nodes_up(tmp_path_factory.mktemp("nodes"), SERVER) as (cluster, client):
        yield cluster, client


def done(node):
    """What becomes of each kind of operation on the node's disk: "ok" or the errno, and how long it took."""
    return json.loads(python(node, DO))


def without_times(found):
    return {word: said for word, (said, _) in found.items()}


ALL_OK = dict.fromkeys(("write", "fsync", "read", "create", "rename", "back", "truncate", "remove", "open"), "ok")
FULL = ALL_OK | {"write": errno.ENOSPC, "create": errno.ENOSPC}
CHANGES = ("write", "create", "rename", "back", "truncate", "remove", "open")
READ_ONLY = ALL_OK | dict.fromkeys(CHANGES, errno.EROFS) | {"back": errno.ENOENT}


@pytest.mark.parametrize(
    ("nemesis", "expected", "said"),
    [
        ("disk-full", FULL, "10 of 10 writes fail with ENOSPC, 0 blocks are free"),
        ("disk-error", ALL_OK | {"fsync": errno.EIO}, "100 of 100 fsyncs fail with EIO"),
        ("disk-error:op=read", ALL_OK | {"read": errno.EIO}, "100 of 100 reads fail with EIO"),
        ("disk-error:op=write", ALL_OK | {"write": errno.EIO}, "100 of 100 writes fail with EIO"),
    ],
)
def test_what_fails_and_what_does_not(nemesis, expected, said, up, tmp_path):
    cluster, _ = up
    hit, other = cluster.nodes["b2"], cluster.nodes["b1"]
    for node in (hit, other):
        python(node, PREPARE)
    with fault(up, tmp_path, f"leader-{nemesis}") as run:
        assert said in in_force(run).evidence.summary
        assert without_times(done(hit)) == expected
        python(other, PREPARE)
        assert without_times(done(other)) == ALL_OK, "others are not touched"
        healed(run)
    python(hit, PREPARE)
    assert without_times(done(hit)) == ALL_OK
    assert not any(name.startswith(".chaos") for name in listing(hit))


def test_a_read_only_disk_takes_nothing_and_gives_everything(up, tmp_path):
    cluster, _ = up
    hit = cluster.nodes["b2"]
    python(hit, PREPARE)
    opened = DO.replace("os.O_RDWR | os.O_CREAT", "os.O_RDONLY").replace("os.write(held", "os.write(os.open('held', 1)")
    with fault(up, tmp_path, "leader-disk-read-only") as run:
        assert "10 of 10 writes fail with EROFS, 10 reads work" in in_force(run).evidence.summary
        assert without_times(json.loads(python(hit, opened))) == READ_ONLY
        healed(run)
    python(hit, PREPARE)
    assert without_times(done(hit)) == ALL_OK


def test_a_slow_disk_is_slow_by_what_was_asked_for(up, tmp_path):
    cluster, _ = up
    hit = cluster.nodes["b2"]
    python(hit, PREPARE)
    with fault(up, tmp_path, "leader-disk-slow:delay_ms=150") as run:
        in_force(run)
        found = done(hit)
        assert without_times(found) == ALL_OK
        assert all(found[word][1] >= 0.15 for word in ("write", "fsync", "read"))
        assert min(found[word][1] for word in ("create", "rename", "back", "open")) < 0.15
        healed(run)


def test_a_stalled_sync_comes_back_at_the_end_and_writes_go_on(up, tmp_path):
    cluster, _ = up
    hit = cluster.nodes["b2"]
    python(hit, PREPARE)
    with fault(up, tmp_path, "leader-disk-stall") as run:
        assert "a sync took more than 1 s" in in_force(run).evidence.summary
        ended = threading.Event()
        thread = threading.Thread(target=lambda: (python(hit, DO), ended.set()))
        thread.start()
        assert not ended.wait(1)
        assert "held" in listing(hit), "reads go on"
        assert len(listing(hit)["held"]) == 5000, "writes go on"
        healed(run)
        assert ended.wait(20)
        thread.join()


def test_half_of_a_write_is_written_and_said_to_be(up, tmp_path):
    cluster, _ = up
    hit = cluster.nodes["b2"]
    with fault(up, tmp_path, "leader-disk-short-write:share=1") as run:
        assert "100 of 100 writes wrote half" in in_force(run).evidence.summary
        assert python(hit, "import os; print(os.write(os.open('half', os.O_CREAT | os.O_RDWR), b'12345678'))") == "4"
        assert listing(hit)["half"] == b"1234"
        healed(run)


# Of each file how many of eight bytes a write took, how the sync of it went, and how long both took.
WRITE_EACH = """
import json, os, sys, time
os.makedirs("sub", exist_ok=True)
def tried(name):
    fd, began = os.open(name, os.O_RDWR | os.O_CREAT), time.monotonic()
    wrote = os.write(fd, b"12345678")
    try:
        os.fsync(fd)
        said = 0
    except OSError as error:
        said = error.errno
    return wrote, said, time.monotonic() - began
print(json.dumps([tried(name) for name in sys.argv[1:]]))
"""


def tried(node, *names):
    return json.loads(python(node, WRITE_EACH, *names))


@pytest.mark.parametrize(
    ("nemesis", "is_hit"),
    [
        ("disk-error", lambda one: one[1] == errno.EIO),
        ("disk-short-write:share=1", lambda one: one[0] == 4),
        ("disk-slow:delay_ms=300", lambda one: one[2] >= 0.6),
    ],
)
def test_only_files_like_the_pattern_are_hit(nemesis, is_hit, up, tmp_path):
    hit = up[0].nodes["b2"]
    join = "," if ":" in nemesis else ":"
    with fault(up, tmp_path, f"leader-{nemesis}{join}path=*.wal") as run:
        in_force(run)
        assert [is_hit(one) for one in tried(hit, "a.wal", "sub/b.wal", "a.log", "sub/wal")] == [
            True,
            True,
            False,
            False,
        ]
        assert not any(is_hit(one) for one in tried(up[0].nodes["b1"], "a.wal"))
        healed(run)
    assert not any(is_hit(one) for one in tried(hit, "a.wal", "sub/b.wal"))


def test_syncs_of_files_like_the_pattern_stall_and_no_other(up, tmp_path):
    hit = up[0].nodes["b2"]
    with fault(up, tmp_path, "leader-disk-stall:path=*.wal") as run:
        in_force(run)
        ended = threading.Event()
        thread = threading.Thread(target=lambda: (tried(hit, "a.wal"), ended.set()))
        thread.start()
        assert tried(hit, "a.log")[0][:2] == [8, 0]
        assert not ended.wait(1)
        healed(run)
        assert ended.wait(20)
        thread.join()


@pytest.mark.parametrize(("pattern", "lasts"), [("lo?", True), ("*.nowhere", False)])
def test_a_pattern_is_proven_only_if_files_like_it_were_hit(pattern, lasts, up, tmp_path):
    with fault(up, tmp_path, f"leader-disk-error:path={pattern}") as run:
        in_force(run)
        (injection,) = run.nemesis._unhealed
        seen = injection.fault.verify_still()
        assert seen.proven == lasts, seen
        assert seen.summary.endswith(f" operations on files like {pattern} were hit")
        assert (f", 0 operations on files like {pattern} " in seen.summary) != lasts
        healed(run)


def test_a_pattern_that_would_hit_the_file_of_the_probe_is_refused(up, tmp_path):
    with fault(up, tmp_path, "leader-disk-error:path=.chaos*", 30) as run:
        assert "a file of ours for the proof" in run.await_stage("broke").note
        run.stop.set()
        assert run.finish()[-1].evidence.proven


@pytest.mark.parametrize(("pattern", "comes"), [("lo?", True), ("mark*", False)])
def test_a_node_is_killed_at_the_kth_sync_of_files_like_the_pattern(pattern, comes, tmp_path):
    with (
        nodes_up(tmp_path, SERVER) as up,
        fault(up, tmp_path, f"leader-crash-at-fsync:path={pattern},nth=2", 60) as run,
    ):
        if comes:
            assert f"killed at its fsync number 2 of files like {pattern}" in in_force(run).evidence.summary
            assert process.state(up[0].nodes["b2"]).gone
            healed(run)
        else:
            assert f"to come to its fsync number 2 of files like {pattern}" in run.await_stage("broke").note
            run.stop.set()
            assert run.finish()[-1].evidence.proven


@pytest.mark.parametrize("nemesis", ["disk-error:share=0", "disk-short-write:share=0"])
def test_at_zero_nothing_happens_and_it_is_not_proven(nemesis, up, tmp_path):
    cluster, _ = up
    hit = cluster.nodes["b2"]
    python(hit, PREPARE)
    with fault(up, tmp_path, f"leader-{nemesis}") as run:
        assert not run.await_stage("active").evidence.proven
        (disk,) = disks_of(hit)
        assert disk.ask("rules")["rules"] == "0"
        assert without_times(done(hit)) == ALL_OK
        run.stop.set()
        assert run.finish()[-1].evidence.proven


def test_a_share_fails(up, tmp_path):
    cluster, _ = up
    hit = cluster.nodes["b2"]
    program = """
import os
fd, failed = os.open("many", os.O_CREAT | os.O_RDWR), 0
for _ in range(2000):
    try:
        os.pwrite(fd, b"x", 0)
    except OSError:
        failed += 1
print(failed)
"""
    with fault(up, tmp_path, "leader-disk-error:op=write,share=0.2") as run:
        in_force(run)
        assert 320 <= int(python(hit, program)) <= 480
        healed(run)
    assert python(hit, program) == "0"


@pytest.mark.parametrize(("word", "nth"), [("fsync", 7), ("rename", 3)])
def test_a_node_is_killed_exactly_at_the_kth(word, nth, up, tmp_path):
    cluster, _ = up
    hit = cluster.nodes["b2"]
    process.kill(hit)
    python(hit, "open('log', 'w').close()")
    process.start(hit, RUN)
    process.await_ready(hit, Deadline("b2", 30))
    (disk,) = disks_of(hit)
    with fault(up, tmp_path, f"leader-crash-at-{word}:nth={nth}") as run:
        event = in_force(run)
        assert f"killed at its {word} number {nth}" in event.evidence.summary
        assert process.state(hit).gone
        lines = hit.host.run("cat", f"{hit.host.home}/{process.STDOUT}", timeout_s=10).text.splitlines()
        asked = [int(line.split()[2]) for line in lines[lines.index("serving") :] if line.startswith(f"asked {word}")]
        assert lines[-1].startswith(f"asked {word} "), "it heard nothing of the operation that it was killed at"
        if word == "fsync":
            assert len(listing(hit)["log"]) % 8 == 0
            assert listing(hit)["log"][-8:] == b"%08d" % (asked[-1] - 2), "the one before is there, this one is not"
        assert disk.ask("unsynced")["names"] == "0"
        healed(run)
    assert process.state(hit).alive


def test_a_node_that_never_renames_is_not_hit(tmp_path):
    idle = b"import time\nprint('serving', flush=True)\ntime.sleep(1000)\n"
    with nodes_up(tmp_path, idle) as up, fault(up, tmp_path, "leader-crash-at-rename", 60) as run:
        assert "to come to its rename number 1" in run.await_stage("broke").note
        run.stop.set()
        assert run.finish()[-1].evidence.proven, "healed"
        assert process.state(up[0].nodes["b2"]).alive


def test_a_process_that_ended_by_its_disk_is_started_again(tmp_path):
    fragile = SERVER.replace(b'print("failed", error.errno, flush=True)', b"raise")
    with nodes_up(tmp_path, fragile) as up, fault(up, tmp_path, "leader-disk-error") as run:
        in_force(run)
        deadline = Deadline("the process to end by the error", 20)
        while process.state(up[0].nodes["b2"]).alive:
            deadline.check()
        assert "its process had ended and serves after" in healed(run).evidence.summary
        assert process.state(up[0].nodes["b2"]).alive

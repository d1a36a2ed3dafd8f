"""A simulated disk does what the kernel does, and a crash leaves what it may leave."""

import errno
from pathlib import Path
from random import Random

import pytest

from cluster.disk_operations import FSYNC, WRITE
from cluster.simulation.disk import BLOCK, DiskRule, SimulatedDisk
from cluster.systems.minimq.storage.files import KernelFiles

FOLDER = Path("/data")
FILE = FOLDER / "log"


def disk_with(data=b"", seed=1):
    disk = SimulatedDisk(Random(seed))
    disk.make_folder(FOLDER)
    disk.put(str(FILE), data)
    return disk


def held(disk):
    return disk.held([str(FOLDER)])


def rule(**values):
    usual = {"ops": WRITE, "action": "error", "value": errno.EIO, "share": 1.0, "skip": 0, "times": 0}
    return DiskRule(**{**usual, "applies": lambda path: True, **values})


def steps(draw, files, folder, opened):
    """One random operation, done to whatever has files; what came of it."""
    name = folder / draw.choice("abc")
    kind = draw.choice(["anew", "open", "write", "write", "cut", "sync", "close", "rename", "remove", "names", "read"])
    fd = draw.choice(opened) if opened else None
    size, data = draw.randrange(20), draw.randbytes(draw.randrange(9))
    target = folder / draw.choice("abc")
    try:
        if kind == "anew":
            files.write_anew(name, data)
        elif kind == "open":
            opened.append(files.open(name))
        elif kind == "rename":
            files.rename(name, target)
        elif kind == "remove":
            files.remove(name)
        elif kind == "names":
            return files.names(folder)
        elif kind == "read":
            return files.read(name)
        elif fd is None:
            return None
        elif kind == "write":
            return files.write_at(fd, data, size)
        elif kind == "cut":
            files.cut(fd, size)
        elif kind == "sync":
            files.sync(fd)
        else:
            opened.remove(fd)
            files.close(fd)
    except OSError as error:
        return error.errno
    return "done"


def test_operations_do_what_those_of_the_kernel_do(tmp_path):
    """No file is renamed or removed while it is open: a simulated one is known by its name."""
    done = set()
    for seed in range(150):
        folder = tmp_path / str(seed)
        folder.mkdir()
        ours = SimulatedDisk(Random(0))
        ours.make_folder(folder)
        kernel, draw, same = KernelFiles(), Random(seed), Random(seed)
        opened, theirs = [], []
        for _ in range(40):
            state = draw.getstate()
            peek = steps_kind(draw)
            draw.setstate(state)
            if peek in ("rename", "remove") and opened:
                draw.random(), same.random()
                continue
            said = steps(draw, ours, folder, opened)
            expected = steps(same, kernel, folder, theirs)
            assert (said is None) == (expected is None)
            assert said == expected, (seed, peek)
            done.add((peek, type(said)))
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
            Path(path).name: data for path, data in ours.held([str(folder)]).items()
        }
        for fd in theirs:
            kernel.close(fd)
    assert ("rename", str) in done
    assert ("remove", str) in done


def steps_kind(draw):
    """The kind of the operation that comes next."""
    draw.choice("abc")
    return draw.choice(["anew", "open", "write", "write", "cut", "sync", "close", "rename", "remove", "names", "read"])


def test_a_power_failure_takes_back_what_was_not_synced_and_nothing_else():
    disk = disk_with(b"0123456789")
    fd = disk.open(FILE)
    disk.write_at(fd, b"AB", 2)
    disk.sync(fd)
    disk.write_at(fd, b"xyz", 9)
    disk.write_at(fd, b"??", 0)
    disk.cut(fd, 4)
    disk.write_anew(FOLDER / "young", b"unsynced")
    assert held(disk) == {"/data/log": b"??AB", "/data/young": b"unsynced"}
    lost = disk.lose_unsynced(0.0)
    assert held(disk) == {"/data/log": b"01AB456789"}
    assert (lost.files, lost.names) == (2, 1)


def test_a_name_is_durable_with_its_folder_only():
    disk = disk_with(b"old")
    disk.write_anew(FOLDER / "partial", b"new")
    fd = disk.open(FOLDER / "partial")
    disk.sync(fd)
    disk.rename(FOLDER / "partial", FILE)
    assert held(disk) == {"/data/log": b"new"}
    disk.lose_unsynced(0.0)
    assert held(disk) == {"/data/log": b"old"}
    disk.write_anew(FOLDER / "partial", b"new")
    disk.sync(disk.open(FOLDER / "partial"))
    disk.rename(FOLDER / "partial", FILE)
    disk.sync_names(FOLDER)
    disk.lose_unsynced(0.0)
    assert held(disk) == {"/data/log": b"new"}


def test_a_removed_file_is_back_when_its_folder_was_not_synced():
    disk = disk_with(b"old")
    disk.remove(FILE)
    disk.lose_unsynced(0.0)
    assert held(disk) == {"/data/log": b"old"}
    disk.remove(FILE)
    disk.sync_names(FOLDER)
    disk.lose_unsynced(0.0)
    assert held(disk) == {}


def test_a_file_that_is_back_holds_nothing_that_was_not_synced():
    disk = disk_with(b"old")
    disk.write_at(disk.open(FILE), b"new", 0)
    disk.remove(FILE)
    disk.lose_unsynced(0.0)
    assert held(disk) == {"/data/log": b"old"}


def test_of_unsynced_blocks_a_share_may_be_kept():
    kept = set()
    for seed in range(40):
        disk = disk_with(seed=seed)
        disk.write_at(disk.open(FILE), b"x" * (3 * BLOCK), 0)
        disk.lose_unsynced(0.5)
        data = held(disk)["/data/log"].ljust(3 * BLOCK, b"\0")
        blocks = [data[at : at + BLOCK] for at in range(0, 3 * BLOCK, BLOCK)]
        assert all(block in (b"x" * BLOCK, bytes(BLOCK)) for block in blocks)
        kept.add(sum(block[:1] == b"x" for block in blocks))
    assert kept == {0, 1, 2, 3}


def test_of_a_batch_a_killed_process_has_done_a_part_in_its_order_and_the_last_write_may_be_torn():
    left = set()
    for seed in range(400):
        disk = disk_with(seed=seed)
        fd = disk.open(FILE)
        disk.begin()
        disk.write_at(fd, b"one", 0)
        disk.write_at(fd, b"two", 3)
        disk.sync(fd)
        disk.noted()
        assert held(disk) == {"/data/log": b""}, "nothing is done before its time has passed"
        disk.break_off()
        disk.finish()
        left.add(held(disk)["/data/log"])
    assert left == {b"onetwo"[:size] for size in range(7)}


def test_a_batch_that_ends_is_done_and_durable():
    disk = disk_with()
    disk.begin()
    fd = disk.open(FILE)
    disk.write_at(fd, b"all", 0)
    disk.sync(fd)
    disk.write_anew(FOLDER / "next", b"n")
    disk.sync(disk.open(FOLDER / "next"))
    disk.sync_names(FOLDER)
    disk.noted()
    disk.finish()
    disk.lose_unsynced(0.0)
    assert held(disk) == {"/data/log": b"all", "/data/next": b"n"}


def test_a_rule_hits_the_operations_it_is_about():
    disk = disk_with(b"0")
    fd = disk.open(FILE)
    disk.rules["d", "1"] = rule(skip=1, times=2)
    assert disk.write_at(fd, b"1", 0) == 1
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output error"):
            disk.write_at(fd, b"2", 0)
    disk.write_at(fd, b"3", 0)
    disk.sync(fd)
    assert held(disk) == {"/data/log": b"3"}
    assert (disk.rules["d", "1"].matched, disk.rules["d", "1"].hit) == (4, 2)
    disk.rules["d", "1"] = rule(applies=lambda path: path.endswith(".wal"))
    disk.write_at(fd, b"4", 0)
    disk.rules["d", "1"] = rule(action="short")
    assert disk.write_at(fd, b"abcd", 0) == 2


def test_a_share_of_operations_is_hit():
    disk = disk_with()
    fd = disk.open(FILE)
    disk.rules["d", "1"] = rule(share=0.25)
    failed = 0
    for _ in range(1000):
        try:
            disk.write_at(fd, b"x", 0)
        except OSError:
            failed += 1
    assert 190 <= failed <= 310
    disk.rules["d", "1"] = rule(share=0.0)
    disk.write_at(fd, b"x", 0)


def test_delays_add_up_and_a_stall_is_told():
    disk = disk_with()
    fd = disk.open(FILE)
    disk.rules["d", "1"] = rule(ops=WRITE | FSYNC, action="delay", value=100)
    disk.begin()
    disk.write_at(fd, b"x", 0)
    disk.sync(fd)
    disk.noted()
    assert (disk.late_us, disk.stalled) == (200, False)
    disk.rules["d", "1"] = rule(ops=FSYNC, action="stall")
    disk.begin()
    disk.sync(fd)
    disk.noted()
    assert (disk.late_us, disk.stalled) == (0, True)


def test_a_crash_at_an_operation_leaves_what_came_before_and_nothing_after_until_it_is_revived():
    disk = disk_with()
    fd = disk.open(FILE)
    disk.rules["d", "1"] = rule(ops=FSYNC, action="crash")
    disk.begin()
    disk.write_at(fd, b"before", 0)
    disk.sync(fd)
    disk.write_at(fd, b"after!", 0)
    disk.noted()
    disk.finish()
    assert disk.crashed
    assert held(disk) == {"/data/log": b"before"}
    with pytest.raises(OSError, match="Input/output"):
        disk.write_at(fd, b"x", 0)
    disk.rules.clear()
    disk.lose_unsynced(0.0)
    disk.revive()
    assert held(disk) == {"/data/log": b""}, "the sync was not done"

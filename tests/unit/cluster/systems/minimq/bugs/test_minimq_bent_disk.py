"""What a switch does to a broker's files, bug by bug: first what is right, then what the bug makes of it."""

import os
from pathlib import Path

import msgspec
import pytest

from cluster.systems.minimq.bugs import switches
from cluster.systems.minimq.bugs.notes import Notes
from cluster.systems.minimq.protocol.io import Write
from cluster.systems.minimq.replication.broker import Broker
from cluster.systems.minimq.storage.commit_log import QueueKey, data_record, is_intact
from cluster.systems.minimq.storage.disk import BrokerStore

KEY = QueueKey("chaos", 0)
FIRST = f"{0:020d}.log"


@pytest.fixture
def bend(monkeypatch):
    def bend(name):
        notes = Notes(name)
        for replacement in switches.replacements(notes, switches.Switch(name)):
            monkeypatch.setattr(replacement.owner, replacement.name, replacement.function)
        return notes

    return bend


def writes(count, begin=0):
    return [Write(token=n + 1, record=data_record(1, KEY, n, b"body %d" % n, "", -1)) for n in range(begin, count)]


def folder_with(path, count):
    BrokerStore(path).keep(writes(count))
    return path / FIRST


def start(folder):
    """A broker as it starts on what its folder holds."""
    core = Broker("b1", ("c1",), "000001", records=BrokerStore(folder).recovered())
    core.start(0)
    return [core.replica.log.at(position) for position in range(core.replica.log.end)]


def noted(notes):
    return [msgspec.json.decode(text) for text in notes.take()]


def flip_a_bit_of_the_second_body(file):
    data = bytearray(file.read_bytes())
    data[data.index(b"body 1") + 2] ^= 1
    file.write_bytes(data)


def test_unchecked_record_takes_a_damaged_record_for_whole(tmp_path, bend):
    flip_a_bit_of_the_second_body(folder_with(tmp_path / "honest", 3))
    assert [record.offset for record in start(tmp_path / "honest")] == [0]
    flip_a_bit_of_the_second_body(folder_with(tmp_path / "bent", 3))
    notes = bend("unchecked-record")
    records = start(tmp_path / "bent")
    assert [is_intact(record) for record in records] == [True, False, True]
    ((note),) = noted(notes)
    assert (note["node"], note["queue"], note["offset"]) == ("b1", 0, 1)


def test_unchecked_record_still_ends_a_log_at_a_frame_that_is_none(tmp_path, bend):
    file = folder_with(tmp_path / "log", 3)
    file.write_bytes(file.read_bytes()[:-5])
    bend("unchecked-record")
    assert [record.offset for record in start(tmp_path / "log")] == [0, 1]


def test_torn_tail_kept_makes_a_record_of_what_is_left_of_the_last(tmp_path, bend):
    for name in ("honest", "bent"):
        file = folder_with(tmp_path / name, 3)
        file.write_bytes(file.read_bytes()[:-3])
    assert [record.offset for record in start(tmp_path / "honest")] == [0, 1]
    notes = bend("torn-tail-kept")
    records = start(tmp_path / "bent")
    assert [record.body for record in records] == [b"body 0", b"body 1", b"bod\0\0\0"]
    assert [is_intact(record) for record in records] == [True, True, False]
    assert [(note["node"], note["offset"], note["missing_bytes"]) for note in noted(notes)] == [("b1", 2, 3)]


def test_torn_tail_kept_changes_nothing_of_a_whole_log(tmp_path, bend):
    folder_with(tmp_path / "log", 3)
    notes = bend("torn-tail-kept")
    assert len(start(tmp_path / "log")) == 3
    assert noted(notes) == []


def break_disk(store):
    full = os.open("/dev/full", os.O_RDWR)
    os.dup2(full, store._log._segments[-1].fd)
    os.close(full)


def test_fsync_error_ignored_says_that_what_the_disk_refused_is_durable(tmp_path, bend):
    store = BrokerStore(tmp_path / "log")
    store.keep(writes(1))
    break_disk(store)
    with pytest.raises(OSError, match="No space left"):
        store.keep(writes(2, 1))
    notes = bend("fsync-error-ignored")
    store.keep(writes(2, 1))
    notes.core = Broker("b1", ("c1",), "000001")
    assert notes.core.replica.held == 0
    (note,) = noted(notes)
    assert (note["node"], "No space left" in note["error"]) == ("b1", True)
    assert [record.offset for record in start(tmp_path / "log")] == [0], "of the second nothing is there"


@pytest.fixture
def synced(monkeypatch):
    """The names of the files that were synchronised since it was cleared."""
    names, fsync = [], os.fsync

    def fsync_and_keep(fd):
        names.append(Path(f"/proc/self/fd/{fd}").readlink().name)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", fsync_and_keep)
    return names


def test_finish_without_fsync_leaves_a_full_segment_to_the_kernel(tmp_path, bend, synced):
    store = BrokerStore(tmp_path / "honest", segment_bytes=256)
    synced.clear()
    store.keep(writes(8))
    assert FIRST in synced
    last = max(file.name for file in (tmp_path / "honest").glob("*.log"))
    assert last != FIRST
    notes = bend("finish-without-fsync")
    store = BrokerStore(tmp_path / "bent", segment_bytes=256)
    synced.clear()
    store.keep(writes(8))
    assert FIRST not in synced
    assert last in synced
    notes.core = Broker("b1", ("c1",), "000001", records=[write.record for write in writes(8)])
    assert notes.core.replica.held == 8
    assert noted(notes)
    assert len(start(tmp_path / "bent")) == 8, "without a power failure nothing is missing"

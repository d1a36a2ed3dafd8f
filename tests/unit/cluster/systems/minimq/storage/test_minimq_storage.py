"""The log on disk: every torn tail is cut, everything else that is wrong is said."""

from pathlib import Path

import pytest

from cluster.systems.minimq.storage import segments
from cluster.systems.minimq.storage.commit_log import QueueKey, commit_record, data_record
from cluster.systems.minimq.storage.files import KernelFiles
from cluster.systems.minimq.storage.segments import MAGIC, SegmentedLog, StorageError

PAYLOADS = [b"", b"a", bytes(9), b"four" * 5, b"\xff" * 3]


def written(folder, payloads=PAYLOADS, **settings):
    with SegmentedLog(folder, **settings) as log:
        log.append(payloads)
        log.sync()
    return sorted(folder.iterdir())


def read(folder, **settings):
    with SegmentedLog(folder, **settings) as log:
        payloads = log.take_recovered()
        assert log.take_recovered() == []
        assert log.end == len(payloads)
    return payloads


def ends_of(payloads):
    ends = [len(MAGIC)]
    for index, payload in enumerate(payloads):
        ends.append(ends[-1] + len(segments.encode_frame(index, payload)))
    return ends


def test_what_was_written_is_found_again_and_goes_on(tmp_path):
    written(tmp_path)
    with SegmentedLog(tmp_path) as log:
        assert log.take_recovered() == PAYLOADS
        log.append([b"x"])
        log.append([])
        log.append([b"y", b"z"])
        assert log.end == 8
    assert read(tmp_path) == [*PAYLOADS, b"x", b"y", b"z"]


def test_cut_at_every_byte_the_whole_frames_remain_and_the_log_goes_on(tmp_path):
    (path,) = written(tmp_path)
    data = path.read_bytes()
    ends = ends_of(PAYLOADS)
    assert ends[-1] == len(data)
    for size in range(len(data)):
        path.write_bytes(data[:size])
        whole = sum(end <= size for end in ends[1:])
        with SegmentedLog(tmp_path) as log:
            assert log.take_recovered() == PAYLOADS[:whole]
            assert path.stat().st_size == ends[whole]
            log.append([b"after"])
        assert read(tmp_path) == [*PAYLOADS[:whole], b"after"]


def test_every_changed_byte_of_the_last_segment_ends_the_log_there(tmp_path):
    (path,) = written(tmp_path)
    data = path.read_bytes()
    ends = ends_of(PAYLOADS)
    for place in range(len(MAGIC), len(data)):
        for change in (0x01, 0x80, 0xFF):
            path.write_bytes(data[:place] + bytes([data[place] ^ change]) + data[place + 1 :])
            assert read(tmp_path) == PAYLOADS[: sum(end <= place for end in ends[1:])]


def test_a_tail_of_zeros_is_a_torn_tail(tmp_path):
    (path,) = written(tmp_path)
    path.write_bytes(path.read_bytes() + bytes(4096))
    assert read(tmp_path) == PAYLOADS
    written(tmp_path / "empty", [])
    (tmp_path / "empty" / f"{0:020d}.log").write_bytes(MAGIC + bytes(4096))
    assert read(tmp_path / "empty") == []


def test_a_frame_in_the_wrong_place_is_none(tmp_path):
    (path,) = written(tmp_path, [b"a", b"b"])
    first, second = segments.encode_frame(0, b"a"), segments.encode_frame(1, b"b")
    path.write_bytes(MAGIC + second + first)
    assert read(tmp_path) == []
    path.write_bytes(MAGIC + first + first)
    assert read(tmp_path) == [b"a"]


def test_a_full_segment_is_followed_by_another(tmp_path):
    paths = written(tmp_path, [b"%03d" % n for n in range(10)], segment_bytes=60)
    assert [path.name for path in paths] == [f"{base:020d}.log" for base in (0, 3, 6, 9)]
    assert read(tmp_path, segment_bytes=60) == [b"%03d" % n for n in range(10)]


def test_only_the_last_segment_is_open_whatever_was_rolled_recovered_or_cut(tmp_path):
    def opened():
        return [path.name for fd in Path("/proc/self/fd").iterdir() if (path := target(fd)).parent == tmp_path]

    def target(fd):
        try:
            return fd.readlink()
        except FileNotFoundError:
            return Path()  # the listing's own

    with SegmentedLog(tmp_path, segment_bytes=60) as log:
        log.append([b"%03d" % n for n in range(10)])
        assert opened() == [f"{9:020d}.log"]
    with SegmentedLog(tmp_path, segment_bytes=60) as log:
        assert opened() == [f"{9:020d}.log"]
        log.truncate(4)
        assert opened() == [f"{3:020d}.log"]
    assert opened() == []


@pytest.mark.parametrize("start", range(11))
def test_truncation_leaves_what_is_below_also_over_segments(tmp_path, start):
    payloads = [b"%03d" % n for n in range(10)]
    written(tmp_path, payloads, segment_bytes=60)
    with SegmentedLog(tmp_path, segment_bytes=60) as log:
        log.truncate(start)
        assert log.end == start
        log.append([b"x", b"y"])
    assert read(tmp_path, segment_bytes=60) == [*payloads[:start], b"x", b"y"]


def test_a_truncation_that_a_crash_ends_half_way_leaves_a_prefix(tmp_path):
    payloads = [b"%03d" % n for n in range(10)]
    written(tmp_path, payloads, segment_bytes=60)
    budget = [100]

    class CrashLater(KernelFiles):
        def sync_names(self, folder):
            super().sync_names(folder)
            budget[0] -= 1
            if budget[0] < 0:
                raise OSError("crash")

    with SegmentedLog(tmp_path, segment_bytes=60, files=CrashLater()) as log:
        budget[0] = 1
        with pytest.raises(OSError, match="crash"):
            log.truncate(1)
    assert read(tmp_path, segment_bytes=60) == payloads[:6]


@pytest.mark.parametrize("size", range(len(MAGIC)))
def test_a_segment_that_was_just_being_made_is_empty(tmp_path, size):
    *_, last = written(tmp_path, [b"%03d" % n for n in range(9)], segment_bytes=60)
    (tmp_path / f"{9:020d}.log").write_bytes(MAGIC[:size])
    assert last.name == f"{6:020d}.log"
    assert len(read(tmp_path, segment_bytes=60)) == 9
    written(tmp_path, [b"x"], segment_bytes=60)
    assert read(tmp_path, segment_bytes=60)[9:] == [b"x"]


def test_damage_that_no_crash_explains_is_said(tmp_path):
    first, second, _, last = written(tmp_path, [b"%03d" % n for n in range(10)], segment_bytes=60)
    data = first.read_bytes()
    first.write_bytes(data[:-1] + b"?")
    with pytest.raises(StorageError, match=r"0\.log: damaged at byte 46, and other segments follow"):
        SegmentedLog(tmp_path)
    first.write_bytes(data)
    kept = second.read_bytes()
    second.unlink()
    with pytest.raises(StorageError, match=r"6\.log: the log ends at index 3 before it"):
        SegmentedLog(tmp_path)
    second.write_bytes(b"version 2" + kept)
    with pytest.raises(StorageError, match="not a segment of this version"):
        SegmentedLog(tmp_path)
    second.write_bytes(kept)
    last.rename(tmp_path / "old.log")
    with pytest.raises(StorageError, match="not the name of a segment"):
        SegmentedLog(tmp_path)


def test_a_payload_that_is_too_long_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "PAYLOAD_BYTES_MAX", 10)
    with SegmentedLog(tmp_path) as log, pytest.raises(ValueError, match="11 bytes"):
        log.append([b"1" * 11])
    assert read(tmp_path) == []


def test_records_come_back_as_they_went():
    key = QueueKey("t", 1)
    for record in (data_record(3, key, 7, b"\x00body", "p", 2), commit_record(4, key, "g", 9)):
        assert segments.decode_record(segments.encode_record(record)) == record

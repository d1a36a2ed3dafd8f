"""How what a broker does with its disk is bent: as ``bug_rules``, for bugs that only real files can show.

Files are read before there is a core, and written beside it in another thread: what was bent there is noted by the
broker when it starts or asks what it holds.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from cluster.systems.minimq.bugs.bug_rules import Bend, Replacement
from cluster.systems.minimq.bugs.notes import Notes
from cluster.systems.minimq.protocol.io import Effect
from cluster.systems.minimq.replication import broker_rules as rules
from cluster.systems.minimq.replication.broker import Broker
from cluster.systems.minimq.storage import disk, segments
from cluster.systems.minimq.storage.segments import Frame, Segment


def _noted_at_start(notes: Notes, found: list[dict[str, Any]]) -> Replacement:
    """``Broker.start`` that notes what was found while its files were read."""
    start = Broker.start

    def start_and_note(broker: Broker, now_ms: int) -> list[Effect]:
        notes.core = broker
        for facts in found:
            notes.note(notes.log.at(facts["index"]) if facts["index"] < notes.log.end else None, **facts)
        found.clear()
        return start(broker, now_ms)

    return Replacement(Broker, "start", start_and_note)


def unchecked_record(notes: Notes) -> list[Replacement]:
    """A broker that starts takes a frame with the right length and index for whole, whatever its checksum says."""
    found: list[dict[str, Any]] = []

    def decode_frames(data: bytes, start: int, index: int) -> Iterator[Frame]:
        for begin, length, crc in _heads(data, start):
            content = data[begin + segments.HEAD.size : begin + segments.FRAME_BYTES + length]
            if len(content) < segments.INDEX.size + length or segments.INDEX.unpack_from(content) != (index,):
                return
            if zlib.crc32(content, length) != crc:
                found.append({"index": index, "checksum": crc})
            yield Frame(begin, begin + segments.FRAME_BYTES + length, content[segments.INDEX.size :])
            index += 1

    return [Replacement(segments, "decode_frames", decode_frames), _noted_at_start(notes, found)]


def torn_tail_kept(notes: Notes) -> list[Replacement]:
    """A broker that starts takes a last frame of which the end is missing for whole, with zeros for what is missing."""
    honest = segments.decode_frames
    found: list[dict[str, Any]] = []

    def decode_frames(data: bytes, start: int, index: int) -> Iterator[Frame]:
        for frame in honest(data, start, index):
            yield frame
            start, index = frame.end, index + 1
        for begin, length, _ in _heads(data, start):
            missing = begin + segments.FRAME_BYTES + length - len(data)
            if missing > 0:
                found.append({"index": index, "missing_bytes": missing})
                payload = data[begin + segments.FRAME_BYTES :] + bytes(missing)
                yield Frame(begin, len(data) + missing, payload)
            return

    return [Replacement(segments, "decode_frames", decode_frames), _noted_at_start(notes, found)]


def _heads(data: bytes, start: int) -> Iterator[tuple[int, int, int]]:
    """Where each frame begins, the length it names, and its checksum, as far as they are believable."""
    while start + segments.FRAME_BYTES <= len(data):
        length, crc = segments.HEAD.unpack_from(data, start)
        if length > segments.PAYLOAD_BYTES_MAX:
            return
        yield start, length, crc
        start += segments.FRAME_BYTES + length


def fsync_error_ignored(notes: Notes) -> list[Replacement]:
    """A broker takes what it could not write or synchronise for durable, and goes on."""
    keep, held_end = disk.BrokerStore.keep, rules.held_end
    failed: list[str] = []

    def keep_or_not(store: disk.BrokerStore, effects: Sequence[disk.Kept]) -> None:
        try:
            keep(store, effects)
        except OSError as error:
            failed.append(str(error))

    def held_end_noted(log_end: int, durable_end: int, *, sync_flush: bool) -> int:
        while failed:
            notes.note(notes.log.at(durable_end - 1) if durable_end else None, error=failed.pop())
        return held_end(log_end, durable_end, sync_flush=sync_flush)

    return [Replacement(disk.BrokerStore, "keep", keep_or_not), Replacement(rules, "held_end", held_end_noted)]


def finish_without_fsync(notes: Notes) -> list[Replacement]:
    """A segment that is full is closed without being synchronised, and only the last one is synchronised later."""
    held_end = rules.held_end
    unsynced: list[int] = []

    def finish(segment: Segment) -> None:
        unsynced.append(segment.end - 1)
        segment.close()

    def held_end_noted(log_end: int, durable_end: int, *, sync_flush: bool) -> int:
        while unsynced:
            index = unsynced.pop()
            notes.note(notes.log.at(index) if index < log_end else None, unsynced=index)
        return held_end(log_end, durable_end, sync_flush=sync_flush)

    return [Replacement(Segment, "finish", finish), Replacement(rules, "held_end", held_end_noted)]


BENDS: Final[Mapping[str, Bend]] = {
    "unchecked-record": unchecked_record,
    "torn-tail-kept": torn_tail_kept,
    "fsync-error-ignored": fsync_error_ignored,
    "finish-without-fsync": finish_without_fsync,
}

"""The parts of a node's shell that need no cluster: frames, timers, the disk's thread, its folder, its file."""

import asyncio
import json
import socket
import threading

import pytest

from cluster.systems.minimq.protocol.broker_messages import GetReplica, Produce
from cluster.systems.minimq.protocol.io import Truncate, Write
from cluster.systems.minimq.protocol.messages import Entry, HardState, NoOp
from cluster.systems.minimq.protocol.wire import FRAME_BYTES_MAX, Call, Frames, Hello, WireError, frame
from cluster.systems.minimq.server import node_config, peer_links
from cluster.systems.minimq.server.node_config import ConfigError
from cluster.systems.minimq.server.peer_links import Link
from cluster.systems.minimq.server.timers import Timers
from cluster.systems.minimq.storage import disk as disk_module
from cluster.systems.minimq.storage.commit_log import QueueKey, data_record
from cluster.systems.minimq.storage.disk import BrokerStore, ControllerStore, Disk, DiskError, Folder, next_incarnation
from cluster.systems.minimq.storage.segments import SegmentedLog

DEADLINE_S = 10.0


def record(number):
    return data_record(1, QueueKey("t", 0), number, b"%d" % number, "", -1)


# ---------------------------------------------------------------- frames


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_frames_come_whole_in_whatever_pieces_and_change_their_type(size):
    calls = [Call(1, GetReplica()), Call(2, Produce(topic="t", queue=0, body=b"x" * 50))]
    data = frame(Hello()) + b"".join(frame(call) for call in calls)
    frames, values = Frames(Hello), []
    for start in range(0, len(data), size):
        found = frames.feed(data[start : start + size], count_max=1 if not values else None)
        values += found
        if found == [Hello()]:
            frames = frames.then(Call)
            values += frames.feed(b"")
    assert values == [Hello(), *calls]


@pytest.mark.parametrize("data", [b"\xff" * 8, b"\0\0\0\1\xc1", frame(Hello(node="b1"))[:4] + b"\xff" * 99])
def test_what_is_no_frame_is_an_error(data):
    with pytest.raises(WireError):
        Frames(Call).feed(data)


def test_a_frame_that_nobody_takes_is_not_made():
    with pytest.raises(WireError, match="at most"):
        frame(Produce(topic="t", queue=0, body=b"x" * FRAME_BYTES_MAX))


# ---------------------------------------------------------------- timers


def test_timers_run_out_once_at_the_last_time_they_were_set_to():
    async def scene():
        loop = asyncio.get_running_loop()
        ended, came, least = loop.create_future(), [], {}

        def on_timer(name):
            came.append((name, loop.time()))
            if name == "end":
                ended.set_result(None)

        def put(name, delay_ms):
            least[name] = loop.time() + delay_ms / 1000
            timers.set(name, delay_ms)

        timers = Timers(loop, on_timer)
        put("later", 10)
        put("later", 60)
        put("sooner", 10_000)
        put("sooner", 20)
        put("never", 20)
        timers.cancel("never")
        put("revived", 20)
        timers.cancel("revived")
        put("revived", 40)
        put("end", 100)  # the last to run out, however long each of these steps took
        async with asyncio.timeout(DEADLINE_S):
            await ended
        return came, least

    came, least = asyncio.run(scene())
    assert sorted(name for name, _ in came) == ["end", "later", "revived", "sooner"]
    assert all(at >= least[name] for name, at in came)


# ---------------------------------------------------------------- the disk


class Waiter:
    """What a disk's thread said, for a test that waits for it."""

    def __init__(self):
        self.tokens, self.errors = [], []
        self.changed = threading.Condition()

    def written(self, token):
        self.note(self.tokens, token)

    def failed(self, why):
        self.note(self.errors, why)

    def note(self, notes, what):
        with self.changed:
            notes.append(what)
            self.changed.notify_all()

    def until(self, condition):
        with self.changed:
            assert self.changed.wait_for(condition, DEADLINE_S)


def test_a_disk_keeps_everything_in_order_and_says_so(tmp_path):
    waiter = Waiter()
    store = BrokerStore(tmp_path)
    disk = Disk(store, waiter.written, waiter.failed)
    for token in range(1, 101):
        disk.put([Write(token=token, record=record(token - 1))])
    disk.put([Truncate(token=101, start=50), Write(token=102, record=record(50)), Truncate(token=103, start=51)])
    waiter.until(lambda: waiter.tokens and waiter.tokens[-1] == 103)
    disk.close(DEADLINE_S)
    assert waiter.tokens == sorted(set(waiter.tokens))
    assert BrokerStore(tmp_path).recovered() == [record(number) for number in range(51)]


def test_a_journal_keeps_terms_entries_and_truncations(tmp_path):
    entries = [Entry(index=index, term=1, command=NoOp()) for index in (1, 2)]
    kept = [HardState(term=1, voted_for="c2"), *entries]
    store = ControllerStore(tmp_path)
    store.keep([Write(token=token, record=each) for token, each in enumerate(kept, 1)])
    store.keep([Truncate(token=4, start=2)])
    assert ControllerStore(tmp_path).recovered() == [*kept, Truncate(token=4, start=2)]


class Stuck:
    """A store whose disk stands still until it is let go; then it fails."""

    def __init__(self):
        self.go = threading.Event()

    def keep(self, effects):
        assert self.go.wait(DEADLINE_S)
        raise OSError(28, "No space left on device")


def test_a_disk_that_stands_still_is_waited_for_within_bounds_and_a_failed_one_writes_no_more(monkeypatch):
    monkeypatch.setattr(disk_module, "WAITING_MAX", 2)
    monkeypatch.setattr(disk_module, "STALL_S", DEADLINE_S)
    waiter, stuck = Waiter(), Stuck()
    disk = Disk(stuck, waiter.written, waiter.failed)
    disk.put([Write(token=token, record=record(token)) for token in (1, 2)])
    disk.put([Write(token=token, record=record(token)) for token in (3, 4)])  # waits until the thread has the first
    monkeypatch.setattr(disk_module, "STALL_S", 0.01)
    with pytest.raises(DiskError, match="took no write"):
        disk.put([Write(token=5, record=record(5))])
    stuck.go.set()
    waiter.until(lambda: waiter.errors)
    disk.close(DEADLINE_S)
    assert waiter.tokens == []
    assert "No space left" in waiter.errors[0]


def test_incarnations_ascend_and_a_folder_has_one_holder(tmp_path):
    folder = Folder(tmp_path / "b1")
    lives = [next_incarnation(folder.path) for _ in range(11)]
    assert lives == sorted(set(lives))
    with pytest.raises(DiskError, match="another process"):
        Folder(tmp_path / "b1")
    (tmp_path / "b1" / disk_module.INCARNATION).write_text("seven")
    with pytest.raises(DiskError, match="not a number"):
        next_incarnation(folder.path)


def test_a_folder_with_damage_is_refused_in_one_line(tmp_path):
    BrokerStore(tmp_path / "log").keep([Write(token=1, record=record(0))])
    (segment,) = (tmp_path / "log").iterdir()
    segment.write_bytes(b"something else")
    with pytest.raises(DiskError, match="not a segment"):
        BrokerStore(tmp_path / "log")
    with SegmentedLog(tmp_path / "journal") as log:
        log.append([b"something else"])
    with pytest.raises(DiskError, match="no controller wrote"):
        ControllerStore(tmp_path / "journal").recovered()


# ---------------------------------------------------------------- the way out


def test_an_outbox_keeps_the_newest_while_nobody_is_there():
    link = Link(("127.0.0.1", 1), "127.0.0.1", b"")
    for number in range(peer_links.OFFLINE_FRAMES_MAX + 10):
        link.send(b"%d" % number)
    assert [int(each) for each in link._outbox] == list(range(10, peer_links.OFFLINE_FRAMES_MAX + 10))
    link.send(b"x" * (peer_links.OUTBOX_BYTES_MAX + 1))
    assert len(link._outbox) == 1
    link.send(b"y")
    assert list(link._outbox) == [b"y"]


def test_a_link_greets_sends_and_comes_back():
    async def scene():
        arrived, ends = asyncio.Queue(), []

        async def accept(reader, writer):
            ends.append(writer)
            arrived.put_nowait(await reader.readexactly(8))

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        link = Link(server.sockets[0].getsockname(), "127.0.0.1", b"hello")
        link.send(b"one")
        task = asyncio.create_task(link.run())
        seen = [await arrived.get()]
        ends[0].transport.abort()  # as a peer that was killed
        link.send(b"two")
        seen.append(await arrived.get())
        task.cancel()
        ends[1].transport.abort()
        server.close()
        return seen

    async def within():
        async with asyncio.timeout(DEADLINE_S):
            return await scene()

    assert asyncio.run(within()) == [b"helloone", b"hellotwo"]


def test_a_silent_peer_fills_its_own_outbox_only():
    """The peer's process is stopped: its kernel takes connections, and bytes until its buffers are full."""

    async def scene():
        with socket.create_server(("127.0.0.1", 0)) as silent:
            link = Link(silent.getsockname(), "127.0.0.1", b"hello")
            task = asyncio.create_task(link.run())
            while link._protocol is None or not link._protocol.paused:
                link.send(b"x" * 65536)
                link.flush()
                await asyncio.sleep(0)
            for _ in range(200):
                link.send(b"x" * 65536)
                link.flush()
            held = link._outbox_bytes
            task.cancel()
            return held

    async def within():
        async with asyncio.timeout(DEADLINE_S):
            return await scene()

    assert asyncio.run(within()) <= peer_links.OUTBOX_BYTES_MAX


# ---------------------------------------------------------------- the node's file


def written(path, **changes):
    config = {
        "name": "b1",
        "role": "broker",
        "listen": "127.0.0.1",
        "controllers": ["c1"],
        "brokers": ["b1"],
        "addresses": {"c1": "127.0.0.2", "b1": "127.0.0.1"},
        "data": "data",
        **changes,
    }
    path.write_text(json.dumps({key: value for key, value in config.items() if value is not None}))
    return path


def test_a_nodes_file_says_who_the_others_are(tmp_path):
    config = node_config.load(written(tmp_path / "b1.json"))
    assert config.peers == {"c1": "127.0.0.2"}
    assert config.broker.min_in_sync == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": None}, "missing required field `name`"),
        ({"role": "witness"}, "Invalid enum value 'witness'"),
        ({"name": "b9"}, "name: 'b9' is not one of the brokers b1"),
        ({"addresses": {"b1": "127.0.0.1"}}, "addresses: c1 missing"),
        ({"brocker": {}}, "unknown field `brocker`"),
        ({"broker": {"lag_ms": 3}}, r"unknown field `lag_ms` - at `\$.broker`"),
        ({"controller": {"raft": {"election_ms": "soon"}}}, r"\$.controller.raft.election_ms"),
    ],
)
def test_a_file_that_cannot_be_is_refused_in_one_line(tmp_path, changes, said):
    with pytest.raises(ConfigError, match=said) as error:
        node_config.load(written(tmp_path / "b1.json", **changes))
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)

"""What each server holds of each bucket: its own messages, as many as it says that it has, and up to which sequence."""

import asyncio
import itertools
import json
from contextlib import AsyncExitStack

import pytest
from nats_server import NOBODY, FakeMonitor, FakeNats, Status
from system_view import view_of

from chaos.core.replica_data import ReplicaData
from cluster.systems.nats import replicas
from cluster.systems.nats.replicas import DIGEST, MOVED, TOO_LONG, NatsReplicas
from cluster.systems.nats.system import Nats

VIEW = view_of(Nats(), cluster__buckets="1")
BUCKET = f"{VIEW.mark}-1"
DIRECT = f"$JS.API.DIRECT.GET.KV_{BUCKET}"
NAMES = ("n1", "n2", "n3")
HELD = {3: ("registers.0", b"7"), 210: ("registers.1", b"8"), 211: ("sets.0.5", b"")}


class Server:
    """A server. ``held``: its messages by sequence; ``lasts``: what it says of its last, the last one for ever."""

    def __init__(self, held=(), lasts=(211,), messages=None, answer=None, keeps=True):
        self.held = {**HELD, **dict(held)}
        self.lasts = itertools.chain(lasts, itertools.repeat(lasts[-1]))
        self.messages = len(self.held) if messages is None else messages
        self.own_answer, self.keeps = answer, keeps

    def answer(self, subject, body, _):
        assert subject == DIRECT, "nothing else is asked"
        if self.own_answer is not None:
            return self.own_answer() if callable(self.own_answer) else self.own_answer
        asked = json.loads(body)
        assert asked["next_by_subj"] == f"$KV.{BUCKET}.>"
        found = min((one for one in self.held if one >= asked["seq"]), default=None)
        if found is None:
            return Status(" 404 Message Not Found")
        key, data = self.held[found]
        return Status("", [f"Nats-Subject: $KV.{BUCKET}.{key}", f"Nats-Sequence: {found}"], data)

    def shown(self):
        state = {"messages": self.messages, "first_seq": 1, "last_seq": next(self.lasts)}
        kept = [{"name": f"KV_{BUCKET}", "state": state}] if self.keeps else []
        return {"account_details": [{"stream_detail": kept}]}


class Shown(dict):
    """What a monitor shows, as it is when it is asked."""

    def __init__(self, server):
        super().__init__(jsz=None)
        self.get = lambda path, default=None: server.shown() if path == "jsz" else default


def read(*servers, timeout_s=0.0, view=VIEW):
    """What a reader says of servers that answer so, and what they were asked; None: one that is away."""

    async def scenario():
        async with AsyncExitStack() as stack:
            reader, fakes = NatsReplicas(view), []
            for name, server in zip(NAMES, servers, strict=True):
                answer = None if server is None else server.answer
                monitor = await stack.enter_async_context(FakeMonitor(None if server is None else Shown(server)))
                reader._servers.monitors[name] = monitor.monitor
                fakes.append(await stack.enter_async_context(FakeNats(answer)))
                reader._links[name] = fakes[-1].link
            found = await reader.read(timeout_s)
            await reader.close()
            return found, [fake.asked for fake in fakes]

    return asyncio.run(scenario())


def test_each_server_is_asked_for_its_own_messages():
    found, asked = read(Server(), Server(), Server(), timeout_s=30.0)
    digest = found[0].digests[DIGEST]
    assert found == tuple(
        ReplicaData(
            node=name,
            subject="kv1",
            position=211,
            entries={"registers.0": "7", "registers.1": "8", "sets.0.5": ""},
            digests={DIGEST: digest},
        )
        for name in NAMES
    )
    assert all(0 < len(one) < 80 for one in asked), "sequences without a message are not asked for one by one"


def test_a_copy_that_differs_in_content_or_in_sequences():
    found, asked = read(Server(), Server(), Server({210: ("registers.1", b"6")}), timeout_s=30.0)
    assert [one.entries["registers.1"] for one in found] == ["8", "8", "6"]
    assert found[2].position == 211
    once = read(Server(), Server(), Server(), timeout_s=30.0)[1]
    assert len(asked[0]) >= 2 * len(once[0]), "copies that differ are read twice"
    moved = Server({209: HELD[210]}, messages=3)
    del moved.held[210]
    found, _ = read(Server(), Server(), moved, timeout_s=30.0)
    assert (found[2].entries, found[2].position) == (found[0].entries, 211)
    assert found[2].digests != found[0].digests


def test_servers_are_waited_for_until_all_have_the_same_last_sequence():
    found, _ = read(Server(), Server(), Server(lasts=(209, 209, 210, 211)), timeout_s=30.0)
    assert [one.position for one in found] == [211, 211, 211]
    found, _ = read(Server(), Server(), Server(messages=2, lasts=(210,), held={}))
    assert [one.position for one in found] == [211, 211, 210], "not for ever"


def silent():
    return None


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (None, "connect: refused"),
        (Server(keeps=False), "it does not keep the bucket"),
        (Server(lasts=(210, 211)), "1 messages were given"),
        (Server(messages=9), "3 messages were given, and it says that it has 9"),
        (Server(answer=NOBODY), ""),
        (Server(answer=Status(" 500 Bad Message")), ""),
    ],
)
def test_a_server_that_does_not_say_tells_why(last, why):
    found, _ = read(Server(), Server(), last)
    assert [one.error for one in found[:2]] == ["", ""]
    assert found[2].error
    assert (found[2].position, found[2].entries) == (None, {})
    assert why in found[2].error or found[2].error == MOVED


def test_a_copy_that_moved_while_it_was_read_is_not_compared():
    found, _ = read(Server(), Server(), Server(lasts=(211, 212)))
    assert found[2].error == MOVED


def test_a_reading_has_an_end(monkeypatch):
    monkeypatch.setattr(replicas, "_ASK_S", 0.5)
    found, _ = read(Server(), Server(), Server(answer=silent))
    assert found[2].error in (TOO_LONG, "no answer before the deadline")


@pytest.mark.parametrize("settings", [{"cluster__replicas": "1"}, {"cluster__streams": "log"}])
def test_a_bucket_of_one_server_and_logs_are_not_read_here(settings):
    assert read(Server(), Server(), Server(), view=view_of(Nats(), **settings)) == ((), [[], [], []])


def test_it_is_promised_of_buckets_that_several_servers_keep():
    promised = [
        Nats().promises(view_of(Nats(), **settings).settings).replicas_read
        for settings in ({}, {"cluster__replicas": "1"}, {"cluster__streams": "work"})
    ]
    assert promised == [True, False, False]

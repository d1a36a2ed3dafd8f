"""What a client asks of a bucket to change and to watch it, and what it makes of what a server sends."""

import asyncio

import msgspec
import pytest
from nats_server import NOBODY, FakeNats, Status, framed, info, refused, stored
from scripted import raised_and_given
from system_view import view_of
from test_nats_client import BUCKET, INFO, KEYS, STREAM, client_of, op

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S
from chaos.models.coordination.watch import DELETED, MODEL, NOT_TOLD, Change, Changes, Event, Events, F, From, Written
from cluster.systems.nats import streams, watches
from cluster.systems.nats.jetstream import Position, position_of
from cluster.systems.nats.system import Nats

KEPT = {"cluster__streams": "history"}
SPACE = f"{KEYS}.spaces.3"
CREATE = f"$JS.API.CONSUMER.CREATE.{STREAM}"
MADE = {"type": "io.nats.jetstream.api.v1.consumer_create_response", "name": "x"}
PUT, REMOVE = (op(F.PUT, Changes(changes=(change,))) for change in (Change(5, 41), Change(5)))
WATCH = op(F.SUBSCRIBE, From(revision=7, listen_ms=300))
DELETES = "KV-Operation: DEL"


def sent(entry, revision, number, body=b"41", headers=(), reply=None):
    """A message that a consumer sends: of an entry, at a revision of the stream, the so-manieth of its own."""
    reply = reply or f"$JS.ACK.{STREAM}.x.1.{revision}.{number}.1700000000000000000.0"
    head = "\r\n".join(["NATS/1.0", *headers, "", ""]).encode() if headers else b""
    sizes = f"{len(head)} {len(head) + len(body)}" if head else f"{len(body)}"
    first = f"{'HMSG' if head else 'MSG'} {SPACE}.{entry} 2 {reply} {sizes}\r\n"
    return first.encode() + head + body + b"\r\n"


def heartbeat(number):
    return framed("_INBOX.events", Status(" 100 Idle Heartbeat", [f"Nats-Last-Consumer: {number}"]), "2")


class Pushing(FakeNats):
    """Answers a request for a consumer by ``made`` and sends ``pushed`` behind it; None: it ends the connection."""

    def __init__(self, answer, made=MADE, pushed=()):
        super().__init__(answer)
        self.made, self.pushed = made, pushed

    async def _request(self, words, reader, writer):
        if words[1] != CREATE:
            return await super()._request(words, reader, writer)
        body = (await reader.readexactly(int(words[-1]) + 2))[:-2]
        self.asked.append((words[1], body, {}))
        if self.made is not None:
            writer.write(framed(words[2], self.made, "1"))
        for piece in self.pushed:
            if piece is None:
                return False
            writer.write(piece)
        return True


def run(one, answers=None, **more):
    """What an operation raised and was given, and the requests. ``answers``: by how a subject begins."""
    answers = answers or {INFO: info(9)}

    def answer(subject, *_):
        return next(said for begin, said in answers.items() if subject.startswith(begin))

    async def scenario():
        async with Pushing(answer, **more) as server:
            client = await client_of(server, **KEPT)
            out, received = await raised_and_given(client, one, 20 * NS_PER_S)
            await client.close()
            return out, received.result, server.asked

    return asyncio.run(scenario())


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer than a watch is silent."""
    monkeypatch.setattr(watches, "SILENT_NS", 10 * NS_PER_S)


def event(batch, revision, entry, value):
    return Event(batch=batch, revision=revision, entry=entry, value=value, previous_revision=NOT_TOLD)


@pytest.mark.parametrize(
    ("one", "body", "headers"), [(PUT, b"41", {}), (REMOVE, b"", {"KV-Operation": "DEL"})], ids=["put", "delete"]
)
def test_a_change_is_one_message(one, body, headers):
    assert run(one, {SPACE: stored(9)}) == (None, Written(revision=9, effects=1), [(f"{SPACE}.5", body, headers)])


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(NOBODY, Definite), (refused(0, "raft: not leader", 503), Indefinite), (StopIteration, Indefinite)],
)
@pytest.mark.parametrize("one", [PUT, REMOVE], ids=["put", "delete"])
def test_what_becomes_of_a_change(one, answer, kind):
    out, given, asked = run(one, {SPACE: answer})
    assert (out[0], given, len(asked)) == (kind, None, 1)


def test_a_watch_is_told_what_a_consumer_sends():
    pushed = [
        sent(5, 7, 1),
        heartbeat(1),
        b"PING\r\n",
        sent(6, 9, 2, b"", [DELETES]),
        sent("x", 10, 3, b"42"),
    ]
    out, told, (looked, made) = run(WATCH, pushed=pushed)
    events = [event(0, 7, 5, 41), event(1, 9, 6, DELETED), event(2, 10, -1, 42)]
    assert (out, told) == (None, Events(events, batches=3))
    assert looked[0] == INFO
    config = msgspec.json.decode(made[1])["config"]
    assert (config["deliver_policy"], config["opt_start_seq"]) == ("by_start_sequence", 7)
    assert (config["filter_subject"], config["ack_policy"]) == (f"{SPACE}.>", "none")


def test_a_watch_that_is_told_nothing_is_followed_to_its_end_all_the_same():
    assert run(WATCH, pushed=[heartbeat(0)])[:2] == (None, Events())


@pytest.mark.parametrize(("last", "asked"), [(5, 1), (6, 2)])
def test_a_revision_that_is_not_there_yet_is_refused(last, asked):
    """A consumer would begin with the next message, whichever that is."""
    out, told, requests = run(WATCH, {INFO: info(last)})
    assert (len(requests), told) == (asked, Events())
    assert out == (
        None if asked == 2 else (Definite, f"{watches.NOT_THERE_YET}: 7 is asked for, and 5 is the last one")
    )


@pytest.mark.parametrize(
    ("more", "said", "events"),
    [
        ({"pushed": [sent(5, 7, 1), sent(5, 9, 3)]}, "1 messages of the watch came, and 2 were sent", 1),
        ({"pushed": [sent(5, 7, 1), heartbeat(2)]}, "1 messages of the watch came, and 2 were sent", 1),
        ({"pushed": [sent(5, 7, 1), None]}, "the connection was closed", 1),
        ({"pushed": [sent(5, 7, 1), b"-ERR 'Slow Consumer'\r\n"]}, "the server says Slow Consumer", 1),
        ({"pushed": [b"nonsense\r\n"]}, "malformed message: no NATS: a line that begins with 'nonsense'", 0),
        ({"pushed": [sent(5, 7, 1, b"x")]}, "malformed message: a value that nobody writes", 0),
        ({"pushed": [sent(5, 7, 1, reply="x")]}, "malformed message: status None, 'x'", 0),
        ({"made": refused(10008, "JetStream system temporarily unavailable", 503)}, "10008 JetStream system", 0),
        ({"made": NOBODY}, "no responders", 0),
        ({"made": Status(" 408 Timeout")}, "status 408", 0),
        ({"made": None}, "no watch was made in time", 0),
    ],
)
def test_whatever_ends_a_watch_sooner_is_a_failure_with_what_came(more, said, events):
    (kind, text), told, _ = run(WATCH, **more)
    assert (kind, text[: len(said)], len(told.events)) == (Definite, said, events)


def test_silence_ends_a_watch(monkeypatch):
    monkeypatch.setattr(watches, "SILENT_NS", NS_PER_S // 100)
    out, told, _ = run(WATCH, pushed=[sent(5, 7, 1)])
    assert (out, len(told.events)) in [((Definite, watches.SILENT), 0), ((Definite, watches.SILENT), 1)]


@pytest.mark.parametrize("answer", [NOBODY, StopIteration])
def test_who_does_not_know_how_far_the_stream_goes_watches_nothing(answer):
    out, told, asked = run(WATCH, {INFO: answer})
    assert (out[0], told, len(asked)) == (Definite, Events(), 1)


@pytest.mark.parametrize(
    ("reply", "position"),
    [
        ("$JS.ACK.stream.x.1.7.2.17.0", Position(7, 2)),
        ("$JS.ACK.domain.account.stream.x.1.7.2.17.0.token", Position(7, 2)),
        ("$JS.ACK.stream.x.1.y.2.17.0", None),
        ("$JS.ACK.short", None),
        ("", None),
    ],
)
def test_where_a_message_stands(reply, position):
    assert position_of(reply) == position


def test_watches_get_buckets_that_keep_every_revision():
    system = Nats()
    wanted = system.settings_for(frozenset({F.SUBSCRIBE}))
    assert wanted == {streams.KIND: streams.HISTORY}
    assert system.operations(MODEL, wanted) == {F.PUT, F.SUBSCRIBE}, "no two keys are changed at one revision"
    assert system.operations(MODEL, {}) == frozenset()
    settings = view_of(system, **KEPT).settings
    assert streams.config("m", 0, settings)["max_msgs_per_subject"] == -1
    assert BUCKET.endswith("-1")

"""What a client asks of a server to change entries and to follow them, and what it makes of what comes."""

import asyncio
import struct

import pytest
from scripted import raised_and_given
from system_view import view_of
from test_zookeeper_client import MARK, NO_NODE, op
from zookeeper_server import FakeServer, done, given, names, node, not_done, packed, srvr, stat

from chaos.core.client import Definite, Indefinite
from chaos.core.clock import NS_PER_S
from chaos.models.coordination.watch import (
    DELETED,
    NOT_TOLD,
    UNREAD,
    Change,
    Changes,
    Event,
    F,
    Followed,
    FromNow,
    Written,
    session_read,
)
from cluster.systems.zookeeper import jute
from cluster.systems.zookeeper.client import ZooKeeperClient
from cluster.systems.zookeeper.servers import Ensemble
from cluster.systems.zookeeper.system import ZooKeeper
from cluster.systems.zookeeper.watches import NO_TRANSACTION, NOT_READ, NOT_SET

SPACE = f"/{MARK}/spaces/3"
PUT, REMOVE = (op(F.PUT, Changes(changes=(change,))) for change in (Change(5, 41), Change(5)))
FOLLOW = op(F.FOLLOW, FromNow(listen_ms=300))
WATCH, CHILDREN, READ, END = ("watch", SPACE, 1), ("children", SPACE), ("get", f"{SPACE}/5"), ("end",)
SET = ("set", f"{SPACE}/5", "41", -1)
MAKE = ("make", f"{SPACE}/5", 0)
DELETE = ("multi", [("delete", f"{SPACE}/5", -1), ("set", f"/{MARK}/barrier", "", -1)])
DELETED_AND_WRITTEN = done(2)[:9] + struct.pack(">i?i", 5, False, 0) + stat(written=9) + done()


def frame(number, transaction, body, error=0):
    return packed(struct.pack(">iqi", number, transaction, error) + body)


def said(body=b"", applied=99, error=0, behind=()):
    """An answer at a transaction, and what comes at once behind it."""
    return lambda number: frame(number, applied, body, error) + b"".join(behind)


def event(kind, transaction, path=f"{SPACE}/5", state=3):
    return frame(-1, transaction, struct.pack(">ii", kind, state) + packed(path.encode()))


def run(one, within_s=2.0, session=True, **answers):
    """What an operation raised and was given, and the requests. ``answers``: by kind; several come in turn."""
    left = {kind: [*own] if isinstance(own, list) else own for kind, own in answers.items()}

    def answer(kind, *_):
        own = left.get(kind, 0)
        return own.pop(0) if isinstance(own, list) else own

    async def scenario():
        async with FakeServer(answer, {"srvr": srvr("leader")}, session) as server:
            client = ZooKeeperClient(view_of(ZooKeeper()), -1, 8, seed=1)
            client._links = dict.fromkeys(client._links, server.link)
            client._route._source = Ensemble({"z1": server.link})
            out, received = await raised_and_given(client, one, int(within_s * NS_PER_S))
            await client.close()
            return out, received.result, server.asked

    return asyncio.run(scenario())


def followed(within_s=2.0, **answers):
    """The same of a follow; unless said otherwise its watch is set at transaction 6, and nothing is there."""
    return run(FOLLOW, within_s, **{"watch": said(applied=6), "children": said(names()), **answers})


def changed(batch, revision, value, previous=NOT_TOLD, entry=5):
    return Event(batch=batch, revision=revision, entry=entry, value=value, previous_revision=previous)


def read(revision, value, applied):
    return session_read(entry=5, revision=revision, value=value, applied=applied)


@pytest.mark.parametrize(
    ("one", "answers", "asked"),
    [
        (PUT, {"set": stat(written=9)}, [SET]),
        (PUT, {"set": NO_NODE, "make": packed(b"x") + stat(made=9)}, [SET, MAKE]),
        (REMOVE, {"multi": DELETED_AND_WRITTEN}, [DELETE]),
    ],
    ids=["write", "make", "delete"],
)
def test_a_change_says_by_which_transaction_it_was_made(one, answers, asked):
    assert run(one, **answers) == (None, Written(revision=9, effects=1), asked)


@pytest.mark.parametrize(
    ("one", "answers", "kind"),
    [
        (PUT, {"set": -112}, Definite),
        (PUT, {"set": -5}, Indefinite),
        (PUT, {"set": StopIteration}, Indefinite),
        (PUT, {"set": b"short"}, Indefinite),
        (PUT, {"set": NO_NODE, "make": -110}, Definite),
        (PUT, {"set": NO_NODE, "make": StopIteration}, Indefinite),
        (PUT, {"set": NO_NODE, "make": packed(b"x")}, Indefinite),
        (REMOVE, {"multi": not_done(NO_NODE, -2)}, Definite),
        (REMOVE, {"multi": StopIteration}, Indefinite),
        (REMOVE, {"multi": done()}, Indefinite),
    ],
)
def test_what_becomes_of_a_change(one, answers, kind):
    out, result, _ = run(one, **answers)
    assert (out[0], result) == (kind, None)


def test_a_follow_is_told_changes_and_reads_the_node_behind_each():
    pushed = [event(jute.CREATED, 7), event(jute.CHANGED, 8), event(jute.DELETED, 10)]
    reads = [said(node(b"42", written=8), applied=9), said(node(b"42", written=8), applied=9), NO_NODE]
    out, told, asked = followed(watch=said(applied=6, behind=pushed), get=reads)
    events = [
        changed(0, 7, UNREAD, previous=0),
        changed(1, 8, 42),
        changed(2, 10, DELETED),
        read(8, 42, 9),
        read(8, 42, 9),
        read(0, DELETED, 99),
    ]
    assert (out, told) == (None, Followed(events, batches=3, since=7))
    assert asked == [WATCH, READ, READ, CHILDREN, READ, END], "a deletion has no value, and all is read at the end"


def test_a_follow_that_is_told_nothing_reads_what_is_there():
    out, told, asked = followed(children=said(names("5", "x")), get=said(node(b"41", written=4), applied=8))
    assert (out, told) == (None, Followed([read(4, 41, 8)], since=7))
    assert asked == [WATCH, CHILDREN, READ, END]


def test_what_comes_while_entries_are_read_stands_where_it_came():
    late = said(node(b"41", written=4), applied=8, behind=[event(jute.CHANGED, 9)])
    other, again = (said(node(b"43", written=written), applied=9) for written in (5, 9))
    out, told, asked = followed(children=said(names("5", "6")), get=[late, other, again])
    six = session_read(entry=6, revision=5, value=43, applied=9)
    assert (out, told.events) == (None, [read(4, 41, 8), changed(0, 9, 43), six, read(9, 43, 9)])
    assert asked == [WATCH, CHILDREN, READ, ("get", f"{SPACE}/6"), READ, END]


def test_a_read_that_runs_ahead_is_noted_as_it_came():
    ahead = said(node(b"41", written=9), applied=9, behind=[event(jute.CHANGED, 9)])
    out, told, _ = followed(children=said(names("5")), get=ahead)
    assert (out, told.events) == (None, [read(9, 41, 9), changed(0, 9, UNREAD)])


@pytest.mark.parametrize("path", [SPACE, f"{SPACE}/x", f"{SPACE}/5/6", "/other/5"])
def test_a_node_that_is_no_entry_has_no_number(path):
    _, told, _ = followed(watch=said(applied=6, behind=[event(jute.CHANGED, 7, path)]))
    assert told.events == [changed(0, 7, UNREAD, entry=-1)]


ONE = [event(jute.DELETED, 7)]


@pytest.mark.parametrize(
    ("answers", "text", "events"),
    [
        ({"watch": StopIteration}, "connection closed by the server", 0),
        ({"watch": None}, NOT_SET, 0),
        ({"watch": -6}, "Unimplemented", 0),
        ({"watch": said(applied=6, behind=[event(jute.CHANGED, -1)])}, NO_TRANSACTION, 0),
        ({"watch": said(applied=6, behind=[*ONE, event(4, 8)])}, "malformed answer: an event of kind 4", 1),
        ({"watch": said(applied=6, behind=[*ONE, event(-1, 8, "", 0)])}, "malformed answer: an event of kind -1", 1),
        ({"watch": said(applied=6, behind=[*ONE, packed(b"short")])}, "malformed answer: an answer without a head", 0),
        ({"watch": said(applied=6, behind=ONE), "children": StopIteration}, "connection closed by the server", 1),
        ({"watch": said(applied=6, behind=ONE), "children": None}, NOT_READ, 1),
        ({"watch": said(applied=6, behind=ONE), "children": -112}, "SessionExpired", 1),
        ({"watch": said(applied=6, behind=ONE), "children": b"x"}, "malformed answer: children without a number", 1),
        ({"children": said(names("5")), "get": node(b"x")}, "malformed answer: a value that nobody writes", 0),
        ({"children": said(names("5")), "get": -5}, "MarshallingError", 0),
        ({"children": said(names("5")), "get": None}, NOT_READ, 0),
    ],
)
def test_whatever_ends_a_follow_sooner_is_a_failure_with_what_came(answers, text, events):
    (kind, why), told, _ = followed(within_s=1.0, **answers)
    assert (kind, why[: len(text)], len(told.events)) == (Definite, text, events)


@pytest.mark.parametrize("end", [StopIteration, None, -112])
def test_once_all_is_read_it_does_not_matter_how_the_session_ends(end):
    out, told, _ = followed(within_s=1.0, end=end)
    assert (out, told) == (None, Followed(since=7))


@pytest.mark.parametrize("session", [False, None, given(0, 0)], ids=["closed", "silent", "none"])
def test_without_a_session_nothing_is_followed(session):
    (kind, why), told, asked = run(FOLLOW, 1.0, session)
    assert (kind, told, asked) == (Definite, Followed(), [])
    assert why.startswith("no session: ")

"""What a client asks for each operation, and what it makes of the answers."""

import asyncio

import pytest
from nacos_server import CONFIRMED, LOCAL, SELF, FakeServer, member, said
from system_view import view_of

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.objects.answers import Found
from chaos.models.objects.register import F, Write
from cluster.systems.nacos.client import NacosClient
from cluster.systems.nacos.system import Nacos

MARK = view_of(Nacos()).mark
WHICH = {"dataId": f"{MARK}.3", "groupName": "chaos"}
POST, GET, OLD = ("POST", CONFIRMED), ("GET", CONFIRMED), ("GET", LOCAL)
ABSENT = (404, said(None, 20004))
FAILED = (500, said("caused: raft did not answer", 30000))
CLOSED = {"connection closed by the server", "connection reset"}


def run(f, argument, answers, within_s=5.0, **settings):
    """What one operation was given or raised, and the requests beside the question for the leader."""

    async def scenario():
        async with FakeServer(answers) as server:
            client = NacosClient(view_of(Nacos(), **settings), -1, 8, seed=1)
            client._links = dict.fromkeys(client._links, server.link)
            client._route._source.links = {"n1": server.link}
            received = Received()
            deadline_ns = now_ns() + int(within_s * NS_PER_S)
            op = Invocation(process=17, client=0, f=f, key=3, deadline_ns=deadline_ns, argument=argument)
            try:
                await client.invoke(op, received)
                out = received.node, received.result
            except (Definite, Indefinite) as error:
                out = type(error), "closed" if str(error) in CLOSED else str(error)
            await client.close()
            return out, [one for one in server.asked if one[1] != SELF]

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (said(True), ("n1", None)),
        (said(False), (Indefinite, "it was not published, and nothing says why")),
        (said("x"), (Indefinite, "malformed answer: Expected `bool`, got `str`")),
        (b"<html>", (Indefinite, None)),
        (said(None, 30000), (Indefinite, "server error")),
        ((400, said(None, 10000)), (Definite, "parameter missing")),
        (FAILED, (Indefinite, "server error")),
        ((404, said(None, 20004)), (Definite, "resource not found")),
        ((502, b"<html>"), (Indefinite, "status 502, error 0")),
        (StopIteration, (Indefinite, "closed")),
    ],
)
def test_a_write_is_one_publication(answer, out):
    found, asked = run(F.WRITE, Write(value=4), {POST: answer})
    assert (found[0], out[1] or found[1]) == (out[0], found[1])
    assert asked == [(*POST, {**WHICH, "content": "4", "type": "text"})], "one request, whatever is answered"


@pytest.mark.parametrize(("reads", "asks"), [("confirmed", GET), ("local", OLD)])
@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (said({"dataId": "x", "content": "12", "md5": "y"}), ("n1", Found(12))),
        (ABSENT, ("n1", Found(None))),
        (said({"content": "x"}), (Definite, "malformed answer: invalid literal for int() with base 10: 'x'")),
        (said({}), (Definite, "malformed answer: Object missing required field `content`")),
        (FAILED, (Definite, "server error")),
        (StopIteration, (Indefinite, "closed")),
    ],
)
def test_a_read_asks_for_the_configuration(reads, asks, answer, out):
    assert run(F.READ, None, {asks: answer}, client__reads=reads) == (out, [(*asks, WHICH)])


@pytest.mark.parametrize(("f", "argument", "asks"), [(F.WRITE, Write(value=4), POST), (F.READ, None, GET)])
def test_what_stays_unanswered_ends_at_its_deadline_after_one_attempt(f, argument, asks):
    out, asked = run(f, argument, {asks: None}, within_s=1.0)
    assert (out, len(asked)) == ((Indefinite, "no answer before the deadline"), 1)


def test_whoever_follows_asks_nothing_where_nobody_leads():
    out, asked = run(F.READ, None, {("GET", SELF): member(leader=None)})
    assert (out, asked) == ((Definite, "no leader in the route"), [])

"""What a client asks for each operation on a register, and what it makes of the answers."""

import asyncio

import pytest
from nacos_server import CONFIG, COPY, SELF, FakeServer, member, said
from system_view import view_of

from chaos.core.client import Definite, Indefinite, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation
from chaos.models.objects.answers import Found
from chaos.models.objects.register import Cas, F, Write
from cluster.systems.nacos.client import NacosClient
from cluster.systems.nacos.system import Nacos

MARK = view_of(Nacos()).mark
WHICH = {"dataId": f"{MARK}.3", "groupName": "chaos", "namespaceId": "chaos"}
FORM = {**WHICH, "content": "4", "type": "text"}
POST, GET, OLD = ("POST", CONFIG), ("GET", CONFIG), ("GET", COPY)
ABSENT = (404, said(None, 20004))
FAILED = (500, said("caused: raft did not answer", 30000))
CLOSED = {"connection closed by the server", "connection reset"}
WRITE, READ = (F.WRITE, Write(value=4)), (F.READ, None)
CAS = (F.CAS, Cas(expected=3, value=4))
SILENT = (Indefinite, "no answer before the deadline")


def run(operations, answers, last_within_s=5.0, **settings):
    """What each operation was given or raised, and the requests beside the question for the leader."""
    out, server = run_at(operations, answers, last_within_s, **settings)
    return out, [one for one in server.asked if one[1] != SELF]


def run_at(operations, answers, last_within_s=5.0, **settings):
    """What each operation was given or raised, and the server that was asked."""
    limits = [5.0] * (len(operations) - 1) + [last_within_s]

    async def scenario():
        async with FakeServer(answers) as server:
            client = NacosClient(view_of(Nacos(), **settings), -1, 8, seed=1)
            client._links = dict.fromkeys(client._links, server.link)
            client._route._source.links = {"n1": server.link}
            out = [await performed(client, *one, limit) for one, limit in zip(operations, limits, strict=True)]
            await client.close()
            return out, server

    return asyncio.run(scenario())


async def performed(client, f, argument, within_s):
    received, deadline_ns = Received(), now_ns() + int(within_s * NS_PER_S)
    try:
        op = Invocation(process=17, client=0, f=f, key=3, deadline_ns=deadline_ns, argument=argument)
        await client.invoke(op, received)
    except (Definite, Indefinite) as error:
        return type(error), "closed" if str(error) in CLOSED else str(error)
    return received.node, received.result


@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (said(True), ("n1", None)),
        (said(False), (Indefinite, "it was not published, and nothing says why")),
        (said("x"), (Indefinite, "malformed answer: Expected `bool`, got `str`")),
        (said(None, 30000), (Indefinite, "server error")),
        ((400, said(None, 10000)), (Definite, "parameter missing")),
        (FAILED, (Indefinite, "server error")),
        ((502, b"<html>"), (Indefinite, "status 502, error 0")),
        (StopIteration, (Indefinite, "closed")),
    ],
)
def test_a_write_is_one_publication(answer, out):
    assert run([WRITE], {POST: answer}) == ([out], [(*POST, FORM)]), "one request, whatever is answered"


@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (said(True), ("n1", None)),
        ((500, said("Cas publish fail, server md5 may have changed.", 20005)), (Definite, "resource conflict")),
        (FAILED, (Indefinite, "server error")),
        (StopIteration, (Indefinite, "closed")),
    ],
)
def test_a_compare_and_set_names_what_must_be_there(answer, out):
    said_of, server = run_at([CAS, WRITE], {POST: answer})
    assert said_of[0] == out
    assert [one for one in server.asked if one[1] != SELF] == [(*POST, FORM)] * 2, "each is one request"
    assert [one for one in server.compared if one] == ["eccbc87e4b5ce2fe28308fd9f2a7baf3"], "MD5 of 3; a write has none"


@pytest.mark.parametrize(("reads", "asks"), [("confirmed", GET), ("local", OLD)])
@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (said({"dataId": "x", "content": "12", "md5": "y"}), ("n1", Found(12))),
        (said({"content": "-"}), ("n1", Found(None))),
        (ABSENT, ("n1", Found(None))),
        (said({"content": "x"}), (Definite, "malformed answer: invalid literal for int() with base 10: 'x'")),
        (said({}), (Definite, "malformed answer: Object missing required field `content`")),
        (b"<html>", (Definite, "malformed answer: JSON is malformed: invalid character (byte 0)")),
        (FAILED, (Definite, "server error")),
        (StopIteration, (Indefinite, "closed")),
    ],
)
def test_a_read_asks_for_the_configuration(reads, asks, answer, out):
    assert run([READ], {asks: answer}, client__reads=reads) == ([out], [(*asks, WHICH)])


def test_registers_may_be_in_the_namespace_of_everybody():
    public = {**WHICH, "namespaceId": "public"}
    assert run([READ], {GET: said({"content": "-"})}, client__namespace="public")[1] == [(*GET, public)]


@pytest.mark.parametrize(("before", "one", "asks"), [(READ, WRITE, POST), (READ, CAS, POST), (WRITE, READ, GET)])
def test_a_paused_server_gets_each_request_once(before, one, asks):
    """What comes before has connected."""
    answers = {GET: said({"content": "7"}), POST: said(True), asks: None}
    said_of, asked = run([before, one], answers, last_within_s=0.2)
    assert (said_of[1], [tuple(request[:2]) for request in asked].count(asks), len(asked)) == (SILENT, 1, 2)


def test_a_connection_that_answered_with_an_error_takes_no_other_request():
    said_of, asked = run([WRITE, READ], {POST: FAILED, GET: said({"content": "7"})})
    assert (said_of, len(asked)) == ([(Indefinite, "server error"), ("n1", Found(7))], 2)


def test_whoever_follows_asks_nothing_where_nobody_leads():
    said_of, asked = run([READ], {("GET", SELF): member(leader=None)})
    assert (said_of, asked) == ([(Definite, "no leader in the route")], [])

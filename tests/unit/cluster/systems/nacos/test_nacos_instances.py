"""What a client asks of a server to take, renew, end and look for leases, and what it makes of the answers."""

import json

import pytest
from nacos_server import INSTANCE, said
from test_nacos_client import FAILED, MARK, SILENT, run

from chaos.core.client import Definite, Indefinite
from chaos.models.coordination.lease import Alive, F, Living, Term, Which
from cluster.systems.nacos.instances import NOT_OURS, address_of, number_at

POST, DELETE, LIST = ("POST", INSTANCE), ("DELETE", INSTANCE), ("GET", f"{INSTANCE}/list")
SERVICE = {"serviceName": f"{MARK}.3", "groupName": "chaos"}
WHICH = {**SERVICE, "ip": "10.0.0.9", "port": "1", "ephemeral": "true"}
GRANT = (F.GRANT, Term(lease=9, ttl_ms=4000))
LOOK = (F.READ, None)
RENEW, REVOKE = (F.RENEW, Which(lease=9)), (F.REVOKE, Which(lease=9))
OK = said("ok")
GONE = said(None, 21003)


def test_a_lease_is_an_instance_that_ends_so_long_after_its_last_beat():
    out, ((*asks, form),) = run([GRANT], {POST: OK})
    assert (out, tuple(asks)) == ([("n1", Alive(4000))], POST)
    assert json.loads(form.pop("metadata")) == {
        "preserved.heart.beat.interval": "500",
        "preserved.heart.beat.timeout": "4000",
        "preserved.ip.delete.timeout": "4000",
    }
    assert form == WHICH


@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (FAILED, (Indefinite, "server error")),
        ((400, said(None, 10000)), (Definite, "parameter missing")),
        ((500, b"connect timed out"), (Indefinite, "status 500, error 0")),
        ((503, b"server is DOWNnow"), (Indefinite, "status 503, error 0")),
        (StopIteration, (Indefinite, "closed")),
    ],
)
def test_what_was_not_granted_is_not_renewed(answer, out):
    said_of, asked = run([GRANT, RENEW], {POST: answer})
    assert (said_of, len(asked)) == ([out, (Definite, NOT_OURS)], 1)


def test_a_renewal_is_one_beat():
    out, asked = run([GRANT, RENEW, RENEW], {POST: OK})
    assert (out, asked[1:]) == ([("n1", Alive(4000))] * 3, [(*POST, {**WHICH, "heartBeat": "true"})] * 2)


def test_a_beat_of_nobody_has_failed():
    out, _ = run([GRANT, RENEW], {POST: GONE})
    assert out == [(Definite, "instance not found"), (Definite, NOT_OURS)]


@pytest.mark.parametrize(
    ("answer", "out"),
    [(OK, ("n1", None)), (FAILED, (Indefinite, "server error")), (StopIteration, (Indefinite, "closed"))],
)
def test_a_lease_is_given_back(answer, out):
    assert run([REVOKE], {DELETE: answer}) == ([out], [(*DELETE, WHICH)])


@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (said([]), ("n1", Living([]))),
        (
            said([{"ip": "10.1.17.112", "port": 1, "healthy": False}, {"ip": "10.0.0.9", "port": 2}]),
            ("n1", Living([70_000, (1 << 24) + 9])),
        ),
        (
            said([{"ip": "11.0.0.9", "port": 1}]),
            (Definite, "malformed answer: an instance that nobody registered, 11.0.0.9:1"),
        ),
        (
            said([{"ip": "::1", "port": 1}]),
            (Definite, "malformed answer: invalid literal for int() with base 10: '::1'"),
        ),
        ((503, b"server is DOWNnow"), (Definite, "status 503, error 0")),
        (StopIteration, (Indefinite, "closed")),
    ],
)
def test_a_look_shows_every_instance_of_a_place(answer, out):
    assert run([LOOK], {LIST: answer}, client__lookAfter="0") == ([out], [(*LIST, SERVICE)])


@pytest.mark.parametrize(("before", "one", "asks"), [(LOOK, GRANT, POST), (LOOK, REVOKE, DELETE), (GRANT, LOOK, LIST)])
def test_a_paused_server_gets_each_request_once(before, one, asks):
    """What comes before has connected."""
    answers = {POST: OK, DELETE: OK, LIST: said([]), asks: None}
    out, asked = run([before, one], answers, last_within_s=0.2, client__lookAfter="0")
    assert (out[1], [tuple(request[:2]) for request in asked].count(asks), len(asked)) == (SILENT, 1, 2)


def test_a_paused_server_gets_a_beat_once():
    """The instance is registered by the same request, which has been answered."""
    answers = iter([OK, None])
    out, asked = run([GRANT, RENEW], {POST: lambda: next(answers)}, last_within_s=0.2)
    assert (out[1], len(asked)) == (SILENT, 2)


def test_a_look_that_may_not_wait_so_long_asks_nobody():
    out, asked = run([LOOK], {LIST: said([])}, client__lookAfter="60000")
    assert (out, asked) == ([(Definite, "the look would wait beyond its deadline")], [])


@pytest.mark.parametrize("number", [0, 255, 256, (1 << 24) - 1, 1 << 24, (1 << 30) + 5])
def test_every_lease_has_an_address(number):
    where = address_of(number)
    assert number_at(where["ip"], int(where["port"])) == number

"""What a client asks of a server to take, renew, end and look for leases, and what it makes of the answers."""

import json
from typing import NamedTuple

import pytest
from nacos_server import INSTANCE, OLD_INSTANCE, said
from test_nacos_client import FAILED, MARK, SILENT
from test_nacos_client import run as run_client

from chaos.core.client import Definite, Indefinite
from chaos.models.coordination.lease import Alive, F, Living, Term, Which
from cluster.systems.nacos.instances import NOT_OURS, address_of, number_at

LIST = ("GET", f"{INSTANCE}/list")
SERVICE = {"serviceName": f"{MARK}.3", "groupName": "chaos"}
WHICH = {**SERVICE, "ip": "10.0.0.9", "port": "1", "ephemeral": "true"}
GRANT = (F.GRANT, Term(lease=9, ttl_ms=4000))
LOOK = (F.READ, None)
RENEW, REVOKE = (F.RENEW, Which(lease=9)), (F.REVOKE, Which(lease=9))
LIVES_FOR = {
    "preserved.heart.beat.interval": "500",
    "preserved.heart.beat.timeout": "4000",
    "preserved.ip.delete.timeout": "4000",
}


def beaten(code):
    """What Nacos 1's API says of a beat."""
    return json.dumps({"clientBeatInterval": 5000, "code": code, "lightBeatEnabled": True}).encode()


class Api(NamedTuple):
    """Where each request goes, and what Nacos answers to it."""

    name: str
    register: tuple[str, str]
    beat: tuple[str, str]
    remove: tuple[str, str]
    done: bytes
    taken: bytes
    gone: bytes
    said_gone: str
    beats: frozenset[tuple[str, str]] = frozenset()


V1 = Api(
    "v1",
    ("POST", OLD_INSTANCE),
    ("PUT", f"{OLD_INSTANCE}/beat"),
    ("DELETE", OLD_INSTANCE),
    b"ok",
    beaten(10200),
    beaten(20404),
    "no such instance",
)
V3 = Api(
    "v3",
    ("POST", INSTANCE),
    ("POST", INSTANCE),
    ("DELETE", INSTANCE),
    said("ok"),
    said("ok"),
    said(None, 21003),
    "instance not found",
    frozenset({("heartBeat", "true")}),
)
each_api = pytest.mark.parametrize("api", [V1, V3], ids=["v1", "v3"])


def run(api, operations, answers, **more):
    return run_client(operations, answers, client__naming=api.name, **more)


def answers_of(api, registered, beat):
    """A server's answers to a registration and to a beat."""
    if api.register != api.beat:
        return {api.register: registered, api.beat: beat}
    answers = iter([registered, beat, beat])
    return {api.register: lambda: next(answers)}


@each_api
def test_a_lease_is_an_instance_that_ends_so_long_after_its_last_beat(api):
    out, ((*asks, form),) = run(api, [GRANT], {api.register: api.done})
    assert (out, tuple(asks)) == ([("n1", Alive(4000))], api.register)
    assert json.loads(form.pop("metadata")) == LIVES_FOR
    assert form == WHICH


@each_api
@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (FAILED, (Indefinite, "server error")),
        ((400, said(None, 10000)), (Definite, "parameter missing")),
        ((400, b"Param 'ip' is required."), (Indefinite, "status 400, error 0")),
        ((500, b"connect timed out"), (Indefinite, "status 500, error 0")),
        ((503, b"server is DOWNnow"), (Indefinite, "status 503, error 0")),
        (StopIteration, (Indefinite, "closed")),
    ],
)
def test_what_was_not_granted_is_not_renewed(answer, out, api):
    said_of, asked = run(api, [GRANT, RENEW], {api.register: answer})
    assert (said_of, len(asked)) == ([out, (Definite, NOT_OURS)], 1)


@each_api
def test_a_renewal_is_one_beat(api):
    out, asked = run(api, [GRANT, RENEW, RENEW], answers_of(api, api.done, api.taken))
    assert (out, asked[1:]) == ([("n1", Alive(4000))] * 3, [(*api.beat, {**WHICH, **dict(api.beats)})] * 2)


@each_api
def test_a_beat_of_nobody_has_failed(api):
    out, _ = run(api, [GRANT, RENEW], answers_of(api, api.done, api.gone))
    assert out[1] == (Definite, api.said_gone)


@pytest.mark.parametrize(
    ("answer", "out"),
    [
        (beaten(0), (Indefinite, "status 200, error 0")),
        (b"<html>", (Indefinite, "malformed answer: JSON is malformed: invalid character (byte 0)")),
        ((500, b"caused: connect timed out"), (Indefinite, "status 500, error 0")),
    ],
)
def test_a_beat_of_which_nobody_knows(answer, out):
    assert run(V1, [GRANT, RENEW], answers_of(V1, V1.done, answer))[0][1] == out


def test_an_odd_answer_to_a_registration_says_nothing():
    out, _ = run(V1, [GRANT], {V1.register: b"<html>"})
    assert out == [(Indefinite, "malformed answer: b'<html>'")]


@each_api
@pytest.mark.parametrize(
    ("answer", "out"),
    [(None, ("n1", None)), (FAILED, (Indefinite, "server error")), (StopIteration, (Indefinite, "closed"))],
)
def test_a_lease_is_given_back(answer, out, api):
    assert run(api, [REVOKE], {api.remove: answer or api.done}) == ([out], [(*api.remove, WHICH)])


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
    assert run(V1, [LOOK], {LIST: answer}, client__lookAfter="0") == ([out], [(*LIST, SERVICE)])


@each_api
@pytest.mark.parametrize("one", [GRANT, REVOKE, LOOK])
def test_a_paused_server_gets_each_request_once(one, api):
    """What comes before has connected."""
    asks = {GRANT: api.register, REVOKE: api.remove, LOOK: LIST}[one]
    before = GRANT if one is LOOK else LOOK
    answers = {api.register: api.done, LIST: said([]), asks: None}
    out, asked = run(api, [before, one], answers, last_within_s=0.2, client__lookAfter="0")
    assert (out[1], [tuple(request[:2]) for request in asked].count(asks), len(asked)) == (SILENT, 1, 2)


@each_api
def test_a_paused_server_gets_a_beat_once(api):
    out, asked = run(api, [GRANT, RENEW], answers_of(api, api.done, None), last_within_s=0.2)
    assert (out[1], len(asked)) == (SILENT, 2)


def test_a_look_that_may_not_wait_so_long_asks_nobody():
    out, asked = run(V1, [LOOK], {LIST: said([])}, client__lookAfter="60000")
    assert (out, asked) == ([(Definite, "the look would wait beyond its deadline")], [])


@pytest.mark.parametrize("number", [0, 255, 256, (1 << 24) - 1, 1 << 24, (1 << 30) + 5])
def test_every_lease_has_an_address(number):
    where = address_of(number)
    assert number_at(where["ip"], int(where["port"])) == number

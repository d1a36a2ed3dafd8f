"""What a client asks of a member to change and to read a space, and what it makes of the answers."""

import asyncio

import pytest
from etcd_member import Member, variables
from etcd_operations import coded
from system_view import view_of
from test_etcd_watches import LATE, TXN, asked_of

from chaos.core.client import Definite, Indefinite
from chaos.models.coordination.kv import Answer, Change, Changes, F, Held, Keys
from cluster.systems.etcd.spaces import NOT_SO
from cluster.systems.etcd.system import Etcd

SPACE = f"{view_of(Etcd()).mark}/kv/3"
HEADER = {"header": {"revision": "17"}}


def key(entry):
    return coded(f"{SPACE}/{entry // 4}/{entry}")


def pair(entry, value, revision):
    return {"key": key(entry), "value": coded(str(value)), "mod_revision": str(revision)}


def change(entry, value=-1, expected=-1):
    return Changes(changes=(Change(entry, value, expected),))


PUT, DELETE, COMPARE = change(5, 40), change(5), change(5, 40, 9)
MOVE = Changes(changes=(Change(5, 40), Change(6)))
PUT_5 = {"request_put": {"key": key(5), "value": coded("40")}}
COMPARED = {"key": key(5), "target": "MOD", "result": "EQUAL", "mod_revision": 9}
LOOK = {"request_range": {"key": key(5)}}
DELETED = {"response_delete_range": {"deleted": "1"}}
KEPT = {"response_delete_range": {}}


def asked(f, argument, answer):
    async def scenario():
        async with Member(debug__vars=variables(1, 1), v3__kv__txn=answer) as member:
            out = await asked_of(member.gateway, member, f, argument)
            return out, [body for path, body in member.asked if path == TXN]

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("f", "argument", "body", "responses", "answer"),
    [
        (F.PUT, PUT, ([], [PUT_5], []), [{"response_put": {}}], Answer(revision=17, effects=1)),
        (
            F.DELETE,
            DELETE,
            ([], [{"request_delete_range": {"key": key(5)}}], []),
            [DELETED],
            Answer(revision=17, effects=1),
        ),
        (F.DELETE, DELETE, ([], [{"request_delete_range": {"key": key(5)}}], []), [KEPT], Answer(revision=17)),
        (F.COMPARE_PUT, COMPARE, ([COMPARED], [PUT_5], [LOOK]), [{"response_put": {}}], Answer(revision=17, effects=1)),
        (
            F.TXN,
            MOVE,
            ([], [PUT_5, {"request_delete_range": {"key": key(6)}}], []),
            [{"response_put": {}}, KEPT],
            Answer(revision=17, effects=0b01),
        ),
    ],
)
def test_a_change_is_one_transaction(f, argument, body, responses, answer):
    out = asked(f, argument, {**HEADER, "succeeded": True, "responses": responses})
    compare, success, failure = body
    assert out == ((answer, None), [{"compare": compare, "success": success, "failure": failure}])


@pytest.mark.parametrize(
    ("f", "argument", "own"),
    [
        (F.GET, Keys(first=5), {"key": key(5)}),
        (F.RANGE, Keys(first=4, count=4), {"key": coded(f"{SPACE}/1/"), "range_end": coded(f"{SPACE}/10")}),
    ],
)
def test_a_read_is_one_range_at_the_revision_that_is_told(f, argument, own):
    told = {"kvs": [pair(5, 40, 12)]}
    out = asked(f, argument, {**HEADER, "succeeded": True, "responses": [{"response_range": told}]})
    assert out[0] == (Answer(revision=17, held=[Held(5, 40, 12)]), None)
    assert out[1] == [{"success": [{"request_range": {**own, "serializable": False}}]}]


def test_a_comparison_that_does_not_hold_tells_what_there_is():
    there = {**HEADER, "responses": [{"response_range": {"kvs": [pair(5, 41, 12)]}}]}
    assert asked(F.COMPARE_PUT, COMPARE, there)[0] == (
        Answer(revision=17, held=[Held(5, 41, 12)]),
        (Definite, NOT_SO),
    )
    gone = {**HEADER, "responses": [{"response_range": {}}]}
    assert asked(F.COMPARE_PUT, COMPARE, gone)[0] == (Answer(revision=17), (Definite, NOT_SO))


STRANGE = [
    {"succeeded": True, "responses": [{"response_put": {}}]},
    {**HEADER, "succeeded": True},
    {**HEADER, "responses": [{"response_put": {}}]},
]


@pytest.mark.parametrize("answer", STRANGE)
def test_a_strange_answer_leaves_a_change_in_doubt(answer):
    result, error = asked(F.PUT, PUT, answer)[0]
    assert (result, error[0]) == (None, Indefinite)


@pytest.mark.parametrize("own", [pair(5, "x", 3), {**pair(5, 4, 3), "key": coded(f"{SPACE}/0/5")}])
def test_a_key_that_nobody_writes_is_no_answer(own):
    told = {**HEADER, "succeeded": True, "responses": [{"response_range": {"kvs": [own]}}]}
    result, error = asked(F.GET, Keys(first=5), told)[0]
    assert (result, error[0]) == (None, Definite)


@pytest.mark.parametrize(
    ("f", "argument", "kind"), [(F.PUT, PUT, Indefinite), (F.TXN, MOVE, Indefinite), (F.GET, Keys(first=5), Definite)]
)
def test_what_is_late_is_in_doubt_unless_it_only_reads(f, argument, kind):
    assert asked(f, argument, LATE)[0] == (None, (kind, LATE["message"]))

"""How a client comes into the group, stays in it and comes in again, against a broker that answers as it is told to."""

import asyncio

import pytest
from kafka_broker import HEARTBEAT, JOIN, SYNC, FakeBroker, heard, joined, synced

from chaos.core.client import Definite
from chaos.core.clock import NS_PER_S, now_ns
from cluster.systems.kafka.members import Member, Place, shares

KNOWN = {JOIN: joined("m1", 4), SYNC: synced(), HEARTBEAT: heard()}


def places(times, answers, within_s=5.0):
    """What a member that asks so often is given or raises; the numbers of requests, and what was in them."""
    seen = []

    async def scenario():
        def answer(api, reader):
            said = answers[api]
            body = reader.data[reader.at :]
            seen.append((api, body))
            if isinstance(said, list):
                said = said.pop(0)
            return said

        async with FakeBroker(answer) as broker:
            member = Member("g", "t", 4)
            out = []
            for _ in range(times):
                try:
                    out.append(await member.place(broker.link, now_ns() + int(within_s * NS_PER_S)))
                except Definite as error:
                    out.append(str(error))
            return out

    return asyncio.run(scenario()), [api for api, _ in seen], [body for _, body in seen]


def test_a_member_joins_once_and_says_later_that_it_is_alive():
    out, asked, bodies = places(3, KNOWN)
    assert out == [Place("m1", 4)] * 3
    assert asked == [JOIN, SYNC, HEARTBEAT, HEARTBEAT]
    assert bodies[2] == b"\0\1g\0\0\0\4\0\2m1\xff\xff"


def test_a_new_member_comes_again_under_the_name_that_it_was_given():
    out, asked, bodies = places(1, {**KNOWN, JOIN: [joined("m1", -1, error=79), joined("m1", 2)]})
    assert (out, asked) == ([Place("m1", 2)], [JOIN, JOIN, SYNC])
    assert [b"\0\2m1" in body for body in bodies[:2]] == [False, True]


def test_who_leads_the_members_says_which_partitions_each_has():
    _, _, bodies = places(1, {**KNOWN, JOIN: joined("m1", 4, members=("m1", "m2", "m3"))})
    assert [name in bodies[1] for name in (b"\0\2m1", b"\0\2m2", b"\0\2m3")] == [True] * 3
    assert shares(("m1", "m2", "m3"), 4) == (("m1", (0, 3)), ("m2", (1,)), ("m3", (2,)))
    assert shares((), 4) == ()


@pytest.mark.parametrize(("error", "name"), [(27, True), (22, True), (25, False)])
def test_whoever_is_told_so_joins_again(error, name):
    joins = [joined("m1", 4), joined("m1" if name else "m2", 5)]
    out, asked, bodies = places(2, {**KNOWN, JOIN: joins, HEARTBEAT: heard(error)})
    assert out == [Place("m1", 4), Place("m1" if name else "m2", 5)]
    assert asked == [JOIN, SYNC, HEARTBEAT, JOIN, SYNC]
    assert (b"\0\2m1" in bodies[3]) == name, "the name is kept unless the coordinator does not know it"


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({JOIN: joined("", -1, error=15)}, "COORDINATOR_NOT_AVAILABLE"),
        ({JOIN: joined("", -1, error=16)}, "NOT_COORDINATOR"),
        ({JOIN: joined("", -1, error=23)}, "INCONSISTENT_GROUP_PROTOCOL"),
        ({JOIN: b""}, "an answer that ends too soon"),
        ({SYNC: synced(27)}, "REBALANCE_IN_PROGRESS"),
        ({SYNC: synced(22)}, "ILLEGAL_GENERATION"),
        ({JOIN: StopIteration}, "connection"),
    ],
)
def test_without_a_place_nothing_is_asked_for(answers, said):
    ((out,), _, _) = places(1, {**KNOWN, **answers})
    assert out.startswith(f"no place in the group: {said}")


def test_a_coordinator_that_does_not_answer_leaves_no_place():
    ((out,), asked, _) = places(1, {**KNOWN, JOIN: None}, within_s=0.3)
    assert (out, asked) == ("no place in the group: no answer before the deadline", [JOIN])


def test_a_heartbeat_that_was_refused_for_another_reason_is_no_place_and_changes_nothing():
    out, asked, _ = places(3, {**KNOWN, HEARTBEAT: [heard(14), heard()]})
    assert out == [Place("m1", 4), "no place in the group: COORDINATOR_LOAD_IN_PROGRESS", Place("m1", 4)]
    assert asked == [JOIN, SYNC, HEARTBEAT, HEARTBEAT]


def test_a_sync_that_was_refused_keeps_the_name():
    out, asked, bodies = places(2, {**KNOWN, SYNC: [synced(27), synced()]})
    assert (out[1], asked) == (Place("m1", 4), [JOIN, SYNC, JOIN, SYNC])
    assert b"\0\2m1" in bodies[2]

"""What members say of themselves, and what is made of it: who leads, the route, settings in effect."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from etcd_member import Member, variables
from system_view import view_of

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.errors import DeployError
from chaos.core.events import Claim
from cluster.systems._shared.routing import Route, Served
from cluster.systems.etcd.members import Members
from cluster.systems.etcd.probe import EtcdProbe, flags_of
from cluster.systems.etcd.system import Etcd

ID = 13195394291058371180
"""Above 2^63, as many are."""
NAMES = ("n1", "n2", "n3")


def run(answers, act, **settings):
    """Let ``act`` have a probe of three members that answer so; None: one that is away."""

    async def scenario():
        async with AsyncExitStack() as stack:
            members = [await stack.enter_async_context(Member(**(one or {}))) for one in answers]
            for member, one in zip(members, answers, strict=True):
                if one is None:
                    member.away()
            probe = EtcdProbe(view_of(Etcd(), **settings))
            gateways = dict(zip(NAMES, (member.gateway for member in members), strict=True))
            probe._gateways, probe._members = gateways, Members(gateways)
            return await act(probe, members)

    return asyncio.run(scenario())


def saying(*said):
    return [one and {"debug__vars": one} for one in said]


async def observed(probe, _):
    nodes = probe._view.nodes
    for _ in range(2):  # a leader has a name once it has answered
        seen = [await probe.observe(node, 5) for node in nodes]
    return seen


async def routed(probe, _):
    return await probe._members.ask(now_ns() + 5 * NS_PER_S)


async def ready(probe, _):
    await probe.readiness()
    return await probe.readiness()


def test_every_member_says_who_leads():
    seen = run(saying(variables(1, ID), variables(ID, ID), variables(3, 0, 1)), observed)
    assert [one.role for one in seen] == ["follower", "leader", "no leader"]
    assert [one.claims for one in seen] == [
        (Claim(subject="etcd", leader="n2", epoch=2),),
        (Claim(subject="etcd", leader="n2", epoch=2),),
        (Claim(subject="etcd", leader=None, epoch=1),),
    ]


def test_a_member_that_is_away_is_not_alive():
    seen = run([None, *saying(variables(2, 2), {"message": "etcdserver: not capable"})], observed)
    assert [(one.alive, one.error) for one in seen] == [
        (False, "connect: refused"),
        (True, None),
        (False, "etcdserver: not capable"),
    ]


@pytest.mark.parametrize(
    ("said", "leader"),
    [
        ((variables(1, 2), variables(2, 2), variables(3, 2)), "n2"),
        ((variables(1, 1, 2), variables(2, 2, 3), variables(3, 2, 3)), "n2"),
        ((variables(1, 0, 3), variables(2, 2, 3), variables(3, 2, 3)), "n2"),
        ((variables(1, 0, 3), variables(2, 0, 3), variables(3, 0, 2)), None),
        ((None, variables(2, 2), variables(3, 2)), "n2"),
        ((None, variables(2, 1), variables(3, 1)), None),  # who leads has never answered
    ],
)
def test_the_route_is_what_the_newest_term_says(said, leader):
    followers = tuple(name for name in NAMES if name != leader)
    assert run(saying(*said), routed) == Route((Served(leader, followers),))


def test_no_answer_is_no_route():
    assert run([None, None, None], routed) is None


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ((variables(1, 2), variables(2, 2), variables(3, 2)), None),
        ((variables(1, 0), variables(2, 0), variables(3, 0)), "nobody leads etcd"),
        ((variables(1, 2), variables(2, 2), variables(3, 0)), "not in sync with etcd: n3"),
        ((variables(1, 1), variables(2, 2), variables(3, 2)), "2 nodes lead etcd instead of one"),
        ((None, variables(2, 2), variables(3, 2)), "n1 does not answer: connect: refused"),
    ],
)
def test_readiness(said, missing):
    assert run(saying(*said), ready) == missing


def told(*flags, version="3.4.23"):
    return {"debug__vars": variables(1, 1, flags=flags), "version": {"etcdserver": version, "etcdcluster": "3.4.0"}}


ALL = (
    "--heartbeat-interval=100",
    "--election-timeout=1000",
    "--pre-vote=false",
    "--snapshot-count=100000",
    "--auto-compaction-mode=periodic",
    "--auto-compaction-retention=0",
)


def test_settings_are_proven_by_the_command_lines():
    confirmed = run([told(*ALL)] * 3, lambda probe, _: probe.confirm())
    assert confirmed.notes[0].text == "etcd 3.4.23; 6 settings proven to be in effect on 3 nodes"
    assert (confirmed.settings, confirmed.promises) == (
        {
            "heartbeat-interval": "100",
            "election-timeout": "1000",
            "pre-vote": "false",
            "snapshot-count": "100000",
            "auto-compaction-mode": "periodic",
            "auto-compaction-retention": "0",
        },
        None,
    )


def test_a_setting_that_is_not_in_effect():
    other = told(*ALL[:1], "--election-timeout", "3000")
    with pytest.raises(
        DeployError, match=r"^settings are not in effect: n3: election-timeout is 3000 instead of 1000$"
    ):
        run([told(*ALL), told(*ALL), other], lambda probe, _: probe.confirm())


def test_a_member_that_does_not_say():
    with pytest.raises(DeployError, match=r"^n2 does not say its settings in effect: connect: refused$"):
        run([told(*ALL), None, told(*ALL)], lambda probe, _: probe.confirm())


def test_on_somebody_elses_cluster_the_slowest_member_makes_the_promises():
    slow = told("--election-timeout", "3000", "-snapshot-count=5")
    confirmed = run([told(*ALL), told(*ALL), slow], lambda probe, _: probe.confirm(frozenset()))
    assert confirmed.settings == {}
    assert confirmed.promises == Etcd().promises({"election-timeout": "3000", "pre-vote": "false"})
    confirmed = run([told(*ALL), told(), slow], lambda probe, _: probe.confirm(frozenset({"heartbeat-interval"})))
    assert (confirmed.promises.recovers_within_s, len(confirmed.promises.not_taken)) == (0, 1)
    with pytest.raises(DeployError, match="n3: election-timeout is 3000 instead of 1000"):
        run([told(*ALL), told(*ALL), slow], lambda probe, _: probe.confirm(frozenset({"election-timeout"})))


def test_a_flag_that_a_member_does_not_show_is_as_its_version_has_it():
    answers = [told(*ALL[:2], version="3.5.4")] * 3
    with pytest.raises(DeployError, match="n1: pre-vote is true instead of false"):
        run(answers, lambda probe, _: probe.confirm(frozenset({"pre-vote"})))
    confirmed = run(answers, lambda probe, _: probe.confirm(frozenset()))
    assert confirmed.promises == Etcd().promises({"election-timeout": "1000", "pre-vote": "true"})


def test_flags():
    assert flags_of(["/x-y/etcd", "--a-b=1", "--f", "--c", "2", "-d=3", "--e=http://x:1", "--g"]) == {
        "a-b": "1",
        "c": "2",
        "d": "3",
        "e": "http://x:1",
        "f": "true",
        "g": "true",
    }


def test_the_runs_keys_are_removed_by_the_first_member_that_can():
    async def removed(probe, members):
        return await probe.remove(), members[1].asked, probe._view.mark

    done = {"v3__kv__deleterange": {"header": {}, "deleted": "7"}}
    removal, asked, mark = run([None, done, done], removed)
    assert (removal.removed, removal.left) == ((f"keys {mark}/*",), ())
    assert [path for path, _ in asked] == ["v3/kv/deleterange"]
    removal, _, _ = run([None, {}, None], removed)
    assert (removal.removed, removal.left) == ((), (f"keys {mark}/*: connect: refused",))

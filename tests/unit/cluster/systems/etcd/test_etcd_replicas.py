"""What each member holds: its own copy of the run's keys, its hash where it gives one, and how far it is."""

import asyncio
import base64
from contextlib import AsyncExitStack

from etcd_member import Member
from system_view import view_of

from chaos.core.replica_data import ReplicaData
from cluster.systems.etcd.replicas import EtcdReplicas
from cluster.systems.etcd.system import Etcd

NAMES = ("n1", "n2", "n3")
VIEW = view_of(Etcd())


def member(applied, revision, value="7", mod=5, hash_=11, compacted=-1):
    key = base64.b64encode(f"{VIEW.mark}/registers/0".encode()).decode()
    pair = {"key": key, "value": base64.b64encode(value.encode()).decode(), "mod_revision": str(mod)}
    return {
        "v3__maintenance__status": {"header": {"revision": str(revision)}, "raftAppliedIndex": str(applied)},
        "v3__kv__range": {"kvs": [pair], "count": "1"},
        "members__hashkv": {"header": {"revision": revision}, "hash": hash_, "compact_revision": compacted},
    }


def read(answers, timeout_s=0.0, change=None):
    """What a reader says of three members that answer so; None: one that is away."""

    async def scenario():
        async with AsyncExitStack() as stack:
            members = [await stack.enter_async_context(Member(**(one or {}))) for one in answers]
            for one, said in zip(members, answers, strict=True):
                if said is None:
                    one.away()
            reader = EtcdReplicas(VIEW)
            reader._gateways = dict(zip(NAMES, (one.gateway for one in members), strict=True))
            reader._peers = reader._gateways
            if change is not None:
                change(members)
            found = await reader.read(timeout_s)
            await reader.close()
            return found, members

    return asyncio.run(scenario())


def test_each_member_is_asked_for_its_own_copy_at_the_revision_that_all_have():
    found, members = read([member(20, 9), member(20, 9), member(20, 8, "6", 4, 12)])
    written = "digest of the revisions at which keys were written"
    assert found[0] == ReplicaData(
        node="n1",
        subject="etcd",
        position=20,
        entries={"registers/0": "7"},
        digests={"its revision": "9", written: found[1].digests[written], "hash at revision 8": "11"},
    )
    assert found[2].entries == {"registers/0": "6"}
    assert found[2].digests == {"its revision": "8", written: found[2].digests[written], "hash at revision 8": "12"}
    assert found[2].digests[written] != found[0].digests[written]
    asked = dict(members[1].asked)
    assert asked["v3/kv/range"]["serializable"] is True
    assert asked["members/hashkv"] == {"revision": 8}


def test_hashes_of_other_compactions_have_other_names():
    found, _ = read([member(20, 9), member(20, 9, compacted=3), member(20, 9)])
    assert [*found[1].digests][-1] == "hash at revision 9, compacted at 3"
    assert [*found[0].digests] == [*found[2].digests] != [*found[1].digests]


def test_a_member_that_gives_no_hash_is_compared_by_its_copy():
    without = {name: said for name, said in member(20, 9).items() if name != "members__hashkv"}
    found, _ = read([member(20, 9), without, member(20, 9)])
    assert (found[1].error, len(found[1].digests), found[1].position) == ("", len(found[0].digests) - 1, 20)


def test_members_are_waited_for_until_all_have_applied_the_same():
    def late(members):
        told = iter(["18", "18", "19"])
        members[2].answers["v3/maintenance/status"] = lambda _: {
            "header": {"revision": "9"},
            "raftAppliedIndex": next(told, "20"),
        }

    found, _ = read([member(20, 9)] * 3, timeout_s=30.0, change=late)
    assert [one.position for one in found] == [20, 20, 20]
    found, _ = read([member(20, 9), member(20, 9), member(18, 7)])
    assert [one.position for one in found] == [20, 20, 18], "not for ever"


def test_a_member_that_is_away_or_refuses_says_why():
    found, _ = read([None, member(20, 9), {**member(20, 9), "v3__kv__range": {"message": "etcdserver: corrupt"}}])
    assert [one.error for one in found] == ["it does not say how far it is", "", "etcdserver: corrupt"]

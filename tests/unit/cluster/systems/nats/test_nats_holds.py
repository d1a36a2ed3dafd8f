"""What a client asks of expiring buckets for locks, leases and permits, and what it makes of the answers."""

import asyncio

import pytest
from nats_server import NOBODY, FakeNats, held, info, refused, stored
from scripted import raised_and_given
from system_view import view_of
from test_nats_client import BUCKET, GET, INFO, KEYS, NOTHING, STREAM, client_of, op

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Word
from chaos.models.coordination import lease, lock, semaphore
from chaos.models.coordination.lease import Alive, Living, Term, Which
from chaos.models.coordination.lock import Granted, Lease, Token, Written
from chaos.models.coordination.semaphore import Permit, Wanted
from cluster.systems.nats import streams
from cluster.systems.nats.leases import GONE, NOT_OURS
from cluster.systems.nats.locks import HELD, LATER, NOT_HELD
from cluster.systems.nats.semaphores import NONE_FREE
from cluster.systems.nats.semaphores import NOT_HELD as NO_PERMIT
from cluster.systems.nats.system import Nats

AGED = {"cluster__streams": "expiring", "cluster__maxAge": "4s"}
PURGE = f"$JS.API.STREAM.PURGE.{STREAM}"
GUARDED = f"{BUCKET[:-2]}-guarded"
RESOURCE, SEEN = f"$KV.{GUARDED}.resources.3", f"$JS.API.STREAM.MSG.GET.KV_{GUARDED}"
LOCK, LEASE, PERMIT = f"{KEYS}.locks.3", f"{KEYS}.leases.3.9", f"{KEYS}.permits.3"
EXPECTED = "Nats-Expected-Last-Subject-Sequence"
TAKE, WRITE, GIVE = (
    op(lock.F.ACQUIRE, Lease(lease_ms=4000)),
    *(op(f, Token(token=9)) for f in (lock.F.GUARDED, lock.F.UNLOCK)),
)
GRANT, LOOK = op(lease.F.GRANT, Term(lease=9, ttl_ms=4000)), op(lease.F.READ)
RENEW, REVOKE = (op(f, Which(lease=9)) for f in (lease.F.RENEW, lease.F.REVOKE))
ACQUIRE, BACK = op(semaphore.F.ACQUIRE, Wanted(lease_ms=4000, permits=3)), op(semaphore.F.GIVE_BACK, Permit(9))
WRONG = refused(10071, "wrong last sequence: 12")
PURGED, NOT_PURGED = {"success": True, "purged": 1}, {"success": True, "purged": 0}
DOUBT = [
    (WRONG, Indefinite),
    (refused(0, "raft: not leader", 503), Indefinite),
    (NOBODY, Definite),
    (StopIteration, Indefinite),
]


def run(ops, answers, **settings):
    """What each operation raised and was given, and the requests. ``answers``: by how a subject begins, in turn."""
    left = {begin: list(said) if isinstance(said, list) else [said] for begin, said in answers.items()}

    def answer(subject, *_):
        said = next(said for begin, said in left.items() if subject.startswith(begin))
        return said.pop(0) if len(said) > 1 else said[0]

    async def scenario():
        async with FakeNats(answer) as server:
            client = await client_of(server, **{**AGED, **settings})
            said = []
            for one in ops:
                out, received = await raised_and_given(client, one)
                said.append((out, received.result))
            await client.close()
            return said, server.asked

    return asyncio.run(scenario())


def put(key, body, revision):
    return key, body, {EXPECTED: str(revision)}


def test_a_lock_is_made_where_nobody_has_it():
    said, asked = run([TAKE], {GET: NOTHING, LOCK: stored(9)})
    assert said == [(None, Granted(9))]
    assert asked == [(GET, b'{"last_by_subj":"%s"}' % LOCK.encode(), {}), put(LOCK, b"held", 0)]


@pytest.mark.parametrize("answer", [held(8), NOBODY, StopIteration])
def test_whoever_does_not_find_it_free_writes_nothing(answer):
    ((out, given),), asked = run([TAKE], {GET: answer})
    assert (out[0], given, len(asked)) == (Definite, None, 1)
    assert (out[1] == HELD) is (answer == held(8))


@pytest.mark.parametrize(("answer", "kind"), DOUBT)
def test_no_refusal_of_an_expiring_key_is_certain(answer, kind):
    """Another server that takes itself for the leader may have forgotten the message that stands in the way."""
    for one, subject in ((TAKE, LOCK), (GRANT, LEASE)):
        ((out, given),), asked = run([one], {GET: NOTHING, subject: answer})
        assert (out[0], given, asked[-1][0]) == (kind, None, subject)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (op(lock.F.ACQUIRE, Lease(lease_ms=4001)), "4001 ms are asked for"),
        (op(lease.F.GRANT, Term(lease=9, ttl_ms=5000)), "5000 ms are asked for"),
        (op(semaphore.F.ACQUIRE, Wanted(lease_ms=5000, permits=3)), "5000 ms are asked for"),
    ],
)
def test_nothing_is_held_for_longer_than_keys_live(one, said):
    (((kind, text), _),), asked = run([one], {})
    assert (kind, asked) == (Definite, [])
    assert text == f"keys of the bucket live 4000 ms, and {said}"


@pytest.mark.parametrize(("seen", "revision"), [(NOTHING, 0), (held(30, b"7"), 30), (held(30, b"9"), 30)])
def test_a_resource_is_written_at_the_revision_that_was_looked_at(seen, revision):
    said, asked = run([WRITE], {SEEN: seen, RESOURCE: stored(31)})
    assert (said, asked[1:]) == ([(None, Written(31))], [put(RESOURCE, b"9", revision)])


@pytest.mark.parametrize(
    ("seen", "out"),
    [
        (held(30, b"10"), (Definite, LATER)),
        (held(30, b"x"), (Definite, "malformed value: b'x'")),
        (StopIteration, (Definite, "not looked at: connection closed by the server")),
    ],
)
def test_a_later_token_stops_a_holder_of_the_past(seen, out):
    said, asked = run([WRITE], {SEEN: seen})
    assert (said[0][0][0], len(asked)) == (Definite, 1)
    if seen is not StopIteration:
        assert said == [(out, None)]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refused(10071, "wrong last sequence: 31"), Definite),
        (refused(10071, "wrong last sequence: 29"), Indefinite),
        (NOBODY, Definite),
        (StopIteration, Indefinite),
    ],
)
def test_a_resource_has_no_age(answer, kind):
    """So a later revision of it is certain."""
    ((out, _),), _ = run([WRITE], {SEEN: held(30, b"7"), RESOURCE: answer})
    assert out[0] is kind


def test_without_fencing_nothing_is_looked_at():
    said, asked = run([WRITE], {RESOURCE: stored(31)}, client__fencing="false")
    assert (said, asked) == ([(None, Written(31))], [(RESOURCE, b"9", {})])


def test_a_lock_is_given_back_up_to_its_token():
    said, asked = run([GIVE], {GET: held(9), PURGE: PURGED})
    assert (said, asked[1]) == ([(None, None)], (PURGE, b'{"filter":"%s","seq":10}' % LOCK.encode(), {}))


@pytest.mark.parametrize("answer", [NOTHING, held(10)])
def test_who_lost_a_lock_gives_nothing_back(answer):
    said, asked = run([GIVE], {GET: answer})
    assert (said, len(asked)) == ([((Definite, NOT_HELD), None)], 1)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (NOT_PURGED, Indefinite),
        (refused(10008, "JetStream system temporarily unavailable", 503), Indefinite),
        (NOBODY, Definite),
        (StopIteration, Indefinite),
        ("no object", Indefinite),
    ],
)
def test_what_becomes_of_a_removal(answer, kind):
    """That nothing was there is no refusal: another leader may have removed it."""
    ((out, _),), _ = run([GIVE], {GET: held(9), PURGE: answer})
    assert out[0] is kind


def test_a_lease_is_renewed_at_the_revision_that_its_client_knows():
    said, asked = run([GRANT, RENEW, RENEW], {LEASE: [stored(9), stored(15), stored(16)]})
    assert said == [(None, Alive(4000))] * 3
    assert asked == [put(LEASE, b"", revision) for revision in (0, 9, 15)]


def test_whose_renewal_is_in_doubt_looks_first():
    said, asked = run([GRANT, RENEW, RENEW, RENEW], {LEASE: [stored(9), WRONG, stored(16), stored(17)], GET: held(12)})
    assert [out for out, _ in said] == [None, (Indefinite, "10071 wrong last sequence: 12"), None, None]
    assert [subject for subject, *_ in asked] == [LEASE, LEASE, GET, LEASE, LEASE]
    assert [headers[EXPECTED] for *_, headers in asked if headers] == ["0", "9", "12", "16"]


def test_a_lease_that_has_ended_is_not_renewed():
    said, asked = run([GRANT, RENEW, RENEW, RENEW], {LEASE: [stored(9), WRONG], GET: NOTHING})
    assert [out for out, _ in said[2:]] == [(Definite, GONE)] * 2
    assert [subject for subject, *_ in asked] == [LEASE, LEASE, GET, GET]


def test_a_renewal_that_was_certainly_not_done_leaves_the_revision():
    said, asked = run([GRANT, RENEW, RENEW], {LEASE: [stored(9), NOBODY, stored(10)]})
    assert [out for out, _ in said] == [None, (Definite, "no responders"), None]
    assert [headers[EXPECTED] for *_, headers in asked] == ["0", "9", "9"]


def test_a_lease_is_ended_whatever_its_revision_is():
    said, asked = run([GRANT, REVOKE], {LEASE: stored(9), PURGE: PURGED})
    assert (said[1], asked[1]) == ((None, None), (PURGE, b'{"filter":"%s"}' % LEASE.encode(), {}))


@pytest.mark.parametrize("one", [RENEW, REVOKE], ids=lambda one: one.f.word)
def test_the_lease_of_somebody_else_is_not_touched(one):
    assert run([one], {}) == ([((Definite, NOT_OURS), None)], [])


@pytest.mark.parametrize("confirm", ["true", "false"])
@pytest.mark.parametrize(
    ("last", "out"), [(12, None), (11, (Definite, "the answer is of message 11, and 12 was stored before"))]
)
def test_a_look_is_confirmed_whatever_other_reads_are(last, out, confirm):
    seen = f"{KEYS}.seen.leases.3"
    answers = {seen: stored(12), INFO: info(last, LEASE, f"{KEYS}.leases.3.12")}
    said, asked = run([LOOK], answers, client__confirmReads=confirm)
    assert said == [(out, None if out else Living([9, 12]))]
    assert [subject for subject, *_ in asked] == [seen, INFO]


def test_a_permit_is_the_first_key_that_nobody_has():
    said, asked = run([ACQUIRE], {INFO: info(8, f"{PERMIT}.0"), f"{PERMIT}.": stored(9)})
    assert said == [(None, Permit(9))]
    assert asked == [(INFO, b'{"subjects_filter":"%s.>"}' % PERMIT.encode(), {}), put(f"{PERMIT}.1", b"", 0)]


@pytest.mark.parametrize("other", [WRONG, refused(10164, "wrong last sequence")], ids=["stored", "under way"])
def test_whoever_comes_late_tries_the_next_one(other):
    said, asked = run([ACQUIRE], {INFO: info(8), f"{PERMIT}.0": other, f"{PERMIT}.1": other, f"{PERMIT}.2": stored(14)})
    assert (said, len(asked)) == ([(None, Permit(14))], 4)


def test_who_was_refused_every_key_does_not_know():
    said, _ = run([ACQUIRE], {INFO: info(8, f"{PERMIT}.0"), f"{PERMIT}.": WRONG})
    assert said == [((Indefinite, "10071 wrong last sequence: 12"), None)]
    said, _ = run([ACQUIRE], {INFO: info(8, f"{PERMIT}.0"), f"{PERMIT}.1": WRONG, f"{PERMIT}.2": NOBODY})
    assert said[0][0][0] is Indefinite, "the first key may be made"


@pytest.mark.parametrize(("answer", "kind"), DOUBT[1:])
def test_a_try_without_a_clear_answer_is_the_last_one(answer, kind):
    said, asked = run([ACQUIRE], {INFO: info(8), f"{PERMIT}.": answer})
    assert (said[0][0][0], len(asked)) == (kind, 2)


@pytest.mark.parametrize("answer", [info(8, *(f"{PERMIT}.{one}" for one in range(3))), NOBODY, StopIteration])
def test_whoever_finds_no_free_permit_tries_none(answer):
    ((out, given),), asked = run([ACQUIRE], {INFO: answer})
    assert (out[0], given, len(asked)) == (Definite, None, 1)
    assert (out[1] == NONE_FREE) is isinstance(answer, dict)


def test_a_permit_is_given_back_by_its_number():
    answers = {INFO: info(8), f"{PERMIT}.0": stored(9), GET: [held(9), NOTHING], PURGE: PURGED}
    said, asked = run([ACQUIRE, BACK, BACK], answers)
    assert said[1:] == [(None, None), ((Definite, NO_PERMIT), None)]
    assert asked[3] == (PURGE, b'{"filter":"%s.0","seq":10}' % PERMIT.encode(), {})
    assert run([BACK], {}) == ([((Definite, NO_PERMIT), None)], [])


@pytest.mark.parametrize(
    ("words", "model", "age"), [(lock.F, "lock", "2s"), (lease.F, "lease", "4s"), (semaphore.F, "semaphore", "4s")]
)
def test_workloads_that_hold_get_keys_that_end(words: type[Word], model, age):
    system = Nats()
    wanted = system.settings_for(frozenset(words))
    assert wanted == {streams.KIND: streams.EXPIRING, "cluster.maxAge": age}
    assert system.operations(model, wanted) == frozenset(words)
    assert system.operations("register", wanted) == frozenset()
    assert system.operations(model, {}) == frozenset()
    settings = system.resolve(wanted)
    assert [one.name for one in system.subjects(settings, 8)] == ["kv1", "kv2", "kv3"]
    assert view_of(system, **AGED).settings["client.fencing"] == "true"

"""Transactions as etcd's own: what is asked of a member, and what is made of its answers."""

import base64

import pytest
from test_etcd_client import DONE, LATE, MARK, NOT_HELD, TXN, coded, run

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Invocation
from chaos.models.transactions.words import Do, F, Micro, Reads, Transaction

A, B = Micro(Do.APPEND, 1, 7), Micro(Do.READ, 2)


def op(f, *micros):
    return Invocation(process=3, client=0, f=f, key=0, deadline_ns=0, argument=Transaction(micros))


def key(kind, number):
    return coded(f"{MARK}/{kind}/0/{number}")


class Store:
    """A member that does transactions: comparisons of revisions, ranges and puts in their order."""

    def __init__(self, **held):
        self.revision = 5
        self.held = {key(*name.split("_")): (text, self.revision) for name, text in held.items()}
        self.between = None  # what somebody else writes before the next comparison

    def __call__(self, body):
        if "compare" in body and self.between is not None:
            self.held[self.between] = ("99", 77)
        if any(self.held.get(c["key"], ("", 0))[1] != c["mod_revision"] for c in body.get("compare", ())):
            return NOT_HELD
        self.revision += 1
        return {"header": {}, "succeeded": True, "responses": list(map(self._do, body["success"]))}

    def _do(self, one):
        if "request_put" in one:
            put = one["request_put"]
            self.held[put["key"]] = (base64.b64decode(put["value"]).decode(), self.revision)
            return {"response_put": {"header": {}}}
        found = self.held.get(one["request_range"]["key"])
        if found is None:
            return {"response_range": {"header": {}}}
        pair = {"value": coded(found[0]), "mod_revision": str(found[1])}
        return {"response_range": {"header": {}, "kvs": [pair], "count": "1"}}


def test_a_list_is_read_and_written_if_nobody_wrote_any_of_the_keys_since():
    store = Store(lists_1="3 4", lists_2="8")
    (told,), asked = run([op(F.LIST_TXN, Micro(Do.READ, 1), A, Micro(Do.READ, 1), B, Micro(Do.READ, 5))], {TXN: store})
    assert told == ("n1", Reads([[3, 4], None, [3, 4, 7], [8], []]))
    (_, first), (_, second) = asked
    assert [one["request_range"]["key"] for one in first["success"]] == [key("lists", one) for one in (1, 2, 5)]
    assert "compare" not in first
    assert second["compare"] == [
        {"key": key("lists", number), "target": "MOD", "result": "EQUAL", "mod_revision": revision}
        for number, revision in ((1, 5), (2, 5), (5, 0))
    ]
    assert second["success"] == [{"request_put": {"key": key("lists", 1), "value": coded("3 4 7")}}]


@pytest.mark.parametrize("number", [1, 2])
def test_a_list_that_somebody_wrote_meanwhile_is_left_as_it_is(number):
    store = Store(lists_1="3", lists_2="8")
    store.between = key("lists", number)
    (told,), asked = run([op(F.LIST_TXN, A, B)], {TXN: store})
    assert told == (Definite, "the comparison does not hold")
    assert len(asked) == 2
    assert not any(text == "3 7" for text, _ in store.held.values())


def test_a_transaction_that_reads_is_one_request():
    (told,), asked = run([op(F.LIST_READ, B, Micro(Do.READ, 9))], {TXN: Store(lists_2="8 9")})
    assert told == ("n1", Reads([[8, 9], []]))
    ((_, body),) = asked
    assert [one["request_range"]["serializable"] for one in body["success"]] == [False, False]


def test_a_member_may_answer_from_its_own_copy():
    _, asked = run([op(F.LIST_READ, B)], {TXN: Store()}, client__serializable="true")
    assert asked[0][1]["success"][0]["request_range"]["serializable"] is True


def test_registers_are_read_and_written_in_one_request_in_order():
    micros = (Micro(Do.READ, 1), Micro(Do.WRITE, 1, 7), Micro(Do.READ, 1), Micro(Do.READ, 2))
    (told,), asked = run([op(F.REGISTER_TXN, *micros)], {TXN: Store(cells_1="4")})
    assert told == ("n1", Reads([[4], None, [7], []]))
    ((_, body),) = asked
    assert [next(iter(one)) for one in body["success"]] == [
        "request_range",
        "request_put",
        "request_range",
        "request_range",
    ]


COMPACTED = {"message": "etcdserver: mvcc: required revision has been compacted"}


def test_a_transaction_that_writes_may_also_read_what_was_long_ago():
    write, read = op(F.REGISTER_TXN, Micro(Do.READ, 1), Micro(Do.WRITE, 2, 7)), op(F.REGISTER_READ, Micro(Do.READ, 2))
    revisions, store = iter((500, 650, 651, 700, 852, 853)), Store(cells_1="4")

    def member(body):
        if any(one.get("request_range", {}).get("revision") == 451 for one in body["success"]):
            return COMPACTED
        return {**store(body), "header": {"revision": str(next(revisions))}}

    told, asked = run([write, write, read, *[write] * 4], {TXN: member}, client__lookBack="200")
    done = ("n1", Reads([[4], None]))
    refused = (Definite, "etcdserver: mvcc: required revision has been compacted")
    assert told == [done, done, ("n1", Reads([[7]])), refused, done, done, done]
    past = [
        [one["request_range"] for one in body["success"] if "revision" in one.get("request_range", {})]
        for _, body in asked
    ]
    looked = [[], [300], [], [451], [], [], [652]]
    assert past == [[{"key": key("cells", 1), "revision": one} for one in revisions] for revisions in looked], (
        "who was refused does without until there are as many revisions more"
    )


def refusing_second(body):
    return LATE if "compare" in body else Store()(body)


@pytest.mark.parametrize(
    ("one", "answer", "kind", "requests"),
    [
        (op(F.LIST_TXN, A), LATE, Definite, 1),
        (op(F.LIST_TXN, A), None, Definite, 1),
        (op(F.LIST_TXN, A), refusing_second, Indefinite, 2),
        (op(F.LIST_TXN, A), DONE, Definite, 1),
        (op(F.LIST_READ, B), LATE, Definite, 1),
        (op(F.REGISTER_TXN, Micro(Do.WRITE, 1, 7)), LATE, Indefinite, 1),
        (op(F.REGISTER_TXN, Micro(Do.WRITE, 1, 7)), None, Indefinite, 1),
        (op(F.REGISTER_READ, Micro(Do.READ, 1)), LATE, Definite, 1),
        (op(F.REGISTER_READ, Micro(Do.READ, 1)), None, Indefinite, 1),
    ],
)
def test_until_the_write_leaves_nothing_was_changed(one, answer, kind, requests):
    (told,), asked = run([one], {TXN: answer} if answer is not None else {})
    assert told[0] is kind
    assert len(asked) == requests


@pytest.mark.parametrize(
    ("one", "kind"),
    [
        (op(F.LIST_TXN, A), Definite),
        (op(F.LIST_READ, B), Definite),
        (op(F.REGISTER_TXN, Micro(Do.READ, 1), Micro(Do.WRITE, 2, 7)), Indefinite),
        (op(F.REGISTER_READ, Micro(Do.READ, 1)), Definite),
    ],
)
@pytest.mark.parametrize("responses", [[], [{}] * 3, [{"response_range": {"kvs": [{"value": coded("x")}]}}] * 2])
def test_an_answer_that_makes_no_sense_is_none(one, kind, responses):
    (told,), _ = run([one], {TXN: {"header": {}, "succeeded": True, "responses": responses}})
    assert told[0] is kind

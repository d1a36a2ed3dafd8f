"""Every row of the table of outcomes, as etcd sends it."""

import msgspec
import pytest

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type
from cluster.systems.etcd.outcomes import TABLE, outcome


def body(text, code=14):
    return msgspec.json.encode({"error": text, "message": text, "code": code})


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.text)
def test_every_row(row):
    write, read = outcome(body(row.text), write=True), outcome(body(row.text), write=False)
    assert type(write) is (Definite if row.type is Type.FAIL else Indefinite)
    assert type(read) is Definite, "a read that was refused changes nothing"
    assert (str(write), str(read), bool(row.why)) == (row.text, row.text, True)


def test_only_what_raft_never_saw_or_refused_at_first_sight_has_failed():
    assert [row.text for row in TABLE if row.type is Type.FAIL] == [
        "etcdserver: too many requests",
        "etcdserver: request is too large",
        "etcdserver: not capable",
        "etcdserver: rpc not supported for learner",
        "etcdserver: no leader",
        "raft proposal dropped",
        "etcdserver: requested lease not found",
        "etcdserver: mvcc: required revision has been compacted",
    ]


@pytest.mark.parametrize("answer", [body("transport is closing"), b"", b"404 page not found", b'{"code": 14}'])
def test_what_nobody_foresaw_leaves_a_write_in_doubt(answer):
    assert type(outcome(answer, write=True)) is Indefinite
    assert type(outcome(answer, write=False)) is Definite


def test_texts_are_said_once():
    assert len({row.text for row in TABLE}) == len(TABLE)

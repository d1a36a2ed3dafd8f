"""Every row of the table of outcomes, as NATS sends it."""

import pytest

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type
from cluster.systems.nats.outcomes import EXPIRING, NEWER, NO_CODE, NOBODY, NOT_NEWER, TABLE, ApiError, name_of, outcome

SENT = {
    NOBODY: None,
    NEWER: ApiError(400, 10071, "wrong last sequence: 8"),
    NOT_NEWER: ApiError(400, 10071, "wrong last sequence: 6"),
    EXPIRING: ApiError(400, 10071, "wrong last sequence: 8"),
    "10164": ApiError(400, 10164, "wrong last sequence"),
    NO_CODE: ApiError(503, 0, "raft: not leader"),
    "10008": ApiError(503, 10008, "JetStream system temporarily unavailable"),
    "10002": ApiError(400, 10002, "resource limits exceeded for account"),
    "10023": ApiError(503, 10023, "insufficient resources"),
    "10063": ApiError(503, 10063, "expected stream sequence does not match"),
    "10077": ApiError(503, 10077, "no space left on device"),
}
"""By row, the error that a client is given which expected revision 7."""


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_every_row(row):
    error = SENT[row.name]
    expiring = row.name == EXPIRING
    write, read = outcome(error, write=True, expected=7, expiring=expiring), outcome(error, write=False)
    assert type(write) is (Definite if row.type is Type.FAIL else Indefinite)
    assert type(read) is Definite, "a read that was refused changes nothing"
    assert (str(write), str(read), bool(row.why)) == (str(error or NOBODY), str(error or NOBODY), True)


def test_every_row_has_what_is_sent_and_no_name_is_said_twice():
    assert [row.name for row in TABLE] == list(SENT)
    named = [name_of(error, 7, expiring=name == EXPIRING) for name, error in SENT.items() if error is not None]
    assert named == list(SENT)[1:]


def test_a_write_has_failed_only_if_nobody_has_it():
    assert [row.name for row in TABLE if row.type is Type.FAIL] == [NOBODY, NEWER]


@pytest.mark.parametrize("found", [0, 6, 7])
def test_one_that_knows_no_newer_revision_may_be_behind_the_leader(found):
    error = ApiError(400, 10071, f"wrong last sequence: {found}")
    assert type(outcome(error, write=True, expected=7)) is Indefinite


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ApiError(400, 10071, "wrong last sequence: 9"), None),
        (ApiError(400, 10071, "wrong last sequence"), 7),
        (ApiError(400, 10003, "bad request"), 7),
        (ApiError(), None),
    ],
)
def test_what_nobody_foresaw_leaves_a_write_in_doubt(error, expected):
    assert type(outcome(error, write=True, expected=expected)) is Indefinite
    assert type(outcome(error, write=False)) is Definite

"""Every row of the table of outcomes, as Kafka numbers it."""

import pytest

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type
from cluster.systems.kafka.outcomes import COMMITS, TABLE, name_of, of_commit, of_send


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_every_row(row):
    before, behind = of_send(row.code, -1), of_send(row.code, 7)
    assert type(before) is (Definite if row.type is Type.FAIL else Indefinite)
    assert type(behind) is Indefinite, "what has an offset was appended"
    assert (str(before), str(behind), bool(row.why)) == (row.name, row.name, True)


def test_what_may_be_said_behind_the_append_leaves_a_send_in_doubt():
    assert [row.name for row in TABLE if row.type is not Type.FAIL] == [
        "UNKNOWN_SERVER_ERROR",
        "REQUEST_TIMED_OUT",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "DUPLICATE_SEQUENCE_NUMBER",
        "KAFKA_STORAGE_ERROR",
    ]


@pytest.mark.parametrize("code", [1, 4, 5, 9, 13, 52, 999])
def test_what_nobody_foresaw_leaves_a_send_in_doubt(code):
    assert type(of_send(code, -1)) is Indefinite
    assert str(of_send(code, -1)) == name_of(code)


def test_codes_and_names_are_said_once():
    assert len({row.code for row in TABLE}) == len({row.name for row in TABLE}) == len(TABLE)
    assert (name_of(1), name_of(999)) == ("OFFSET_OUT_OF_RANGE", "error 999")


@pytest.mark.parametrize("row", COMMITS, ids=lambda row: row.name)
def test_every_row_of_commits(row):
    found = of_commit(row.code)
    assert type(found) is (Definite if row.type is Type.FAIL else Indefinite)
    assert (str(found), bool(row.why)) == (row.name, True)


def test_what_a_coordinator_says_of_an_append_that_failed_leaves_a_commit_in_doubt():
    assert {row.name for row in COMMITS if row.type is Type.INFO} == {
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "INVALID_COMMIT_OFFSET_SIZE",
    }
    assert type(of_commit(7)) is type(of_commit(-1)) is type(of_commit(999)) is Indefinite

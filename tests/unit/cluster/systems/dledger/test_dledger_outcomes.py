"""Every row of the table of outcomes, for an append and for a read."""

import pytest

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type
from cluster.systems.dledger.ledger import Appended, appended_at
from cluster.systems.dledger.outcomes import TABLE, definite_of, of_append


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.error)
def test_every_row(row):
    append, read = of_append(row.code, remoting=row.remoting), definite_of(row.code, remoting=row.remoting)
    assert type(append) is (Definite if row.type is Type.FAIL else Indefinite)
    assert type(read) is Definite, "a read that was refused changes nothing"
    assert (str(append), str(read), bool(row.why)) == (row.error, row.error, True)


def test_no_error_is_said_twice():
    assert len({(row.code, row.remoting) for row in TABLE}) == len(TABLE)


def test_an_append_has_failed_only_if_it_was_refused_before_the_entry_was_written():
    assert {row.name for row in TABLE if row.type is Type.FAIL} == {
        "UNKNOWN_GROUP",
        "UNKNOWN_MEMBER",
        "NOT_LEADER",
        "DISK_FULL",
        "LEADER_PENDING_FULL",
        "LEADER_TRANSFERRING",
        "SYSTEM_BUSY",
        "REQUEST_CODE_NOT_SUPPORTED",
    }


@pytest.mark.parametrize(("code", "remoting"), [(-1, False), (2, False), (404, True), (499, False), (1500, True)])
def test_what_nobody_foresaw_leaves_an_append_in_doubt(code, remoting):
    assert type(of_append(code, remoting=remoting)) is Indefinite
    assert type(definite_of(code, remoting=remoting)) is Definite


def test_an_acknowledgement_without_an_index_leaves_the_append_in_doubt():
    assert appended_at(Appended(index=0)) == 0
    with pytest.raises(Indefinite, match="acknowledged without an index"):
        appended_at(Appended())

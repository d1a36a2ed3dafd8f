"""Every row of the table of outcomes, as ZooKeeper numbers it."""

import pytest

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type
from cluster.systems.zookeeper.outcomes import TABLE, outcome


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_every_row(row):
    write, read = outcome(row.code, write=True), outcome(row.code, write=False)
    assert type(write) is (Definite if row.type is Type.FAIL else Indefinite)
    assert type(read) is Definite, "a read that was refused changes nothing"
    assert (str(write), str(read), bool(row.why)) == (row.name, row.name, True)


def test_what_a_server_may_say_after_a_write_was_applied_leaves_it_in_doubt():
    assert [row.name for row in TABLE if row.type is Type.INFO] == ["MarshallingError", "SystemError"]


@pytest.mark.parametrize("code", [-4, -7, -2, -118, -122, -999, 1])
def test_what_nobody_foresaw_leaves_a_write_in_doubt(code):
    assert type(outcome(code, write=True)) is Indefinite
    assert type(outcome(code, write=False)) is Definite
    assert str(outcome(code, write=True)) == f"error {code}"


def test_codes_and_names_are_said_once():
    assert len({row.code for row in TABLE}) == len({row.name for row in TABLE}) == len(TABLE)

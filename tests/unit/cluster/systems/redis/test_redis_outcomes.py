"""Every row of the table of outcomes, as Redis sends it."""

import pytest

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type
from cluster.systems.redis.outcomes import TABLE, outcome


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.code)
def test_every_row(row):
    text = f"{row.code} and more"
    write, read = outcome(text, write=True), outcome(text, write=False)
    assert type(write) is (Definite if row.type is Type.FAIL else Indefinite)
    assert type(read) is Definite, "a read that was refused changes nothing"
    assert (str(write), str(read), bool(row.why)) == (text, text, True)


def test_what_a_server_may_say_after_it_has_executed_a_write_leaves_it_in_doubt():
    assert [row.code for row in TABLE if row.type is Type.INFO] == ["UNBLOCKED", "ERR"]


@pytest.mark.parametrize("text", ["", "WRONGTYPE Operation against a key", "READONLYISH", "readonly"])
def test_what_nobody_foresaw_leaves_a_write_in_doubt(text):
    assert type(outcome(text, write=True)) is Indefinite
    assert type(outcome(text, write=False)) is Definite


def test_codes_are_said_once():
    assert len({row.code for row in TABLE}) == len(TABLE)

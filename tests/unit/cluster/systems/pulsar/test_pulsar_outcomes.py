"""Every row of the table of outcomes, for a send and for what refuses to serve."""

import pytest

from chaos.core.client import Definite, Indefinite
from chaos.core.op import Type
from cluster.systems.pulsar.outcomes import TABLE, Refusal, name_of, of_send


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.error)
def test_every_row(row):
    said = of_send(Refusal(row.code, "so\nand so"))
    assert type(said) is (Definite if row.type is Type.FAIL else Indefinite)
    assert (str(said), bool(row.why)) == (f"{row.error}: so", True)


def test_no_error_is_said_twice():
    assert len({row.code for row in TABLE}) == len(TABLE)


def test_a_send_has_failed_only_if_it_was_refused_before_it_was_written():
    assert {row.name for row in TABLE if row.type is Type.FAIL} == {"ChecksumError", "NotAllowedError"}


@pytest.mark.parametrize("code", [-1, 6, 16, 25, 99])
def test_what_nobody_foresaw_leaves_a_send_in_doubt(code):
    assert type(of_send(Refusal(code, ""))) is Indefinite


@pytest.mark.parametrize(("code", "name"), [(2, "2 PersistenceError"), (6, "6 ServiceNotReady"), (99, "error 99")])
def test_errors_have_names(code, name):
    assert (name_of(code), Refusal(code, "").text) == (name, name)

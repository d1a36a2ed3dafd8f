"""Errors whose texts differ in numbers alone."""

from chaos.core.verdict import ErrorResult, Results
from reports.page.error_variants import labels_of
from reports.page.errors import errors_of


def results(*texts: str) -> Results:
    errors = tuple(
        ErrorResult(error=text, type="fail", node="n1", fault=1, count=2, first_ns=10 + at, last_ns=20 + at)
        for at, text in enumerate(texts)
    )
    return Results(valid=True, sentence="", reason="", model="watch", engine="local", checks=(), errors=errors)


MANY = tuple(f"asked for {n}, and {n - 9}…" for n in range(10, 15))


def test_many_variants_of_an_error_are_told_as_one() -> None:
    assert set(labels_of(MANY).values()) == {"(5 variants) asked for …, and …"}


def test_a_few_numbers_may_be_codes_and_stay() -> None:
    few = ("rejected: code 13", "rejected: code 14", "refused")
    assert labels_of(few) == {text: text for text in few}


def test_the_table_adds_variants_up() -> None:
    table = errors_of(results(*MANY, "refused"), 0)
    assert table is not None
    assert [(row[0], row[4]) for row in table.rows] == [("(5 variants) asked for …, and …", "10"), ("refused", "2")]
    assert [getattr(cell, "at_s", None) for cell in table.rows[0][5:]] == [10e-9, 24e-9]

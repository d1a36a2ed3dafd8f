"""Corners of imported histories: what files may look like, what counts as the same value, what is refused."""

import json

import pytest

from chaos.core.errors import HistoryError
from checkers.imported.judge_file import judge
from checkers.imported.options import Question

BOM = "\ufeff"
WRITE = ((0, "invoke", "write", "1"), (0, "ok", "write", "1"))


def read(value):
    return (1, "invoke", "read", "nil"), (1, "ok", "read", value)


def written(value, answer):
    """A write of a value that is read as another (or as the same)."""
    return (0, "invoke", "write", value), (0, "ok", "write", value), *read(answer)


def edn(*records, **numbers):
    """Records ``(process, type, f, value)``; ``index``: a number for each."""
    index = numbers.get("index", [None] * len(records))
    return "".join(
        f"{{:process {p}, :type :{t}, :f :{f}, :value {v}{'' if i is None else f', :index {i}'}}}\n"
        for (p, t, f, v), i in zip(records, index, strict=True)
    )


def twin(*records):
    """The same in JSON; values are numbers or nil."""
    return "".join(
        json.dumps({"process": p, "type": t, "f": f, "value": None if v == "nil" else int(v)}) + "\n"
        for p, t, f, v in records
    )


@pytest.fixture
def valid(tmp_path):
    def run(text, model="register", **options):
        path = tmp_path / "history"
        path.write_bytes(text.encode())
        run.results = judge(path, Question(**{"format": "jepsen", "model": model, **options}), "local")
        return run.results.valid

    return run


DRESSED = {
    "as it is": lambda text: text,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "a mark before it": lambda text: BOM + text,
    "no last line end": lambda text: text[:-1],
    "blank lines": lambda text: "\n" + text.replace("\n", "\n\n"),
    "one vector": lambda text: "[" + ",".join(text.splitlines()) + "]",
    "a marked vector": lambda text: BOM + "[" + ",".join(text.splitlines()) + "]",
    "spread over lines": lambda text: text.replace(", ", ",\n  "),
    "marked and spread": lambda text: BOM + text.replace(", ", ",\n  "),
}


@pytest.mark.parametrize("dress", DRESSED)
@pytest.mark.parametrize("notation", [edn, twin])
def test_a_file_means_the_same_however_it_is_written(valid, notation, dress):
    assert valid(DRESSED[dress](notation(*WRITE, *read("1")))) is True
    assert valid(DRESSED[dress](notation(*WRITE, *read("2")))) is False


def test_records_of_jepsens_own_type_are_records(valid):
    text = "".join(f"#jepsen.history.Op{line}\n" for line in edn(*WRITE, *read("2")).splitlines())
    assert valid(text) is False


@pytest.mark.parametrize("model", ["register", "set", "mutex", "counter", "total-queue", "order", "kv", "kafka"])
@pytest.mark.parametrize("text", ["", "\n\n", "[]", "; nothing\n", edn((":nemesis", "info", "start", "nil"))])
def test_where_no_client_did_anything_there_is_nothing_to_judge(valid, model, text):
    assert valid(text, model) == "unknown"
    assert "nothing to judge" in valid.results.reason


def test_a_history_cut_off_within_its_first_record_is_not_valid(valid):
    assert valid(edn(*WRITE)[:20]) == "unknown"
    assert "the file ends within the record" in valid.results.reason


SAME = ["1.5", '"a"', "nil", "false", ":a", "[1 2]", "#{1 2}", "{:a [1]}", "\\a", f"{1 << 70}", "-3", '"a\\n\\"é"']


@pytest.mark.parametrize("value", SAME)
def test_a_value_of_any_kind_is_itself(valid, value):
    assert valid(edn(*written(value, value)), nil_means="absent") is True


@pytest.mark.parametrize(
    ("value", "same"),
    [
        ("5N", "5"),
        ("(1 2)", "[1 2]"),
        ("#{1 2}", "#{2 1}"),
        ('"\\u00e9"', '"é"'),
        ("0x10", "16"),
        ("{:a 1, :b 2}", "{:b 2, :a 1}"),
    ],
)
def test_spellings_of_one_value_are_the_same(valid, value, same):
    assert valid(edn(*written(value, same))) is True


@pytest.mark.parametrize(
    ("value", "other"),
    [
        ("1", "1.0"),
        ("1", "true"),
        ("0", "false"),
        (":a", '":a"'),
        ("a", '"a"'),
        ("\\a", '"a"'),
        ("1", "1M"),
        ("[1]", "[1.0]"),
        ("#{1}", "#{true}"),
        (f"{1 << 70}", f"{(1 << 70) + 1}"),
        ("[]", "#{}"),
        ("[]", "nil"),
    ],
)
def test_values_that_only_python_holds_equal_differ(valid, value, other):
    assert valid(edn(*written(value, other)), nil_means="absent") is False


def test_a_register_may_begin_with_a_keyword(tmp_path):
    from click.testing import CliRunner

    from chaos.cli.check import check_command

    path = tmp_path / "history"
    path.write_text(edn(*read(":a")))
    argv = [str(path), "--format=jepsen", "--model=register", "--engine=local"]
    assert CliRunner().invoke(check_command, [*argv, "--init=:a"], standalone_mode=False).return_value == 0
    assert CliRunner().invoke(check_command, [*argv, "--init=a"], standalone_mode=False).return_value == 1


@pytest.mark.parametrize(
    "index", [(-9, -8, -7, -6), (-2, -1, 0, 1), (0, 0, 0, 0), (5, 5, 6, 6), ((1 << 63) - 4, *[(1 << 63) - 1] * 3)]
)
def test_indices_are_an_order_whatever_their_numbers(valid, index):
    assert valid(edn(*WRITE, *read("1"), index=index), nil_means="absent") is True
    assert valid(edn(*WRITE, *read("nil"), index=index), nil_means="absent") is False


def test_records_out_of_order_are_put_in_order(valid):
    records = [*WRITE, *read("nil")]
    order = (2, 0, 3, 1)
    assert valid(edn(*(records[i] for i in order), index=order), nil_means="absent") is False


@pytest.mark.parametrize(
    ("records", "says"),
    [
        (((0, "ok", "write", "1"),), ":1: process 0 completes a write it never invoked"),
        (((0, "invoke", "write", "1"), (0, "ok", "read", "1")), ":2: process 0 completes a read, but began a write"),
        (((0, "invoke", "txn", "[[:r 1 nil]]"), (0, "ok", "txn", "[[:r 1 2]]")), "a register has no txn"),
    ],
)
def test_what_cannot_be_understood_is_refused(valid, records, says):
    with pytest.raises(HistoryError, match=says):
        valid(edn(*records))


def test_a_process_that_goes_on_after_an_unknown_end_leaves_its_operation_open(valid):
    for ended in (((0, "info", "write", "1"),), ()):
        records = [(0, "invoke", "write", "1"), *ended, (0, "invoke", "write", "2"), (0, "ok", "write", "2")]
        assert valid(edn(*records, *read("1"))) is True, "it may have come late"
        assert valid(edn(*records, *read("3"))) is False


def test_elements_are_named_as_they_stand_in_the_file(valid):
    add = [(0, type_, "add", "[:a 1]") for type_ in ("invoke", "ok")]
    saw = [(1, "invoke", "read", "nil"), (1, "ok", "read", "[[:a 1]]")]
    forgot = [(1, "invoke", "read", "nil"), (1, "ok", "read", "[[:b nil]]")]
    assert valid(edn(*add, *saw, *forgot), "set", linearizable=True) is False
    assert valid.results.sentence == "read [[:b nil]] (op 5, process 1) saw [:b nil], which nobody added"

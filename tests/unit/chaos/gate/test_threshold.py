"""Thresholds as people write them."""

import re

import pytest

from chaos.gate.threshold import FIGURES, Threshold, budget, parse

GOOD = [
    ("lost==0", ("lost", "", "==", 0, "count")),
    (" lost == 0 ", ("lost", "", "==", 0, "count")),
    ("availability>=99%", ("availability", "", ">=", 0.99, "share")),
    ("availability >= 99.9 %", ("availability", "", ">=", 0.999, "share")),
    ("p99(send)<200ms", ("p99", "send", "<", 0.2, "duration")),
    ("rto(leader-kill)<=5s", ("rto", "leader-kill", "<=", 5, "duration")),
    ("rto<=1m30s", ("rto", "", "<=", 90, "duration")),
    ("rpo<=5", ("rpo", "", "<=", 5, "count")),
    ("rpo<=2s", ("rpo", "", "<=", 2, "duration")),
    ("anomalies(stale-read)==0", ("anomalies", "stale-read", "==", 0, "count")),
    ("anomalies==0", ("anomalies", "", "==", 0, "count")),
    ("throughput(send)>=150/s", ("throughput", "send", ">=", 150, "rate")),
    ("throughput(send)>=1.5k/s", ("throughput", "send", ">=", 1500, "rate")),
    ("errors(send)<1%", ("errors", "send", "<", 0.01, "share")),
    ("failovers>=1", ("failovers", "", ">=", 1, "count")),
    ("failovers!=2", ("failovers", "", "!=", 2, "count")),
]
BAD = [
    ("", "no comparison; write lost==0"),
    ("lost", "no comparison"),
    ("lost=0", "= compares nothing; write == for equal"),
    ("lots==0", "no figure 'lots'; did you mean lost?"),
    ("zzz==0", "no figure 'zzz'; give one of lost, availability"),
    ("==0", "no figure ''"),
    ("lost(b1)==0", "lost takes no (b1), as in lost==0"),
    ("p99<200ms", "p99 needs an operation in brackets, as in p99(send)<200ms"),
    ("rto()<5s", "rto needs a fault in brackets"),
    ("p99(send)<200", "limit '200': give a duration, as in 200ms or 5s"),
    ("p99(send)<", "limit '': give a duration"),
    ("lost==none", "limit 'none': give a whole number, as in 0"),
    ("lost==-1", "limit '-1': give a whole number"),
    ("lost==1.5", "limit '1.5': give a whole number"),
    ("availability>=99", "limit '99': give a share, as in 99%"),
    ("availability>=101%", "limit '101%': give a share"),
    ("throughput(send)>=150", "limit '150': give a number a second, as in 150/s"),
    ("rpo<=0s", "one lost message spans no time"),
    ("rpo<=x", "give a whole number, as in 0 or a duration"),
    ("lost==0 and lost==0", "write FIGURE(OF) COMPARISON LIMIT"),
    ("p99(send))<1s", "write FIGURE(OF) COMPARISON LIMIT"),
]


@pytest.mark.parametrize(("text", "meant"), GOOD, ids=lambda one: one if isinstance(one, str) else "")
def test_a_threshold_is_read(text: str, meant: tuple[str, str, str, float, str]) -> None:
    assert parse(text)[1:] == meant


@pytest.mark.parametrize(("text", "says"), BAD, ids=lambda one: one)
def test_what_is_none_is_refused_in_a_line(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)) as refused:
        parse(text)
    assert "\n" not in str(refused.value)


def test_every_figure_has_an_example_that_can_be_read() -> None:
    for name, figure in FIGURES.items():
        assert parse(figure.example).figure == name


def test_what_it_is_called_is_read_as_itself() -> None:
    for text, _ in GOOD:
        one = parse(text)
        assert parse(one.text) == one


@pytest.mark.parametrize(("value", "text"), [(5.0, "rto<=5s"), (0.5, "rto<=500ms"), (90.0, "rto<=1m30s")])
def test_a_budget_is_a_threshold(value: float, text: str) -> None:
    assert budget(value) == text
    one = parse(text)
    assert isinstance(one, Threshold)
    assert one.is_budget
    assert one.limit == value


@pytest.mark.parametrize("text", ["rto<5s", "rto(leader-kill)<=5s", "rto>=5s"])
def test_others_of_recovery_are_no_budget(text: str) -> None:
    assert not parse(text).is_budget

"""Outages of several faults: one outage, told with the first of them and named by the others."""

from chaos.core.clock import NS_PER_S
from chaos.core.verdict import FaultResult, Rto
from reports.page.faults import rto_lines
from reports.page.shared_outages import shared_outages


def fault(number: int, *rto: Rto) -> FaultResult:
    return FaultResult(
        id=number,
        name="leader-kill",
        targets=(),
        description="",
        proven=True,
        healed=True,
        skipped=False,
        inject_ns=0,
        active_ns=0,
        heal_ns=0,
        healed_ns=0,
        rto=rto,
    )


def outage(f: str, start: float, seconds: float, key: int = 0, *, recovered: bool = True) -> tuple[Rto, Rto]:
    """As results have it: over all queues first, then its own."""
    own = Rto(f=f, seconds=seconds, key=key, start_ns=round((100 + start) * NS_PER_S), recovered=recovered)
    whole = Rto(f=f, seconds=seconds, key=-1, start_ns=own.start_ns, recovered=recovered)
    return whole, own


def told(*faults: FaultResult) -> dict[tuple[int, str], str]:
    found = shared_outages(faults)
    return {(number, f): one.brief(number) for (number, f), one in found.items()}


def test_one_outage_of_three_faults_is_told_with_the_first() -> None:
    long = outage("read", 26.9, 7.6)
    assert told(fault(12, *long), fault(13, *long), fault(14, *long)) == {
        (12, "read"): "belongs to faults 13 and 14 as well",
        (13, "read"): "the same outage as in the row of fault 12",
        (14, "read"): "the same outage as in the row of fault 12",
    }


def test_outages_of_one_length_that_began_at_other_times_are_several() -> None:
    assert told(fault(1, *outage("send", 5, 2)), fault(2, *outage("send", 15, 2)), fault(3)) == {}


def test_outages_of_other_kinds_or_queues_are_others() -> None:
    one = fault(1, *outage("send", 5, 2))
    assert told(one, fault(2, *outage("read", 5, 2))) == {}
    assert told(one, fault(2, *outage("send", 5, 2, key=1))) == {}


def test_no_outage_is_none_that_is_shared() -> None:
    none = Rto(f="send", seconds=None)
    assert told(fault(1, none), fault(2, none)) == {}


def test_an_outage_that_never_ended() -> None:
    endless = outage("send", 5, 40, recovered=False)
    assert told(fault(1, *endless), fault(2, *endless)) == {
        (1, "send"): "belongs to fault 2 as well",
        (2, "send"): "the same outage as in the row of fault 1",
    }


def test_the_line_of_all_faults_counts_outages_once() -> None:
    long = outage("send", 5, 7.6)
    lines = rto_lines([fault(1, *long), fault(2, *long), fault(3, *outage("send", 40, 2)), fault(4)], None)
    assert lines == ["RTO of send: worst 7.6 s (fault 1), median 7.6 s; 2 outages of 3 faults"]
    assert rto_lines([fault(1, *long), fault(3, *outage("send", 40, 2))], None) == [
        "RTO of send: worst 7.6 s (fault 1), median 4.8 s"
    ]

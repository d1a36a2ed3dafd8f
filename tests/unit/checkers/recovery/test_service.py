"""Availability, silences, steady throughput and latency from end to end of histories whose figures are known."""

import pytest

from chaos.core.verdict import Latency, Steady
from chaos.testing.history_files import ORIGIN_NS, write_run_folder
from chaos.testing.history_literal import Expected, FaultLiteral, HistoryLiteral, OpLiteral, Range, RunLiteral, Sends
from checkers.engine import local_engine

NS = 1_000_000_000


def row(start, count, every_s=0.1, **facts):
    return OpLiteral(sends=Sends(start=start, count=count, every_s=every_s, **facts))


def judged(tmp_path, *ops, faults=(), keys=1, quiet=(), recovers_within_s=0.0):
    literal = HistoryLiteral(
        name="x",
        rules=(1,),
        about="",
        ops=ops,
        faults=faults,
        run=RunLiteral(keys=keys, quiet=quiet, recovers_within_s=recovers_within_s),
        expect=Expected(valid=True),
    )
    write_run_folder(literal, tmp_path / "run")
    return local_engine.judge_folder(tmp_path / "run").results


def stopped(tmp_path, until=12.0, again=10.0, every_s=0.1):
    """Ten sends a second: acknowledged to 8 s and from ``until`` on, refused between; a fault from 8 to ``again``."""
    before, after = round(7.95 / 0.1), round((20 - until) / every_s)
    return judged(
        tmp_path,
        row(0.05, before, offset=0),
        row(8.05, round((until - 8) / 0.1), first=100, outcome="fail"),
        row(until + 0.05, after, every_s, first=200, offset=before),
        faults=(FaultLiteral(inject=8.0, heal=again, targets=("b1",)),),
    )


def test_a_second_is_served_if_a_send_that_was_due_in_it_was_acknowledged(tmp_path):
    results = stopped(tmp_path)
    overall, queue = results.availability
    assert (overall.key, queue.key) == (-1, 0)
    assert (queue.seconds, queue.share) == (20, 0.8)
    assert (overall.seconds, overall.share) == (20, 0.8)


def test_the_longest_silence_goes_from_a_send_that_was_due_to_the_next_acknowledgement(tmp_path):
    (_, queue) = stopped(tmp_path).availability
    assert queue.silence_ns == ORIGIN_NS + int(7.95 * NS) + 100_000_000
    assert queue.silence_s == pytest.approx(4.01)


def test_throughput_is_steady_once_five_seconds_are_as_full_as_before_the_fault(tmp_path):
    assert stopped(tmp_path).faults[0].steady == Steady(reached=True, seconds=2.0)


def test_throughput_may_be_as_before_at_the_heal(tmp_path):
    assert stopped(tmp_path, until=9.0).faults[0].steady == Steady(reached=True, seconds=0.0)


def test_a_load_that_is_quiet_on_purpose_is_neither_a_slow_system_nor_the_usual_throughput(tmp_path):
    ops = (
        row(0.05, 60, offset=0),
        row(6.05, 2, 1.0, first=100, offset=60),
        row(8.05, 60, first=110, offset=62),
        row(14.05, 2, 1.0, first=200, offset=122),
        row(16.05, 40, first=210, offset=124),
    )
    at = (FaultLiteral(id=1, inject=8.0, heal=13.0, targets=("b1",)),)
    assert judged(tmp_path / "1", *ops, faults=at).faults[0].steady == Steady(reached=False, seconds=None)
    on_purpose = judged(tmp_path / "2", *ops, faults=at, quiet=((6.0, 8.0), (14.0, 16.0)))
    assert on_purpose.faults[0].steady == Steady(reached=True, seconds=0.0)


def test_half_the_throughput_is_not_steady(tmp_path):
    assert stopped(tmp_path, every_s=0.2).faults[0].steady == Steady(reached=False, seconds=None)


def test_without_a_healthy_time_before_or_enough_behind_there_is_nothing_to_compare(tmp_path):
    early = FaultLiteral(inject=2.0, heal=3.0)
    assert judged(tmp_path / "1", row(0.05, 150, offset=0), faults=(early,)).faults[0].steady is None
    late = FaultLiteral(inject=8.0, heal=12.0)
    assert judged(tmp_path / "2", row(0.05, 150, offset=0), faults=(late,)).faults[0].steady is None


def test_a_fault_that_is_healed_when_the_load_has_ended_has_no_steady_time(tmp_path):
    over = FaultLiteral(inject=12.0, heal=30.0)
    assert judged(tmp_path, row(0.05, 150, offset=0), faults=(over,)).faults[0].steady is None


def test_a_fault_that_ends_while_another_is_in_force_is_followed_by_no_health(tmp_path):
    at_once = (FaultLiteral(id=1, inject=6.0, heal=8.0), FaultLiteral(id=2, inject=7.0, heal=9.0))
    first, second = judged(tmp_path / "run", row(0.05, 150, offset=0), faults=at_once).faults
    assert (first.steady, second.steady) == (None, Steady(reached=True, seconds=0.0))
    within = (FaultLiteral(id=1, inject=6.0, heal=9.0), FaultLiteral(id=2, inject=7.0, heal=8.0))
    first, second = judged(tmp_path / "2", row(0.05, 150, offset=0), faults=within).faults
    assert (first.steady, second.steady) == (Steady(reached=True, seconds=0.0), None)


def test_latency_ends_with_the_first_answer_that_gave_the_message_to_a_consumer(tmp_path):
    def read(at, kind, got):
        return OpLiteral(at=at, **{kind: Range(begin=0, got=got)})

    fault = FaultLiteral(inject=2.5, heal=3.5, targets=("b3",))
    results = judged(
        tmp_path,
        OpLiteral(at=(1.0, 1.1), send="1:0", ok=0),
        OpLiteral(at=(2.0, 2.1), send="1:1", ok=1),
        OpLiteral(at=(3.0, 3.1), send="1:2", ok=2),
        OpLiteral(at=(4.0, 4.1), send="1:3", ok=3),
        read((1.2, 1.5), "poll", "0=1:0"),
        read((1.3, 1.4), "slave_read", "0=1:0"),
        read((2.2, 2.6), "read", "1=1:1"),
        read((3.2, 5.0), "poll", "2=1:2"),
        faults=(fault,),
    )
    healthy, under = results.latency
    assert (healthy.fault, healthy.messages, healthy.unread) == (None, 2, 1)
    assert healthy.max_ms == pytest.approx(600)
    assert healthy.p50_ms == pytest.approx(400, rel=0.11)
    assert under == Latency(fault=1, messages=1, unread=0, p50_ms=2000.0, p90_ms=2000.0, p99_ms=2000.0, max_ms=2000.0)


def test_what_a_client_that_stays_on_a_slave_is_refused_is_no_silence(tmp_path):
    pinned = row(0.05, 100, offset=None, outcome="fail", first=500)
    refused = OpLiteral(sends=pinned.sends, pinned=True, client=3)
    (overall, _) = judged(tmp_path, row(0.05, 100, offset=0), refused).availability
    assert (overall.share, overall.seconds) == (1.0, 10)


def test_a_second_is_served_over_all_queues_if_any_queue_was(tmp_path):
    other = OpLiteral(sends=Sends(start=0.05, count=100, every_s=0.1, outcome="fail", first=300), to=1)
    results = judged(tmp_path, row(0.05, 100, offset=0), other, keys=2)
    assert [(one.key, one.share) for one in results.availability] == [(-1, 1.0), (0, 1.0), (1, 0.0)]


def test_over_all_queues_a_second_is_served_by_what_was_due_in_it_as_for_one_queue(tmp_path):
    results = judged(
        tmp_path,
        OpLiteral(at=(1.9, 2.4), send="1:0", ok=0),
        OpLiteral(at=(3.2, 3.3), send="1:1", fail="refused"),
        OpLiteral(at=(2.8, 3.6), send="1:2", ok=1),
    )
    overall, queue = results.availability
    assert (overall.share, overall.seconds) == (queue.share, queue.seconds) == (pytest.approx(2 / 3, abs=1e-6), 3)


def test_an_outage_counts_what_was_ok_in_it_and_a_later_one_is_told_beside_it(tmp_path):
    (fault,) = judged(
        tmp_path,
        row(0.05, 50, offset=0),
        row(5.05, 20, first=100, outcome="fail"),
        row(7.05, 2, first=200, offset=50),
        row(7.25, 20, first=300, outcome="fail"),
        row(9.25, 50, first=400, offset=52),
        row(14.25, 10, first=500, outcome="fail"),
        row(15.25, 30, first=600, offset=102),
        faults=(FaultLiteral(inject=5.0, heal=8.0, targets=("b1",)),),
    ).faults
    longest = max((one for one in fault.rto if one.f == "send"), key=lambda one: one.key)
    assert (longest.ok, longest.seconds) == (2, pytest.approx(4.21, abs=0.05))
    (later,) = fault.later
    assert (later.f, later.key, later.ok, later.start_ns) == ("send", 0, 0, ORIGIN_NS + int(14.25 * NS))


def test_recovery_tells_of_a_silence_after_service_was_back(tmp_path):
    results = judged(
        tmp_path,
        row(0.05, 60, offset=0),
        row(6.05, 30, first=100, outcome="fail"),
        row(9.05, 30, first=200, offset=60),
        faults=(FaultLiteral(inject=3.0, heal=4.0, targets=("b1",)),),
        recovers_within_s=20,
    )
    (found,) = (check.found for check in results.checks if check.name == "recovery")
    assert (
        found
        == "every queue took sends again within 0.1 s (later silent for up to 3.0 s: queue 0 from 6.0 s), 20 s promised"
    )


def test_a_history_without_sends_has_no_figures(tmp_path):
    results = judged(tmp_path, OpLiteral(at=(1.0, 1.1), poll=Range(begin=0)))
    assert (results.availability, results.latency) == ((), ())


def test_a_pop_gives_a_message_to_a_consumer_and_the_first_delivery_counts(tmp_path):
    (healthy,) = judged(
        tmp_path,
        OpLiteral(at=(1.0, 1.1), send="1:0", ok=0),
        OpLiteral(at=(2.0, 2.1), send="1:1", ok=1),
        OpLiteral(at=(3.4, 3.5), pop="0=1:0", client=1),
        OpLiteral(at=(15.0, 15.5), pop="-1=1:0", client=1),
        OpLiteral(at=(15.6, 15.7), ack="1:0", client=1),
    ).latency
    assert (healthy.messages, healthy.unread, healthy.max_ms) == (1, 1, pytest.approx(2500))


def test_operations_are_counted_by_kind_with_their_latencies(tmp_path):
    found = judged(
        tmp_path,
        row(0.0, 99, offset=0),
        row(9.9, 1, first=100, outcome="fail"),
        row(10.0, 1, first=101, outcome="info"),
    )
    sends = next(one for one in found.kinds if one.f == "send")
    assert (sends.ok, sends.fail, sends.info) == (99, 1, 1)
    assert sends.ok_per_s == pytest.approx(9.9, rel=0.02)
    assert sends.p50_ms == pytest.approx(sends.max_ms, rel=0.11)
    assert sends.max_ms > 0

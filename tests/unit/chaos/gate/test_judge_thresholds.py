"""Thresholds against results: held, broken, or unknown because nothing was measured."""

import math
from typing import Any

import msgspec
import pytest
import synthetic

from chaos.core.gate import Gates
from chaos.core.verdict import Anomaly, Availability, CheckResult, Failover, FaultResult, KindResult, Results, Rto
from chaos.gate.judge import gates_of, judge, with_thresholds
from chaos.gate.threshold import parse

RUN = synthetic.run_info("valid")
NO_LOSS = CheckResult(name="no-loss", valid=True, found="nothing lost")
RPO = CheckResult(name="rpo", valid=True, found="0 lost")
ROLES = CheckResult(name="roles", valid=True, found="", examined="12 claims")
SEND = KindResult(f="send", ok=990, fail=6, info=4, ok_per_s=160.0, p50_ms=5.0, p90_ms=50.0, p99_ms=150.0, max_ms=2e3)


def fault(number: int = 1, name: str = "leader-kill", **changes: Any) -> FaultResult:
    rto = Rto(f="send", seconds=3.0, resolution_s=0.1)
    times = dict.fromkeys(("inject_ns", "active_ns", "heal_ns", "healed_ns"), 1)
    made = FaultResult(
        id=number, name=name, targets=(), description="", proven=True, healed=True, skipped=False, rto=(rto,), **times
    )
    return msgspec.structs.replace(made, **changes)


def results(**changes: Any) -> Results:
    made = Results(valid=True, sentence="All is well.", reason="", model="queue", engine="local")
    return msgspec.structs.replace(
        made,
        **{
            "checks": (NO_LOSS, RPO, ROLES),
            "faults": (fault(), fault(2, "random-loss:probability=0.3@broker")),
            "kinds": (SEND,),
            "availability": (Availability(key=-1, share=0.995, seconds=200, silence_s=1, silence_ns=0),),
            "failovers": (Failover(node="b2", epoch=2, at_ns=5),),
            **changes,
        },
    )


def told(text: str, **changes: Any) -> tuple[str, str]:
    """State and what is said of it."""
    row = judge(parse(text), results(**changes), RUN)
    return row.state, row.measured or row.reason


LOST = {"anomalies": {"lost-write": Anomaly(count=3, allowed=False)}}
OPEN = msgspec.structs.replace(NO_LOSS, valid="unknown")


@pytest.mark.parametrize(
    ("text", "changes", "state", "says"),
    [
        ("lost==0", {}, "held", "0"),
        ("lost==0", LOST, "broken", "3"),
        ("lost<=3", LOST, "held", "3"),
        ("lost==0", {"checks": (OPEN,)}, "unknown", "losses were not judged"),
        ("lost==0", {"checks": (OPEN,), **LOST}, "broken", "at least 3"),
        ("lost<=5", {"checks": (OPEN,), **LOST}, "unknown", "at least 3: losses were not judged"),
        ("lost==0", {"checks": ()}, "unknown", "losses were not judged"),
        ("availability>=99%", {}, "held", "99.5 %"),
        ("availability>=99.9%", {}, "broken", "99.5 %"),
        ("availability>=99%", {"availability": ()}, "unknown", "no change was due"),
        ("p99(send)<200ms", {}, "held", "150 ms"),
        ("p99(send)<150ms", {}, "broken", "150 ms"),
        ("max(send)<1s", {}, "broken", "2 s"),
        ("p50(poll)<1s", {}, "unknown", "it has no operation poll, only send"),
        ("p50(send)<1s", {"kinds": ()}, "unknown", "no operation was counted"),
        ("p50(send)<1s", {"kinds": (KindResult(f="send", ok=0, fail=1, info=0),)}, "unknown", "no send was ok"),
        ("throughput(send)>=150/s", {}, "held", "160/s"),
        ("throughput(send)>=170/s", {}, "broken", "160/s"),
        ("errors(send)<1%", {}, "broken", "1 %, 10 of 1000"),
        ("errors(send)<=1%", {}, "held", "1 %, 10 of 1000"),
        ("failovers>=1", {}, "held", "1"),
        ("failovers>=1", {"failovers": ()}, "broken", "0"),
        ("failovers==0", {"failovers": (), "checks": ()}, "unknown", "nobody observed who leads"),
        ("rto<=3s", {}, "held", "3 s"),
        ("rto<3s", {}, "broken", "3 s"),
        ("rto(leader-kill)<=5s", {}, "held", "3 s"),
        ("rto(random-loss)<=1s", {}, "broken", "3 s"),
        ("rto(random-suspend)<=5s", {}, "unknown", "no random-suspend was injected"),
        ("rto<=5s", {"faults": ()}, "unknown", "no fault was injected"),
        ("rto<=5s", {"faults": (fault(skipped=True),)}, "unknown", "no fault was injected"),
        ("rto<=5s", {"faults": (fault(rto=()),)}, "unknown", "recovery was not measured"),
        ("rto<=5s", {"faults": (fault(rto=(Rto(f="send", seconds=None),)),)}, "held", "no outage"),
        ("rto<=1m", {"faults": (fault(rto=(Rto(f="send", seconds=9, recovered=False),)),)}, "broken", "never"),
        ("rto<=50ms", {}, "broken", "3 s"),
        (
            "rto<=50ms",
            {"faults": (fault(rto=(Rto(f="send", seconds=None, resolution_s=0.1),)),)},
            "unknown",
            "recovery is measured to 0.1 s only",
        ),
        ("rpo<=0", {}, "held", "0"),
        ("rpo<=2", {"faults": (fault(lost=3, rpo_span_s=1.5),)}, "broken", "3"),
        ("rpo<=2s", {"faults": (fault(lost=3, rpo_span_s=1.5),)}, "held", "1.5 s"),
        ("rpo<=0", {"checks": (NO_LOSS,)}, "unknown", "losses were not judged"),
        ("rpo<=0", {"checks": (OPEN, RPO)}, "unknown", "losses were not judged to their end"),
        ("anomalies==0", {}, "held", "0"),
        ("anomalies==0", LOST, "broken", "3"),
        ("anomalies==0", {"checks": (OPEN,)}, "unknown", "not all checks came to an answer"),
        ("anomalies(lost-write)==0", {}, "held", "0"),
        ("anomalies(stale-read)==0", {}, "unknown", "no check that finds stale-read judged this"),
        (
            "anomalies(stale-tail)==0",
            {"anomalies": {"stale-tail": Anomaly(count=2, allowed=True)}},
            "broken",
            "at least 2",
        ),
    ],
)
def test_a_threshold_is_judged(text: str, changes: dict[str, Any], state: str, says: str) -> None:
    became, words = told(text, **changes)
    assert (became, words[: len(says)]) == (state, says)


def test_what_a_promise_allows_counts_for_its_own_name_alone() -> None:
    row = CheckResult(name="linearizable-offsets", valid=True, found="")
    found = {"stale-tail": Anomaly(count=2, allowed=True)}
    assert told("anomalies(stale-tail)==0", checks=(row,), anomalies=found) == ("broken", "2")
    assert told("anomalies==0", checks=(row,), anomalies=found) == ("held", "0")


@pytest.mark.parametrize(
    ("model", "text", "state"),
    [
        ("set", "lost==0", "held"),
        ("kafka", "lost==0", "held"),
        ("mutex", "lost==0", "unknown"),
        ("set", "anomalies(stale-read)==0", "unknown"),
        ("set-full", "anomalies(stale-read)==0", "held"),
    ],
)
def test_an_import_has_measured_what_its_model_can_show(model: str, text: str, state: str) -> None:
    made = results(checks=(CheckResult(name=model, valid=True, found=""),), model=model)
    assert judge(parse(text), made, None).state == state


def test_what_never_came_back_has_no_number_that_json_cannot_hold() -> None:
    row = judge(parse("rto<=1m"), results(faults=(fault(rto=(Rto(f="send", seconds=9, recovered=False),)),)), RUN)
    assert (row.value, row.measured) == (None, "never")
    assert msgspec.json.decode(msgspec.json.encode(row)) == msgspec.to_builtins(row)
    assert math.isfinite(judge(parse("rto<=1m"), results(), RUN).value or math.nan)


def judged(*texts: str, **changes: Any) -> Results:
    made = results(**changes)
    return with_thresholds(made, [judge(parse(text), made, RUN) for text in texts])


def test_a_broken_threshold_makes_a_run_fail_and_is_told_first() -> None:
    found = judged("lost==0", "p99(send)<1ms", "rto(random-stop)<=1s")
    assert found.valid is False
    assert found.sentence == (
        "Broken threshold: p99(send)<1ms (measured 150 ms)."
        " Threshold not measured: rto(random-stop)<=1s (no random-stop was injected). All is well."
    )
    assert [row.state for row in found.thresholds] == ["held", "broken", "unknown"]


def test_one_that_was_not_measured_is_never_passed() -> None:
    found = judged("lost==0", "rto(random-stop)<=1s")
    assert (found.valid, found.reason) == ("unknown", "threshold rto(random-stop)<=1s: no random-stop was injected")
    assert judged("rto(random-stop)<=1s", valid=False).valid is False


def test_held_ones_change_nothing_but_are_there() -> None:
    found = judged("lost==0", "rto<=5s")
    assert msgspec.structs.replace(found, thresholds=()) == results()
    assert len(found.thresholds) == 2


def test_the_budget_of_a_run_is_among_its_thresholds() -> None:
    assert RUN.rto_budget_s == 10
    assert gates_of(RUN).thresholds == ("rto<=10s",)
    both = msgspec.structs.replace(RUN, gates=Gates(thresholds=("lost==0", "rto<=10s")))
    assert gates_of(both).thresholds == ("lost==0", "rto<=10s")
    none = msgspec.structs.replace(RUN, rto_budget_s=None)
    assert gates_of(none).thresholds == ()

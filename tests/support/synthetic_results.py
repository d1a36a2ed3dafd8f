"""The verdict of ``synthetic``: checks, anomalies and figures of recovery."""

from typing import Any

from synthetic_run import FAULTS, ns

from chaos.core.verdict import (
    Anomaly,
    Availability,
    CheckResult,
    Example,
    FaultResult,
    Latency,
    Results,
    Rto,
    Steady,
)


def _op(process: int, f: str, kind: str, start_s: float, end_s: float | None, **more: Any) -> dict[str, Any]:
    return {
        "process": process,
        "client": process % 8,
        "f": f,
        "type": kind,
        "key": 2,
        "scheduled_s": start_s,
        "invoke_s": start_s,
        "complete_s": end_s,
        **more,
    }


def _read(start: int, stop: int, *records: str) -> dict[str, Any]:
    return {"from": start, "next": stop, "min": 0, "max": stop, "count": stop - start, "records": list(records)}


def lost_example() -> Example:
    """An acknowledged message whose offset was given again by the next master."""
    return Example(
        sentence="b1, master of epoch 1, cut off by fault 1 (leader-partition) at 20.0 s, acknowledged 5:233 at 24.3 s "
        "at offset 1204 of queue 2; offset 1204 holds 3:871, acknowledged by b2 at 24.9 s",
        key=2,
        offset=1204,
        last_offset=1531,
        value="5:233",
        node="b1",
        fault=1,
        ops=(
            _op(5, "send", "ok", 24.302, 24.310, value="5:233", offset=1204, node="b1", pinned=True),
            _op(3, "send", "ok", 24.871, 24.880, value="3:871", offset=1204, node="b2"),
            _op(90, "drain", "ok", 152.0, 152.21, **_read(0, 9211, "1203=5:232", "1204=3:871"), node="b2"),
            _op(1, "send", "fail", 22.100, 22.101, value="1:412", node="b2", error="SYSTEM_BUSY: not master"),
            _op(4, "send", "info", 21.300, 24.300, value="4:219", error="no answer before the deadline"),
            _op(5, "send", "ok", 24.290, 24.301, value="5:232", offset=1203, node="b1"),
            _op(7, "poll", "ok", 25.400, 25.412, **_read(1200, 1208, "1204=3:871"), node="b2"),
        ),
    )


def anomalies(kind: str) -> dict[str, Anomaly]:
    """The anomalies of one kind of run."""
    stale = Anomaly(
        count=37,
        allowed=True,
        examples=(
            Example(
                sentence="at 25.0 s b1, master of epoch 1, answered a strong read of queue 2 that ended at offset 1204 "
                "and missed 3:871 at offset 1204, acknowledged by b2 0.1 s before it began",
                key=2,
                offset=1204,
                value="3:871",
                node="b1",
                excused=True,
            ),
        ),
    )
    if kind != "invalid":
        return {"stale-tail": stale} if kind == "valid" else {}
    twice = Example(sentence="offset 1204 of queue 2 was given to 5:233 by b1 and to 3:871 by b2.", key=2, offset=1204)
    return {
        "lost-write": Anomaly(count=328, allowed=False, examples=(lost_example(),) * 3),
        "inconsistent-offsets": Anomaly(count=328, allowed=False, examples=(twice,), part_of="lost-write"),
        "stale-tail": stale,
    }


def checks(kind: str) -> tuple[CheckResult, ...]:
    """The verdict table."""
    reason = "fault 3 (random-loss) is unproven: 12 of 12 links still deliver" if kind == "unknown" else ""
    if kind == "interrupted":
        reason = "interrupted: the final drain did not end"
    if kind == "empty":
        reason = "too little traffic: 0 acknowledged sends, at least 100 are needed"
    judged: Any = "unknown" if reason else True
    lost = kind == "invalid"
    found = anomalies(kind)
    return (
        CheckResult(
            name="assumptions",
            valid=judged,
            found=reason or "3 of 3 faults proven and healed, drain complete",
            examined="3 faults",
            reason=reason,
            took_s=0.02,
        ),
        CheckResult(
            name="no-loss",
            valid=False if lost else judged,
            examined="27 600 acknowledged sends",
            took_s=1.9,
            reason=reason,
            found="328 acknowledged messages lost" if lost else "every acknowledged send was read",
            anomalies={k: v for k, v in found.items() if k == "lost-write"},
        ),
        CheckResult(
            name="offsets",
            valid=False if lost else judged,
            examined="4 queues",
            took_s=0.8,
            reason=reason,
            found="328 offsets given twice" if lost else "one value per offset",
            anomalies={k: v for k, v in found.items() if k == "inconsistent-offsets"},
        ),
        CheckResult(
            name="linearizable-offsets",
            valid=judged,
            examined="4 queues",
            took_s=2.4,
            reason=reason,
            found="37 stale tails, allowed here",
            anomalies={k: v for k, v in found.items() if k == "stale-tail"},
        ),
        CheckResult(name="rto", valid=judged, found="worst 2.9 s (fault 3)", examined="3 faults", reason=reason),
        CheckResult(name="rpo", valid=kind != "invalid", found="per fault", examined="3 faults"),
    )


def fault_results(kind: str) -> tuple[FaultResult, ...]:
    """The fault table."""
    rows = []
    for number, name, targets, description, start_s, end_s in FAULTS:
        proven = not (kind == "unknown" and number == 3)
        seconds = {1: 2.6, 2: None, 3: 2.9}[number]
        rto = [
            Rto(f="send", seconds=seconds, when="before-heal" if seconds else "", resolution_s=3.0, key=-1),
            Rto(
                f="send",
                seconds=seconds and seconds + 0.4,
                when="before-heal" if seconds else "",
                resolution_s=3.0,
                key=2,
            ),
            Rto(f="poll", seconds=None, resolution_s=3.0, key=-1),
        ]
        if kind == "invalid" and number == 3:
            rto[0] = Rto(f="send", seconds=18.0, recovered=False, resolution_s=3.0, key=-1, lagged=True)
        rows.append(
            FaultResult(
                id=number,
                name=name,
                targets=targets,
                description=description,
                proven=proven,
                healed=True,
                skipped=False,
                inject_ns=ns(start_s),
                active_ns=ns(start_s + 0.4),
                heal_ns=ns(end_s),
                healed_ns=ns(end_s + 0.7),
                evidence="12 of 12 links across the cut dropped all 20 probes, 18 of 18 inside passed"
                if proven
                else "12 of 12 links still deliver",
                heal_evidence="30 of 30 links deliver, chain removed",
                rto=tuple(rto),
                lost=328 if kind == "invalid" and number == 1 else 0,
                rpo_span_s=15.2 if kind == "invalid" and number == 1 else None,
                not_ok={1: 931, 2: 0, 3: 1204}[number],
                steady={1: Steady(reached=True, seconds=3.0), 2: None, 3: Steady(reached=False, seconds=None)}[number],
            )
        )
    return tuple(rows)


def service() -> tuple[Availability, ...]:
    """Availability over all queues, and of each."""
    shares = {-1: 0.9917, 0: 0.9833, 1: 0.9917, 2: 0.95, 3: 0.9917}
    return tuple(
        Availability(key=key, share=share, seconds=120, silence_s=5.1 if key in (-1, 2) else 0.2, silence_ns=ns(21.0))
        for key, share in shares.items()
    )


def latencies() -> tuple[Latency, ...]:
    """From end to end in healthy time and under the first fault."""
    return (
        Latency(fault=None, messages=21000, unread=12, p50_ms=31.0, p90_ms=80.0, p99_ms=210.0, max_ms=913.0),
        Latency(fault=1, messages=4100, unread=328, p50_ms=40.0, p90_ms=2900.0, p99_ms=5200.0, max_ms=5400.0),
    )


def results(kind: str) -> Results:
    """``results.json`` of one kind of run."""
    valid: Any = {"valid": True, "invalid": False}.get(kind, "unknown")
    sentence = {
        "valid": "No acknowledged message was lost, doubled or reordered through 3 faults; RTO of sends 2.9 s.",
        "invalid": "328 acknowledged messages were lost: b1, master of epoch 1, cut off by fault 1 "
        "(leader-partition) at 20.0 s, went on acknowledging alone until 40.0 s; b2, master of epoch 2 from 22.6 s, "
        "gave offsets 1204-1531 of queue 2 again.",
        "unknown": "No anomaly was found, but fault 3 (random-loss) is unproven.",
        "interrupted": "No anomaly was found until the run was interrupted at 96 s.",
        "empty": "Nothing was sent, so nothing can be said.",
    }[kind]
    rows = checks(kind)
    return Results(
        valid=valid,
        sentence=sentence,
        reason=rows[0].reason,
        model="queue",
        engine="spark",
        checks=rows,
        anomalies=anomalies(kind),
        faults=() if kind == "empty" else fault_results(kind),
        counts={} if kind == "empty" else {"send ok": 27600, "send fail": 1204, "send info": 402, "poll ok": 12011},
        interrupted=kind == "interrupted",
        availability=() if kind == "empty" else service(),
        latency=() if kind == "empty" else latencies(),
    )

"""The run of ``synthetic``: its facts, its events and its figures by time."""

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.events import Claim, Event, Evidence, Fault, Observation, Phase
from chaos.core.model import word_table
from chaos.core.op import Type
from chaos.core.series import REFUSED, REFUSED_WORD, Points, Series
from chaos.models.log.model import LOG
from chaos.models.log.words import F
from chaos.storage.runinfo import SCHEMA_VERSION, NodeInfo, Promises, RunInfo, Subject
from checkers.recovery.histogram import BUCKETS, bucket_of, edges_ms, to_sparse

ORIGIN: Final = 5_000 * NS_PER_S
LOAD_S: Final = 120.0
END_S: Final = 168.0
NODES: Final = (
    NodeInfo(name="n1", role="namesrv", address="198.18.0.1"),
    *(NodeInfo(name=f"c{i}", role="controller", address=f"198.18.0.{1 + i}") for i in (1, 2, 3)),
    *(NodeInfo(name=f"b{i}", role="broker", address=f"198.18.0.{4 + i}") for i in (1, 2, 3)),
)
# id, name, targets, description, from, to
FAULTS: Final = (
    (1, "leader-partition", ("b1",), "{b1 | b2 b3 c1 c2 c3}", 20.0, 40.0),
    (2, "major-suspend@controller", ("c1", "c2"), "c1 c2 stopped", 60.0, 80.0),
    (3, "random-loss", ("b1", "b2", "c3"), "80 % on the links of b1 b2 c3", 100.0, 116.0),
)
GROUP: Final = "brokers"
HOW: Final = {1: ("partition", "violet"), 2: ("suspend", "yellow"), 3: ("loss", "green")}
"""The kind of each fault and its colour, as plan.jsonl has them."""
KINDS: Final = ("valid", "invalid", "unknown", "interrupted", "empty", "crashed")


def ns(seconds: float) -> int:
    """Seconds since the load began as the run's clock."""
    return ORIGIN + round(seconds * NS_PER_S)


def run_info(kind: str) -> RunInfo:
    """``run.json`` of one kind of run."""
    return RunInfo(
        id=f"20261121T071500Z-{kind[:4]}",
        status="crashed" if kind == "crashed" else "checked",
        argv=("/usr/bin/chaos", "run", "--system", "rocketmq", "--nemesis", "leader-partition,random-loss", "--seed=7"),
        chaos_version="0.1.0",
        schema_version=SCHEMA_VERSION,
        boot_id="7c1f9f8e-0000-4000-8000-000000000000",
        origin_ns=ORIGIN,
        origin_utc="2026-11-21T07:15:00Z",
        system="rocketmq",
        system_version="5.5.0",
        backend="netns",
        workload="queue",
        model=LOG.name,
        required_phases=("drain",),
        words=word_table(LOG),
        nemesis="leader-partition,major-suspend@controller,random-loss",
        seed=9133702,
        settings={
            "broker.allAckInSyncStateSet": "true",
            "client.routing": "mixed",
            "broker.note": "<script>alert('setting')</script>",
        },
        nodes=NODES,
        roles={"namesrv": "other", "controller": "controller", "broker": "replica"},
        keys=4,
        rate=0.0 if kind == "empty" else 400.0,
        clients=8,
        workers=2,
        op_timeout_s=3.0,
        time_limit_s=LOAD_S,
        fault_interval_s=20.0,
        fault_duration_s=20.0,
        route_poll_interval_s=1.0,
        rto_budget_s=10.0,
        promises=Promises(allowed={"stale-tail": "no leases: an old master answers until it learns of the new one"}),
        planned_faults=len(FAULTS),
        mix={"send": 0.6, "poll": 0.25, "read": 0.1, "slave-read": 0.05},
        body_bytes=128,
        machine={"cores": 2, "memory_bytes": 25769803776, "kernel": "6.1.0", "java": {"version": "17.0.13"}},
        timings_s={"deploy": 3.1, "ready": 14.8, "load": 120.0, "drain": 31.5, "check": 7.9},
        error="the observer ended with exit code 1 <b>at 31 s</b>" if kind == "crashed" else None,
        interrupted=kind == "interrupted",
        subjects=(
            Subject(name=GROUP, nodes=("b1", "b2", "b3")),
            Subject(name="controller", kind="controller", nodes=("c1", "c2", "c3")),
        ),
    )


def phases(kind: str) -> Iterator[Event]:
    """Phase edges; the crashed run stops in the load."""
    edges = [
        ("deploy", -20.0, -16.0),
        ("ready", -16.0, -1.0),
        ("load", 0.0, LOAD_S),
        ("heal", LOAD_S, 121.0),
        ("settle", 121.0, 135.0),
        ("drain", 135.0, 166.5),
        ("collect", 166.5, END_S),
    ]
    stop_s = 31.0 if kind == "crashed" else END_S
    for name, start_s, end_s in edges:
        if start_s < stop_s:
            yield Phase(time_ns=ns(start_s), name=name, edge="start")
            if end_s <= stop_s:
                yield Phase(
                    time_ns=ns(end_s), name=name, edge="end", ok=not (name == "drain" and kind == "interrupted")
                )


def fault_events(kind: str) -> Iterator[Event]:
    """The life of each fault; the third is unproven in the run of kind unknown."""
    for number, name, targets, description, start_s, end_s in FAULTS:
        proven = not (kind == "unknown" and number == 3)
        summary = "12 of 12 links across the cut dropped all 20 probes" if proven else "12 of 12 links still deliver"
        common: dict[str, Any] = {"id": number, "name": name, "targets": targets, "description": description}
        yield Fault(time_ns=ns(start_s), stage="inject", **common)
        yield Fault(
            time_ns=ns(start_s + 0.4),
            stage="active",
            evidence=Evidence(kind="probes", proven=proven, summary=summary),
            **common,
        )
        if kind == "crashed":
            return
        healed = Evidence(kind="probes", proven=True, summary="30 of 30 links deliver, chain removed")
        yield Fault(time_ns=ns(end_s), stage="heal", **common)
        yield Fault(time_ns=ns(end_s + 0.7), stage="healed", evidence=healed, **common)


def _broker(name: str, t: float, acked: float) -> dict[str, Any]:
    """What a broker says of itself at ``t``: b1 leads until it notices, then b2."""
    alone = name == "b1" and 20.0 <= t < 42.0
    master = "b1" if name == "b1" and t < 42.0 else ("b2" if t >= 22.6 else "b1")
    total = acked - 1300 if 20.0 <= t < 40.0 and name == "b1" and t > 21.0 else acked
    if name == "b3" and 100.0 <= t < 116.0:
        total = acked - 60.0 * (t - 100.0)
    epoch = 1 if alone or t < 22.6 else 2
    return {
        "role": "master" if name == master else "slave",
        "claims": (Claim(subject=GROUP, leader=name, epoch=epoch),) if name == master else (),
        "max_offsets": {str(q): round(total / 4) for q in range(4)},
    }


def observations(kind: str) -> Iterator[Event]:
    """One observation per node and second; a stopped controller is silent, as is n1 once."""
    for node in NODES:
        for step in range(-2, 31 if kind == "crashed" else int(END_S)):
            t = float(step)
            silent = (node.name in ("c1", "c2") and 60.0 <= t < 80.0) or (node.name == "n1" and t == 90.0)
            common = {"asked_ns": ns(t), "time_ns": ns(t + (0.8 if silent else 0.004)), "node": node.name}
            if silent:
                yield Observation(alive=False, error="no answer before the deadline", **common)
            elif node.role == "broker":
                yield Observation(alive=True, **common, **_broker(node.name, t, acked_at(t)))
            elif node.role == "controller":
                leads = node.name == ("c1" if t < 60.0 else "c2" if t < 61 else "c3" if t >= 82.0 else "")
                shrunk = ("b2", "b3") if 22.6 <= t < 44.0 else ("b1", "b2", "b3")
                master, number = ("b1", 1) if t < 22.6 else ("b2", 2)
                own = Claim(subject="controller", leader=node.name, epoch=3 if t >= 82.0 else 2)
                about = Claim(subject=GROUP, leader=master, members=shrunk, members_epoch=number)
                role, claims = ("leader", (own, about)) if leads else ("follower", ())
                yield Observation(alive=True, role=role, claims=claims, **common)
            else:
                yield Observation(alive=True, **common)


def acked_at(t: float) -> float:
    """Acknowledged sends until ``t``."""
    return 230.0 * min(max(t, 0.0), LOAD_S)


ERRORS: Final = ("SYSTEM_BUSY: not master", "no answer <b>before</b> the deadline")
"""What failed met the first, what is unknown the second."""
REFUSED_SHARE: Final = 0.3
"""Of what failed, so much was refused by design."""


def series(points: int = 6000) -> Series:
    """Points and counts with visible outages."""
    rng = np.random.default_rng(7)
    t = np.sort(rng.uniform(0.0, LOAD_S, points))
    latency = np.exp(rng.normal(math.log(2.4), 0.45, points))
    kind = np.full(points, int(Type.OK))
    hurt = ((t >= 20.0) & (t < 22.6)) | ((t >= 100.0) & (t < 103.0))
    draw = rng.uniform(size=points)
    kind[hurt & (draw < 0.6)] = int(Type.FAIL)
    kind[hurt & (draw >= 0.6) & (draw < 0.9)] = int(Type.INFO)
    lossy = (t >= 103.0) & (t < 116.0) & (draw < 0.4)
    latency[lossy] *= 200.0 * rng.uniform(0.5, 1.5, int(lossy.sum()))
    latency[kind == int(Type.INFO)] = np.where(
        rng.uniform(size=int((kind == int(Type.INFO)).sum())) < 0.5, 3000.0, -1.0
    )
    f = rng.choice([int(F.SEND), int(F.POLL), int(F.READ), int(F.SLAVE_READ)], size=points, p=[0.6, 0.25, 0.1, 0.05])
    node = np.where(t < 21.0, 4, 5)
    node[kind == int(Type.INFO)] = -1
    steps = int(END_S)
    seconds = np.floor(t).astype(int)
    rate: dict[str, dict[str, list[int]]] = {}
    for member in (F.SEND, F.POLL, F.READ, F.SLAVE_READ):
        for outcome in (Type.OK, Type.FAIL, Type.INFO):
            hits = np.bincount(seconds[(f == member) & (kind == outcome)], minlength=steps)
            rate.setdefault(member.word, {})[outcome.word] = [int(n) for n in hits * 8]
    rate["drain"] = {"ok": [4 if 135 <= s < 166 and s % 6 == 0 else 0 for s in range(steps)]}
    refused = (kind == int(Type.FAIL)) & (rng.uniform(size=points) < REFUSED_SHARE)
    kind[refused] = REFUSED
    latencies: dict[str, dict[str, list[list[int]]]] = {}
    for member in (F.SEND, F.POLL, F.READ, F.SLAVE_READ):
        moved = np.bincount(seconds[(f == member) & refused], minlength=steps) * 8
        rate[member.word]["fail"] = [n - int(m) for n, m in zip(rate[member.word]["fail"], moved, strict=True)]
        rate[member.word][REFUSED_WORD] = [int(m) for m in moved]
        for code, word in ((int(Type.OK), "ok"), (int(Type.FAIL), "fail"), (REFUSED, REFUSED_WORD)):
            own = (f == member) & (kind == code) & (latency >= 0)
            cells = np.bincount(seconds[own] * BUCKETS + bucket_of(latency[own]), minlength=steps * BUCKETS)
            latencies.setdefault(member.word, {})[word] = to_sparse(cells.reshape(steps, BUCKETS))
    error = np.where(kind == int(Type.FAIL), 1, np.where(kind == int(Type.INFO), 2, 0))
    errors = {
        text: (np.bincount(seconds[error == number], minlength=steps) * 8).tolist()
        for number, text in enumerate(ERRORS, 1)
    }
    nodes = {
        name: {
            word: (np.bincount(seconds[(node == place) & (kind == code)], minlength=steps) * 8).tolist()
            for code, word in ((int(Type.OK), "ok"), (int(Type.FAIL), "fail"))
        }
        for place, name in ((4, "b1"), (5, "b2"))
    }
    quantiles: dict[str, list[float | None]] = {"p50": [], "p99": [], "max": []}
    for second in range(steps):
        ok = latency[(seconds == second) & (kind == int(Type.OK))]
        for word, q in (("p50", 50), ("p99", 99), ("max", 100)):
            quantiles[word].append(float(np.percentile(ok, q)) if len(ok) else None)
    acked = [round(acked_at(s + 1.0)) for s in range(steps)]
    read = [round(acked_at(s - 1.5)) if s < 136 else acked[-1] for s in range(steps)]
    return Series(
        origin_ns=ORIGIN,
        duration_s=END_S,
        step_s=1.0,
        rate=rate,
        quantiles=quantiles,
        points=Points(
            t_s=t.tolist(),
            latency_ms=latency.tolist(),
            f=f.tolist(),
            type=kind.tolist(),
            client=rng.integers(0, 8, points).tolist(),
            node=node.tolist(),
            key=(np.arange(points) % 4).tolist(),
            process=(100 + np.arange(points) % 16).tolist(),
            error=error.tolist(),
            errors=list(ERRORS),
        ),
        operations=points * 8,
        shown=points,
        acked=acked,
        read=read,
        latencies=latencies,
        bucket_ms=edges_ms(),
        errors=errors,
        nodes=nodes,
    )

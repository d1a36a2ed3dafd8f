"""For authors of checkers and plugins: histories as literals, on disk as a real run would leave them.

A literal is a small YAML file: operations with times in seconds, faults, who was master when, and the
verdict it must get (``docs/reference/history.md`` has the syntax). ``write_run_folder`` makes a run folder of it
through the recorder and the event log themselves, so that a test of a checker exercises the whole way
from the raw stream to the verdict. The module refuses to judge.
"""

import os
from collections.abc import Iterator
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec
import yaml

from chaos import __version__
from chaos.core.clock import NS_PER_S, boot_id
from chaos.core.errors import HistoryError
from chaos.core.events import CLOCK_SKEW, RUN_EVENTS, Event, EventLog, Evidence, Fault, Note, Observation, Phase
from chaos.core.history import SCHEMA_VERSION
from chaos.core.manifest import write_manifest
from chaos.core.node_notes import Look, ended_note, look_note
from chaos.core.op import Completion, Invocation, Type
from chaos.core.recorder import OP_SIZE, Recorder
from chaos.core.runinfo import NodeInfo, Promises, RunInfo, write_run
from chaos.core.verdict import Results
from chaos.models.log.transaction import Decision
from chaos.models.log.words import HOLDS, SENDS, F, Record, Value
from chaos.testing.history_literal import (
    DrainLiteral,
    Expected,
    FaultLiteral,
    HistoryLiteral,
    InSyncLiteral,
    OpLiteral,
    Range,
    Reign,
    RunLiteral,
    Sends,
)

__all__ = [
    "Act",
    "DrainLiteral",
    "Expected",
    "FaultLiteral",
    "HistoryLiteral",
    "InSyncLiteral",
    "OpLiteral",
    "Range",
    "Reign",
    "RunLiteral",
    "Sends",
    "acts_of",
    "assert_verdict",
    "differences",
    "load_history",
    "run_info",
    "write_run_folder",
    "write_streams",
]

ORIGIN_NS: Final = 1_000 * NS_PER_S
"""Second 0 of a literal."""

NODES: Final = (
    NodeInfo(name="c1", role="controller", address="198.18.0.11"),
    NodeInfo(name="c2", role="controller", address="198.18.0.12"),
    NodeInfo(name="b1", role="broker", address="198.18.0.21"),
    NodeInfo(name="b2", role="broker", address="198.18.0.22"),
    NodeInfo(name="b3", role="broker", address="198.18.0.23"),
)
TIMEOUT_S: Final = 3.0
DRAIN_CLIENT: Final = 900
DROPPED: Final = ("3 of 40 probes across the cut arrived", "all probes across the cut dropped")
STILL: Final = "all rules in place"
ARRIVED: Final = ("3 of 40 probes still dropped", "all probes arrive again")


def load_history(path: Path) -> HistoryLiteral:
    """Read one literal.

    Raises:
        HistoryError: naming the file and what in it is wrong.
    """
    try:
        return msgspec.convert(yaml.safe_load(path.read_text()), HistoryLiteral, strict=False)
    except (msgspec.ValidationError, yaml.YAMLError) as error:
        raise HistoryError(f"{path}: {' '.join(str(error).split())}") from None


def _ns(at_s: float) -> int:
    return ORIGIN_NS + round(at_s * NS_PER_S)


def _value(text: str) -> Value:
    writer, sequence = text.split(":")
    return Value(int(writer), int(sequence))


def _records(text: str) -> tuple[Record, ...]:
    pairs = (word.split("=") for word in text.split())
    return tuple(Record(int(offset), None if value == "?" else _value(value)) for offset, value in pairs)


class Act(NamedTuple):
    """One operation with all its literal facts: what a stream is written from."""

    invocation: Invocation
    completion: Completion | None
    invoke_ns: int
    complete_ns: int
    scheduled_ns: int
    worker: int = 0
    client: int = 0
    pinned: bool = False


def _row(op: OpLiteral, row: Sends) -> Iterator[OpLiteral]:
    for i in range(row.count):
        at = round(row.start + i * row.every_s, 9)
        offset = None if row.offset is None else row.offset + i
        yield msgspec.structs.replace(
            op,
            sends=None,
            at=(at, round(at + row.took_s, 9)),
            due=at - row.late_s,
            send=f"{op.writer}:{row.first + i}",
            ok=offset if row.outcome == "ok" else None,
            fail="refused" if row.outcome == "fail" else None,
            info="no answer" if row.outcome == "info" else None,
            not_sent=row.outcome == "not-sent",
        )


def _sent(op: OpLiteral, f: F) -> str | None:
    """The value that an operation of this kind sends, or that it is about."""
    names = {F.SEND: op.send, F.SCHEDULE: op.schedule, F.TRANSACT: op.transact, F.ACK: op.ack, F.EXTEND: op.extend}
    return names.get(f)


def _argument(op: OpLiteral, f: F) -> int:
    """What it has beside: the time of a delayed or popped message, what is decided of a transaction."""
    if f in (F.POP, F.EXTEND):
        return round(op.invisible_s * NS_PER_S)
    if f is F.SCHEDULE:
        if op.deliver is None:
            raise HistoryError(f"a schedule without the time to deliver it: {op}")
        return _ns(op.deliver)
    return int(Decision[op.decides.upper().replace("-", "_")]) if f is F.TRANSACT else 0


def _kind(op: OpLiteral) -> tuple[F, Range]:
    for f in SENDS:
        if _sent(op, f) is not None:
            return f, Range()
    for f, asked in ((F.POLL, op.poll), (F.READ, op.read), (F.SLAVE_READ, op.slave_read), (F.DRAIN, op.drain)):
        if asked is not None:
            return f, asked
    for f, said in ((F.POP, op.pop), (F.ACK, op.ack), (F.EXTEND, op.extend)):
        if said is not None:
            return f, Range(got=said if f is F.POP else "")
    if op.commit is not None:
        return F.COMMIT, Range(begin=op.commit)
    if op.committed_read is not None:
        return F.COMMITTED_READ, Range(next=None if op.committed_read == "none" else op.committed_read)
    raise HistoryError(f"an operation that is neither send nor read, pop or commit, nor about a popped message: {op}")


def _completion(op: OpLiteral, f: F, asked: Range) -> Completion | None:
    if op.not_sent:
        return Completion(type=Type.NOT_SENT, error="bound on operations in flight reached")
    if len(op.at) == 1:
        return None
    kind = Type.FAIL if op.fail is not None else Type.INFO if op.info is not None else Type.OK
    error = op.fail or op.info
    if f in SENDS:
        return Completion(type=kind, node=op.node, offset=op.ok if kind is Type.OK else op.hint, error=error)
    if f in (F.COMMIT, F.COMMITTED_READ, *HOLDS):
        return Completion(type=kind, node=op.node, error=error, next_offset=asked.next)
    if f is F.POP:
        return Completion(type=kind, node=op.node, error=error, records=_records(asked.got))
    records = _records(asked.got)
    after = max((record.offset + 1 for record in records), default=asked.begin or 0)
    return Completion(
        type=kind,
        node=op.node,
        error=error,
        records=records,
        min_offset=asked.min,
        next_offset=asked.next if asked.next is not None else after,
        max_offset=asked.max if asked.max is not None or f is F.POLL else (asked.next or after),
    )


def _act(op: OpLiteral, process: int) -> Act:
    f, asked = _kind(op)
    invocation = Invocation(
        process=process if op.p is None else op.p,
        f=f,
        key=op.to,
        deadline_ns=_ns(op.at[0] + TIMEOUT_S),
        value=_value(text) if (text := _sent(op, f)) is not None else None,
        offset=asked.begin,
        argument=_argument(op, f),
    )
    due = op.at[0] if op.due is None else op.due
    complete_ns = _ns(op.at[-1])
    return Act(invocation, _completion(op, f, asked), _ns(op.at[0]), complete_ns, _ns(due), op.w, op.client, op.pinned)


def acts_of(literal: HistoryLiteral) -> list[Act]:
    """The operations of the load, without the final reads that are added by default."""
    flat = [one for op in literal.ops for one in (_row(op, op.sends) if op.sends is not None else (op,))]
    return [_act(op, 1000 + i) for i, op in enumerate(flat)]


def _known_content(acts: list[Act], key: int) -> dict[int, Value]:
    """What the log of a queue must hold if nothing went wrong; the latest word on an offset wins."""
    content: dict[int, Value] = {}
    for act in sorted(acts, key=lambda act: act.complete_ns):
        done = act.completion
        if done is None or act.invocation.key != key or done.type is not Type.OK:
            continue
        if act.invocation.value is not None and done.offset is not None:
            content[done.offset] = act.invocation.value
        content.update({one.offset: one.value for one in done.records if one.value is not None and one.offset >= 0})
    return content


def _drains(literal: HistoryLiteral, drain: DrainLiteral, acts: list[Act], begin_s: float) -> list[Act]:
    """The final reads."""
    out = []
    for number in range(drain.passes):
        for key in range(literal.run.queues):
            if key in drain.skip:
                continue
            text = " ".join(f"{offset}={value}" for offset, value in sorted(_known_content(acts, key).items()))
            text = drain.final.get(key, text)
            if number == 0:
                text = drain.first.get(key, text)
            records = _records(text)
            lowest = drain.min.get(key, 0)
            end = max((record.offset + 1 for record in records), default=lowest)
            at = begin_s + number * drain.gap_s
            highest = drain.max.get(key, end)
            asked = Range(got=text, next=drain.next.get(key, highest), min=lowest, max=highest)
            op = OpLiteral(at=(at, at + 0.02), drain=asked, to=key, client=DRAIN_CLIENT, node=drain.node)
            out.append(_act(op, 100_000 + number * 1000 + key))
            if _has_group(literal, acts) and key not in drain.skip_committed:
                answer = drain.committed.get(key, _last_commit(acts, key))
                last = OpLiteral(
                    at=(at + 0.03, at + 0.04),
                    committed_read="none" if answer is None else answer,
                    to=key,
                    client=DRAIN_CLIENT,
                    node=drain.node,
                )
                out.append(_act(last, 200_000 + number * 1000 + key))
    return out


def _last_pops(literal: HistoryLiteral, drain: DrainLiteral, acts: list[Act], begin_s: float) -> list[Act]:
    """Where messages are popped: pops that come back empty, one of each queue."""
    if drain.pops_end_s is None or not any(act.invocation.f is F.POP for act in acts):
        return []
    at = begin_s + drain.pops_end_s
    ops = (OpLiteral(at=(at, at + 0.02), pop="", to=key, client=DRAIN_CLIENT) for key in range(literal.run.queues))
    return [_act(op, 300_000 + op.to) for op in ops]


def _copies(literal: HistoryLiteral, drain: DrainLiteral, acts: list[Act], begin_s: float) -> list[Act]:
    """The reads of replicas' own copies, behind the final reads."""
    out = []
    for number, (node, contents) in enumerate(drain.replicas.items()):
        position = [one.name for one in NODES].index(node)
        for key in range(literal.run.queues):
            known = " ".join(f"{offset}={value}" for offset, value in sorted(_known_content(acts, key).items()))
            at = begin_s + number * 0.1 + key * 0.01
            base = OpLiteral(at=(at, at + 0.005), to=key, client=DRAIN_CLIENT, node=node, drain=Range())
            if contents is None:
                act = _act(msgspec.structs.replace(base, fail="refused"), 300_000 + number * 1000 + key)
            else:
                asked = Range(got=contents.get(key, known), min=drain.min.get(key, 0))
                op = msgspec.structs.replace(base, drain=asked, fail=drain.replicas_failed.get(node))
                act = _act(op, 300_000 + number * 1000 + key)
            invocation = msgspec.structs.replace(act.invocation, f=F.REPLICA, argument=position)
            out.append(act._replace(invocation=invocation))
    return out


def _has_group(literal: HistoryLiteral, acts: list[Act]) -> bool:
    """Whether the clients are a consumer group."""
    kinds = {act.invocation.f for act in acts}
    return F.COMMIT in kinds or F.COMMITTED_READ in kinds or F.COMMIT.word in literal.run.mix


def _last_commit(acts: list[Act], key: int) -> int | None:
    """Where the group must go on if nothing went wrong and no commit is in doubt."""
    commits = [
        (act.complete_ns, act.invocation.offset)
        for act in acts
        if act.invocation.f is F.COMMIT
        and act.invocation.key == key
        and act.completion is not None
        and act.completion.type is Type.OK
    ]
    return max(commits, key=itemgetter(0))[1] if commits else None


def write_streams(acts: list[Act], folder: Path, *, workers: int, torn: tuple[int, ...] = ()) -> None:
    """Write acts as the workers' streams into a ``history`` folder, in order of time.

    A worker named in ``torn`` leaves a stream without an end record.
    """
    names = tuple(node.name for node in NODES)
    for worker in range(workers):
        recorder = Recorder(folder, worker, names)
        own = [act for act in acts if act.worker == worker]
        steps = [(act.invoke_ns, 0, i) for i, act in enumerate(own)]
        steps += [(act.complete_ns, 1, i) for i, act in enumerate(own) if act.completion is not None]
        numbers: dict[int, int] = {}
        for at_ns, step, i in sorted(steps):
            act = own[i]
            if step == 0:
                numbers[i], _ = recorder.invoke(
                    act.invocation, act.client, act.scheduled_ns, pinned=act.pinned, at_ns=at_ns
                )
            elif act.completion is not None:
                recorder.complete(numbers[i], act.invocation, act.client, act.completion, at_ns=at_ns)
        recorder.close()
        if worker in torn:
            path = folder / f"w{worker}.ops"
            os.truncate(path, path.stat().st_size - OP_SIZE)


def _fault_events(fault: FaultLiteral) -> Iterator[Fault]:
    if fault.skipped is not None:
        yield Fault(time_ns=_ns(fault.skipped), id=fault.id, name=fault.name, stage="skipped", note="no leader known")
    seen = Evidence(kind="matrix", proven=fault.proven, summary=DROPPED[fault.proven])
    still = Evidence(kind="packet-filter", proven=True, summary=STILL) if fault.lasted else None
    gone = Evidence(
        kind="matrix", proven=fault.mended, summary=ARRIVED[fault.mended], details={"failed": dict(fault.failed)}
    )
    once = gone if fault.retry is None else Evidence(kind="matrix", proven=False, summary=ARRIVED[False])
    stages: tuple[tuple[Literal["inject", "active", "heal", "healed"], float | None, Evidence | None], ...] = (
        ("inject", fault.inject, None),
        ("active", fault.active if fault.active is not None else fault.inject, seen),
        ("heal", fault.heal, still),
        ("healed", fault.healed if fault.healed is not None else fault.heal, once),
        ("heal", fault.retry, None),
        ("healed", fault.retry, gone),
    )
    for stage, at, evidence in stages:
        if at is not None:
            yield Fault(
                time_ns=_ns(at), id=fault.id, name=fault.name, stage=stage, targets=fault.targets, evidence=evidence
            )


def _clock_notes(literal: HistoryLiteral) -> Iterator[Note]:
    for node, seen in literal.clocks.items():
        for ahead_s, error_s in seen:
            data = {"ahead_ns": round(ahead_s * NS_PER_S), "error_ns": round(error_s * NS_PER_S)}
            yield Note(time_ns=_ns(0), name=CLOCK_SKEW, node=node, data=data)


def _observations(literal: HistoryLiteral, end_s: float) -> Iterator[Observation]:
    """One statement a second of every node that leads something, and of the controller about the group."""
    for second in range(int(end_s) + 1):
        at_ns = _ns(second)

        def leads(reign: Reign | InSyncLiteral, second: int = second) -> bool:
            return reign.start <= second and (reign.end is None or second <= reign.end)

        said = {one.says: one for one in literal.in_sync if leads(one)}
        for reign in filter(leads, literal.masters):
            own = said.get(reign.node)
            yield Observation(
                time_ns=at_ns,
                asked_ns=at_ns,
                node=reign.node,
                alive=True,
                role="master",
                epoch=reign.epoch,
                subject="group",
                master=own.master if own else None,
                sync_state_set=own.members if own else None,
                sync_state_set_epoch=own.number if own else None,
            )
        master = max(filter(leads, literal.masters), key=lambda reign: reign.decided or reign.epoch, default=None)
        late = literal.drain is not None and literal.drain.sync_changes and second % 2
        for reign in filter(leads, literal.controllers):
            own = said.get(reign.node)
            members = own.members if own else ("b1", "b2") if late else ("b1", "b2", "b3")
            yield Observation(
                time_ns=at_ns,
                asked_ns=at_ns,
                node=reign.node,
                alive=True,
                role="leader",
                epoch=reign.epoch,
                subject="group",
                master=own.master if own else master.node if master is not None else None,
                sync_state_set=members,
                sync_state_set_epoch=own.number if own else None,
                master_epoch=master.decided if master is not None and not own else None,
            )


def _node_events(literal: HistoryLiteral, end_s: float) -> Iterator[Observation | Note]:
    """What is said of nodes' processes and answers."""
    for one in literal.answers:
        for second in range(int(end_s) + 1):
            alive = not any(first <= second <= last for first, last in one.never)
            yield Observation(time_ns=_ns(second), asked_ns=_ns(second), node=one.node, alive=alive)
    for gone in literal.ended:
        yield ended_note(_ns(gone.at), gone.node, gone.last_line, gone.excuse)
    for look in literal.looks:
        shown = Look(time_ns=_ns(look.at), since_ns=_ns(look.since), dead=look.dead, cut=look.cut, waited=look.waited)
        yield look_note(shown)


def write_run_folder(literal: HistoryLiteral, folder: Path) -> None:
    """Make a run folder (which must not exist) of a literal: run.json, streams, events and the manifest."""
    acts = acts_of(literal)
    times = [(act.complete_ns - ORIGIN_NS) / NS_PER_S for act in acts]
    times += [at for one in literal.faults for at in (one.inject, one.heal, one.healed, one.retry) if at is not None]
    load_end_s = float(int(max(times, default=0.0)) + 1)
    drain = literal.drain
    if drain is not None and (pops := _last_pops(literal, drain, acts, load_end_s)):
        acts += pops
        load_end_s += (drain.pops_end_s or 0.0) + 1
    begin_s = load_end_s + (drain.wait_s if drain is not None else 0.0)
    end_s = begin_s + (drain.gap_s * drain.passes + 1 if drain is not None else 0.0)
    if drain is not None:
        load = list(acts)
        acts += _drains(literal, drain, load, begin_s)
        acts += _copies(literal, drain, load, end_s - 0.5)
    workers = max((act.worker for act in acts), default=0) + 1
    (folder / "history").mkdir(parents=True)
    write_streams(acts, folder / "history", workers=workers, torn=literal.torn_workers)
    write_run(folder, run_info(literal.run, literal.name, workers=workers, faults=literal.faults))
    log = EventLog(folder / "history" / RUN_EVENTS)
    log.emit(Phase(time_ns=_ns(0), name="load", edge="start"))
    told: Iterator[Event] = chain(_clock_notes(literal), *map(_fault_events, literal.faults))
    for event in told:
        log.emit(event)
    if drain is None or drain.observed:
        for observation in _observations(literal, end_s):
            log.emit(observation)
    for said in _node_events(literal, end_s):
        log.emit(said)
    log.emit(Phase(time_ns=_ns(load_end_s), name="load", edge="end"))
    if drain is not None:
        log.emit(Phase(time_ns=_ns(begin_s), name="drain", edge="start"))
        if drain.ended:
            log.emit(Phase(time_ns=_ns(end_s), name="drain", edge="end"))
    log.close()
    write_manifest(folder)


def run_info(run: RunLiteral, name: str, *, workers: int = 1, faults: tuple[FaultLiteral, ...] = ()) -> RunInfo:
    """The ``run.json`` of a literal."""
    return RunInfo(
        id=name,
        status="ran",
        argv=("chaos", "run"),
        chaos_version=__version__,
        schema_version=SCHEMA_VERSION,
        boot_id=boot_id(),
        origin_ns=ORIGIN_NS,
        origin_utc="2026-01-01T00:00:00+00:00",
        system="literal",
        system_version="1",
        backend="none",
        workload=run.workload,
        seed=1,
        nemesis=",".join(dict.fromkeys(fault.name for fault in faults)) or "noop",
        settings={},
        nodes=NODES,
        roles={"broker": "replica", "controller": "controller"},
        queues=run.queues,
        rate=run.rate,
        clients=1,
        workers=run.workers or workers,
        op_timeout_s=TIMEOUT_S,
        time_limit_s=60.0,
        fault_interval_s=20.0,
        fault_duration_s=20.0,
        route_poll_interval_s=None,
        rto_budget_s=run.rto_budget_s,
        promises=Promises(
            allowed=run.promises,
            readable_after_s=run.readable_after_s,
            min_in_sync=run.min_in_sync,
            redelivered_within_s=run.redelivered_within_s,
            early_s=run.early_s,
            twice=run.twice,
            replicas_read=run.replicas_read,
            progress_margin_s=run.progress_margin_s,
            recovers_within_s=run.recovers_within_s,
            rejoins_within_s=run.rejoins_within_s,
            fails_over_after_s=run.fails_over_after_s,
        ),
        quiet=run.quiet,
        send_deadline_s=run.send_deadline_s,
        planned_faults=len(faults) if run.planned_faults is None else run.planned_faults,
        mix=run.mix,
        body_bytes=64,
        interrupted=run.interrupted,
    )


def _rto_differences(expected: Expected, results: Results) -> Iterator[str]:
    by_id = {fault.id: fault for fault in results.faults}
    for number, kinds in expected.rto_s.items():
        over_all = {rto.f: rto for rto in by_id[number].rto if rto.key == -1}
        for f, seconds in kinds.items():
            rto = over_all.get(f)
            got = None if rto is None else rto.seconds if rto.recovered else "never"
            same = got == seconds
            if isinstance(got, float) and isinstance(seconds, int | float):
                same = abs(got - seconds) < 1e-6  # noqa: PLR2004 - seconds written with a few digits
            if not same:
                yield f"RTO of fault {number} for {f}: {got}, expected {seconds}"
    for number, lost in expected.lost.items():
        if by_id[number].lost != lost:
            yield f"lost under fault {number}: {by_id[number].lost}, expected {lost}"
    for number, span_s in expected.rpo_span_s.items():
        if by_id[number].rpo_span_s != span_s:
            yield f"RPO of fault {number}: {by_id[number].rpo_span_s}, expected {span_s}"


def differences(results: Results, expected: Expected) -> list[str]:
    """How results differ from what a literal expects; empty if they do not."""
    found: dict[str, Any] = {name: anomaly.count for name, anomaly in results.anomalies.items()}
    out = []
    if results.valid != expected.valid:
        out.append(f"valid is {results.valid} ({results.reason or results.sentence}), expected {expected.valid}")
    if found != expected.anomalies:
        out.append(f"anomalies {found}, expected {expected.anomalies}")
    allowed = {name for name, anomaly in results.anomalies.items() if anomaly.allowed}
    if allowed != set(expected.allowed):
        out.append(f"allowed {sorted(allowed)}, expected {sorted(expected.allowed)}")
    for name, headline in expected.part_of.items():
        if name in results.anomalies and results.anomalies[name].part_of != headline:
            out.append(f"{name} is part of {results.anomalies[name].part_of}, expected {headline}")
    if expected.sentence not in results.sentence:
        out.append(f"sentence {results.sentence!r} lacks {expected.sentence!r}")
    if expected.reason not in results.reason:
        out.append(f"reason {results.reason!r} lacks {expected.reason!r}")
    rows = {row.name: row.found for row in results.checks}
    for name, part in expected.found.items():
        if part not in rows.get(name, ""):
            out.append(f"row {name} says {rows.get(name)!r}, which lacks {part!r}")
    return out + list(_rto_differences(expected, results))


def assert_verdict(results: Results, literal: HistoryLiteral) -> None:
    """Raise AssertionError with every difference, a line each."""
    found = differences(results, literal.expect)
    assert not found, "\n".join([f"history {literal.name}:", *found])

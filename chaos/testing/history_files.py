"""For authors of checkers and plugins: histories as literals, on disk as a real run would leave them.

A literal is a small YAML file: operations with times in seconds, faults, who was master when, and the verdict it must
get (``docs/reference/history.md`` has the syntax). ``write_run_folder`` makes a run folder of it through the recorder
and the event log themselves, so that a test of a checker exercises the whole way from the raw stream to the verdict.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import yaml

from chaos import __version__
from chaos.core.clock import NS_PER_S, boot_id
from chaos.core.errors import HistoryError
from chaos.core.events import CLOCK_SKEW, RUN_EVENTS, Claim, Event, EventLog, Evidence, Fault, Note, Observation, Phase
from chaos.core.fault_nature import of_name
from chaos.core.model import word_table
from chaos.core.node_notes import OBSERVER_ENDED, Look, ended_note, look_note
from chaos.core.verdict import Results
from chaos.models.log.model import LOG
from chaos.storage.manifest import write_manifest
from chaos.storage.recorder import OP_SIZE, Recorder
from chaos.storage.runinfo import SCHEMA_VERSION, Promises, RunInfo, Subject, write_run
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
from chaos.testing.literal_operations import (
    NODES,
    ORIGIN_NS,
    TIMEOUT_S,
    Act,
    acts_of,
    final_reads,
    last_pops,
    ns_of,
    replica_copies,
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

ONE_GROUP: Final = "brokers"
CONTROLLERS: Final = "controller"
"""The subjects of a history that names none."""
DROPPED: Final = ("3 of 40 probes across the cut arrived", "all probes across the cut dropped")
STILL: Final = "all rules in place"
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""That of libyaml, where it is there: tests read hundreds of literals."""

ARRIVED: Final = ("3 of 40 probes still dropped", "all probes arrive again")


def load_history(path: Path) -> HistoryLiteral:
    """Read one literal.

    Raises:
        HistoryError: naming the file and what in it is wrong.
    """
    try:
        read = yaml.load(path.read_text(), Loader=_LOADER)  # noqa: S506 - both loaders are safe
        return msgspec.convert(read, HistoryLiteral, strict=False)
    except (msgspec.ValidationError, yaml.YAMLError) as error:
        raise HistoryError(f"{path}: {' '.join(str(error).split())}") from None


def write_streams(acts: list[Act], folder: Path, *, workers: int, torn: tuple[int, ...] = ()) -> None:
    """Write acts as the workers' streams into a ``history`` folder, in order of time.

    A worker named in ``torn`` leaves a stream without an end record.
    """
    names = tuple(node.name for node in NODES)
    for worker in range(workers):
        recorder = Recorder(folder, worker, names, LOG)
        own = [act for act in acts if act.worker == worker]
        steps = [(act.invoke_ns, 0, i) for i, act in enumerate(own)]
        steps += [(act.complete_ns, 1, i) for i, act in enumerate(own) if act.completion is not None]
        numbers: dict[int, int] = {}
        for at_ns, step, i in sorted(steps):
            act = own[i]
            if step == 0:
                numbers[i], _ = recorder.invoke(act.invocation, act.scheduled_ns, pinned=act.pinned, at_ns=at_ns)
            elif act.completion is not None:
                recorder.complete(numbers[i], act.invocation, act.completion, at_ns=at_ns)
        recorder.close()
        if worker in torn:
            path = folder / f"w{worker}.ops"
            os.truncate(path, path.stat().st_size - OP_SIZE)


def _fault_events(fault: FaultLiteral) -> Iterator[Fault]:
    if fault.skipped is not None:
        yield Fault(time_ns=ns_of(fault.skipped), id=fault.id, name=fault.name, stage="skipped", note="no leader known")
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
    identity = None if fault.heals else msgspec.structs.replace(of_name(fault.name), heals=False)
    for stage, at, evidence in stages:
        if at is not None:
            base = Fault(time_ns=ns_of(at), id=fault.id, name=fault.name, stage=stage, evidence=evidence)
            yield msgspec.structs.replace(base, targets=fault.targets, identity=identity)


def _clock_notes(literal: HistoryLiteral) -> Iterator[Note]:
    for node, seen in literal.clocks.items():
        for ahead_s, error_s in seen:
            data = {"ahead_ns": round(ahead_s * NS_PER_S), "error_ns": round(error_s * NS_PER_S)}
            yield Note(time_ns=ns_of(0), name=CLOCK_SKEW, node=node, data=data)


def _observations(literal: HistoryLiteral, end_s: float) -> Iterator[Observation]:
    """One statement a second of every node that leads something, and of controllers about all groups."""
    for second in range(int(end_s) + 1):

        def holds(one: Reign | InSyncLiteral, second: int = second) -> bool:
            return one.start <= second and (one.end is None or second <= one.end)

        masters, controllers = list(filter(holds, literal.masters)), list(filter(holds, literal.controllers))
        sets = {(one.says, one.of): one for one in literal.in_sync if holds(one)}
        late = bool(literal.drain is not None and literal.drain.sync_changes and second % 2)
        for node in dict.fromkeys(reign.node for reign in masters):
            claims = (claim for reign in masters if reign.node == node for claim in _of_master(reign, sets))
            yield _said(second, node, "master", tuple(claims))
        for reign in controllers:
            own = Claim(subject=CONTROLLERS, leader=reign.node, epoch=reign.epoch)
            groups = dict.fromkeys((*(literal.run.subjects or ()), *(one.of for one in masters))) or {ONE_GROUP: None}
            about = (_of_controller(group, reign, masters, sets, late=late) for group in groups)
            yield _said(second, reign.node, "leader", (own, *about))


def _said(second: int, node: str, role: str, claims: tuple[Claim, ...]) -> Observation:
    at_ns = ns_of(second)
    return Observation(time_ns=at_ns, asked_ns=at_ns, node=node, alive=True, role=role, claims=claims)


_Sets = dict[tuple[str, str], InSyncLiteral]


def _of_master(reign: Reign, sets: _Sets) -> Iterator[Claim]:
    """What a master claims; where it names the set of another master, that too."""
    said = sets.get((reign.node, reign.of))
    claim = Claim(subject=reign.of, leader=reign.node, epoch=reign.epoch)
    if said is None:
        yield claim
    elif said.master == reign.node:
        yield msgspec.structs.replace(claim, members=said.members, members_epoch=said.number)
    else:
        yield claim
        yield Claim(subject=reign.of, leader=said.master, members=said.members, members_epoch=said.number)


def _of_controller(group: str, reign: Reign, masters: list[Reign], sets: _Sets, *, late: bool) -> Claim:
    """What a controller says of a group. ``late``: one replica is out of sync for the moment."""
    said = sets.get((reign.node, group))
    if said is not None:
        return Claim(subject=group, leader=said.master, members=said.members, members_epoch=said.number)
    own = (one for one in masters if one.of == group)
    master = max(own, key=lambda one: one.decided or one.epoch, default=None)
    members = ("b1", "b2") if late else ("b1", "b2", "b3")
    if master is None:
        return Claim(subject=group, members=members)
    return Claim(subject=group, leader=master.node, epoch=master.decided, members=members)


def _node_events(literal: HistoryLiteral, end_s: float) -> Iterator[Observation | Note]:
    """What is said of nodes' processes and answers."""
    for one in literal.answers:
        for second in range(int(end_s) + 1):
            alive = not any(first <= second <= last for first, last in one.never)
            yield Observation(time_ns=ns_of(second), asked_ns=ns_of(second), node=one.node, alive=alive)
    for gone in literal.ended:
        yield ended_note(ns_of(gone.at), gone.node, gone.last_line, gone.excuse)
    for look in literal.looks:
        shown = Look(
            time_ns=ns_of(look.at), since_ns=ns_of(look.since), dead=look.dead, cut=look.cut, waited=look.waited
        )
        yield look_note(shown)
    if literal.observer_ended is not None:
        yield Note(time_ns=ns_of(literal.observer_ended), name=OBSERVER_ENDED, text="the observer has ended by itself")


def write_run_folder(literal: HistoryLiteral, folder: Path) -> None:
    """Make a run folder (which must not exist) of a literal: run.json, streams, events and the manifest."""
    acts = acts_of(literal)
    times = [(act.complete_ns - ORIGIN_NS) / NS_PER_S for act in acts]
    times += [at for one in literal.faults for at in (one.inject, one.heal, one.healed, one.retry) if at is not None]
    load_end_s = float(int(max(times, default=0.0)) + 1)
    drain = literal.drain
    if drain is not None and (pops := last_pops(literal, drain, acts, load_end_s)):
        acts += pops
        load_end_s += (drain.pops_end_s or 0.0) + 1
    begin_s = load_end_s + (drain.wait_s if drain is not None else 0.0)
    end_s = begin_s + (drain.gap_s * drain.passes + 1 if drain is not None else 0.0)
    if drain is not None:
        load = list(acts)
        acts += final_reads(literal, drain, load, begin_s)
        acts += replica_copies(literal, drain, load, end_s - 0.5)
    workers = max((act.worker for act in acts), default=0) + 1
    (folder / "history").mkdir(parents=True)
    write_streams(acts, folder / "history", workers=workers, torn=literal.torn_workers)
    words = sorted({act.invocation.f.word for act in acts})
    write_run(folder, run_info(literal.run, literal.name, workers=workers, faults=literal.faults, words=words))
    log = EventLog(folder / "history" / RUN_EVENTS)
    log.emit(Phase(time_ns=ns_of(0), name="load", edge="start"))
    told: Iterator[Event] = chain(_clock_notes(literal), *map(_fault_events, literal.faults))
    for event in told:
        log.emit(event)
    if drain is None or drain.observed:
        for observation in _observations(literal, end_s):
            log.emit(observation)
    for said in _node_events(literal, end_s):
        log.emit(said)
    log.emit(Phase(time_ns=ns_of(load_end_s), name="load", edge="end"))
    if drain is not None:
        log.emit(Phase(time_ns=ns_of(begin_s), name="drain", edge="start"))
        if drain.ended:
            log.emit(Phase(time_ns=ns_of(end_s), name="drain", edge="end"))
    log.close()
    write_manifest(folder)


def run_info(
    run: RunLiteral,
    name: str,
    *,
    workers: int = 1,
    faults: tuple[FaultLiteral, ...] = (),
    words: Iterable[str] = (),
) -> RunInfo:
    """The ``run.json`` of a literal; ``words``: the kinds of operations in it."""
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
        model=LOG.name,
        required_phases=("drain",),
        words=word_table(LOG),
        seed=1,
        nemesis=",".join(dict.fromkeys(fault.name for fault in faults)) or "noop",
        settings={},
        nodes=NODES,
        roles={"broker": "replica", "controller": "controller"},
        keys=run.keys,
        rate=run.rate,
        clients=1,
        workers=run.workers or workers,
        op_timeout_s=TIMEOUT_S,
        time_limit_s=60.0,
        fault_interval_s=20.0,
        fault_duration_s=20.0,
        route_poll_interval_s=None,
        rto_budget_s=run.rto_budget_s,
        refusals=run.refusals,
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
            serves_without_minority_s=run.serves_without_minority_s,
        ),
        quiet=run.quiet,
        send_deadline_s=run.send_deadline_s,
        planned_faults=len(faults) if run.planned_faults is None else run.planned_faults,
        mix={**dict.fromkeys(words, 0.0), **run.mix},
        body_bytes=64,
        interrupted=run.interrupted,
        subjects=subjects_over(run.subjects),
    )


def subjects_over(groups: Mapping[str, tuple[int, ...] | None] | None) -> tuple[Subject, ...]:
    """The subjects of ``NODES``: replica groups of all brokers with their queues (by default one), and controllers.

    None: nothing has a leader.
    """
    if groups is None:
        return ()
    brokers, controllers = (
        tuple(node.name for node in NODES if node.role == role) for role in ("broker", "controller")
    )
    named = groups or {ONE_GROUP: None}
    led = [Subject(name=name, nodes=brokers, keys=keys) for name, keys in named.items()]
    return (*led, Subject(name=CONTROLLERS, kind="controller", nodes=controllers))


def _headline_differences(expected: Expected, results: Results) -> Iterator[str]:
    nodes, fault = (results.headline.nodes, results.headline.fault) if results.headline is not None else ((), None)
    if expected.look_at is not None and nodes != expected.look_at:
        yield f"the headline names {nodes}, expected {expected.look_at}"
    if expected.blames is not None and fault != expected.blames:
        yield f"the headline names fault {fault}, expected {expected.blames}"


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
    return [*out, *_headline_differences(expected, results), *_rto_differences(expected, results)]


def assert_verdict(results: Results, literal: HistoryLiteral) -> None:
    """Raise AssertionError with every difference, a line each."""
    found = differences(results, literal.expect)
    assert not found, "\n".join([f"history {literal.name}:", *found])

"""Histories of models other than logs as YAML literals: through the recorder to a run folder, then to the checks.

``model``: whose words the operations have. ``ops``: each with ``at`` (seconds: asked, answered), a word with its
argument, and ``ok``, ``fail``, ``info`` with its error, or nothing for an operation without an end; ``given`` is what
the client was given, ``p`` its process and ``client``, ``key`` the object, ``deadline`` in seconds, ``node`` who
answered, b1 if it is not said; ``settings`` those of the run. ``recovers_within_s``: as it is promised. ``faults``:
from when to when each was in force, its kind if it is no kill, and its node if it is not b1. ``leaders``: when which
epoch of b1's lead was heard; without it nothing has a leader. ``expect``: the row of the check; ``look_at`` and
``blames``: the nodes and the fault that the headline names.
"""

import itertools

import msgspec
from history_literals import written
from repository import ROOT

from chaos.core.events import RUN_EVENTS, Claim, EventLog, Evidence, Fault, Observation, Phase
from chaos.core.fault_nature import Identity
from chaos.core.model import word_table
from chaos.core.op import Completion, Invocation, Type
from chaos.models.registry import model_named
from chaos.plugins import load
from chaos.storage.manifest import write_manifest
from chaos.storage.recorder import Recorder
from chaos.storage.runinfo import Promises, Subject, write_run
from chaos.testing.history_files import run_info
from chaos.testing.history_literal import RunLiteral
from chaos.testing.literal_operations import NODES
from nemesis.faults.registry import faults

HISTORIES = ROOT / "tests" / "histories"
PATHS = sorted((HISTORIES / "coordination").glob("*.yaml"))
QUEUES = sorted((HISTORIES / "queues").glob("*.yaml"))
TYPES = {"ok": Type.OK, "fail": Type.FAIL, "info": Type.INFO}
END_S = 1000
GROUP = "group"


def literal_of(path):
    return written(path)


def ns(at_s):
    return 10**9 + round(at_s * 10**9)


def steps_of(model, ops):
    """(time, kind, number of the operation, invocation or completion) of every step, in order of time."""
    words = {word.word: word for word in model.words}
    for number, op in enumerate(ops):
        (f,) = (words[name] for name in op if name in words)
        function = model.functions[f]
        argument = None if function.argument is None else msgspec.convert(op[f.word] or {}, function.argument)
        process = op.get("p", number)
        yield (
            ns(op["at"][0]),
            0,
            number,
            Invocation(
                process=process,
                client=op.get("client", 0),
                f=f,
                key=op.get("key", 0),
                deadline_ns=ns(op["deadline"]) if "deadline" in op else 0,
                argument=argument,
            ),
        )
        for word, kind in TYPES.items():
            if word in op:
                given = None if "given" not in op else msgspec.convert(op["given"], function.result)
                error = None if kind is Type.OK else op[word]
                node = op.get("node", "b1")
                yield ns(op["at"][1]), 1, number, Completion(type=kind, node=node, result=given, error=error)


def events_of(literal):
    """What happened beside the operations, in no order."""
    edges = itertools.product(("load", "drain"), ("start", "end"))
    for at_s, (phase, edge) in zip((0, END_S - 2, END_S - 1, END_S), edges, strict=True):
        yield Phase(time_ns=ns(at_s), name=phase, edge=edge)
    proof = Evidence(kind="process", proven=True, summary="seen")
    for number, one in enumerate(literal.get("faults", [])):
        *times, kind, node = (*one, *("kill", "b1")[len(one) - 2 :])
        identity = Identity(kind=kind, nature=faults()[kind].nature())
        for at_s, stages in zip(times, (("inject", "active"), ("heal", "healed")), strict=True):
            for stage in stages:
                yield Fault(
                    time_ns=ns(at_s),
                    id=number,
                    name=kind,
                    stage=stage,
                    targets=(node,),
                    evidence=proof,
                    identity=identity,
                )
    for at_s, epoch in literal.get("leaders", []):
        claim = Claim(subject=GROUP, leader="b1", epoch=epoch)
        yield Observation(time_ns=ns(at_s), asked_ns=ns(at_s), node="b1", alive=True, claims=(claim,))


def write_folder(literal, folder):
    """A whole run folder of a literal."""
    model = model_named(literal["model"])
    (folder / "history").mkdir(parents=True)
    recorder = Recorder(folder / "history", 0, tuple(node.name for node in NODES), model)
    records, asked = {}, {}
    for at_ns, step, number, what in sorted(steps_of(model, literal["ops"]), key=lambda one: one[:3]):
        if step == 0:
            asked[number] = what
            records[number], _ = recorder.invoke(what, at_ns, pinned=False, at_ns=at_ns)
        else:
            recorder.complete(records[number], asked[number], what, at_ns=at_ns)
    recorder.close()
    workload = load("workloads", literal["workload"])
    info = msgspec.structs.replace(
        run_info(RunLiteral(), literal["name"]),
        model=model.name,
        words=word_table(model),
        workload=workload.name,
        checks=workload.checks,
        keys=1 + max(one.get("key", 0) for one in literal["ops"]),
        settings=literal.get("settings", {}),
        promises=Promises(allowed=literal.get("promises", {}), recovers_within_s=literal.get("recovers_within_s", 0.0)),
        subjects=(Subject(name=GROUP, nodes=("b1",)),) if "leaders" in literal else (),
        origin_ns=10**9,
    )
    write_run(folder, info)
    log = EventLog(folder / "history" / RUN_EVENTS)
    for event in sorted(events_of(literal), key=lambda one: one.time_ns):
        log.emit(event)
    log.close()
    write_manifest(folder)
    return folder


def row_of(results, name):
    """The row of one check."""
    return next(row for row in results.checks if row.name == name)


def differences(row, expect):
    """How the row of a check differs from what a literal expects."""
    out = []
    counts = {name: one.count for name, one in row.anomalies.items()}
    if (row.valid, counts) != (expect["valid"], expect.get("anomalies", {})):
        out.append(f"{row.valid} {counts} ({row.reason or row.found}), expected {expect}")
    said = " ".join(example.sentence for one in row.anomalies.values() for example in one.examples)
    if expect.get("sentence", "") not in said:
        out.append(f"{said!r} lacks {expect['sentence']!r}")
    return out


def headline_differences(results, expect):
    """How what the headline names differs from what a literal expects."""
    told = results.headline
    named = {"look_at": [*told.nodes], "blames": told.fault} if told is not None else {}
    wanted = {key: expect[key] for key in ("look_at", "blames") if key in expect}
    return [f"{key}: {named.get(key)}, expected {one}" for key, one in wanted.items() if named.get(key) != one]

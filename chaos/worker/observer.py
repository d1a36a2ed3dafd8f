"""The observer: ``python -m chaos.worker.observer``, inside the cluster's network.

Every period it asks each node what it is, with a deadline below the period and never more than one question outstanding
per node, writes the answers to ``history/observer.events`` and tells the main process, which needs them to know who
leads. It also prepares the cluster and says when it is ready. It does not judge: two leaders are written down like one.
"""

import asyncio
from pathlib import Path
from typing import Final

import msgspec

from chaos.core.clock import now_ns
from chaos.core.errors import ChaosError
from chaos.core.events import EventLog, Observation
from chaos.core.replica_data import ReplicaData, notes_of
from chaos.storage.repeated_claims import ClaimWriter
from chaos.worker.messages import (
    Answer,
    AskReady,
    Command,
    Observe,
    ObserverSpec,
    Prepare,
    ReadReplicas,
    Remove,
    Removed,
    ReplicasRead,
    Seen,
)
from chaos.worker.pipe import Child, Pipe, answer_of, serve
from cluster.system import Probe, ShowsReplicaData, System


async def _rounds(spec: ObserverSpec, pipe: Pipe, probe: Probe, log: EventLog) -> None:
    """Ask every node once a period; a slow node delays nobody else."""
    latest: dict[str, Observation] = {}
    busy: dict[str, asyncio.Future[None]] = {}
    writer = ClaimWriter()
    loop = asyncio.get_running_loop()

    async def ask(name: str) -> None:
        node = next(node for node in spec.view.nodes if node.name == name)
        asked_ns = now_ns()
        try:
            seen = await probe.observe(node, spec.period_s * 0.8)
        except Exception as error:  # noqa: BLE001 - an observer that stops would hide what comes after
            text = f"{type(error).__name__}: {error}"[:200]
            seen = Observation(time_ns=now_ns(), asked_ns=asked_ns, node=name, alive=False, error=text)
        log.emit(writer.shortened(seen))
        latest[name] = seen

    due, first = loop.time(), True
    while True:
        for node in spec.view.nodes:
            if node.name not in busy or busy[node.name].done():
                busy[node.name] = asyncio.ensure_future(ask(node.name))
        due += spec.period_s
        if first:  # a cluster serves once every node was heard: nobody need wait for the period's end
            await asyncio.wait(busy.values(), timeout=spec.period_s)
            pipe.say(Seen(observations=tuple(latest.values())))
            first = False
        await asyncio.sleep(max(0.0, due - loop.time()))
        pipe.say(Seen(observations=tuple(latest.values())))


async def _replica_data(system: object, spec: ObserverSpec, timeout_s: float, log: EventLog) -> ReplicasRead:
    """Write down what each replica holds."""
    if not isinstance(system, ShowsReplicaData):
        return ReplicasRead()
    reader = system.replica_reader(spec.view)
    try:
        found = await reader.read(timeout_s)
    finally:
        await reader.close()
    for note in notes_of(found, now_ns()):
        log.emit(note)
    return ReplicasRead(read=sum(not one.error for one in found), failed=tuple(filter(None, map(_failed, found))))


def _failed(one: ReplicaData) -> str:
    return f"{one.node}: {one.error}" if one.error else ""


async def _body(spec: ObserverSpec, pipe: Pipe) -> None:
    system: System = pipe.system(spec.system)
    probe: Probe = system.probe(spec.view)
    log = EventLog(Path(spec.folder) / "history" / "observer.events")
    decoder = msgspec.json.Decoder(Command)
    rounds: asyncio.Future[None] | None = None
    while (line := await pipe.line()) is not None:
        command = decoder.decode(line)
        if isinstance(command, Prepare):
            try:
                await probe.prepare()
                found = await probe.confirm(None if command.asked is None else frozenset(command.asked))
                for note in found.notes:
                    log.emit(note)
                warnings = tuple(note.text for note in found.notes if note.data.get("warning"))
                pipe.say(Answer(text="", warnings=warnings, settings=found.settings, promises=found.promises))
            except ChaosError as error:
                pipe.say(answer_of(str(error)))
        elif isinstance(command, AskReady):
            pipe.say(answer_of(await probe.readiness()))
        elif isinstance(command, Observe) and rounds is None:
            rounds = asyncio.ensure_future(_rounds(spec, pipe, probe, log))
        elif isinstance(command, ReadReplicas):
            pipe.say(await _replica_data(system, spec, command.timeout_s, log))
        elif isinstance(command, Remove):
            pipe.say(Removed(what=await probe.remove()))
    if rounds is not None:
        rounds.cancel()
    await probe.close()
    log.close()


CHILD: Final = Child(ObserverSpec, _body, lambda spec: f"{spec.folder}/logs/observer.log")

if __name__ == "__main__":
    serve(CHILD)

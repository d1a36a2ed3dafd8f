"""A load worker: ``python -m chaos.worker.worker``, inside the cluster's network, one event loop.

It multiplexes many logical processes over its clients. Every invocation is in the history before the
call goes out. At the bound of operations in flight an operation is recorded as not sent. A process
whose operation ended as info is retired; its successor has a new number. What operations mean is the workload's
business: the worker counts, records and keeps the time.
"""

import asyncio
import math
from collections import Counter
from pathlib import Path
from typing import Final as Constant

import msgspec

from chaos import plugins
from chaos.core.client import Client, invoke_in_time
from chaos.core.clock import NS_PER_S, now_ns, ns_from_now
from chaos.core.op import Completion, Invocation, Type, Word
from chaos.core.refusals import REFUSED, is_refusal
from chaos.models.registry import model_named
from chaos.storage.recorder import Recorder
from chaos.worker.final_spec import final_spec
from chaos.worker.messages import Command, End, Final, FinalDone, Load, Reconnect, Stats, Stop, Stopped, WorkerSpec
from chaos.worker.pipe import Child, Pipe, serve
from chaos.workload.base import Arrival, Generator, LoadSpec, PerformsItself, Workload
from chaos.workload.final import Ask, Heard, Part, Steps, Wait
from cluster.system import System, pinned_clients, refusals_of

STATS_PERIOD_S: Constant = 1.0
AT_ONCE: Constant = 8
"""So many operations leave, when that many are late, before the event loop looks for answers."""
FRESH: Constant = -1
"""The number of a client that is none of the load's: it follows the route."""


class Worker:
    """One worker's state."""

    def __init__(self, spec: WorkerSpec, pipe: Pipe) -> None:
        self._spec = spec
        self._pipe = pipe
        self._system: System = pipe.system(spec.system)
        workload: Workload = plugins.load("workloads", spec.workload)()
        model = model_named(workload.model)
        self._pinned = pinned_clients(self._system, spec.view.settings, spec.clients)
        self._refusals = refusals_of(self._system)
        self._own = list(range(spec.worker, spec.clients, spec.workers))
        self._clients: dict[int, Client] = {n: self._client(n) for n in self._own}
        operations = self._system.operations(workload.model, spec.view.settings)
        load = LoadSpec(
            keys=spec.view.keys,
            clients=spec.clients,
            seed=spec.seed,
            body_bytes=spec.body_bytes,
            op_timeout_s=spec.op_timeout_s,
            operations=operations,
            quiet=spec.quiet,
            steps=spec.steps,
            earlier=spec.earlier,
        )
        self._generator: Generator = workload.generator(load)
        self._performs = self._generator if isinstance(self._generator, PerformsItself) else None
        self._final = workload.final(final_spec(spec.view, self._system, operations, spec.op_timeout_s))
        self._changes = frozenset(f for f, function in model.functions.items() if function.mutates)
        nodes = tuple(node.name for node in spec.view.nodes)
        self._recorder = Recorder(Path(spec.folder) / "history", spec.stream, nodes, model)
        self._free: dict[int, list[int]] = {n: [] for n in self._own}
        self._next_process = spec.worker + spec.workers * spec.earlier.numbers
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._stopping = False
        self._paused: asyncio.Future[None] | None = None
        self._counts: Counter[tuple[Word, Type]] = Counter()
        self._refused: Counter[Word] = Counter()
        self._worst_lag_ns = 0
        self._worst_ack_ns = 0
        self._last_ack_ns = 0
        self._last_sent: dict[int, int] = {}
        self._last_acked: dict[int, int] = {}

    def _client(self, number: int) -> Client:
        spec = self._spec
        client: Client = self._system.client(spec.view, number, spec.clients, spec.seed)
        return client

    def _process(self, client: int) -> int:
        """A free process of this client, or a new number."""
        if self._free[client]:
            return self._free[client].pop()
        process = self._next_process
        self._next_process += self._spec.workers
        return process

    async def load(self, origin_ns: int, from_ns: int = 0) -> None:
        """Dispatch operations when they are due until told to stop; none that was due before ``from_ns``.

        Behind the clock a few leave at once, and then answers are let in.
        """
        behind = 0
        for arrival in self._generator.arrivals(self._own, self._spec.rate):
            due_ns = origin_ns + arrival.at_ns
            if due_ns < from_ns:
                continue
            wait_s = (due_ns - now_ns()) / NS_PER_S
            if wait_s > 0:
                await self._pause(wait_s)
            else:
                behind += 1
                if behind % AT_ONCE == 0:
                    await asyncio.sleep(0)
            if self._stopping:
                return
            self._dispatch(arrival, due_ns)

    async def _pause(self, seconds: float) -> None:
        """Wait, but not beyond the word to stop."""
        if self._stopping:
            return
        loop = asyncio.get_running_loop()
        self._paused = loop.create_future()
        timer = loop.call_later(seconds, _wake, self._paused)
        try:
            await self._paused
        finally:
            timer.cancel()

    def _dispatch(self, arrival: Arrival, due_ns: int) -> None:
        process = self._process(arrival.client)
        op = self._generator.invocation(arrival, process, now_ns())
        if op is None:
            self._free[arrival.client].append(process)
            return
        pinned = self._pinned[arrival.client]
        if len(self._tasks) >= self._spec.max_in_flight:
            self._recorder.not_sent(op, due_ns, pinned=pinned)
            self._generator.learn(op, Completion(type=Type.NOT_SENT))
            self._free[arrival.client].append(op.process)
            self._counts[op.f, Type.NOT_SENT] += 1
            return
        number, time_ns = self._recorder.invoke(op, due_ns, pinned=pinned)
        self._worst_lag_ns = max(self._worst_lag_ns, time_ns - due_ns)
        if op.f in self._changes and not pinned:
            self._last_sent[op.key] = time_ns
        self._tasks[number] = asyncio.get_running_loop().create_task(self._perform(op, number, time_ns))

    async def _perform(self, op: Invocation, number: int, sent_ns: int) -> None:
        client = self._clients[op.client]
        try:
            if self._performs is not None:
                done = await self._performs.perform(client, op)
            else:
                done = await invoke_in_time(client, op)
                self._generator.learn(op, done)
            ended_ns = self._recorder.complete(number, op, done)
        finally:
            del self._tasks[number]
        self._counts[op.f, done.type] += 1
        if done.type is Type.FAIL and self._pinned[op.client] and is_refusal(done.error, self._refusals):
            self._refused[op.f] += 1
        if done.type is not Type.INFO:
            self._free[op.client].append(op.process)
        if done.type is Type.OK and op.f in self._changes:
            self._last_ack_ns = self._last_acked[op.key] = ended_ns
            self._worst_ack_ns = max(self._worst_ack_ns, ended_ns - sent_ns)

    def stats(self) -> Stats:
        """Counts so far; the worst lag and the slowest acknowledgement are since the last call."""
        worst, self._worst_lag_ns = self._worst_lag_ns, 0
        slowest, self._worst_ack_ns = self._worst_ack_ns, 0
        counts: dict[str, dict[str, int]] = {}
        for (f, kind), number in self._counts.items():
            counts.setdefault(f.word, {})[kind.word] = number
        for f, number in self._refused.items():
            counts[f.word] |= {Type.FAIL.word: self._counts[f, Type.FAIL] - number, REFUSED: number}
        return Stats(
            worker=self._spec.worker,
            pid=self._pipe.pid,
            counts=counts,
            in_flight=len(self._tasks),
            worst_lag_s=worst / NS_PER_S,
            worst_ack_s=slowest / NS_PER_S,
            last_ack_ns=self._last_ack_ns,
            last_sent=self._last_sent,
            last_acked=self._last_acked,
        )

    async def report(self) -> None:
        """Say the counts every period, for the terminal."""
        while True:
            await asyncio.sleep(STATS_PERIOD_S)
            self._pipe.say(self.stats())

    async def reconnect(self, share: float) -> None:
        """Drop the connections of a share of the clients, all at once."""
        await asyncio.gather(*(self._clients[n].refresh() for n in self._own[: math.ceil(share * len(self._own))]))

    async def stop(self) -> None:
        """Start no further operation and wait for those in flight, which all have deadlines."""
        self._stopping = True
        if self._paused is not None:
            _wake(self._paused)
        while self._tasks:
            await asyncio.wait(set(self._tasks.values()), timeout=self._spec.op_timeout_s + 1)
        self._pipe.say(self.stats())
        self._pipe.say(Stopped(worker=self._spec.worker, notes=dict(self._generator.notes())))

    async def final(self, command: Final) -> None:
        """Do parts of a final phase: all at once, or one question after another."""
        phase = self._final[command.phase]
        turn = asyncio.Semaphore(len(command.parts) if phase.at_once else 1)

        async def ended(part: Part) -> str:
            steps = phase.steps(part, command.notes.get(part.key, ()), command.limits, now_ns())
            return await self._finish(steps, part.key, turn)

        whys = await asyncio.gather(*map(ended, command.parts))
        unended = tuple((part, why) for part, why in zip(command.parts, whys, strict=True) if why)
        self._pipe.say(FinalDone(worker=self._spec.worker, unended=unended))

    async def _finish(self, steps: Steps, key: int, turn: asyncio.Semaphore) -> str:
        """Do what the steps say, through clients that know nothing at first; why they did not reach their end."""
        client = self._client(FRESH)
        try:
            step = next(steps)
            while True:
                asked_ns = now_ns()
                answers: tuple[Completion, ...] = ()
                if isinstance(step, Wait):
                    await asyncio.sleep(step.seconds)
                else:
                    if step.fresh:
                        await client.close()
                        client = self._client(FRESH)
                    async with turn:
                        asked_ns = now_ns()
                        answers = tuple(await asyncio.gather(*(self._ask(client, key, ask) for ask in step.asks)))
                step = steps.send(Heard(asked_ns, now_ns(), answers))
        except StopIteration as end:
            return str(end.value)
        finally:
            await client.close()

    async def _ask(self, client: Client, key: int, ask: Ask) -> Completion:
        """One operation of a final phase, of a process of its own."""
        op = Invocation(
            process=self._next_process,
            client=self._spec.clients,  # the number after the last client: nobody else's
            f=ask.f,
            key=key,
            deadline_ns=ns_from_now(ask.timeout_s),
            argument=ask.argument,
        )
        self._next_process += self._spec.workers
        number, _ = self._recorder.invoke(op, now_ns(), pinned=False)
        done = await invoke_in_time(client, op)
        self._recorder.complete(number, op, done)
        self._counts[ask.f, done.type] += 1
        return done

    async def close(self) -> None:
        """Close all clients and end the stream properly."""
        for client in self._clients.values():
            await client.close()
        self._recorder.close()


def _wake(paused: "asyncio.Future[None]") -> None:
    if not paused.done():
        paused.set_result(None)


async def _body(spec: WorkerSpec, pipe: Pipe) -> None:
    worker = Worker(spec, pipe)
    decoder = msgspec.json.Decoder(Command)
    reporter = asyncio.ensure_future(worker.report())
    load: asyncio.Future[None] | None = None
    pipe.say(worker.stats())  # the first word: ready for the load
    while (line := await pipe.line()) is not None:
        command = decoder.decode(line)
        if isinstance(command, Load):
            load = asyncio.ensure_future(worker.load(command.origin_ns, command.from_ns))
        elif isinstance(command, Reconnect):
            await worker.reconnect(command.share)
        elif isinstance(command, Stop):
            await worker.stop()
            if load is not None:
                await load
        elif isinstance(command, Final):
            await worker.final(command)
        elif isinstance(command, End):
            break
    reporter.cancel()
    await worker.close()


CHILD: Constant = Child(WorkerSpec, _body, lambda spec: f"{spec.folder}/logs/worker-{spec.worker}.log")

if __name__ == "__main__":
    serve(CHILD)

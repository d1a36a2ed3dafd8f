"""A load worker: ``python -m chaos.worker.worker``, inside the cluster's network, one event loop.

It multiplexes many logical processes over its clients. Every invocation is in the history before the
call goes out. At the bound of operations in flight an operation is recorded as not sent. A process
whose operation ended as info is retired; its successor has a new number. The worker refuses to judge,
and to try again what is not idempotent.
"""

import asyncio
import hashlib
from contextlib import suppress
from pathlib import Path

import msgspec

from chaos import plugins
from chaos.core.client import Client, settled
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import SENDS, Completion, F, Invocation, Record, Type
from chaos.core.recorder import Recorder
from chaos.worker import final_pops
from chaos.worker.idempotent_sends import Turns
from chaos.worker.messages import (
    Command,
    CopiesRead,
    Drained,
    DrainPass,
    End,
    LastPops,
    Load,
    Popped,
    ReadCopies,
    Stats,
    Stop,
    Stopped,
    WorkerSpec,
)
from chaos.worker.pipe import Pipe, serve
from chaos.worker.unread_values import Owed, missing
from chaos.workload.base import Arrival, LoadSpec, Workload

STATS_PERIOD_S = 1.0


class Worker:
    """One worker's state."""

    def __init__(self, spec: WorkerSpec, pipe: Pipe) -> None:
        self._spec = spec
        self._pipe = pipe
        self._system = plugins.load("systems", spec.system)()
        self._pinned = list(self._system.pinned(spec.view.settings, spec.clients))
        self._own = list(range(spec.worker, spec.clients, spec.workers))
        self._clients: dict[int, Client] = {n: self._client(n) for n in self._own}
        workload = plugins.load("workloads", spec.workload)
        load = LoadSpec(
            queues=spec.view.queues,
            clients=spec.clients,
            seed=spec.seed,
            body_bytes=spec.body_bytes,
            op_timeout_s=spec.op_timeout_s,
            operations=self._system.operations(spec.view.settings),
            quiet=spec.quiet,
        )
        self._workload: Workload = workload(load)
        self._turns = Turns(self._workload)
        nodes = tuple(node.name for node in spec.view.nodes)
        self._recorder = Recorder(Path(spec.folder) / "history", spec.worker, nodes)
        self._free: dict[int, list[int]] = {n: [] for n in self._own}
        self._next_process = spec.worker
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._counts: dict[str, dict[str, int]] = {}
        self._worst_lag_ns = 0
        self._worst_ack_ns = 0
        self._last_ack_ns = 0
        self._last_sent: dict[int, int] = {}
        self._last_acked: dict[int, int] = {}
        self._highest: dict[int, int] = {}
        self._owed = Owed()

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

    async def load(self, origin_ns: int) -> None:
        """Dispatch operations when they are due until told to stop."""
        for arrival in self._workload.arrivals(self._own, self._spec.rate):
            due_ns = origin_ns + arrival.at_ns
            wait_s = (due_ns - now_ns()) / NS_PER_S
            if wait_s > 0:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), wait_s)
            else:
                await asyncio.sleep(0)  # behind the clock: still let answers in
            if self._stopping.is_set():
                return
            self._dispatch(arrival, due_ns)

    def _dispatch(self, arrival: Arrival, due_ns: int) -> None:
        process = self._process(arrival.client)
        op = self._workload.invocation(arrival, process, now_ns())
        if op is None:
            self._free[arrival.client].append(process)
            return
        pinned = self._pinned[arrival.client]
        if len(self._tasks) >= self._spec.max_in_flight:
            self._recorder.not_sent(op, arrival.client, due_ns, pinned=pinned)
            self._workload.learn(arrival.client, op, Completion(type=Type.NOT_SENT))
            self._free[arrival.client].append(op.process)
            self._count(op.f, Type.NOT_SENT)
            return
        number, time_ns = self._recorder.invoke(op, arrival.client, due_ns, pinned=pinned)
        self._worst_lag_ns = max(self._worst_lag_ns, time_ns - due_ns)
        if op.f in SENDS and not pinned:
            self._last_sent[op.key] = time_ns
        task = asyncio.ensure_future(self._perform(arrival.client, op, number, time_ns))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _perform(self, client: int, op: Invocation, number: int, sent_ns: int) -> None:
        if op.f is F.SEND and self._workload.idempotent:
            done = await self._turns.send(self._clients[client], client, op)
        else:
            done = await settled(self._clients[client], op)
            self._workload.learn(client, op, done)
        ended_ns = self._recorder.complete(number, op, client, done)
        self._count(op.f, done.type)
        if done.type is not Type.INFO:
            self._free[client].append(op.process)
        self._owed.learn(op, done)
        if done.type is Type.OK and op.f in SENDS:
            self._last_ack_ns = self._last_acked[op.key] = ended_ns
            self._worst_ack_ns = max(self._worst_ack_ns, ended_ns - sent_ns)
            if done.offset is not None:
                self._highest[op.key] = max(self._highest.get(op.key, -1), done.offset)

    def _count(self, f: F, kind: Type) -> None:
        counts = self._counts.setdefault(f.word, {})
        counts[kind.word] = counts.get(kind.word, 0) + 1

    def stats(self) -> Stats:
        """Counts so far; the worst lag and the slowest acknowledgement are since the last call."""
        worst, self._worst_lag_ns = self._worst_lag_ns, 0
        slowest, self._worst_ack_ns = self._worst_ack_ns, 0
        return Stats(
            worker=self._spec.worker,
            counts=self._counts,
            in_flight=len(self._tasks),
            worst_lag_s=worst / NS_PER_S,
            worst_ack_s=slowest / NS_PER_S,
            last_ack_ns=self._last_ack_ns,
            highest_acked=self._highest,
            last_sent=self._last_sent,
            last_acked=self._last_acked,
        )

    async def report(self) -> None:
        """Say the counts every period, for the terminal."""
        while True:
            await asyncio.sleep(STATS_PERIOD_S)
            self._pipe.say(self.stats())

    async def stop(self) -> None:
        """Start no further operation and wait for those in flight, which all have deadlines."""
        self._stopping.set()
        while self._tasks:
            await asyncio.wait(set(self._tasks), timeout=self._spec.op_timeout_s + 1)
        self._pipe.say(self.stats())
        self._pipe.say(Stopped(worker=self._spec.worker, owed=self._owed.named()))

    async def last_pops(self, command: LastPops) -> None:
        """Pop the queues to their end, all at once, each through a client that knows nothing yet."""
        returns_s = self._system.promises(self._spec.view.settings).redelivered_within_s
        deadline_ns = now_ns() + int(command.timeout_s * NS_PER_S)
        invisible_ns = int(self._workload.invisible_s * NS_PER_S)
        clients = [self._system.client(self._spec.view, -1, self._spec.clients, self._spec.seed) for _ in command.keys]

        async def pop(client: Client, key: int) -> str:
            async def ask(f: F, record: Record | None) -> Completion:
                argument = invisible_ns if f is F.POP else 0
                return await self._last(client, f, key, final_pops.TIMEOUT_S, record, argument)

            return await final_pops.pop_to_the_end(
                ask, invisible_s=self._workload.invisible_s, returns_s=returns_s, deadline_ns=deadline_ns
            )

        try:
            whys = await asyncio.gather(*map(pop, clients, command.keys))
        finally:
            for client in clients:
                await client.close()
        unended = {key: why for key, why in zip(command.keys, whys, strict=True) if why}
        self._pipe.say(Popped(worker=self._spec.worker, unended=unended))

    async def drain(self, command: DrainPass) -> None:
        """Read the queues whole, one after another, each through a client that knows nothing yet.

        Where there is a consumer group, the pass ends with the offset at which it goes on.
        """
        for key in command.keys:
            client = self._system.client(self._spec.view, -1, self._spec.clients, self._spec.seed)
            try:
                done = last = await self._last(client, F.DRAIN, key, command.timeout_s)
                if done.type is Type.OK and F.COMMITTED_READ in self._workload.mix:
                    last = await self._last(client, F.COMMITTED_READ, key, command.timeout_s)
            finally:
                await client.close()
            drained = Drained(
                worker=self._spec.worker,
                number=command.number,
                key=key,
                ok=last.type is Type.OK,
                next_offset=done.next_offset,
                max_offset=done.max_offset,
                digest=_digest(done),
                error=last.error,
                missing=missing(command.owed.get(key, ()), done.records),
            )
            self._pipe.say(drained)

    async def copies(self, command: ReadCopies) -> None:
        """Read replicas' own copies, one after another."""
        client = self._system.client(self._spec.view, -1, self._spec.clients, self._spec.seed)
        ok = 0
        try:
            for node, key in command.copies:
                done = await self._last(client, F.REPLICA, key, command.timeout_s, argument=node)
                ok += done.type is Type.OK
        finally:
            await client.close()
        self._pipe.say(CopiesRead(worker=self._spec.worker, ok=ok))

    async def _last(
        self, client: Client, f: F, key: int, timeout_s: float, about: Record | None = None, argument: int = 0
    ) -> Completion:
        """One operation of the end of the run, of a process of its own; ``about``: the popped record of an ack."""
        op = Invocation(
            process=self._next_process,
            f=f,
            key=key,
            deadline_ns=now_ns() + int(timeout_s * NS_PER_S),
            value=about.value if about is not None else None,
            offset=about.offset if about is not None else None,
            argument=argument,
        )
        self._next_process += self._spec.workers
        drain_client = self._spec.clients  # the number after the last client: nobody else's
        number, _ = self._recorder.invoke(op, drain_client, now_ns(), pinned=False)
        done = await settled(client, op)
        self._recorder.complete(number, op, drain_client, done)
        self._count(f, done.type)
        return done

    async def close(self) -> None:
        """Close all clients and end the stream properly."""
        for client in self._clients.values():
            await client.close()
        self._recorder.close()


def _digest(done: Completion) -> str:
    state = hashlib.blake2b(digest_size=16)
    for record in done.records:
        state.update(f"{record.offset}={record.value};".encode())
    return state.hexdigest()


async def _body(spec: WorkerSpec, pipe: Pipe) -> None:
    worker = Worker(spec, pipe)
    decoder = msgspec.json.Decoder(Command)
    reporter = asyncio.ensure_future(worker.report())
    load: asyncio.Future[None] | None = None
    while (line := await pipe.line()) is not None:
        command = decoder.decode(line)
        if isinstance(command, Load):
            load = asyncio.ensure_future(worker.load(command.origin_ns))
        elif isinstance(command, Stop):
            await worker.stop()
            if load is not None:
                await load
        elif isinstance(command, LastPops):
            await worker.last_pops(command)
        elif isinstance(command, DrainPass):
            await worker.drain(command)
        elif isinstance(command, ReadCopies):
            await worker.copies(command)
        elif isinstance(command, End):
            break
    reporter.cancel()
    await worker.close()


if __name__ == "__main__":
    serve(WorkerSpec, _body, lambda spec: f"{spec.folder}/logs/worker-{spec.worker}.log")

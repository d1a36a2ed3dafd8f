"""One node as a process: ``python -m cluster.systems.minimq.server.node CONFIG``.

The shell around a core: sockets, timers and the disk become events, effects become writes and frames. What a core wants
done after one batch of bytes, one timer or one word of the disk leaves together. The shell decides nothing about
messages; it does not go on when the disk or the core has failed, because a node that is wrong about itself is worse
than one that is gone.

Standard output: a line that begins with ``ready`` once the node listens; then a line for each change of its role,
stamped with CLOCK_MONOTONIC in seconds; and ``planted bug acted`` with a JSON object for each deviation that a
bug made. Exit codes: 0 after SIGTERM or SIGINT, 1 after a failure, 2 for a configuration that cannot be.
"""

import asyncio
import gc
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from cluster.systems.minimq.consensus.controller import Controller
from cluster.systems.minimq.protocol.broker_messages import Rejected
from cluster.systems.minimq.protocol.io import (
    CancelTimer,
    ClientRequest,
    Core,
    Effect,
    Event,
    Message,
    Reply,
    Send,
    SetTimer,
    Timer,
    Truncate,
    Write,
    Written,
)
from cluster.systems.minimq.protocol.messages import ControllerRequest, GetSettings
from cluster.systems.minimq.protocol.wire import Hello, frame
from cluster.systems.minimq.replication.broker import Broker
from cluster.systems.minimq.server import node_config
from cluster.systems.minimq.server.build import build
from cluster.systems.minimq.server.listener import Incoming, ListenerHandlers, listen
from cluster.systems.minimq.server.node_config import ConfigError, NodeConfig
from cluster.systems.minimq.server.peer_links import Link
from cluster.systems.minimq.server.timers import Timers
from cluster.systems.minimq.storage.disk import Disk, DiskError, Folder, Kept, Store

CLOSE_S: Final = 2.0
EXIT_FAILED: Final = 1
EXIT_MISUSED: Final = 2

_T = TypeVar("_T")


class Node:
    """A core with its sockets, timers and disk, in one event loop."""

    def __init__(self, config: NodeConfig, core: Core, store: Store, take_notes: Callable[[], list[str]]) -> None:
        """``take_notes``: what a bug did since it was asked last, a JSON object each."""
        self._config = config
        self._core = core
        self._take_notes = take_notes
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._timers = Timers(self._loop, self._on_timer)
        greeting = frame(Hello(node=config.name))
        self._links = {
            name: Link((address, config.port), config.listen, greeting) for name, address in config.peers.items()
        }
        self._requests: dict[str, tuple[Incoming, int]] = {}
        self._request_number = 0
        self._writes: list[Kept] = []
        self._unsent: dict[Link | Incoming, None] = {}
        self._standing = ""
        self._disk = Disk(store, self._in_loop(self._on_written), self._in_loop(self._fail))

    async def run(self) -> int:
        """Serve until told to end, or until something fails; returns the exit code.

        Raises:
            OSError: the address cannot be used.
        """
        config = self._config
        self._loop.set_exception_handler(self._on_exception)
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._end, 0)
        doors = ListenerHandlers(
            peers=config.peers, on_message=self._on_message, on_call=self._on_call, on_end=self._flush, say=self._say
        )
        server = await listen(config.listen, config.port, doors)
        tasks = [self._loop.create_task(link.run()) for link in self._links.values()]
        self._carry_out(self._core.start(self._now_ms()))
        self._flush()
        print(f"ready {config.name} {config.role} at {config.listen}:{config.port}", flush=True)
        code = await self._ended
        server.close()
        for task in tasks:
            task.cancel()
        self._disk.close(CLOSE_S)
        return code

    # ------------------------------------------------------------ events

    def _take(self, event: Event) -> None:
        if not self._ended.done():
            self._carry_out(self._core.handle(event, self._now_ms()))

    def _on_message(self, sender: str, body: msgspec.Struct) -> None:
        self._take(Message(sender=sender, body=body))

    def _on_call(self, connection: Incoming, number: int, body: msgspec.Struct) -> None:
        if isinstance(body, GetSettings):
            connection.answer(number, node_config.reported_settings(self._config))
            self._unsent[connection] = None
            return
        if self._config.role == "controller" and not isinstance(body, ControllerRequest):
            connection.answer(number, Rejected(reason="bad-request"))
            self._unsent[connection] = None
            return
        self._request_number += 1
        request_id = str(self._request_number)
        self._requests[request_id] = connection, number
        self._take(ClientRequest(id=request_id, body=body))

    def _on_timer(self, name: str) -> None:
        self._take(Timer(name=name))
        self._flush()

    def _on_written(self, token: int) -> None:
        self._take(Written(token=token))
        self._flush()

    def _in_loop(self, act: Callable[[_T], None]) -> Callable[[_T], None]:
        """``act`` for callers in another thread."""

        def call(value: _T) -> None:
            with suppress(RuntimeError):  # the loop has ended, and nobody is left to be told
                self._loop.call_soon_threadsafe(act, value)

        return call

    @staticmethod
    def _now_ms() -> int:
        return time.monotonic_ns() // 1_000_000

    # ------------------------------------------------------------ effects

    def _carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(to=to, body=body):
                    link = self._links.get(to)
                    if link is not None:  # a client may have registered a broker that is none
                        link.send(frame(body))
                        self._unsent[link] = None
                case Reply(id=request_id, body=body):
                    connection, number = self._requests.pop(request_id)
                    connection.answer(number, body)
                    self._unsent[connection] = None
                case Write() | Truncate():
                    self._writes.append(effect)
                case SetTimer(name=name, delay_ms=delay_ms):
                    self._timers.set(name, delay_ms)
                case CancelTimer(name=name):
                    self._timers.cancel(name)

    def _flush(self) -> None:
        """Let out what the events since the last time wanted done."""
        if self._ended.done():
            return
        if self._writes:
            self._disk.put(self._writes)
            self._writes.clear()
        for outlet in self._unsent:
            outlet.flush()
        self._unsent.clear()
        self._tell()

    # ------------------------------------------------------------ what people are told

    def _tell(self) -> None:
        now = describe_core(self._core)
        if now != self._standing:
            self._standing = now
            self._say(now)
        notes = self._take_notes()
        if notes:
            print("\n".join(f"planted bug acted {note}" for note in notes), flush=True)

    def _say(self, what: str) -> None:
        print(f"{time.monotonic():.3f} {self._config.name} {what}", flush=True)

    # ------------------------------------------------------------ ending

    def _end(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(code)

    def _fail(self, why: str) -> None:
        print(f"{self._config.name}: {why}", file=sys.stderr, flush=True)
        self._end(EXIT_FAILED)

    def _on_exception(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, DiskError):
            self._fail(str(error))
        elif isinstance(error, OSError):  # too many open files, for one: those who came try again
            self._say(f"{context['message']}: {error}")
        else:
            if error is not None:
                traceback.print_exception(error)
            self._fail(f"ends after an error of its own: {context['message']}: {error!r}")


def describe_core(core: Core) -> str:
    """What a core takes itself for, in words."""
    match core:
        case Broker(role="master"):
            return f"master of epoch {core.epoch}, in sync: {', '.join(core.sync_state_set)}"
        case Broker(role="follower"):
            return f"follower of {core.replica.master} in epoch {core.epoch}"
        case Broker():
            return f"neither master nor follower in epoch {core.epoch}"
        case Controller() if core.raft.role == "leader":
            return f"leader of term {core.raft.term}"
        case Controller():
            return f"{core.raft.role} in term {core.raft.term}, leader: {core.raft.leader or 'unknown'}"
        case _:
            raise TypeError(f"{type(core).__name__} is no core of this node")


async def serve(config: NodeConfig) -> int:
    """One life of the node; returns the exit code.

    Raises:
        DiskError: its folder cannot be used.
        OSError: its address cannot be used.
    """
    take_notes: Callable[[], list[str]] = list
    if config.bug is not None:
        from cluster.systems.minimq.bugs import switches

        switches.switch_on(switches.Switch(config.bug, config.bug_share, f"{config.seed} {config.name}"))
        take_notes = switches.take_notes
    folder = Folder(Path(config.data))
    core, store = build(config, folder.path, f"{config.seed}/{config.name}")
    # What was recovered stays until the end: the collector need not look at it again and again.
    gc.freeze()
    return await Node(config, core, store, take_notes).run()


def main(argv: list[str]) -> int:
    """The process; returns its exit code."""
    if len(argv) != 1:
        print("usage: python -m cluster.systems.minimq.server.node CONFIG", file=sys.stderr)
        return EXIT_MISUSED
    try:
        config = node_config.load(Path(argv[0]))
    except ConfigError as error:
        print(error, file=sys.stderr)
        return EXIT_MISUSED
    try:
        return asyncio.run(serve(config))
    except DiskError as error:
        print(f"{config.name}: {error}", file=sys.stderr)
    except OSError as error:
        print(f"{config.name}: {config.listen}:{config.port}: {error.strerror}; free the address", file=sys.stderr)
    return EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

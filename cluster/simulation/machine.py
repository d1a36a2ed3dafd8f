"""A simulated machine with one node: its process, its disk, its clock, and what has reached it.

The disk makes writes durable in their order, a batch at a time. A process that is killed keeps what was durable and a
prefix of the batch that was on its way, so a crash comes between any two writes; what it had not handed to the disk is
gone. A node that keeps files of its own (``KeepsFiles``) writes them so. A process that is stopped handles what came
meanwhile when it goes on.
"""

import traceback
from collections.abc import Callable
from random import Random
from typing import Any, Final

from chaos.core.client import Definite, Indefinite
from cluster.simulation.core import Birth, KeepsFiles, SimulatedNode, Surroundings
from cluster.simulation.disk import SimulatedDisk
from cluster.simulation.network import NS_PER_MS, NS_PER_US, Network, Weather
from cluster.simulation.virtual_time import VirtualTime

CLIENT: Final = "client"
Born = Callable[[Birth, Surroundings], SimulatedNode]
Settle = Callable[[Any, Exception | None], None]
"""What a client hears: an answer, or why there is none."""


class Machine:
    """One machine; implements ``Surroundings`` for the node that it carries.

    ``log``: what the node's lives have said. ``watch``: is shown the node after each event.
    ``pid`` and ``begun``: of the process that was started last, 0 for none. ``disk_stands``: its disk does not answer.
    ``clock_shifts``: how far each fault has its wall clock ahead, in ns. ``disk_roots``: the folders over which faults
    have a file system of theirs, by the name by which it is spoken to.
    """

    def __init__(
        self,
        name: str,
        seed: str,
        born: Born,
        time: VirtualTime,
        network: Network,
        weather: Weather,
        peers: dict[str, Any],
    ) -> None:
        self.name = name
        self.files: dict[str, bytes] = {}
        self.log = bytearray()
        self.pid = self.begun = self.log_offset = 0
        self.alive = self.stopped = False
        self._seed = seed
        self._born = born
        self._loop = time.loop
        self._network = network
        self._weather = weather
        self._peers: dict[str, Machine] = peers
        self._draw = Random(f"{seed}/{name}")
        self._rate = 1.0 + weather.drift * (2 * self._draw.random() - 1)
        self._ahead_ms = self._draw.randrange(100_000)
        self.disk = SimulatedDisk(Random(f"{seed}/{name}/disk"))
        is_slow = Random(f"{seed}/{name}/speed").random() < weather.slow_disks
        self._disk_ms = weather.slow_disk_ms if is_slow else weather.disk_ms
        self._node: SimulatedNode | None = None
        self._keeper: KeepsFiles | None = None
        self._failure: str | None = None
        self.disk_roots: dict[str, str] = {}
        self.clock_shifts: dict[str, Callable[[], int]] = {}
        self.disk_stands = self._disk_due = False
        self._life = 0
        self._kept: list[Any] = []
        self._writing: list[Any] = []
        self._waiting: list[Any] = []
        self._written = 0
        self._timers: dict[str, int] = {}
        self._timer_number = 0
        self._requests: dict[int, Settle] = {}
        self._request_number = 0
        self.watch: Callable[[SimulatedNode], None] = lambda _: None
        self._inbox: list[tuple[Callable[..., None], tuple[Any, ...]]] = []

    def now_ms(self) -> int:
        """What its own clock shows."""
        return int(self._loop.now_ns * self._rate) // NS_PER_MS + self._ahead_ms

    def true_ns(self) -> int:
        """The true time, in ns, whatever its own wall clock shows."""
        return self._loop.now_ns

    def wall_ns(self) -> int:
        """What its wall clock shows, in ns."""
        return self._loop.now_ns + sum(ahead() for ahead in self.clock_shifts.values())

    def _span(self, bounds: tuple[float, float]) -> int:
        least, most = bounds
        return int((least + (most - least) * self._draw.random()) * NS_PER_MS)

    # ------------------------------------------------------------ its process

    def start(self, pid: int) -> None:
        """Start the node's process; a moment later it serves."""
        self.pid, self.begun, self.log_offset = pid, self._loop.now_ns // (10 * NS_PER_MS), len(self.log)
        self.alive, self.stopped = True, False
        self._life += 1
        self._loop.at(self._loop.now_ns + self._span(self._weather.start_ms), self._come_up, self._life)

    def _come_up(self, life: int) -> None:
        if life != self._life or not self.alive:
            return
        if self.stopped:
            self._inbox.append((self._come_up, (life,)))
            return
        birth = Birth(
            name=self.name,
            files=self.files,
            kept=tuple(self._kept),
            disk=self.disk,
            life=life,
            seed=f"{self._seed}/{self.name}/{life}",
        )
        try:
            self._node = node = self._born(birth, self)
            self._keeper = node if isinstance(node, KeepsFiles) else None
            node.start(self.now_ms())
        except Exception:  # noqa: BLE001 - a node that fails ends, as its process would
            self._fail()
            return
        self.say(f"ready {self.name}")
        self._to_disk()

    def kill(self) -> None:
        """End the process at once; fine if it has ended."""
        if not self.alive:
            return
        self.alive = self.stopped = False
        self._node = None
        self._life += 1
        if self._keeper is None:
            self._kept += self._writing[: self._draw.randint(0, len(self._writing))]
        self._keeper = None
        self.disk.break_off()
        self.disk.close_all()
        self._writing, self._waiting, self._written, self._disk_due = [], [], 0, False
        self._timers.clear()
        self._inbox.clear()
        self._network.forget(self.name)
        requests, self._requests = self._requests, {}
        for settle in requests.values():
            self._network.stream(self.name, CLIENT, settle, None, Indefinite("connection reset"))

    def stop(self) -> None:
        """Let the process stand still; fine if it does."""
        self.stopped = self.alive

    def resume(self) -> None:
        """Let it go on; fine if it does."""
        if not self.stopped:
            return
        self.stopped = False
        inbox, self._inbox = self._inbox, []
        # What has arrived first, then the timers that ran out meanwhile, as in one turn of an event loop.
        for act, arguments in sorted(inbox, key=lambda each: each[0] == self._on_timer):
            act(*arguments)

    def _fail(self) -> None:
        self.say(traceback.format_exc())
        self.kill()

    def _tell(self, event: Callable[..., None], *arguments: Any) -> None:
        try:
            event(*arguments, int(self._loop.now_ns * self._rate) // NS_PER_MS + self._ahead_ms)
        except Exception:  # noqa: BLE001 - a node that fails ends, as its process would
            self._fail()
            return
        node = self._node
        if node is not None:
            self.watch(node)
        if self._waiting and not self._writing:
            self._to_disk()

    # ------------------------------------------------------------ what reaches it

    def on_message(self, sender: str, body: Any) -> None:
        """A message of another node has arrived."""
        if self.stopped:
            self._inbox.append((self.on_message, (sender, body)))
        elif self._node is not None:
            self._tell(self._node.on_message, sender, body)

    def on_request(self, body: Any, settle: Settle) -> None:
        """A client's request has arrived."""
        if self.stopped:
            self._inbox.append((self.on_request, (body, settle)))
        elif self._node is None:
            self._network.stream(self.name, CLIENT, settle, None, Definite("connect: refused"))
        else:
            self._request_number += 1
            self._requests[self._request_number] = settle
            self._tell(self._node.on_request, self._request_number, body)

    def _on_timer(self, name: str, number: int) -> None:
        if self._timers.get(name) != number:
            return
        if self.stopped:
            self._inbox.append((self._on_timer, (name, number)))
        elif self._node is not None:
            del self._timers[name]
            self._tell(self._node.on_timer, name)

    # ------------------------------------------------------------ what the node does

    def send(self, to: str, body: Any) -> None:
        """See ``Surroundings``."""
        peer = self._peers.get(to)
        if peer is not None:
            self._network.send(self.name, to, peer.on_message, self.name, body)

    def answer(self, request: int, body: Any) -> None:
        """See ``Surroundings``."""
        settle = self._requests.pop(request, None)
        if settle is not None:
            self._network.stream(self.name, CLIENT, settle, body, None)

    def set_timer(self, name: str, delay_ms: float) -> None:
        """See ``Surroundings``."""
        self._timer_number += 1
        self._timers[name] = self._timer_number
        due_ns = self._loop.now_ns + int(delay_ms * NS_PER_MS / self._rate)
        self._loop.at(due_ns, self._on_timer, name, self._timer_number)

    def cancel_timer(self, name: str) -> None:
        """See ``Surroundings``."""
        self._timers.pop(name, None)

    def say(self, line: str) -> None:
        """See ``Surroundings``."""
        self.log += f"{self._loop.now_ns / 1e9:.3f} {line}\n".encode()

    # ------------------------------------------------------------ its disk

    def write(self, record: Any) -> None:
        """See ``Surroundings``."""
        self._waiting.append(record)

    def _to_disk(self) -> None:
        if not self._waiting:
            return
        self._writing, self._waiting, self._failure = self._waiting, [], None
        disk, weather = self.disk, self._weather
        disk.begin()
        if self._keeper is not None:
            try:
                self._keeper.keep(self._writing)
            except OSError as error:
                self._failure = str(error)
            except Exception:  # noqa: BLE001 - a node that fails ends, as its process would
                disk.noted()
                self._fail()
                return
        disk.noted()
        takes_ns = self._span(self._disk_ms) + disk.late_us * NS_PER_US
        if weather.slow_sync and self._draw.random() < weather.slow_sync:
            takes_ns += self._span((0.0, weather.slow_ms))
        if disk.stalled and not disk.crashed:
            self._disk_due = True
        else:
            self._loop.at(self._loop.now_ns + takes_ns, self._synced, self._life)

    def stop_disk(self) -> None:
        """From now on its disk does not answer; fine if it has stopped already."""
        self.disk_stands = True

    def go_on_with_disk(self) -> None:
        """What holds its disk up has ended; fine if nothing did."""
        self.disk_stands = False
        self.disk.revive()
        self.release_disk()

    def release_disk(self) -> None:
        """A rule has gone that may have held up what its disk does."""
        if self._disk_due and not self.disk_stands:
            self._disk_due = False
            self._loop.at(self._loop.now_ns, self._synced, self._life)

    def _synced(self, life: int) -> None:
        if life != self._life:
            return
        if self.disk_stands:
            self._disk_due = True
            return
        self.disk.finish()
        if self._failure is not None:
            self.say(f"the disk failed: {self._failure}")
        if self._failure is not None or self.disk.crashed:
            self.kill()
            return
        if self._keeper is None:
            self._kept += self._writing
        self._written += len(self._writing)
        self._writing = []
        self._on_written(self._written)

    def _on_written(self, count: int) -> None:
        if self.stopped:
            self._inbox.append((self._on_written, (count,)))
        elif self._node is not None:
            self._tell(self._node.on_written, count)
        if self._waiting and not self._writing and not self.stopped:
            self._to_disk()

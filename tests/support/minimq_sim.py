"""The whole of minimq in one thread: six cores, links like TCP, disks that take time, and the faults of the nemeses.

Events happen in the order of their milliseconds, and a seed decides everything. Links keep their order; under loss they
wait for retransmissions and break when nothing comes back; what was sent over a broken one is gone.
"""

import heapq
from collections import deque
from itertools import count
from random import Random

from minimq_kept import records_left

from cluster.systems.minimq.config import ROLES, topology
from cluster.systems.minimq.consensus.controller import Controller
from cluster.systems.minimq.consensus.raft_log import recover as recover_raft
from cluster.systems.minimq.protocol.io import (
    CancelTimer,
    Message,
    Reply,
    Send,
    SetTimer,
    Timer,
    Truncate,
    Write,
    Written,
)
from cluster.systems.minimq.replication.broker import Broker

CONTROLLERS = tuple(node.name for node in topology() if ROLES[node.role] == "controller")
BROKERS = tuple(node.name for node in topology() if ROLES[node.role] == "replica")
NODES = CONTROLLERS + BROKERS
UNACKNOWLEDGED_MS = 1200
RECONNECT_MS = 900
RETRANSMIT_MS = (10, 200, 400, 800)
OFFLINE_MAX = 32


class Link:
    """One direction between two nodes."""

    def __init__(self):
        self.up = True
        self.busy_until_ms = 0
        self.offline = deque(maxlen=OFFLINE_MAX)
        self.life = 0


class Machine:
    """One node: its core, what its disk has, what is on the way there."""

    def __init__(self):
        self.core = None
        self.life = 0
        self.stored = []
        self.writing = deque()
        self.timers = {}
        self.suspended = False
        self.inbox = []
        self.disk_busy = False


class Simulation:
    def __init__(self, seed, *, broker=None, controller=None, disk_ms=(1, 3)):
        self.random = Random(seed)
        self.broker, self.controller, self.disk_ms = broker, controller, disk_ms
        self.now_ms = 0
        self.calendar = []
        self.serial = count()
        self.machines = {name: Machine() for name in NODES}
        self.links = {(a, b): Link() for a in NODES for b in NODES if a != b}
        self.drops = {}  # (from, to) -> probability
        self.unplugged = frozenset()  # whom no client reaches either
        self.replies = {}  # request id -> what to call with the answer
        self.asked = count()
        for name in NODES:
            self.start(name)

    # ------------------------------------------------------------ time

    def at(self, delay_ms, act, *args):
        heapq.heappush(self.calendar, (self.now_ms + delay_ms, next(self.serial), act, args))

    def run(self, ms, until=lambda: False):
        end_ms = self.now_ms + ms
        while self.calendar and self.calendar[0][0] <= end_ms and not until():
            self.now_ms, _, act, args = heapq.heappop(self.calendar)
            act(*args)
        if not until():
            self.now_ms = end_ms

    # ------------------------------------------------------------ nodes

    def start(self, name):
        machine = self.machines[name]
        machine.life += 1
        machine.suspended, machine.inbox = False, []
        if name in CONTROLLERS:
            stored, rng = recover_raft(machine.stored), Random(self.random.random())
            core = Controller(name=name, controllers=CONTROLLERS, stored=stored, rng=rng, settings=self.controller)
        else:
            records = records_left(machine.stored)
            machine.stored = list(records)
            core = Broker(name, CONTROLLERS, f"{machine.life:06d}", self.broker, records)
        machine.core = core
        self.carry_out(name, core.start(self.now_ms))

    def kill(self, name):
        machine = self.machines[name]
        machine.core, machine.suspended, machine.inbox = None, False, []
        machine.life += 1
        machine.writing.clear()
        machine.timers.clear()
        machine.disk_busy = False
        for link in self.links_of(name):
            self.break_link(*link)

    def suspend(self, name):
        self.machines[name].suspended = True

    def resume(self, name):
        machine = self.machines[name]
        machine.suspended, inbox, machine.inbox = False, machine.inbox, []
        # Sockets first, then the timers that ran out meanwhile, as in one turn of an event loop.
        for event in sorted(inbox, key=lambda event: isinstance(event, Timer)):
            self.tell(name, machine.life, event)

    def tell(self, name, life, event, timer=None):
        machine = self.machines[name]
        if machine.core is None or machine.life != life:
            return
        if timer is not None and machine.timers.get(event.name) != timer:
            return
        if machine.suspended:
            machine.inbox.append(event)
        else:
            self.carry_out(name, machine.core.handle(event, self.now_ms))

    def carry_out(self, name, effects):
        machine = self.machines[name]
        for effect in effects:
            match effect:
                case Send(to=to, body=body):
                    self.send(name, to, Message(sender=name, body=body))
                case Write() | Truncate():
                    machine.writing.append(effect)
                case SetTimer(name=timer, delay_ms=delay_ms):
                    machine.timers[timer] = serial = next(self.serial)
                    self.at(delay_ms, self.tell, name, machine.life, Timer(name=timer), serial)
                case CancelTimer(name=timer):
                    machine.timers.pop(timer, None)
                case Reply(id=request_id, body=body):
                    done = None if name in self.unplugged else self.replies.pop(request_id, None)
                    if done is not None:
                        self.at(self.latency_ms(), done, body)
        self.flush(name)

    def flush(self, name):
        machine = self.machines[name]
        if machine.writing and not machine.disk_busy:
            machine.disk_busy = True
            batch = list(machine.writing)
            machine.writing.clear()
            self.at(self.random.randint(*self.disk_ms), self.written, name, machine.life, batch)

    def written(self, name, life, batch):
        machine = self.machines[name]
        if machine.life != life:
            return
        for effect in batch:
            if isinstance(effect, Truncate) and name in BROKERS:
                del machine.stored[effect.start :]
            else:
                machine.stored.append(effect if isinstance(effect, Truncate) else effect.record)
        machine.disk_busy = False
        self.tell(name, life, Written(token=batch[-1].token))
        self.flush(name)

    # ------------------------------------------------------------ the network

    def latency_ms(self):
        return self.random.randint(0, 1)

    def links_of(self, name):
        return [pair for pair in self.links if name in pair]

    def send(self, a, b, message):
        link = self.links[a, b]
        if not link.up:
            link.offline.append(message)
            return
        loss = max(self.drops.get((a, b), 0), self.drops.get((b, a), 0))
        waited_ms, arrival_ms = 0, None
        for step_ms in (*RETRANSMIT_MS, UNACKNOWLEDGED_MS):
            if arrival_ms is None and self.random.random() >= self.drops.get((a, b), 0):
                arrival_ms = waited_ms
            if arrival_ms is not None and (not loss or self.random.random() >= self.drops.get((b, a), 0)):
                break
            waited_ms += step_ms
        else:
            self.at(UNACKNOWLEDGED_MS, self.break_link, a, b, link.life)
        if arrival_ms is not None:
            link.busy_until_ms = max(link.busy_until_ms, self.now_ms + arrival_ms + self.latency_ms())
            self.at(link.busy_until_ms - self.now_ms, self.arrive, a, b, link.life, message)

    def arrive(self, a, b, life, message):
        machine = self.machines[b]
        if self.links[a, b].life == life:
            self.tell(b, machine.life, message)

    def break_link(self, a, b, life=None):
        link = self.links[a, b]
        if link.up and life in (None, link.life):
            link.up = False
            link.life += 1
            link.offline.clear()
            self.at(self.random.randint(RECONNECT_MS // 4, RECONNECT_MS), self.connect, a, b)

    def connect(self, a, b):
        link = self.links[a, b]
        here, there = self.machines[a].core, self.machines[b].core
        passes = all(self.random.random() >= self.drops.get(pair, 0) for pair in ((a, b), (b, a)))
        if here is None or there is None or not passes or self.machines[a].suspended:
            self.at(RECONNECT_MS if self.drops.get((a, b)) else RECONNECT_MS // 4, self.connect, a, b)
            return
        link.up, link.busy_until_ms = True, 0
        waiting = list(link.offline)
        link.offline.clear()
        for message in waiting:
            self.send(a, b, message)

    # ------------------------------------------------------------ faults

    def inject(self, row, targets):
        match row.fault:
            case "kill" | "stop":
                for name in targets.names:
                    self.kill(name)
            case "restart":
                for name in targets.names:
                    self.kill(name)
                    self.start(name)
            case "suspend":
                for name in targets.names:
                    self.suspend(name)
            case "disconnect":
                self.drops = {pair: 1.0 for name in targets.names for pair in self.links_of(name)}
                self.unplugged = frozenset(targets.names)
            case "partition" | "loss":
                share = row.params.get("probability", 1.0)
                self.drops = {(source, name): share for name, sources in targets.grudge.items() for source in sources}

    def heal(self, fault, targets):
        match fault:
            case "kill" | "stop":
                for name in targets.names:
                    self.start(name)
            case "restart":
                return
            case "suspend":
                for name in targets.names:
                    self.resume(name)
            case "partition" | "loss" | "disconnect":
                self.drops = {}
                self.unplugged = frozenset()

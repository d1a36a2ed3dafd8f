"""Six real processes on loopback addresses of their own, and a client that asks one question at a time."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec

import cluster
from cluster.systems.minimq.protocol.broker_messages import GetReplica, Produce, Produced, Read, ReplicaStatus
from cluster.systems.minimq.protocol.messages import Accepted, CreateTopic
from cluster.systems.minimq.protocol.wire import PORT, Back, Call, Frames, Hello, frame

CONTROLLERS = ("c1", "c2", "c3")
BROKERS = ("b1", "b2", "b3")
NODES = CONTROLLERS + BROKERS
TOPIC = "chaos"
QUEUES = 2
ASK_S = 5.0
READY_S = 30.0
POLL_S = 0.02
_SOURCES = f"{Path(cluster.__file__).parent.parent}:{Path(msgspec.__file__).parent.parent}"
_NETWORKS = itertools.count(os.getpid() % 200)


def until(condition, what, timeout_s=READY_S):
    """The first true value of ``condition``, which is asked again and again."""
    end = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < end, f"waited {timeout_s} s for {what}"
        time.sleep(POLL_S)
    return value


class Client:
    """One connection to one node."""

    def __init__(self, address, hello=None):
        self.socket = socket.create_connection((address, PORT), timeout=ASK_S)
        self.socket.sendall(frame(hello or Hello()))
        self.frames = Frames(Back)
        self.number = 0

    def ask(self, body):
        self.number += 1
        self.socket.sendall(frame(Call(self.number, body)))
        while True:
            for back in self.frames.feed(self.received()):
                assert back.number == self.number
                return back.body

    def received(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionResetError("the node has ended the connection")
        return data

    def close(self):
        self.socket.close()


class Nodes:
    """The processes; each may be killed, stopped and started again on the data that it left."""

    def __init__(self, folder):
        network = next(_NETWORKS)
        self.folder = folder
        self.addresses = {name: f"127.{20 + network}.0.{number}" for number, name in enumerate(NODES, 1)}
        self.processes = {}
        self.launched = []  # every process ever, for one may be started beside another of its name
        self.ready_at = {}
        for name in NODES:
            self.configure(name)

    def configure(self, name, **settings):
        config = {
            "name": name,
            "role": "controller" if name in CONTROLLERS else "broker",
            "listen": self.addresses[name],
            "controllers": CONTROLLERS,
            "brokers": BROKERS,
            "addresses": self.addresses,
            "data": str(self.folder / name),
            **settings,
        }
        self.config(name).write_text(json.dumps(config))

    def config(self, name):
        return self.folder / f"{name}.json"

    def log(self, name):
        path = self.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def launch(self, name, **options):
        argv = [sys.executable, "-S", "-m", "cluster.systems.minimq.server.node", str(self.config(name))]
        self.ready_at[name] = len(self.log(name))
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                argv, env={"PYTHONPATH": _SOURCES}, cwd=self.folder, stdout=log, stderr=log, **options
            )
        self.launched.append(self.processes[name])
        return self.processes[name]

    def start(self, *names):
        for name in names:
            self.launch(name)
        for name in names:
            until(lambda name=name: self.is_ready(name), f"{name} to be ready: {self.log(name)}")

    def is_ready(self, name):
        assert self.processes[name].poll() is None, self.log(name)
        return "ready" in self.log(name)[self.ready_at[name] :]

    def signal(self, name, number):
        self.processes[name].send_signal(number)
        if number in {signal.SIGKILL, signal.SIGTERM}:
            return self.processes[name].wait(READY_S)
        return None

    def end(self):
        for process in self.launched:
            if process.poll() is None:
                process.kill()
                process.wait(READY_S)

    # ------------------------------------------------------------ asking

    def ask(self, name, body, timeout_s=ASK_S):
        """The answer of one node; None if it has none to give."""
        with contextlib.suppress(OSError):
            client = Client(self.addresses[name])
            client.socket.settimeout(timeout_s)
            try:
                return client.ask(body)
            finally:
                client.close()
        return None

    def answer_of_any(self, names, body, kind):
        """(who, answer) of the first node that gives an answer of this kind."""

        def found():
            for name in names:
                answer = self.ask(name, body)
                if isinstance(answer, kind):
                    return name, answer
            return None

        return until(found, f"{kind.__name__} from one of {names}")

    def up(self):
        """Start all nodes and wait until every broker is in sync; returns the master."""
        self.start(*NODES)
        self.answer_of_any(CONTROLLERS, CreateTopic(topic=TOPIC, queues=QUEUES), Accepted)
        return self.complete()

    def complete(self, members=BROKERS):
        """Wait for a master with these in its SyncStateSet; returns it."""

        def found():
            statuses = [(name, self.ask(name, GetReplica(), 1.0)) for name in members]
            masters = [
                (status.epoch, name, status)
                for name, status in statuses
                if isinstance(status, ReplicaStatus) and status.role == "master"
            ]
            _, name, status = max(masters, default=(0, None, None))
            return name if name and set(status.sync_state_set) == set(members) else None

        return until(found, f"{', '.join(members)} to be in sync")

    def produce(self, names, bodies, queue=0):
        """Send one after the other, each until it is acknowledged; returns who took the last."""
        for body in bodies:
            name, _ = self.answer_of_any(names, Produce(topic=TOPIC, queue=queue, body=body), Produced)
            names = (name, *(each for each in names if each != name))
        return names[0]

    def bodies(self, name, kind=Read, queue=0):
        """All that one broker shows."""
        polled = self.ask(name, kind(topic=TOPIC, queue=queue, offset=0, records_max=1000))
        return [record.body for record in polled.records]

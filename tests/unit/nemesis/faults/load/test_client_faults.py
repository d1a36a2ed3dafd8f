"""Faults of clients: what is hit, what is seen of connections and processes, and what is refused."""

import os
import socket
import subprocess

import msgspec
import pytest

from chaos.core.errors import ChaosError
from cluster.cluster import Cluster
from cluster.host import NodeSpec
from cluster.hosts.local import LocalHost
from nemesis.faults.fault import NO_LOAD, Load, Scene
from nemesis.faults.load.client_crash import ClientCrash
from nemesis.faults.load.client_fault import first_of
from nemesis.faults.load.connections_program import address_of, connections
from nemesis.faults.load.load_step import WATCH_S, LoadStep
from nemesis.faults.load.reconnect_storm import ReconnectStorm, judge
from nemesis.faults.params import read
from nemesis.plan.choose_targets import choose
from nemesis.plan.plan import make_plan
from nemesis.targets.targets import Targets
from nemesis.targets.topology import Topology

NOBODY = Targets(names=(), participants=(), grudge={}, description="")


class Clients:
    """Processes that sleep, in the place of clients; each is started again when it is told."""

    def __init__(self, many):
        self.expected = set()
        self.running = {f"worker {number}": self._start() for number in range(many)}
        self.begun = 0

    def _start(self):
        return subprocess.Popen(["sleep", "1000"])

    def pids(self):
        return {name: one.pid for name, one in self.running.items() if one.poll() is None}

    def expect_end(self, names):
        self.expected |= set(names)

    def start_again(self):
        found = {}
        for name in sorted(self.expected):
            self.running[name].wait(10)
            self.running[name] = self._start()
            found[name] = "all of it is kept"
        self.expected.clear()
        return found

    def reconnect(self, share):
        raise AssertionError(share)

    def count(self):
        self.begun += 1
        return self.begun


@pytest.fixture
def clients():
    made = Clients(3)
    yield made
    for one in made.running.values():
        one.kill()
        one.wait()


def scene(tmp_path, processes, fault, count=None, **params):
    load = Load(count or (lambda: 0), 10.0, processes)
    host = LocalHost("127.0.0.1", tmp_path)
    return Scene(Cluster("run", {}, {}), NOBODY, host, params=read(fault.Params, params), load=load)


def test_clients_are_killed_and_others_take_their_place(clients, tmp_path):
    fault = ClientCrash(scene(tmp_path, clients, ClientCrash, clients.count))
    before = clients.pids()
    fault.act()
    for look in (fault.verify(), fault.verify_still()):
        assert look.proven, look.summary
        assert f"worker 0 pid {before['worker 0']} is gone" in look.summary
    assert clients.expected == {"worker 0", "worker 1", "worker 2"}
    for _ in range(2):
        fault.heal()
        healed = fault.verify_healed()
        assert healed.proven, healed.summary
        assert "all of it is kept" in healed.summary
    assert not set(before.values()) & set(clients.pids().values())


def test_a_share_of_them_is_rounded_up_and_the_others_live(clients, tmp_path):
    fault = ClientCrash(scene(tmp_path, clients, ClientCrash, clients.count, share=0.4))
    before = clients.pids()
    fault.act()
    assert fault.verify().proven
    assert clients.pids() == {"worker 2": before["worker 2"]}
    fault.heal()
    assert fault.verify_healed().proven


def test_a_share_of_nobody_hits_nobody(clients, tmp_path):
    fault = ClientCrash(scene(tmp_path, clients, ClientCrash, share=0))
    before = clients.pids()
    fault.act()
    assert not fault.verify().proven
    assert not fault.verify_still().proven
    fault.heal()
    assert fault.verify_healed().proven
    assert (clients.pids(), clients.expected) == (before, set())


def test_one_that_does_not_die_is_not_proven(clients, tmp_path, monkeypatch):
    monkeypatch.setattr("nemesis.faults.load.client_crash.ACTION_TIMEOUT_S", 0.3)
    fault = ClientCrash(scene(tmp_path, clients, ClientCrash, clients.count))
    fault._killed = fault.living()
    assert not fault.verify().proven
    assert not fault.verify_healed().proven, "the same processes as before"


def test_clients_that_ask_nothing_any_more_are_not_healed(clients, tmp_path, monkeypatch):
    monkeypatch.setattr("nemesis.faults.load.client_crash.GOES_ON_S", 0.3)
    fault = ClientCrash(scene(tmp_path, clients, ClientCrash))
    fault.act()
    assert fault.verify().proven
    fault.heal()
    assert not fault.verify_healed().proven


class Threads(Clients):
    """Clients that are no processes of their own."""

    def pids(self):
        return {"worker 0": 0}


@pytest.mark.parametrize("processes", [None, Threads(0)])
@pytest.mark.parametrize("fault", [ClientCrash, ReconnectStorm])
def test_clients_that_live_in_no_process_are_left_alone(fault, processes, tmp_path):
    with pytest.raises(ChaosError, match="clients live in no processes of their own here"):
        fault(scene(tmp_path, processes, fault)).act()
    assert NO_LOAD.processes is None


def test_a_share_is_of_names_in_their_order():
    assert first_of(["b", "a", "c"], 0.5) == ("a", "b")
    assert first_of(["b", "a"], 0) == ()
    assert first_of(["a"], 0.01) == ("a",)


def test_connections_of_a_process_are_those_that_it_holds():
    with socket.create_server(("127.0.0.1", 0)) as door, socket.create_connection(door.getsockname()) as link:
        port = door.getsockname()[1]
        own = f"{link.getsockname()[1]}>127.0.0.1:{port}"
        assert own in connections(os.getpid(), {"127.0.0.1"})
        assert own not in connections(os.getpid(), {"127.0.0.2"})
        other = subprocess.Popen(["sleep", "1000"])
        try:
            assert connections(other.pid, {"127.0.0.1"}) == []
        finally:
            other.kill()
            other.wait()
        held = own
    assert held not in connections(os.getpid(), {"127.0.0.1"})
    assert connections(2**22 + 1, {"127.0.0.1"}) == []


def test_addresses_are_read_as_the_kernel_writes_them():
    assert address_of("0100007F") == "127.0.0.1"
    assert address_of("0000000000000000FFFF00000100007F") == "127.0.0.1"
    assert address_of("00000000000000000000000001000000") == "::1"


def edges(*ports):
    return frozenset(("71", f"{port}>n1:2379") for port in ports)


@pytest.mark.parametrize(
    ("before", "now", "share", "proven"),
    [
        (edges(1, 2), edges(3, 4), 1.0, True),
        (edges(1, 2), edges(2, 4), 1.0, True),
        (edges(1, 2, 3), edges(2, 3, 4), 1.0, False),
        (edges(1, 2, 3, 5), edges(2, 3, 5, 4), 0.5, True),
        (edges(1, 2), edges(), 1.0, False),
        (edges(1, 2), edges(1, 2), 1.0, False),
        (edges(), edges(1), 1.0, False),
    ],
)
def test_a_storm_is_connections_gone_and_others_in_their_place(before, now, share, proven):
    seen = judge(before, now, share)
    assert seen.proven is proven
    assert msgspec.json.encode(seen)


@pytest.mark.parametrize(
    ("nemesis", "said"),
    [
        ("client-crash", "clients killed"),
        ("client-crash:share=0.5", "50% of the clients' processes killed"),
        ("reconnect-storm:every_s=2", "all clients reconnecting every 2 s"),
        ("load-step", "3 times the load"),
    ],
)
def test_they_take_no_node_from_other_faults(nemesis, said):
    specs = [NodeSpec(name=f"b{number}", role="broker") for number in (1, 2, 3)]
    times = {"interval_s": 1, "duration_s": 8, "time_limit_s": 9}
    (row,) = make_plan(nemesis, {"broker": "replica"}, specs, **times, seed=1)
    topology = Topology.of(specs, {"broker": "replica"})
    targets = choose(row, topology, {}, frozenset({"b1", "b2", "b3"}))
    assert targets is not None
    assert targets.description == said
    assert not row.how.takes_nodes()


@pytest.mark.parametrize(
    ("fault", "params", "watches_s"),
    [(LoadStep, {}, WATCH_S), (ReconnectStorm, {"every_s": 3.0}, 3.0), (ClientCrash, {}, 0.0)],
)
def test_a_fault_says_how_long_its_last_look_watches(fault, params, watches_s, clients, tmp_path):
    assert fault(scene(tmp_path, clients, fault, **params)).last_look_s() == watches_s

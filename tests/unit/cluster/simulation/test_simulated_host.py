"""What the harness does to hosts, done to simulated ones: processes, packet filters, links and proofs of all of it."""

import itertools
from pathlib import Path
from random import Random

import pytest

from chaos.core import waiting
from chaos.core.client import Definite, Indefinite
from chaos.core.clock import Deadline, now_ns
from chaos.core.errors import DeployError
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Node
from cluster.disk_operations import FSYNC
from cluster.hosts import interface
from cluster.network import packet_filter, probe_matrix
from cluster.network.packet_filter import Rule
from cluster.nodes import log_lines, process, process_end
from cluster.simulation.disk import DiskRule
from cluster.simulation.host import SimulatedHost
from cluster.simulation.links import MachineLink
from cluster.simulation.machine import CLIENT, Machine
from cluster.simulation.network import Network, Weather
from cluster.simulation.virtual_time import VirtualTime
from cluster.system import Launch

LAUNCH = Launch(argv=("echo",), env={}, files={"conf": b"x"}, ready_pattern="ready", logs=(), data=())


ANSWERS = {
    ".prog": lambda machine, arguments, stdin: f"{machine.name} {' '.join(arguments)} {stdin.decode()}",
    "echo of a script": lambda machine, arguments, stdin: " ".join(arguments),
    "print('a program')": lambda machine, arguments, stdin: f"ran with {arguments[0]}",
}
"""What a fault says of its own commands."""


class EchoNode:
    """Writes each request down and answers it with all that is kept once that is durable."""

    def __init__(self, birth, around):
        self.kept = list(birth.kept)
        self.around = around
        self.open, self.answered = [], 0
        self.told = []

    def start(self, now_ms):
        self.around.set_timer("beat", 100)

    def on_message(self, sender, body, now_ms):
        self.told.append((sender, body))

    def on_request(self, request, body, now_ms):
        if body == "fail":
            raise RuntimeError("as asked")
        self.kept.append(body)
        self.around.write(body)
        self.open.append(request)

    def on_timer(self, name, now_ms):
        self.told.append((name, now_ms))
        self.around.set_timer("beat", 100)

    def on_written(self, count, now_ms):
        for request in self.open[self.answered : count]:
            self.around.answer(request, tuple(self.kept))
        self.answered = count


class FileNode(EchoNode):
    """The same with a file of its own; ``wrong`` is raised while it is written."""

    wrong = None

    def __init__(self, birth, around):
        super().__init__(birth, around)
        self.disk = birth.disk
        self.disk.make_folder(Path("/data"))
        if "log" not in self.disk.names(Path("/data")):
            self.disk.write_anew(Path("/data/log"), b"")
        self.fd = self.disk.open(Path("/data/log"))

    def keep(self, records):
        data = "".join(records).encode()
        self.disk.write_at(self.fd, data, len(self.disk.held(["/data"])["/data/log"]))
        if self.wrong is not None:
            raise self.wrong
        self.disk.sync(self.fd)


class World:
    def __init__(self, weather=None, born=EchoNode):
        self.time = VirtualTime()
        self.network = Network(self.time, weather or Weather(), Random(1))
        self.machines, self.hosts, self.nodes = {}, {}, {}
        pids = itertools.count(100)
        for number, name in enumerate(("n1", "n2", CLIENT), 1):
            address = f"198.18.0.{number}"
            self.network.join(name, address)
            machine = None
            if name != CLIENT:
                machine = self.machines[name] = Machine(
                    name, "s", born, self.time, self.network, weather or Weather(), self.machines
                )
            host = self.hosts[name] = SimulatedHost(name, address, self.network, machine, lambda: next(pids), ANSWERS)
            if machine is not None:
                self.nodes[name] = Node(NodeInfo(name=name, role="r", address=address), host, LAUNCH)
        for host in self.hosts.values():
            host.meet({each.address: each for each in self.hosts.values()})

    def up(self, name="n1"):
        process.start(self.nodes[name], "run")
        process.await_ready(self.nodes[name], Deadline("n1", 10))

    def ask(self, body, name="n1", seconds=1.0):
        link = MachineLink(self.machines[name], self.network, self.time)
        return self.time.loop.create_task(link.ask(body, now_ns() + int(seconds * 1e9)))

    def answered(self, *bodies):
        asked = [self.ask(body) for body in bodies]
        waiting.sleep(1.1)
        return [each.result() for each in asked]


@pytest.fixture
def world():
    made = World()
    with waiting.kept_by(made.time):
        yield made
    made.time.close()


def test_a_process_starts_serves_dies_and_starts_again(world):
    node = world.nodes["n1"]
    assert process.state(node).pid is None
    world.up()
    first = process.state(node)
    assert (first.alive, first.stopped, first.pid) == (True, False, 100)
    with pytest.raises(DeployError, match="runs already"):
        process.start(node, "run")
    assert process.kill(node).gone
    world.up()
    again = process.state(node)
    assert (again.alive, again.pid) == (True, 101)
    assert "ready n1" in process_end.last_words(node)


def test_what_was_answered_survives_a_kill(world):
    world.up()
    assert world.answered("a", "b")[1] == ("a", "b")
    process.kill(world.nodes["n1"])
    world.up()
    assert world.answered("c") == [("a", "b", "c")]


def test_a_kill_in_the_middle_of_a_sync_keeps_a_prefix_and_every_prefix_comes():
    kept = set()
    for seed in range(60):
        made = World(Weather(disk_ms=(50, 50)))
        made.machines["n1"] = machine = Machine(
            "n1", str(seed), EchoNode, made.time, made.network, Weather(disk_ms=(50, 50)), made.machines
        )
        with waiting.kept_by(made.time):
            machine.start(1)
            waiting.sleep(1)
            asked = [made.ask(body) for body in ("0", "a", "b", "c")]  # the first is synced alone
            waiting.sleep(0.08)
            machine.kill()
            waiting.sleep(0.1)
            assert [type(each.exception()) for each in asked] == [type(None)] + [Indefinite] * 3
            kept.add(tuple(machine._kept))
        made.time.close()
    assert kept >= {("0",), ("0", "a"), ("0", "a", "b"), ("0", "a", "b", "c")}
    assert all(("0", "a", "b", "c")[: len(each)] == each for each in kept)


def test_a_stopped_process_answers_when_it_goes_on(world):
    world.up()
    assert process.pause(world.nodes["n1"]).stopped
    asked = world.ask("late", seconds=10)
    waiting.sleep(2)
    assert not asked.done()
    assert not process.resume(world.nodes["n1"]).stopped
    waiting.sleep(0.1)
    assert asked.result() == ("late",)


def test_what_clients_are_told(world):
    refused = world.ask("x")
    waiting.sleep(0.1)
    assert isinstance(refused.exception(), Definite)
    world.up()
    process.pause(world.nodes["n1"])
    silent = world.ask("x")
    waiting.sleep(1.1)
    assert isinstance(silent.exception(), Indefinite)
    reset = world.ask("x")
    waiting.sleep(0.1)
    process.kill(world.nodes["n1"])
    waiting.sleep(1.1)
    assert isinstance(reset.exception(), Indefinite)


@pytest.fixture
def world_of_files():
    made = World(born=FileNode)
    with waiting.kept_by(made.time):
        yield made
    made.time.close()


def test_a_node_whose_syncs_hang_answers_once_they_go_on(world_of_files):
    world = world_of_files
    world.up()
    disk = world.machines["n1"].disk
    disk.rules["d", "1"] = DiskRule(
        ops=FSYNC, action="stall", value=0, share=1.0, skip=0, times=0, applies=lambda path: True
    )
    asked = world.ask("a", seconds=10)
    waiting.sleep(3)
    assert not asked.done()
    assert disk.held(["/data"]) == {"/data/log": b""}
    disk.rules.clear()
    world.machines["n1"].release_disk()
    waiting.sleep(0.1)
    assert asked.result() == ("a",)
    assert disk.held(["/data"]) == {"/data/log": b"a"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [(OSError(5, "Input/output error"), "the disk failed: "), (IndexError("as asked"), "IndexError: as asked")],
)
def test_a_node_ends_whose_storage_fails_and_another_life_works(world_of_files, monkeypatch, wrong, said):
    world, node = world_of_files, world_of_files.nodes["n1"]
    world.up()
    monkeypatch.setattr(FileNode, "wrong", wrong)
    broken = world.ask("a")
    waiting.sleep(1.1)
    assert isinstance(broken.exception(), Indefinite)
    assert not process.state(node).alive
    assert said in process_end.last_words(node)
    monkeypatch.undo()
    world.up()
    assert world.answered("b") == [("b",)]


def test_a_node_that_fails_ends_and_leaves_its_words(world):
    world.up()
    broken = world.ask("fail")
    waiting.sleep(0.1)
    assert isinstance(broken.exception(), Indefinite)
    assert process.state(world.nodes["n1"]).gone
    assert process_end.last_words(world.nodes["n1"]) == "RuntimeError: as asked"


def test_clocks_of_nodes_drift_and_never_step_back():
    made = World(Weather(drift=0.5))
    with waiting.kept_by(made.time):
        for name in ("n1", "n2"):
            made.up(name)
        before = {name: machine.now_ms() for name, machine in made.machines.items()}
        waiting.sleep(100)
        went = {name: machine.now_ms() - before[name] for name, machine in made.machines.items()}
        assert all(50_000 <= ms <= 150_000 for ms in went.values())
        assert went["n1"] != went["n2"]
        beats = [at for name, at in made.machines["n1"]._node.told if name == "beat"]
        assert {round(b - a) for a, b in itertools.pairwise(beats)} <= {99, 100, 101}, "timers go by the node's clock"
    made.time.close()


def test_packet_filters_hold_what_the_harness_puts_there(world):
    host = world.hosts["n1"]
    rules = [Rule("198.18.0.2"), Rule("198.18.0.3", "INPUT", 0.25)]
    packet_filter.apply(host, "run", rules)
    for _ in range(4):
        world.network.passes("n2", "n1")
    held = packet_filter.read_held(host, "run")
    assert [each.rule for each in held.counters] == rules
    assert (held.counters[0].packets, held.astray) == (4, {})
    assert packet_filter.own_lines(host)
    packet_filter.clear(host, "run")
    assert packet_filter.own_lines(host) == ()
    with pytest.raises(DeployError, match="only drops"):
        packet_filter.apply(host, "run", [Rule("198.18.0.2", queue=3)])
    with pytest.raises(DeployError, match="does not know --dport -p"):
        packet_filter.apply(host, "run", [Rule("198.18.0.2", match="-p tcp -m tcp --dport 22")])
    assert packet_filter.own_lines(host) == (), "a rule for one port must not cut off the peer"


def test_a_signal_that_a_simulated_process_does_not_know_is_no_success(world):
    host = world.hosts["n1"]
    done = host.run("sh", "-c", process.SIGNAL, "sh", host.home, "HUP", timeout_s=1)
    assert done.returncode == 127
    assert b"no signal HUP" in done.stderr


def test_new_lines_of_a_log_are_read_as_on_other_hosts(world):
    host, log = world.hosts["n1"], f"{world.hosts['n1'].home}/{process.STDOUT}"
    world.machines["n1"].log += b"one\n"
    sizes = host.run("sh", "-c", log_lines.SIZES, "sh", log, f"{host.home}/none", timeout_s=1)
    assert sizes.check().text.split() == ["4", "0"]
    world.machines["n1"].log += b"two\nthree\n"
    part = host.run("sh", "-c", log_lines.TAIL, "sh", "5", log, "4", timeout_s=1)
    assert part.check().text == "two"


def test_what_a_fault_brings_with_it_is_answered_as_it_says(world):
    host = world.hosts["n1"]
    assert host.run(f"{host.home}/.prog", "do", "it", stdin=b"now", timeout_s=1).text == "n1 do it now"
    assert host.run("sh", "-c", "echo of a script", "sh", "a", "b", timeout_s=1).text == "a b"
    done = host.run("python3", "-I", "-S", "-", "{}", stdin=b"print('a program')", timeout_s=1)
    assert done.text == "ran with {}"
    assert host.run("test", "-x", f"{host.home}/.prog", timeout_s=1).returncode == 0
    assert host.run("test", "-x", f"{host.home}/.other", timeout_s=1).returncode == 127


def test_probes_show_cuts_and_unplugged_hosts(world):
    everything = probe_matrix.measure(world.hosts, 20)
    assert everything.complete() == set(everything.received)
    packet_filter.apply(world.hosts["n1"], "run", [Rule("198.18.0.2")])
    assert probe_matrix.measure(world.hosts, 20).silent() == {("n2", "n1")}
    packet_filter.clear(world.hosts["n1"], "run")
    assert interface.is_up(world.hosts["n2"])
    interface.take_down(world.hosts["n2"])
    assert not interface.is_up(world.hosts["n2"])
    assert probe_matrix.measure(world.hosts, 20).complete() == {("n1", CLIENT), (CLIENT, "n1")}
    interface.put_up(world.hosts["n2"])
    assert len(probe_matrix.measure(world.hosts, 20).complete()) == 6


def test_a_command_that_is_not_known_says_so(world):
    done = world.hosts["n1"].run("tc", "qdisc", timeout_s=1)
    assert done.returncode == 127
    assert b"does not know the command tc" in done.stderr

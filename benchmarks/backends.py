"""What hosts cost on each backend: seven hosts up and down, a command, a file, each fault and its undoing.

    python benchmarks/backends.py [BACKEND[,OPTION=VALUE...]...]

Prints a Markdown table; times are medians over the rounds, in milliseconds.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from chaos import plugins
from chaos.core.clock import Deadline
from chaos.core.runinfo import NodeInfo
from cluster import matrix, network, process
from cluster.cluster import Node
from cluster.host import Host, NodeSpec, hosts_up
from cluster.system import Launch

ROUNDS = 5
SPECS = [NodeSpec(name=f"b{number}", role="broker") for number in range(1, 7)]
LAUNCH = Launch(
    argv=("sh", "-c", "echo serving; exec sleep 3600"), env={}, files={}, ready_pattern="serving", logs=(), data=()
)


def timed(action: Callable[[], object]) -> float:
    """Milliseconds that an action takes."""
    began = time.monotonic()
    action()
    return (time.monotonic() - began) * 1000


def on_hosts(run_id: str, hosts: dict[str, Host]) -> dict[str, float]:
    """The figures of hosts that are up."""
    host, peer = hosts["b1"], hosts["b2"]
    node = Node(NodeInfo(name="b1", role="broker", address=host.address), host, LAUNCH)
    rules = [network.Rule(peer.address)]

    def restart() -> None:
        process.start(node, run_id)
        process.await_ready(node, Deadline("the sleep to serve", 30))

    restart()
    actions: dict[str, Callable[[], object]] = {
        "a command": lambda: host.run("true", timeout_s=10),
        "a file of 1 MiB put": lambda: host.put(b"x" * (1 << 20), f"{host.home}/file"),
        "suspend": lambda: process.pause(node),
        "resume": lambda: process.resume(node),
        "kill": lambda: process.kill(node),
        "restart": restart,
        "cut": lambda: network.apply(host, run_id, rules),
        "heal": lambda: network.clear(host, run_id),
        "probes on all links": lambda: matrix.measure(hosts, 20),
    }
    found: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(ROUNDS):
        for name, action in actions.items():
            found[name].append(timed(action))
    return {name: statistics.median(times) for name, times in found.items()}


def measured(wanted: str) -> dict[str, float]:
    """All figures of one backend."""
    name, *options = wanted.split(",")
    backend = plugins.load("backends", name)(**dict(option.split("=", 1) for option in options))
    backend.prepare(SPECS, lambda line: print(line, file=sys.stderr))
    with tempfile.TemporaryDirectory(prefix="chaos-bench-") as work:
        run_id = f"bench-{time.monotonic_ns()}"
        began = time.monotonic()
        with hosts_up(backend, run_id, SPECS, Path(work)) as hosts:
            up_ms = (time.monotonic() - began) * 1000
            figures = on_hosts(run_id, dict(hosts))
            began = time.monotonic()
        return {"seven hosts up": up_ms, **figures, "down": (time.monotonic() - began) * 1000}


def main(names: list[str]) -> None:
    """Measure and print."""
    columns = {name.partition(",")[0]: measured(name) for name in names}
    print(f"| ms | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for row in next(iter(columns.values())):
        print(f"| {row} | {' | '.join(f'{column[row]:.0f}' for column in columns.values())} |")


if __name__ == "__main__":
    main(sys.argv[1:] or ["netns", "docker"])

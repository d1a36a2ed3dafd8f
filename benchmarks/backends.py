"""What hosts cost on each backend: seven hosts up and down, a command, a file, each fault and its undoing.

    .venv/bin/python benchmarks/backends.py run [--rounds 5]
    .venv/bin/python benchmarks/backends.py render

``run`` measures all backends one after the other, on this machine: namespaces, containers of the engine that
answers, and machines by SSH that are namespaces with an sshd of their own. It needs root, appends one row a backend to
docs/data/backends.jsonl, and writes docs/results/backend-costs.md, for which ``render`` is a pure function of the newest
series of that file and of the fingerprints of the code. Only what was measured in one run is compared.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import rows as kept_rows
from rows import (
    DATA,
    ROOT,
    Code,
    Row,
    age_lines,
    clean_commit,
    code_and_dates,
    counted_rows,
    now_text,
    origin,
    replace_row,
    stored_rows,
)

from chaos.core.clock import Deadline
from chaos.storage.runinfo import NodeInfo
from cluster.cluster import Node
from cluster.host import Backend, Capability, Host, NodeSpec, hosts_up
from cluster.hosts import interface
from cluster.hosts.docker.backend import DockerBackend
from cluster.hosts.netns import NetnsBackend
from cluster.network import packet_filter, probe_matrix
from cluster.nodes import process
from cluster.system import Launch

ROWS = DATA / "backends.jsonl"
PAGE = ROOT / "docs" / "results" / "backend-costs.md"
SPECS = [NodeSpec(name=f"b{number}", role="broker") for number in range(1, 7)]
LAUNCH = Launch(
    argv=("sh", "-c", "echo serving; exec sleep 3600"), env={}, files={}, ready_pattern="serving", logs=(), data=()
)


def milliseconds_of(action: Callable[[], object]) -> float:
    """Milliseconds that an action takes."""
    began = time.monotonic()
    action()
    return (time.monotonic() - began) * 1000


def host_medians(run_id: str, hosts: Mapping[str, Host], rounds: int) -> dict[str, float]:
    """The medians of hosts that are up."""
    host, peer = hosts["b1"], hosts["b2"]
    node = Node(NodeInfo(name="b1", role="broker", address=host.address), host, LAUNCH)
    rules = [packet_filter.Rule(peer.address)]

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
        "start": restart,
        "stop": lambda: process.stop(node),
        "start again": restart,
        "cut": lambda: packet_filter.apply(host, run_id, rules),
        "heal": lambda: packet_filter.clear(host, run_id),
        "probes on all links": lambda: probe_matrix.measure(hosts, 20),
    }
    if Capability.LINK in host.capabilities:
        actions |= {"disconnect": lambda: interface.take_down(host), "connect": lambda: interface.put_up(host)}
    if (machine := host.machine) is not None:
        actions |= {
            "suspend the container": machine.freeze,
            "resume the container": machine.thaw,
            "kill the container": machine.kill,
            "start the container": machine.start,
            "disconnect the container": machine.unplug,
            "connect the container": machine.plug,
        }
    found: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            found[name].append(milliseconds_of(action))
        if not process.state(node).alive:  # it ended with its container
            restart()
    return {name: statistics.median(times) for name, times in found.items()}


def backend_figures(backend: Backend, rounds: int) -> dict[str, float]:
    """All figures of one backend, milliseconds."""
    backend.prepare(SPECS, lambda line: print(line, file=sys.stderr))
    with tempfile.TemporaryDirectory(prefix="chaos-bench-") as work:
        run_id = f"bench-{time.monotonic_ns()}"
        began = time.monotonic()
        with hosts_up(backend, run_id, SPECS, Path(work)) as hosts:
            up_ms = (time.monotonic() - began) * 1000
            figures = host_medians(run_id, hosts, rounds)
            began = time.monotonic()
        return {"seven hosts up": up_ms, **figures, "seven hosts down": (time.monotonic() - began) * 1000}


@contextmanager
def ssh_backend() -> Iterator[Backend]:
    """Machines of this one, and this process in their network."""
    sys.path.append(str(ROOT / "tests" / "support"))
    from ssh_support import laboratory

    with tempfile.TemporaryDirectory(prefix="chaos-bench-") as folder, laboratory(Path(folder)) as make:
        yield make(*(spec.name for spec in SPECS)).backend(install=True)


def run(rounds: int) -> None:
    """Measure everywhere and keep the rows."""
    clean_commit()
    figures = {"netns": backend_figures(NetnsBackend(), rounds), "docker": backend_figures(DockerBackend(), rounds)}
    with ssh_backend() as backend:
        figures["ssh"] = backend_figures(backend, rounds)
    began = now_text()
    for name, ms in figures.items():
        rounded = {what: round(value, 1) for what, value in ms.items()}
        row = {"series": began, **origin(("hosts",), "benchmarks/backends.py run"), "rounds": rounds, "backend": name}
        replace_row(ROWS, {**row, "ms": rounded}, lambda old, name=name: old["backend"] == name)


def page(all_rows: Sequence[Row], now: Code | None = None) -> str:
    """docs/results/backend-costs.md as a pure function of the rows and of the fingerprints of today's code."""
    rows = counted_rows(all_rows)
    newest = [row for row in rows if row["series"] == rows[-1]["series"]] if rows else []
    names = [row["backend"] for row in newest]
    rounds = newest[0]["rounds"] if newest else 0
    lines = [
        "# What hosts cost on each backend",
        "",
        (
            f"What does each backend cost? Medians in milliseconds of {rounds} rounds, six nodes and the client, on a"
            " machine of two cores; making and removing them was done once. Commands and faults cost the same in"
            " namespaces and containers, because the same agent does them on both. Over SSH, here to namespaces of the"
            " same machine, each command is a channel and two processes more."
        ),
        "",
        "Generated by `benchmarks/backends.py render` from `docs/data/backends.jsonl`; rows are added by",
        "",
        "```",
        ".venv/bin/python benchmarks/backends.py run",
        "```",
        "",
        *age_lines(all_rows, now),
        f"Made by {code_and_dates(newest, now)}." if newest else "Not measured yet.",
        "",
        f"| ms | {' | '.join(names)} |",
        f"|---|{'---:|' * len(names)}",
    ]
    for what in dict.fromkeys(what for row in newest for what in row["ms"]):
        cells = (f"{row['ms'][what]:.0f}" if what in row["ms"] else "-" for row in newest)
        lines.append(f"| {what} | {' | '.join(cells)} |")
    lines += kept_rows.section(all_rows, lambda row: f"{row['backend']}, {row['rounds']} rounds")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Parse and act."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=["run", "render"])
    options.add_argument("--rounds", type=int, default=5)
    args = options.parse_args()
    if args.what == "run":
        run(args.rounds)
    PAGE.write_text(page(stored_rows(ROWS)))


if __name__ == "__main__":
    main()

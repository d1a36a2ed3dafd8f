"""A cluster that no run started, on machines reached by SSH, for runs with ``--reuse``."""

import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from ssh_support import MINIMQ, Lab, laboratory

from chaos.storage.runinfo import NodeInfo
from cluster.system import ClusterView, System
from cluster.systems.minimq.config import NODE_MODULE
from cluster.systems.minimq.system import MiniMQ


def by_hand(made: Lab, system: System, info: NodeInfo, view: ClusterView, artefacts: str) -> str:
    """Puts a node's files on a machine, outside of any run; returns the command that starts it."""
    home = f"{made.machines[info.name].home}/by-hand"
    launch = system.launch(info, home, artefacts, view)
    for path, content in launch.files.items():
        made.machines[info.name].put(content, f"{home}/{path}")
    env = shlex.join(f"{key}={value}" for key, value in launch.env.items())
    return f"cd {home}; env {env} nohup setsid {shlex.join(launch.argv)} >> log 2>&1 < /dev/null &"


def cluster_that_is_there(
    made: Lab, system: System, process: str, down: frozenset[str] = frozenset(), **settings: str
) -> tuple[ClusterView, list[str]]:
    """A cluster that somebody else started, but for the nodes ``down``, and the options of a run on it."""
    resolved = system.resolve({name.replace("__", "."): value for name, value in settings.items()})
    infos = tuple(
        NodeInfo(name=spec.name, role=spec.role, address=made.machines[spec.name].address)
        for spec in system.topology(resolved)
    )
    view = ClusterView(run_id="before", nodes=infos, settings=resolved, keys=4)
    artefacts = made.netns.provide(system.fetch(lambda _: None))
    starts = {info.name: by_hand(made, system, info, view, artefacts) for info in infos}
    for roles in system.start_order:
        for info in infos:
            if info.role in roles and info.name not in down:
                made.machines[info.name].run("sh", "-c", starts[info.name], timeout_s=20).check()
    commands = {
        role: {
            "process": process,
            "start": f"sh {made.folder}/{{name}}/start",
            "stop": f"pkill -f '{process}'",
            "logs": [f"{made.folder}/b1/by-hand/log"] if role == "broker" else [],
        }
        for role in system.roles
    }
    for name, command in starts.items():
        Path(made.machines[name].home, "start").write_text(command + "\n")
    (made.folder / "reuse.yaml").write_text(yaml.safe_dump(commands))
    nodes = made.nodes_file()
    return view, ["--system", system.name, "--nodes-file", nodes, "--reuse", str(made.folder / "reuse.yaml")]


def minimq_that_is_there(made: Lab, **options: Any) -> list[str]:
    """A minimq cluster that somebody else started; see ``cluster_that_is_there``."""
    return cluster_that_is_there(made, MiniMQ(), re.escape(NODE_MODULE), **options)[1]


@contextlib.contextmanager
def minimq_cluster(folder: Path) -> Iterator[list[str]]:
    """A cluster until the end, and the options of a run on it; this thread is in its network until then."""
    with laboratory(folder) as make:
        made = make(*MINIMQ)
        yield [*minimq_that_is_there(made), "--known-hosts", str(made.known_hosts)]

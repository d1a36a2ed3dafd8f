"""After the run: the nodes' logs come into the run folder."""

from pathlib import Path

from chaos.core.clock import now_ns
from chaos.core.errors import ChaosError
from chaos.core.events import EventLog, Note
from chaos.run.deploy import on_all
from cluster.cluster import Cluster, Node


def collect_logs(cluster: Cluster, folder: Path, events: EventLog) -> None:
    """Copy every node's logs into the run folder; one that cannot be had is said, not fatal."""

    def fetch(node: Node) -> None:
        for name in node.launch.logs:
            target = folder / "nodes" / node.name / name.removeprefix("/")
            if Path(node.host.home, name) == target:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                node.host.get(str(Path(node.host.home, name)), target)
            except (OSError, ChaosError) as error:
                events.emit(Note(time_ns=now_ns(), name="log-missing", node=node.name, text=str(error)))

    on_all(fetch, cluster.nodes.values())

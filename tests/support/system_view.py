"""A view of a system's topology with addresses, for the tests beside it."""

from chaos.storage.runinfo import NodeInfo
from cluster.system import ClusterView


def view_of(system, **settings):
    resolved = system.resolve({name.replace("__", "."): value for name, value in settings.items()})
    nodes = tuple(
        NodeInfo(name=spec.name, role=spec.role, address=f"198.18.0.{10 + position}")
        for position, spec in enumerate(system.topology(resolved))
    )
    return ClusterView(run_id="run", nodes=nodes, settings=resolved, keys=4)

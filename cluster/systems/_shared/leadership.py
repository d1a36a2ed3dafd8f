"""Who leads, and whether the cluster is complete: pure readings of the latest observations.

For systems whose roles are named ``controller`` and ``broker`` and whose active controller names the master. The
module refuses to ask anybody.
"""

from collections.abc import Mapping

from chaos.core.events import Observation
from cluster.system import ClusterView, Leadership


def leadership(latest: Mapping[str, Observation], view: ClusterView) -> Leadership:
    """Who leads, from the latest observation of each node; dead and unasked nodes count for nothing.

    The active controller with the highest term names the master; without one, the brokers do.
    """
    alive = {name: seen for name, seen in latest.items() if seen.alive}
    leaders = [seen for node in view.of_role("controller") if (seen := alive.get(node.name)) and seen.role == "leader"]
    active = max(leaders, key=lambda seen: (seen.epoch or 0, seen.asked_ns), default=None)
    masters = [seen for node in view.of_role("broker") if (seen := alive.get(node.name)) and seen.role == "master"]
    claimed = max(masters, key=lambda seen: (seen.epoch or 0, seen.asked_ns), default=None)
    master = active.master if active and active.master else claimed.node if claimed else None
    epoch = next((seen.epoch for seen in masters if seen.node == master), None)
    return Leadership(
        master=master,
        epoch=epoch,
        sync_state_set=(active.sync_state_set or ()) if active else (),
        controller=active.node if active else None,
        term=active.epoch if active else None,
    )


def not_ready(seen: Mapping[str, Observation], view: ClusterView) -> str | None:
    """What is missing, in one line, from observations of all nodes that must answer (controllers among them)."""
    for name, observation in seen.items():
        if not observation.alive:
            return f"{name} does not answer: {observation.error}"
    leaders = [observation for observation in seen.values() if observation.role == "leader"]
    if len(leaders) != 1:
        return f"{len(leaders)} controllers lead instead of one"
    if leaders[0].master is None:
        return f"{leaders[0].node} knows no master"
    missing = {node.name for node in view.of_role("broker")} - set(leaders[0].sync_state_set or ())
    if missing:
        return f"not in the SyncStateSet: {', '.join(sorted(missing))}"
    return None

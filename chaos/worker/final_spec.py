"""What the final phases of a run are made for: the same in every worker and in the main process."""

from chaos.core.op import Word
from chaos.workload.final import FinalSpec
from cluster.leaders import subjects_of
from cluster.system import ClusterView, System


def final_spec(view: ClusterView, system: System, operations: frozenset[Word], op_timeout_s: float) -> FinalSpec:
    """Of a run on this cluster.

    Args:
        view: the cluster.
        system: what runs on it.
        operations: the words of the workload's model that the system's clients know.
        op_timeout_s: the deadline of one operation of the load.
    """
    return FinalSpec(
        keys=view.keys,
        op_timeout_s=op_timeout_s,
        operations=operations,
        promises=system.promises(view.settings),
        copies=tuple(_copies_of(key, view, system) for key in range(view.keys)),
    )


def _copies_of(key: int, view: ClusterView, system: System) -> tuple[int, ...]:
    """The positions of the nodes that may keep a key: those of its subject, else all that keep anything."""
    position = {node.name: i for i, node in enumerate(view.nodes)}
    keeping = [one for one in subjects_of(system, view.settings, view.keys) if one.kind == "replica"]
    own = next((one for one in keeping if one.keys is not None and key in one.keys), None)
    own = own or next((one for one in keeping if one.keys is None), None)
    if own is not None and own.nodes:
        return tuple(position[name] for name in own.nodes)
    return tuple(i for i, node in enumerate(view.nodes) if system.roles[node.role] == "replica")

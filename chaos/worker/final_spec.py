"""What the final phases of a run are made for: the same in every worker and in the main process."""

from chaos.core.op import Word
from chaos.workload.final import FinalSpec
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
        queues=view.queues,
        op_timeout_s=op_timeout_s,
        operations=operations,
        promises=system.promises(view.settings),
        replicas=tuple(i for i, node in enumerate(view.nodes) if system.roles[node.role] == "replica"),
    )

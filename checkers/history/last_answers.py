"""Which answers tell what is there at the last: after the last heal, or of the rest, where a fault is never healed."""

import numpy as np

from chaos.basics.name_lists import join_names
from chaos.core.op import Type
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Column, Mask, is_among
from checkers.history.words import words_of


def last_from_ns(shard: QueueShard, context: Context) -> int:
    """From when on an answer is about the last state of a key.

    That is the last heal. Under a fault that is never healed every change is at risk, so it is the last change.
    """
    healed_ns = context.timeline.last_heal_ns()
    if not context.timeline.left_in_force():
        return healed_ns
    ops = shard.ops
    changed = is_among(ops.f, words_of(context.run).changes) & np.equal(ops.type, Type.OK)
    return max(healed_ns, int(ops.complete[changed].max(initial=0)))


def is_spared(nodes: Column, context: Context) -> Mask:
    """Which answers came from nodes that no fault was left in force on; of an unknown node none did if there is one."""
    left = context.timeline.nodes_left()
    if not left:
        return np.ones(len(nodes), dtype=np.bool_)
    return is_among(nodes, [place for place, node in enumerate(context.run.nodes) if node.name not in left])


def left_out(context: Context) -> list[str]:
    """Words for the nodes that are not compared because a fault was left in force on them; none of no such fault."""
    nodes = sorted(context.timeline.nodes_left().intersection(context.run.replicas))
    return [f"{join_names(nodes)} left out, under a fault that was never healed"] if nodes else []

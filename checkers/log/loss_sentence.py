"""The headline of a loss: how many messages, who had acknowledged them, under which fault, who gave the offsets again.

The module refuses to find losses.
"""

from collections.abc import Sequence

from checkers.anomalies.attribution import blamed, fault_words, reign_words, standing
from checkers.anomalies.findings import counted, listed, seconds_text
from checkers.history.kernel import Context
from checkers.log.loss_clusters import APART_NS, Cluster


def _who(cluster: Cluster, context: Context, number: int) -> str:
    """Who acknowledged, in which epoch, under which fault, from when to when."""
    subject = context.subject_of(cluster.key)
    stands = standing(context, cluster.node, cluster.first_ack_ns, leads=True, subject=subject)
    text = f"{cluster.node}, {stands}" if stands else cluster.node
    blame = blamed(context, cluster.node, cluster.first_ack_ns, cluster.last_ack_ns, later=True)
    what = "it" if number == 1 else "them"
    when = seconds_text(context, cluster.first_ack_ns)
    if cluster.first_ack_ns // 100_000_000 != cluster.last_ack_ns // 100_000_000:
        when = f"{when} to {seconds_text(context, cluster.last_ack_ns)}"
    if blame is None:
        return f"{text}{',' if stands else ''} had acknowledged {what} at {when}"
    told = fault_words(context, blame)
    if blame.hit and blame.fault.identity.nature.cuts and cluster.last_ack_ns > (blame.fault.inject_ns or 0):
        return f"{text}, {told}, went on acknowledging alone until {seconds_text(context, cluster.last_ack_ns)}"
    return f"{text}, {told}, had acknowledged {what} at {when}"


def _again(clusters: Sequence[Cluster], context: Context) -> str:
    """Who gave the offsets a second time."""
    twice = [cluster for cluster in clusters if cluster.twice]
    if not twice:
        return ""
    most = max(twice, key=lambda cluster: (cluster.twice, -cluster.key))
    giver = most.twice_node
    subject = context.subject_of(most.key)
    epoch = context.timeline.epoch_of(giver, most.twice_ns, subject)
    over = context.timeline.reigns_over(subject)
    first = next((reign for reign in over if (reign.node, reign.epoch) == (giver, epoch)), None)
    since = ""
    if first is not None:
        controller = context.timeline.controller_at(first.first_ns)
        under = f" under controller {controller}" if controller else ""
        since = f", {reign_words(first, context)} from {seconds_text(context, first.first_ns)}{under},"
    span = f"{most.twice_first}-{most.twice_last}" if most.twice_first != most.twice_last else f"{most.twice_first}"
    plural = "offsets" if most.twice > 1 else "offset"
    queues = len({cluster.key for cluster in twice})
    more = f" and of {counted(queues - 1, 'more queue')}" if queues > 1 else ""
    if not giver:
        return f"; other messages sit at {plural} {span} of queue {most.key}{more}"
    return f"; {giver}{since} gave the same {plural} {span} of queue {most.key}{more} to other messages"


def _stretches(clusters: Sequence[Cluster]) -> list[list[Cluster]]:
    """The clusters of one node and one stretch of time over all queues together."""
    groups: list[list[Cluster]] = []
    for cluster in sorted(clusters, key=lambda one: (one.node, one.first_ack_ns, one.key)):
        last = groups[-1] if groups else []
        until_ns = max((one.last_ack_ns for one in last), default=0)
        if last and last[0].node == cluster.node and cluster.first_ack_ns <= until_ns + APART_NS:
            last.append(cluster)
        else:
            groups.append([cluster])
    return groups


def loss_sentence(clusters: Sequence[Cluster], count: int, context: Context) -> str:
    """The headline of a loss: how many, who lost first, under which fault, offsets given twice, the first message."""
    groups = sorted(_stretches(clusters), key=lambda own: (own[0].first_ack_ns, -sum(one.count for one in own)))
    own = sorted(groups[0], key=lambda one: one.key)
    whole = Cluster(
        key=own[0].key,
        node=own[0].node,
        count=sum(one.count for one in own),
        first_ack_ns=min(one.first_ack_ns for one in own),
        last_ack_ns=max(one.last_ack_ns for one in own),
        first_value=own[0].first_value,
        first_offset=own[0].first_offset,
        twice=0,
        twice_first=0,
        twice_last=0,
        twice_node="",
        twice_ns=0,
    )
    verb = "message was lost" if count == 1 else "messages were lost"
    where = f" of queue {whole.key}" if context.run.keys > 1 else ""
    at = f" at offset {whole.first_offset}" if whole.first_offset >= 0 else ""
    rest = count - whole.count
    others = listed(sorted({group[0].node for group in groups[1:]}))
    more = f"; {rest} more had been acknowledged by {others}" if others else ""
    return (
        f"{count} acknowledged {verb}: {_who(whole, context, whole.count)}{_again(own, context)}{more}; "
        f"first lost: {whole.first_value}{at}{where}."
    )

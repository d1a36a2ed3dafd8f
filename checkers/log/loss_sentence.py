"""The headline of a loss: how many, who is to be looked at first, under which fault, and who gave the offsets again.

Whom does the sentence name first? Controllers that contradict each other; else a node that acknowledged messages while
it was cut off, or while another node led already; else the node that later answered without them. Losses are found in
``lost_writes``, not here.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from chaos.core.name_lists import listed
from chaos.core.verdict import Example
from checkers.anomalies.attribution import Blame, blamed, fault_words, reign_words, standing
from checkers.anomalies.contradictions import contradiction, controllers_of
from checkers.anomalies.findings import counted, seconds_text
from checkers.history.check import Telling
from checkers.history.kernel import Context
from checkers.history.leadership import HEARD_NS, Reign
from checkers.log.loss_clusters import APART_NS, Cluster


class Clause(NamedTuple):
    """A part of the sentence, the nodes that it names first, and the number of the fault that it names."""

    text: str
    nodes: tuple[str, ...]
    fault: int | None


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """The losses that are told first: of one node, one stretch of time and one cut, over all queues.

    ``own``: by queue. ``others``: the nodes that acknowledged the rest. ``of``: how many were lost in all. ``without``:
    the losses of the queue in which a read passed over one first. ``subject``: the group that keeps their queues.
    """

    own: tuple[Cluster, ...]
    others: tuple[str, ...]
    of: int
    count: int
    node: str
    first_ack_ns: int
    last_ack_ns: int
    without: Cluster
    subject: str | None


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


def _many(clusters: Iterable[Cluster]) -> int:
    return sum(one.count for one in clusters)


def _told(clusters: Sequence[Cluster], count: int, context: Context) -> Told:
    """The first stretch of losses; in it what was acknowledged under the cut, or outside of one, whichever is more."""
    first = min(_stretches(clusters), key=lambda own: (own[0].first_ack_ns, -_many(own)))
    alike = [[one for one in first if one.cut == cut] for cut in sorted({one.cut for one in first})]
    own = sorted(max(alike, key=_many), key=lambda one: one.key)
    return Told(
        own=tuple(own),
        others=tuple(sorted({one.node for one in clusters if one not in own})),
        of=count,
        count=_many(own),
        node=own[0].node,
        first_ack_ns=min(one.first_ack_ns for one in own),
        last_ack_ns=max(one.last_ack_ns for one in own),
        without=min(own, key=lambda one: (not one.without_node, one.without_ns)),
        subject=context.subject_of(own[0].key),
    )


def _when(told: Told, context: Context) -> str:
    """``at 4.8 s to 5.0 s``: when they were acknowledged."""
    first, last = (seconds_text(context, at_ns) for at_ns in (told.first_ack_ns, told.last_ack_ns))
    return f"at {first}" if first == last else f"at {first} to {last}"


def _since(reign: Reign, context: Context) -> str:
    """``master of epoch 2 from 6.7 s under controller c2``; without a time if it led before the load began."""
    if reign.first_ns <= context.timeline.origin_ns:
        return reign_words(reign, context)
    controller = context.timeline.controller_at(reign.first_ns)
    under = f" under controller {controller}" if controller else ""
    return f"{reign_words(reign, context)} from {seconds_text(context, reign.first_ns)}{under}"


def _again(told: Told, context: Context, named: Reign | None = None) -> str:
    """The clause about who gave the offsets again; ``named``: the leader that the sentence names already."""
    twice = [cluster for cluster in told.own if cluster.twice]
    if not twice:
        return ""
    giver = _giver(told, context)
    most = giver[0] if giver is not None else max(twice, key=lambda one: (one.twice, -one.key))
    span = f"{most.twice_first}-{most.twice_last}" if most.twice_first != most.twice_last else f"{most.twice_first}"
    queues = len({cluster.key for cluster in twice})
    more = f" and of {counted(queues - 1, 'more queue')}" if queues > 1 else ""
    which = f"{'offsets' if most.twice > 1 else 'offset'} {span} of queue {most.key}{more}"
    if giver is None:
        return f"; other messages sit at {which}"
    if named is not None and giver[1] == named:
        return f", and gave the same {which} to other messages"
    gave = "gave" if most.twice_ns > told.first_ack_ns else "had given"
    since = f", {_since(giver[1], context)}," if giver[1] is not None else ""
    return f"; {most.twice_node}{since} {gave} the same {which} to other messages"


def _giver(told: Told, context: Context) -> tuple[Cluster, Reign | None] | None:
    """The queue whose lost offsets were given to most other messages, and the reign of the node that gave them.

    None if no such node is known. The reign is None if that node was not heard to lead then.
    """
    twice = [one for one in told.own if one.twice_node]
    if not twice:
        return None
    most = max(twice, key=lambda one: (one.twice, -one.key))
    return most, context.timeline.reign_of(most.twice_node, most.twice_ns, told.subject)


def _of_them(told: Told) -> str:
    return f", {told.count} of them" if told.count < told.of else ""


def _leader_meanwhile(told: Told, context: Context) -> Reign | None:
    """Another node that led already, in a later epoch, when the first of the messages was acknowledged."""
    own = context.timeline.epoch_of(told.node, told.first_ack_ns, told.subject)
    later = [
        reign
        for reign in context.timeline.reigns_over(told.subject)
        if own is not None and reign.node != told.node and reign.epoch > own and reign.first_ns <= told.first_ack_ns
    ]
    return max(later, key=lambda reign: reign.epoch, default=None)


def _without(told: Told, context: Context) -> tuple[str, int, Reign | None] | None:
    """The node that answered without the lost messages, when, and its reign; None if it is not to be named first.

    It is a later leader that gave their offsets to other messages. If there is none, it is the node that answered the
    first read which passed over one of them.
    """
    node, at_ns = told.without.without_node, told.without.without_ns
    leads = context.timeline.reign_of(node, at_ns, told.subject)
    own = context.timeline.epoch_of(told.node, told.first_ack_ns, told.subject)
    giver = _giver(told, context)
    if giver is not None and giver[1] is not None and own is not None and giver[1].epoch > own:
        node, at_ns, leads = giver[0].twice_node, giver[0].twice_ns, giver[1]
    if not node or (node == told.node and (leads is None or leads.epoch == own)):
        return None
    if leads is not None and own is not None and leads.epoch > own and leads.first_ns <= told.last_ack_ns:
        return None
    return node, at_ns, leads


def _missed(told: Told, context: Context) -> Clause | None:
    """The clause that names the node without the messages; None if the one that acknowledged them comes first."""
    without = _without(told, context)
    if without is None:
        return None
    node, at_ns, leads = without
    as_what = standing(context, node, at_ns, leads=False) if leads is None else _since(leads, context)
    blame = blamed(context, node, told.last_ack_ns, at_ns)
    words = ", ".join(filter(None, [node, as_what, fault_words(context, blame) if blame is not None else ""]))
    stands = standing(context, told.node, told.first_ack_ns, leads=True, subject=told.subject)
    by = f"{told.node}, {stands}," if stands else told.node
    if told.node == node:
        by = f"it, as {stands}," if stands else "it"
    what = "what" if told.count == told.of else f"{told.count} of them, which"
    text = (
        f"{words}{',' if words != node else ''} did not have {what} {by} had acknowledged "
        f"{_when(told, context)}{_again(told, context, leads)}"
    )
    return Clause(text, (node,), blame.fault.id if blame is not None else None)


def _acknowledged(told: Told, context: Context) -> Clause:
    """Who acknowledged, in which epoch, under which fault, and whether another one led already."""
    stands = standing(context, told.node, told.first_ack_ns, leads=True, subject=told.subject)
    blame = blamed(context, told.node, told.first_ack_ns, told.last_ack_ns, later=True)
    cut = told.own[0].cut
    if cut:
        blame = next(Blame(one, hit=True, during=True) for one in context.timeline.injected() if one.id == cut)
    words = [told.node, stands, fault_words(context, blame) if blame is not None else ""]
    who = ", ".join(filter(None, words))
    aside = "," if who != told.node else ""
    until = seconds_text(context, told.last_ack_ns)
    other = _leader_meanwhile(told, context)
    if cut:
        did = f"went on acknowledging until {until}{_of_them(told)}{_again(told, context)}"
    elif other is not None:
        did = (
            f"went on acknowledging until {until}{_of_them(told)}, although {other.node} was "
            f"{_since(other, context)}{_again(told, context, other)}"
        )
    else:
        what = "it" if told.of == 1 else "them" if told.count == told.of else f"{told.count} of them"
        did = f"had acknowledged {what} {_when(told, context)}{_again(told, context)}"
    return Clause(f"{who}{aside} {did}", (told.node,), blame.fault.id if blame is not None else None)


def _contradicted(told: Told, context: Context) -> Clause | None:
    """Controllers that contradict each other, and who acknowledged; None if they were not heard to in time."""
    until_ns = max(told.last_ack_ns + HEARD_NS, told.without.without_ns)
    found = contradiction(context, told.subject, until_ns)
    if found is None:
        return None
    then = _acknowledged(told, context)
    return Clause(f"{found.words(context)}; {then.text}", controllers_of(context), then.fault)


def _clause(told: Told, context: Context) -> Clause:
    """Who is to be looked at, who acknowledged, and who gave the offsets again."""
    went_on = told.own[0].cut or _leader_meanwhile(told, context) is not None
    missed = None if went_on else _missed(told, context)
    return _contradicted(told, context) or missed or _acknowledged(told, context)


def first_told(clusters: Sequence[Cluster], count: int, context: Context) -> Example:
    """The message that the sentence gives as an example; see ``loss_sentence``."""
    return _told(clusters, count, context).own[0].example


def loss_sentence(clusters: Sequence[Cluster], count: int, context: Context) -> Telling:
    """The headline of a loss.

    Args:
        clusters: the losses of all queues, at least one.
        count: how many were lost; the clusters may hold fewer.
        context: for faults and leaders.
    """
    told = _told(clusters, count, context)
    text, nodes, fault = _clause(told, context)
    first = told.own[0]
    where = f" of queue {first.key}" if context.run.keys > 1 else ""
    at = f" at offset {first.first_offset}" if first.first_offset >= 0 else ""
    others = f"; {listed(told.others)} had acknowledged the other {count - told.count}" if told.others else ""
    verb = "message was lost" if count == 1 else "messages were lost"
    sentence = f"{count} acknowledged {verb}: {text}{others}; first lost: {first.first_value}{at}{where}."
    return Telling(sentence, nodes, fault)

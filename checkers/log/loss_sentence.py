"""The headline of a loss: how many, and the story of one, with who is to be looked at first and under which fault.

What a node held is told by reads alone: who returned the message and when last, and who never did.

Whom does the sentence name first? Controllers that contradict each other; else a node that acknowledged messages while
it was cut off, or while another node led already; else the node that later answered without them. Losses are found in
``lost_writes``, not here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from chaos.basics.name_lists import join_names
from chaos.core.verdict import Example
from chaos.storage.history import NEVER_NS
from checkers.anomalies.attribution import (
    Blame,
    apart_words,
    fault_words,
    find_blame,
    led_by_ns,
    newer_leader,
    reign_words,
    role_at,
)
from checkers.anomalies.contradictions import contradiction
from checkers.anomalies.elections import first_outsider
from checkers.anomalies.findings import seconds_text
from checkers.history.check import Telling
from checkers.history.check_input import Context
from checkers.history.leadership import HEARD_NS, Reign
from checkers.log.loss_clusters import APART_NS, Cluster

ELECTED: Final = "a new leader is one of the SyncStateSet, whose members hold all that was acknowledged"
"""What should have happened where a leader came from outside."""

CONTRADICTED: Final = "controllers decide each thing once: one leader for an epoch, one SyncStateSet for a number"
"""What should have happened where they contradict each other."""


class Clause(NamedTuple):
    """A part of the sentence, the nodes that it names first, and the number of the fault that it names.

    ``expected``: what they should have done; empty: what is expected of every message.
    """

    text: str
    nodes: tuple[str, ...]
    fault: int | None
    expected: str = ""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """The losses that are told first: of one node, one stretch of time and one cut, over all queues.

    ``it``: those of the queue whose first one is told as the example. ``count``: how many there are. ``subject``: the
    group that keeps the queue.
    """

    it: Cluster
    count: int
    first_ack_ns: int
    last_ack_ns: int
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


def _told(clusters: Sequence[Cluster], context: Context) -> Told:
    """The first stretch of losses; in it what was acknowledged under the cut, or outside of one, whichever is more.

    The example is one of which is known who gave its offset again, and who answered without it, if there is one.
    """
    first = min(_stretches(clusters), key=lambda own: (own[0].first_ack_ns, -_many(own)))
    alike = [[one for one in first if one.cut == cut] for cut in sorted({one.cut for one in first})]
    own = max(alike, key=_many)
    it = min(own, key=lambda one: (not one.again_node, not one.without_node, one.key))
    return Told(
        it=it,
        count=_many(own),
        first_ack_ns=min(one.first_ack_ns for one in own),
        last_ack_ns=max(one.last_ack_ns for one in own),
        subject=context.subject_of(it.key),
    )


def _acked(told: Told, context: Context, *, what: str = "it", until: bool = False) -> str:
    """``it at 4.9 s, and 21 more at 4.8 s to 5.0 s``: when the messages were acknowledged; ``until``: only the end.

    ``what``: the example, where the sentence has named other things since.
    """
    at, first, last = (
        seconds_text(context, at_ns) for at_ns in (told.it.acked_ns, told.first_ack_ns, told.last_ack_ns)
    )
    more = f"{told.count - 1} more of the lost"
    if told.count == 1:
        return f"{what} at {at}"
    if at == first == last:
        return f"{what} and {more} at {at}"
    if until or at == first:
        return f"{what} at {at}, and {more} until {last}"
    return f"{what} at {at}, and {more} at {first}{f' to {last}' if first != last else ''}"


class Giver(NamedTuple):
    """The node that gave the offset of the example to another message, and its reign then, if it was heard to lead."""

    node: str
    reign: Reign | None


def _giver(told: Told, context: Context) -> Giver | None:
    """Who gave the offset of the example to another message; None if nobody did, or if nobody knows who."""
    it = told.it
    if not it.again_node:
        return None
    return Giver(it.again_node, context.timeline.reign_of(it.again_node, it.again_ns, told.subject))


def _again(told: Told, context: Context, known: Reign | None = None) -> str:
    """A sentence about who gave the offset to another message, or what is at it; empty if nothing is.

    ``known``: a reign that the sentence told already.
    """
    it, giver = told.it, _giver(told, context)
    if not it.again:
        return ""
    if giver is None:
        return f"; its offset holds {it.again}"
    new = giver.reign is not None and giver.reign != known
    who = f"{giver.node}, {reign_words(giver.reign, context)}," if giver.reign is not None and new else giver.node
    return f". {who} {_gave(told, context)}"


def _gave(told: Told, context: Context) -> str:
    """``gave its offset to 3:17 at 6.4 s``, by the order of both."""
    it = told.it
    gave = "gave" if it.again_ns > it.acked_ns else "had given"
    return f"{gave} its offset to {it.again} at {seconds_text(context, it.again_ns)}"


def shown_words(value: str, shown_ns: Mapping[str, int], context: Context) -> str:
    """``b2 last showed 3:17 at 5.98 s and b1 at 5.02 s``: which nodes answered reads with a message; empty if none."""
    told = [
        f"{node}{'' if number else f' last showed {value}'} at {seconds_text(context, at_ns, digits=2)}"
        for number, (node, at_ns) in enumerate(sorted(shown_ns.items(), key=lambda one: -one[1]))
    ]
    return join_names(told)


def _reads(told: Told, context: Context, *, without: str = "") -> str:
    """What reads say of who had the message, as a sentence: ``b3 last showed 3:17 at 5.98 s, b2 never``.

    ``without``: the node that is told to have answered without it, which has its own words if it showed it before.
    """
    others = {node: at_ns for node, at_ns in told.it.shown_ns.items() if node != without}
    if not told.it.shown_ns:
        return f". No read ever returned {told.it.value}"
    if not others:
        return ""
    never = f", {without} never" if without and without not in told.it.shown_ns else ""
    return f". {shown_words(told.it.value, others, context)}{never}"


def _leader_meanwhile(told: Told, context: Context) -> Reign | None:
    """Another node that led already, in a later epoch, when the message was acknowledged."""
    return newer_leader(context, told.it.node, told.it.acked_ns, told.subject)


def _without(told: Told, context: Context) -> tuple[str, int, Reign | None] | None:
    """The node that answered without the lost message, when, and its reign; None if it is not to be named first.

    It is a later leader that gave its offset to another message. If there is none, it is the node that answered the
    first read which passed over it.
    """
    it = told.it
    node, at_ns = it.without_node, it.without_ns
    leads = context.timeline.reign_of(node, at_ns, told.subject)
    own = context.timeline.epoch_of(it.node, it.acked_ns, told.subject)
    giver = _giver(told, context)
    if giver is not None and giver.reign is not None and own is not None and giver.reign.epoch > own:
        node, at_ns, leads = giver.node, it.again_ns, giver.reign
    if not node or (node == it.node and (leads is None or leads.epoch == own)):
        return None
    if leads is not None and own is not None and leads.epoch > own and leads.first_ns <= told.last_ack_ns:
        return None
    return node, at_ns, leads


def _who(told: Told, context: Context) -> str:
    """The node that acknowledged the message, and what it was then: words that begin a sentence."""
    stands = role_at(context, told.it.node, told.it.acked_ns, leads=True, subject=told.subject)
    return f"{told.it.node}, {stands}," if stands else told.it.node


def _missed(told: Told, context: Context) -> Clause | None:
    """Names the node without the message first; None if the one that acknowledged it comes first."""
    without = _without(told, context)
    if without is None:
        return None
    node, at_ns, leads = without
    as_what = role_at(context, node, at_ns, leads=False) if leads is None else reign_words(leads, context)
    blame = find_blame(context, node, told.last_ack_ns, at_ns)
    words = ", ".join(filter(None, [node, as_what, fault_words(context, blame) if blame is not None else ""]))
    giver = _giver(told, context)
    gave = giver is not None and giver == Giver(node, leads)
    at, shown_ns = seconds_text(context, at_ns), told.it.shown_ns.get(node, at_ns)
    did = _gave(told, context) if gave else f"answered without it at {at}"
    had = f"had shown it at {seconds_text(context, shown_ns, digits=2)} and no longer had it when it {did}"
    text = (
        f"{words}{',' if words != node else ''} {had if shown_ns < at_ns else did}"
        f". {_who(told, context)} had acknowledged {_acked(told, context)}"
        f"{'' if gave else _again(told, context)}{_reads(told, context, without=node)}"
    )
    return Clause(text, (node,), blame.fault.id if blame is not None else None)


def _acknowledged(told: Told, context: Context, known: Reign | None = None, *, what: str = "it") -> Clause:
    """Who acknowledged, in which epoch, under which fault, and whether another one led already; see ``_again``."""
    it = told.it
    blame = find_blame(context, it.node, told.first_ack_ns, told.last_ack_ns, later=True)
    if it.cut:
        cuts = (one for one in context.timeline.injected() if one.id == it.cut)
        blame = Blame(next(cuts), hit=True, during=True, at_ns=told.last_ack_ns)
    who, then, fault = _who(told, context), "", None
    if blame is not None:
        then, fault = apart_words(context, blame, told.last_ack_ns), blame.fault.id
        if not then:
            who = f"{who}{'' if who.endswith(',') else ','} {fault_words(context, blame)},"
    other, giver = _leader_meanwhile(told, context), _giver(told, context)
    if it.cut or other is None:
        had = "" if it.cut else "had "
        acked = _acked(told, context, what=what, until=bool(it.cut))
        did = f"{had}acknowledged {acked}{then}{_again(told, context, known)}"
    else:
        same = giver == Giver(other.node, other)
        again = f"; {other.node} {_gave(told, context)}" if same else ""
        led = seconds_text(context, led_by_ns(other, it.again_ns) if same else other.first_ns)
        did = (
            f"acknowledged {_acked(told, context, what=what, until=True)}{then}, although {other.node} was"
            f" {reign_words(other, context)} by {led}{again or _again(told, context, known)}"
        )
    return Clause(f"{who} {did}{_reads(told, context)}", (it.node,), fault)


def _contradicted(told: Told, context: Context) -> Clause | None:
    """Controllers that contradict each other, and who acknowledged; None if they were not heard to in time."""
    until_ns = max(told.last_ack_ns + HEARD_NS, told.it.without_ns)
    found = contradiction(context, told.subject, until_ns)
    if found is None:
        return None
    then, blame = _acknowledged(told, context, what=told.it.value), found.blame(context)
    fault = blame.fault.id if blame is not None else None
    return Clause(f"{found.words(context)}. {then.text}", found.suspects(context), fault, CONTRADICTED)


def _elected(told: Told, context: Context) -> Clause | None:
    """A later leader from outside of the set that was named last, and who acknowledged; None if none is known.

    It came after the acknowledgement, and until the message was missed. A node that had the message when it led, and
    lost it then, is to be looked at itself.
    """
    it = told.it
    own, giver = context.timeline.reign_of(it.node, it.acked_ns, told.subject), _giver(told, context)
    until_ns = max(it.without_ns, it.again_ns) or NEVER_NS
    found = first_outsider(context, told.subject, own.epoch, until_ns) if own is not None else None
    if found is None or found.reign.first_ns <= told.last_ack_ns:
        return None
    if giver is not None and giver.reign is not None and giver.reign.epoch < found.reign.epoch:
        return None
    if it.shown_ns.get(found.reign.node, 0) >= found.reign.first_ns:
        return None
    then, blame = _acknowledged(told, context, known=found.reign), found.blame(context)
    fault = blame.fault.id if blame is not None else None
    return Clause(f"{found.words(context)}. {then.text}", found.suspects(context), fault, ELECTED)


def _clause(told: Told, context: Context) -> Clause:
    """Who is to be looked at, who acknowledged, and who gave the offset again."""
    went_on = told.it.cut or _leader_meanwhile(told, context) is not None
    missed = None if went_on else _missed(told, context)
    return _contradicted(told, context) or _elected(told, context) or missed or _acknowledged(told, context)


def first_told(clusters: Sequence[Cluster], context: Context) -> Example:
    """The message that the sentence gives as an example; see ``loss_sentence``."""
    return _told(clusters, context).it.example


def loss_sentence(clusters: Sequence[Cluster], count: int, context: Context) -> Telling:
    """The headline of a loss: how many were lost, and the story of one of them.

    Args:
        clusters: the losses of all queues, at least one.
        count: how many were lost; the clusters may hold fewer.
        context: for faults and leaders.
    """
    told = _told(clusters, context)
    text, nodes, fault, expected = _clause(told, context)
    where = f" of queue {told.it.key}" if context.run.keys > 1 else ""
    at = f" at offset {told.it.offset}" if told.it.offset >= 0 else ""
    verb = "message was lost," if count == 1 else "messages were lost, for example"
    return Telling(f"{count} acknowledged {verb} {told.it.value}{at}{where}: {text}.", nodes, fault, expected)

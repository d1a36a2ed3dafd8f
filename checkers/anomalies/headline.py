"""One cause, one headline (SEMANTICS 9), and the sentence that a broker engineer can act on.

Anomalies are brought together by queue and offset range, the strongest first. A loss is told with
the node that acknowledged, its epoch, the fault, and who gave the offsets again. The module refuses
to change a verdict.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from chaos.core.runinfo import Promises
from chaos.core.verdict import Anomaly
from checkers.anomalies.attribution import blamed, fault_words, standing
from checkers.anomalies.findings import ASSUMED, EXAMPLES, Finding, Range, counted, listed, seconds_text
from checkers.assumptions import skipped_words
from checkers.cluster.campaign import campaign_words
from checkers.history.kernel import Context
from checkers.log.loss import APART_NS, Cluster

STRENGTH: Final = (
    "lost-write",
    "phantom",
    "corrupt",
    "G1a",
    "inconsistent-offsets",
    "duplicate",
    "undelivered",
    "never-redelivered",
    "redelivered-after-ack",
    "early-redelivery",
    "lost-commit",
    "early-delivery",
    "replica-fork",
    "min-in-sync",
    "dual-master",
    "epoch-regression",
    "order",
    "nonlinearizable-offset",
    "nonmonotonic-send",
    "int-nonmonotonic-poll",
    "nonmonotonic-poll",
    "int-poll-skip",
    "poll-skip",
    "stale-tail",
    "did-not-come-back",
    "no-recovery",
    "no-progress",
    "rto-budget",
    "unseen",
)
WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "lost-write": ("lost acknowledged message", "lost acknowledged messages"),
    "phantom": ("value that nobody sent", "values that nobody sent"),
    "corrupt": ("damaged record", "damaged records"),
    "G1a": ("failed send that was read", "failed sends that were read"),
    "inconsistent-offsets": ("offset given twice", "offsets given twice"),
    "duplicate": ("duplicated value", "duplicated values"),
    "undelivered": ("message that the group passed over", "messages that the group passed over"),
    "never-redelivered": ("message that was never given again", "messages that were never given again"),
    "redelivered-after-ack": ("message given again after its ack", "messages given again after their acks"),
    "early-redelivery": ("message given to two at once", "messages given to two at once"),
    "lost-commit": ("lost commit of the group", "lost commits of the group"),
    "early-delivery": ("message delivered before its time", "messages delivered before their time"),
    "replica-fork": ("offset at which replicas differ", "offsets at which replicas differ"),
    "min-in-sync": ("acknowledgement with too few in sync", "acknowledgements with too few in sync"),
    "dual-master": ("epoch with two leaders", "epochs with two leaders"),
    "epoch-regression": ("step back of an epoch", "steps back of epochs"),
    "order": ("message of a shard out of order", "messages of shards out of order"),
    "nonlinearizable-offset": ("send with an offset against real time", "sends with offsets against real time"),
    "nonmonotonic-send": ("send that went back", "sends that went back"),
    "int-nonmonotonic-poll": ("read that went back", "reads that went back"),
    "nonmonotonic-poll": ("read that began too low", "reads that began too low"),
    "int-poll-skip": ("read that passed over a record", "reads that passed over records"),
    "poll-skip": ("read that left out a record", "reads that left out records"),
    "stale-tail": ("stale strong read", "stale strong reads"),
    "did-not-come-back": ("node that did not come back", "nodes that did not come back"),
    "no-recovery": ("queue that did not recover in time", "queues that did not recover in time"),
    "no-progress": ("silence under a fault on controllers", "silences under faults on controllers"),
    "rto-budget": ("fault over the RTO budget", "faults over the RTO budget"),
    "unseen": ("message read by nobody", "messages read by nobody"),
}
REASONS: Final = 2
DISORDERED: Final = frozenset({"nonmonotonic-send", "int-nonmonotonic-poll", "nonmonotonic-poll"})
"""Under a promise of these what was read back need not have been in order."""


def rank(name: str) -> int:
    """Position in the order of strength; unknown names last."""
    return STRENGTH.index(name) if name in STRENGTH else len(STRENGTH)


def together(left: Anomaly, right: Anomaly) -> Anomaly:
    """One anomaly that two checks found."""
    return msgspec.structs.replace(
        left,
        count=left.count + right.count,
        allowed=left.allowed and right.allowed,
        examples=(*left.examples, *right.examples)[:EXAMPLES],
    )


def _touches(own: Sequence[Range], other: Sequence[Range]) -> bool:
    """Whether each of the ranges overlaps one of the other's in the same queue."""
    by_key: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for key, first, last in other:
        by_key[key].append((first, last))
    return bool(own) and all(any(first <= b and last >= a for a, b in by_key[key]) for key, first, last in own)


def parts(found: Mapping[str, Finding]) -> dict[str, str]:
    """For each anomaly that has the same cause as a stronger one: that one's name."""
    names = sorted((name for name in found if name not in ASSUMED), key=rank)
    out: dict[str, str] = {}
    for i, name in enumerate(names):
        for stronger in names[:i]:
            if stronger not in out and _touches(found[name].ranges, found[stronger].ranges):
                out[name] = stronger
                break
    return out


def _who(cluster: Cluster, context: Context, number: int) -> str:
    """Who acknowledged, in which epoch, under which fault, from when to when."""
    stands = standing(context, cluster.node, cluster.first_ack_ns, leads=True)
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
    epoch = context.timeline.epoch_of(giver, most.twice_ns)
    claims = [claim for claim in context.timeline.claims if claim.node == giver and claim.epoch == epoch]
    since = ""
    if claims:
        first_ns = claims[0].first_ns
        controller = context.timeline.controller_at(first_ns)
        under = f" under controller {controller}" if controller else ""
        since = f", master of epoch {epoch} from {seconds_text(context, first_ns)}{under},"
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
    where = f" of queue {whole.key}" if context.run.queues > 1 else ""
    at = f" at offset {whole.first_offset}" if whole.first_offset >= 0 else ""
    rest = count - whole.count
    others = listed(sorted({group[0].node for group in groups[1:]}))
    more = f"; {rest} more had been acknowledged by {others}" if others else ""
    return (
        f"{count} acknowledged {verb}: {_who(whole, context, whole.count)}{_again(own, context)}{more}; "
        f"first lost: {whole.first_value}{at}{where}."
    )


def _counted(name: str, one: Anomaly) -> str:
    single, several = WORDS.get(name, (name, name))
    return f"{one.count} {single if one.count == 1 else several}"


def _headline(name: str, one: Anomaly) -> str:
    example = f": {one.examples[0].sentence}" if one.examples else ""
    return f"{_counted(name, one)}{example}"


def sentence_invalid(anomalies: Mapping[str, Anomaly], clusters: Sequence[Cluster], context: Context) -> str:
    """The first sentence of a run with errors: the strongest headline, and the names of the others."""
    heads = sorted(
        (name for name, one in anomalies.items() if not one.allowed and one.part_of is None and name not in ASSUMED),
        key=rank,
    )
    if not heads:
        return "Invalid."
    first, *others = heads
    if first == "lost-write" and clusters:
        text = loss_sentence(clusters, anomalies[first].count, context)
    else:
        text = f"{_headline(first, anomalies[first])}."
    also = ", ".join(_counted(name, anomalies[name]) for name in others)
    return f"{text} Also: {also}. {_campaign(context)}" if also else f"{text} {_campaign(context)}"


def _campaign(context: Context) -> str:
    """``9 faults, 4 failovers.`` as a sentence."""
    words = campaign_words(context)
    return f"{words[0].upper()}{words[1:]}."


def sentence_valid(acked: int, anomalies: Mapping[str, Anomaly], compared: bool | None, context: Context) -> str:
    """The first sentence of a valid run: what held, what the system may do and did, and what nobody looked at.

    Args:
        acked: acknowledged messages.
        anomalies: all that were found; in a valid run promises cover them.
        compared: whether replicas were compared, None if there was nothing to compare.
        context: faults and queues.
    """
    words = campaign_words(context)
    faults = len(context.timeline.injected())
    skipped = skipped_words(context)
    under = (f" under {words}" if faults else "") + (f" ({skipped})" if skipped else "")
    asked = "" if context.timeline.faults or context.run.planned_faults else f"; {words}"
    order = " in order" if DISORDERED.isdisjoint(anomalies) else ""
    twice = " or given twice" if "duplicate" not in anomalies else ""
    did = listed([_counted(name, one) for name, one in sorted(anomalies.items(), key=lambda item: rank(item[0]))])
    return (
        f"All {counted(acked, 'acknowledged message')} of {counted(context.run.queues, 'queue')} "
        f"{'was' if acked == 1 else 'were'} read back{order}{under}; nothing was lost{twice}"
        f"{f'; as the system may: {did}' if did else ''}"
        f"{'; replicas were not compared' if compared is False else ''}{asked}{not_held_to(context.run.promises)}."
    )


def not_held_to(promises: Promises) -> str:
    """What the system was not held to, since the settings that it rests on were not proven; empty if there is none."""
    return f"; the system was not held to {listed(promises.not_taken)}" if promises.not_taken else ""


def sentence_unknown(reasons: Sequence[str], context: Context) -> str:
    """The first sentence of a run that nobody can judge: the first reasons, and how many more there are."""
    shown = "; ".join(reasons[:REASONS])
    more = len(reasons) - REASONS
    rest = "" if more <= 0 else f"; and {counted(more, 'more reason')}"
    return f"Unknown: {shown}{rest}. {_campaign(context)}"

"""Who did it, as what, and under or after which fault: the words that every check uses.

A sentence about an anomaly names the node that answered, its role and epoch as the observers heard them, and one fault:
the latest in force that hit this node, else the latest begun before; for messages that a node lost later the next one
that hit it, unless the last one was nearer in time. Does not claim a cause: a fault that is named came before, and no
more is said.
"""

from typing import Any, Final, NamedTuple

import msgspec

from chaos.basics.name_lists import join_names
from chaos.core.clock import NS_PER_S
from chaos.core.op import Type
from chaos.core.verdict import Example
from chaos.models.log.words import F
from chaos.storage.history import NEVER_NS
from checkers.anomalies.findings import NO_NODE, node_name, seconds_text
from checkers.history.check_input import Context, QueueShard
from checkers.history.leadership import Reign
from checkers.history.timeline import FaultSpan

_SHOWN: Final = 3
_SOON_S: Final = 0.1
"""Shorter times are told in milliseconds: they would read as no time at all."""

_STATES: Final = ("with ", "without ", "out of ", "short of ", "behind ")
"""Verbs of faults that begin so describe a state, as "without power": a node is left so, not done so."""

READ_WORDS: Final = {F.POLL: "poll", F.READ: "strong read", F.SLAVE_READ: "slave read", F.DRAIN: "final read"}


class Blame(NamedTuple):
    """A fault, whether it hit the node that is spoken of, whether it was in force, and for which instant (ns)."""

    fault: FaultSpan
    hit: bool
    during: bool
    at_ns: int


def find_blame(context: Context, node: str, first_ns: int, last_ns: int, *, later: bool = False) -> Blame | None:
    """The fault to be named for what a node did from ``first_ns`` to ``last_ns``, None if none had begun.

    Args:
        context: for the faults.
        node: who acted.
        first_ns: the beginning of what it did.
        last_ns: the end of it.
        later: a fault that hit the node afterwards counts as well, as for messages that it lost; of the one before,
            which hit the node or links, and the one after, the nearer.
    """
    faults = context.timeline.injected()
    begun = [fault for fault in faults if (fault.inject_ns or 0) <= last_ns]
    hits = [fault for fault in begun if node in fault.targets and _in_force(fault, first_ns)]
    if hits:
        return Blame(hits[-1], hit=True, during=True, at_ns=last_ns)
    after = [fault for fault in faults if node in fault.targets and (fault.inject_ns or 0) > last_ns]
    if later and after:
        before = [fault for fault in begun if node in fault.targets or fault.identity.nature.hits == "links"]
        gone_ns = first_ns - before[-1].in_force_until_ns() if before else NEVER_NS
        if gone_ns < (after[0].inject_ns or 0) - last_ns:
            return Blame(before[-1], hit=False, during=_in_force(before[-1], last_ns), at_ns=last_ns)
        return Blame(after[0], hit=True, during=True, at_ns=last_ns)
    if not begun:
        return None
    return Blame(begun[-1], hit=False, during=_in_force(begun[-1], last_ns), at_ns=last_ns)


def _in_force(fault: FaultSpan, at_ns: int) -> bool:
    return fault.in_force_until_ns() >= at_ns


def cuts_off(context: Context, node: str) -> list[FaultSpan]:
    """The faults that cut a node off from others, each after its injection and until it was in force no more."""
    return [one for one in context.timeline.injected() if one.identity.nature.cuts and node in one.targets]


def cut_off_by(context: Context, node: str, at_ns: int) -> FaultSpan | None:
    """The fault that cut a node off from others at an instant, of several the last begun; None if none did."""
    return max(
        (one for one in cuts_off(context, node) if (one.inject_ns or 0) < at_ns <= one.in_force_until_ns()),
        key=lambda one: one.inject_ns or 0,
        default=None,
    )


def newer_leader(context: Context, node: str, at_ns: int, subject: str | None) -> Reign | None:
    """Another node that led a subject already, in a later epoch than this one did at an instant; None if none did."""
    own = context.timeline.epoch_of(node, at_ns, subject)
    later = (
        reign
        for reign in context.timeline.reigns_over(subject)
        if own is not None and reign.node != node and reign.epoch > own and reign.first_ns <= at_ns
    )
    return max(later, key=lambda reign: reign.epoch, default=None)


def fault_name(fault: FaultSpan, *, whom: bool = True) -> str:
    """``fault 2 (leader-kill on b1)``."""
    return f"fault {fault.id} ({fault.name}{f' on {targets_words(fault)}' if whom and fault.targets else ''})"


def targets_words(fault: FaultSpan) -> str:
    """``b1 and b2``, ``b1, b2, b3 and 2 more``: whom a fault hit."""
    more = f" and {len(fault.targets) - _SHOWN} more" if len(fault.targets) > _SHOWN else ""
    return join_names(fault.targets) if not more else ", ".join(fault.targets[:_SHOWN]) + more


def fault_words(context: Context, blame: Blame) -> str:
    """``cut off by fault 2 (leader-partition) at 28.0 s``, ``9.3 s after fault 1 (kill on b1) had ended``.

    Of a fault that hit others: ``while b1 was killed by fault 1 (kill, since 8.0 s)``.
    """
    at = seconds_text(context, blame.fault.inject_ns or 0)
    if blame.hit:
        return f"{blame.fault.identity.nature.verb} by {fault_name(blame.fault, whom=False)} at {at}"
    if blame.during:
        return _while(blame.fault, at)
    return f"{_gone_for(blame)} after {fault_name(blame.fault)} had ended"


def _while(fault: FaultSpan, since: str) -> str:
    """A fault of others that is in force."""
    whom, verb = targets_words(fault), fault.identity.nature.verb
    if not whom:
        return f"under {fault_name(fault)} since {since}"
    left = "left " if verb.startswith(_STATES) else ""
    was = "was" if len(fault.targets) == 1 else "were"
    return f"while {whom} {was} {left}{verb} by fault {fault.id} ({fault.name}, since {since})"


def _gone_for(blame: Blame) -> str:
    """How long ago a fault ended: ``9.3 s``."""
    gone_s = (blame.at_ns - blame.fault.in_force_until_ns()) / NS_PER_S
    return f"{gone_s:.1f} s" if gone_s >= _SOON_S else f"{1000 * gone_s:.0f} ms"


def hit_words(context: Context, node: str, blame: Blame | None) -> str:
    """``; b1 had been killed by fault 2 (kill) at 2.8 s``, or ``, while b2 ...`` if the fault did not hit the node.

    The end of a sentence about what was done around the node; empty if there is no fault to be named.
    """
    if blame is None:
        return ""
    words = fault_words(context, blame)
    return f"; {node} had been {words}" if blame.hit else f", {words}"


def apart_words(context: Context, blame: Blame, at_ns: int) -> str:
    """``, and was suspended by fault 3 (leader-suspend) at 25.0 s``: a fault that was not in force yet, or no more.

    Empty of one that was in force.
    """
    begun_ns = blame.fault.inject_ns or 0
    if begun_ns > at_ns:
        verb = blame.fault.identity.nature.verb
        left = "left " if verb.startswith(_STATES) else ""
        return f", and was {left}{verb} by {fault_name(blame.fault, whom=False)} at {seconds_text(context, begun_ns)}"
    if blame.during:
        return ""
    return f", {_gone_for(blame._replace(at_ns=at_ns))} after {fault_name(blame.fault)} had ended"


def led_by_ns(reign: Reign, did_ns: int) -> int:
    """Since when at the latest a node led: since it was heard, or did what only a leader does, if that was before."""
    return min(reign.first_ns, did_ns) if did_ns > reign.not_before_ns else reign.first_ns


def reign_words(reign: Reign, context: Context) -> str:
    """``master of epoch 3``; ``master of brokers-2 in epoch 3`` where there are several such subjects."""
    word = context.run.epoch_word(reign.subject)
    alike = [one for one in context.run.subjects if one.kind == reign.kind]
    if len(alike) > 1:
        return f"{reign.word} of {reign.subject} in {word} {reign.epoch}"
    return f"{reign.word} of {word} {reign.epoch}"


def role_at(context: Context, node: str, at_ns: int, *, leads: bool, subject: str | None = None) -> str:
    """``master of epoch 3`` or ``slave``, as far as observers heard it; empty if they did not.

    Args:
        context: for who led.
        node: who acted.
        at_ns: when.
        leads: the node did what only a leader does, so a claim heard shortly before or after counts as well.
        subject: what it acted for; None: any that keeps keys.
    """
    timeline = context.timeline
    for stretch in timeline.words.get(node, ()):
        word, led = stretch.said
        if stretch.first_ns <= at_ns <= stretch.last_ns and not led:
            return str(word) if word != "none" else ""
    reign = timeline.reign_of(node, at_ns, subject)
    if reign is None or not (leads or reign.first_ns <= at_ns <= reign.last_ns):
        return ""
    return reign_words(reign, context)


class Actor(NamedTuple):
    """A node at a time, in words.

    ``plain`` is its name and role ("b2, master of epoch 3"), ``words`` the same with the fault, each
    without a comma behind. ``fault`` is the fault's number. ``then``: of messages that it lost later, the fault that
    was not in force when it did what is told, as the end of a sentence about that; else empty.
    """

    node: str
    at_ns: int
    plain: str
    words: str
    fault: int | None
    then: str = ""

    @property
    def subject(self) -> str:
        """``words`` as the beginning of a sentence whose verb follows."""
        return f"{self.words}," if self.words != self.node else self.words

    @property
    def aside(self) -> str:
        """``plain`` inside a sentence that goes on."""
        return f"{self.plain}," if self.plain != self.node else self.plain

    def example(self, sentence: str, **facts: Any) -> Example:
        """An occurrence that this node is behind; ``facts`` are the other fields."""
        node = self.node if self.node != NO_NODE else None
        return Example(sentence=sentence, node=node, at_ns=self.at_ns, fault=self.fault, **facts)


def actor(
    context: Context,
    node: str,
    at_ns: int,
    *,
    since_ns: int | None = None,
    leads: bool = False,
    later: bool = False,
    subject: str | None = None,
) -> Actor:
    """Who did something that ended at ``at_ns`` and began at ``since_ns``; see ``role_at`` and ``find_blame``."""
    stands = role_at(context, node, at_ns, leads=leads, subject=subject)
    plain = f"{node}, {stands}" if stands else node
    blame = find_blame(context, node, at_ns if since_ns is None else since_ns, at_ns, later=later)
    if blame is None:
        return Actor(node, at_ns, plain, plain, None)
    if later and (apart := apart_words(context, blame, at_ns)):
        return Actor(node, at_ns, plain, plain, blame.fault.id, apart)
    return Actor(node, at_ns, plain, f"{plain}, {fault_words(context, blame)}", blame.fault.id)


def actor_of(shard: QueueShard, context: Context, op: int, *, leads: bool = False, later: bool = False) -> Actor:
    """Who answered an operation, when it did."""
    ops = shard.ops
    invoke_ns, complete_ns = int(ops.invoke[op]), int(ops.complete[op])
    at_ns = invoke_ns if complete_ns == NEVER_NS else complete_ns
    node = node_name(context, int(ops.node[op]))
    subject = context.subject_of(shard.key)
    return actor(context, node, at_ns, since_ns=invoke_ns, leads=leads, later=later, subject=subject)


def blamed_example(
    shard: QueueShard, context: Context, op: int, sentence: str, *, what: str = "", later: bool = False, **facts: Any
) -> Example:
    """An occurrence that an operation shows: its sentence ends with who answered it, and under or after which fault.

    Its ``at_ns`` is when the operation was sent: operations are listed by that.

    Args:
        shard: the operation's key.
        context: faults and leaders.
        op: the one that was answered wrongly, or whose answer did not hold.
        sentence: what is wrong.
        what: the operation in words, where it is not the one that the sentence is about.
        later: see ``find_blame``.
        facts: the other fields.
    """
    who = actor_of(shard, context, op, later=later)
    asked_ns, kind = int(shard.ops.invoke[op]), Type(int(shard.ops.type[op]))
    at = seconds_text(context, asked_ns) if kind is Type.INFO else time_of(shard, context, op)
    did = "was asked" if kind is Type.INFO else "answered"
    told = " ".join(filter(None, (did, f"for {what}" if what and kind is Type.INFO else what, "at", at)))
    example = who.example(f"{sentence}; {who.subject} {told}{who.then}", key=shard.key, **facts)
    return msgspec.structs.replace(example, at_ns=asked_ns)


def time_of(shard: QueueShard, context: Context, op: int) -> str:
    """The time of an answer as ``24.0 s``."""
    return seconds_text(context, int(shard.ops.complete[op]))


class Message(NamedTuple):
    """What is known to be at an offset: its value and who acknowledged it there, in words; empty where unknown."""

    offset: int
    value: str | None
    by: str

    @property
    def words(self) -> str:
        """``1:2 at offset 2, acknowledged by b1 at 3.0 s``."""
        place = f"{self.value} at offset {self.offset}" if self.value is not None else f"offset {self.offset}"
        return f"{place}, {self.by}" if self.by else place


def message_at(shard: QueueShard, context: Context, offset: int) -> Message:
    """The message of an offset, as far as the history knows it."""
    log = shard.log
    vid = log.value_at(offset)
    if vid < 0:
        return Message(offset, None, "")
    by = ""
    if vid < len(log.sends):
        send = int(log.sends[vid])
        if log.type[send] == Type.OK and log.offset[send] == offset:
            by = f"acknowledged by {node_name(context, int(log.node[send]))} at {time_of(shard, context, send)}"
    return Message(offset, log.value(vid), by)

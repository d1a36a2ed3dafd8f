"""The bugs of minimq, each one small deviation of a rule, and the switch that puts one in place in this process.

A checker that never saw a bug proves nothing: ``BUGS`` says for each what it does wrong, what brings it to light and
what the verdict must name. The honest cores know nothing of it; a bug replaces functions of the rules from outside.
The module refuses to switch on two in one process.
"""

from collections.abc import Mapping
from typing import Final

from cluster.bug import Bug
from cluster.systems.minimq import bug_rules, bug_rules_controller, bug_rules_service
from cluster.systems.minimq.broker import Broker
from cluster.systems.minimq.bug_rules import Replacement
from cluster.systems.minimq.controller import Controller
from cluster.systems.minimq.notes import Notes

_SHORT: Final = {"rate": 200.0, "time_limit_s": 50.0, "fault_interval_s": 5.0, "fault_duration_s": 5.0}
_ONE_FAULT: Final = {"rate": 200.0, "time_limit_s": 20.0, "fault_interval_s": 5.0, "fault_duration_s": 6.0}
_LONG_FAULT: Final = _SHORT | {"fault_duration_s": 20.0, "rto_budget_s": 10.0}

_DECLARED: Final = (
    Bug(
        name="ack-before-replicate",
        help="the master acknowledges what only it has",
        workload="queue",
        nemesis="leader-partition",
        anomaly="lost-write",
        options=_SHORT,
    ),
    Bug(
        name="ack-before-fsync",
        help="brokers count what is in memory as kept, and write four times a second",
        workload="queue",
        nemesis="all-kill@broker",
        anomaly="lost-write",
        options=_SHORT,
    ),
    Bug(
        name="never-fsync",
        help="brokers give what they keep to the kernel and never ask it to write",
        workload="queue",
        nemesis="all-power-failure@broker",
        anomaly="lost-write",
        options=_SHORT,
    ),
    Bug(
        name="unclean-election",
        help="without a living member of the SyncStateSet any broker becomes master",
        workload="queue",
        nemesis="leader-partition@broker,leader-kill",
        anomaly="lost-write",
        settings={"broker.minInSyncReplicas": "1", "broker.lagMax": "0.6", "controller.brokerTimeout": "0.6"},
        # The master must die before those that the cut made fall behind are back. TCP tries again 1.4 s and 3 s after
        # the cut began; between the two it is healed, and about a second later, once that is proven, the master is hit.
        options=_SHORT | {"fault_interval_s": 0.5, "fault_duration_s": 1.75, "rhythm": "even"},
    ),
    Bug(
        name="forget-vote",
        help="a controller that restarts knows neither its term nor its vote",
        workload="queue",
        nemesis="all-kill@controller",
        anomaly="dual-leader",
        options=_SHORT,
    ),
    Bug(
        name="commit-old-term",
        help="a controller that leads takes all of its log for committed, of whatever term",
        workload="queue",
        nemesis="random-partition",
        anomaly="inconsistent-offsets",
        settings={"broker.minInSyncReplicas": "1", "broker.lagMax": "0.6", "controller.brokerTimeout": "0.6"},
        options=_SHORT | {"time_limit_s": 72.0, "fault_interval_s": 1.5, "fault_duration_s": 3.0},
    ),
    Bug(
        name="no-truncate-on-rejoin",
        help="a broker that comes back keeps a tail that the new master has not",
        workload="queue",
        nemesis="leader-suspend",
        anomaly="inconsistent-offsets",
        options=_SHORT,
    ),
    Bug(
        name="truncate-acked",
        help="a new master cuts its log where it knows it to be confirmed",
        workload="queue",
        nemesis="leader-kill",
        anomaly="lost-write",
        options=_SHORT,
    ),
    Bug(
        name="stale-epoch-accept",
        help="a deposed master goes on for seconds, and controllers take its SyncStateSet",
        workload="queue",
        nemesis="leader-suspend",
        anomaly="lost-write",
        settings={"broker.minInSyncReplicas": "1"},
        options=_SHORT,
    ),
    Bug(
        name="minisr-ignored",
        help="any SyncStateSet is large enough to acknowledge",
        workload="queue",
        nemesis="major-kill",
        anomaly="min-in-sync",
        options=_SHORT,
    ),
    Bug(
        name="duplicate-on-retry",
        help="a producer's message that comes again is appended again",
        workload="idempotent",
        nemesis="random-suspend",
        anomaly="duplicate",
        options=_SHORT,
    ),
    Bug(
        name="offset-reuse-after-failover",
        help="a new master gives each queue's last offset a second time",
        workload="queue",
        nemesis="leader-kill",
        anomaly="inconsistent-offsets",
        options=_SHORT,
    ),
    Bug(
        name="offset-gap",
        help="a broker that catches up leaves a message of a large batch out",
        workload="queue",
        nemesis="leader-suspend",
        anomaly="int-poll-skip",
        options=_ONE_FAULT,
    ),
    Bug(
        name="reorder-batch",
        help="a broker that catches up appends the records of a large batch in reverse",
        workload="queue",
        nemesis="leader-suspend",
        anomaly="int-nonmonotonic-poll",
        options=_ONE_FAULT,
    ),
    Bug(
        name="read-uncommitted",
        help="readers see records that are not confirmed",
        workload="queue",
        nemesis="leader-partition",
        anomaly="inconsistent-offsets",
        options=_SHORT,
    ),
    Bug(
        name="stale-read-slave",
        help="a follower that hears nothing of its master answers strong reads",
        workload="queue",
        nemesis="random-partition",
        anomaly="stale-tail",
        options=_SHORT,
    ),
    Bug(
        name="lost-consumer-offset",
        help="a new master has forgotten where consumer groups go on",
        workload="group",
        nemesis="leader-kill",
        anomaly="lost-commit",
        options=_SHORT,
    ),
    Bug(
        name="skip-on-long-poll",
        help="after a failover a poll that has to wait passes over a record",
        workload="group",
        nemesis="leader-kill",
        anomaly="poll-skip",
        options=_SHORT,
    ),
    Bug(
        name="corrupt-body",
        help="a broker that catches up stores a record of a large batch with a bit turned",
        workload="queue",
        nemesis="leader-suspend",
        anomaly="corrupt",
        options=_ONE_FAULT,
    ),
    Bug(
        name="phantom-after-restart",
        help="a broker that starts finds a message behind its last that nobody sent",
        workload="queue",
        nemesis="all-kill@broker",
        anomaly="phantom",
        options=_SHORT,
    ),
    Bug(
        name="slow-recovery",
        help="a silent broker counts as alive ten times as long as it should",
        workload="queue",
        nemesis="leader-kill",
        anomaly="rto-budget",
        options=_LONG_FAULT,
    ),
    Bug(
        name="stuck-after-failover",
        help="a new master takes messages and never acknowledges them",
        workload="queue",
        nemesis="leader-kill",
        anomaly="no-recovery",
        options=_ONE_FAULT,
    ),
    Bug(
        name="never-rejoin",
        help="a new master lets no broker back into the SyncStateSet",
        workload="queue",
        nemesis="leader-kill",
        anomaly="did-not-come-back",
        options=_ONE_FAULT,
    ),
)

BUGS: Final[Mapping[str, Bug]] = {bug.name: bug for bug in _DECLARED}

_BENDS: Final = {**bug_rules.BENDS, **bug_rules_controller.BENDS, **bug_rules_service.BENDS}
_switched_on: Final[list[Notes]] = []


def replacements(notes: Notes, name: str) -> list[Replacement]:
    """What the bug puts in place of what is there now, and the entrances that tell the notes who decides.

    Raises:
        KeyError: there is no such bug.
    """
    entrances = [Replacement(core, "handle", notes.enter(core.handle)) for core in (Broker, Controller)]
    return entrances + _BENDS[name](notes)


def switch_on(name: str) -> None:
    """Put the bug in place in this process, for good.

    Raises:
        KeyError: there is no such bug.
    """
    assert not _switched_on, "one bug a process"
    notes = Notes(name)
    for replacement in replacements(notes, name):
        setattr(replacement.owner, replacement.name, replacement.function)
    _switched_on.append(notes)


_replaced: Final[list[Replacement]] = []


def have_on(name: str | None) -> None:
    """Put one bug in place, or none, in a process that is many nodes one after the other.

    Raises:
        KeyError: there is no such bug.
    """
    if [notes.bug for notes in _switched_on] == ([] if name is None else [name]):
        return
    for honest in reversed(_replaced):
        setattr(honest.owner, honest.name, honest.function)
    _replaced.clear()
    _switched_on.clear()
    if name is not None:
        notes = Notes(name)
        for replacement in replacements(notes, name):
            own = getattr(replacement.owner, replacement.name)
            _replaced.append(Replacement(replacement.owner, replacement.name, own))
            setattr(replacement.owner, replacement.name, replacement.function)
        _switched_on.append(notes)


def take_notes() -> list[str]:
    """What the bug did since the last call, a JSON object for each deviation; none without a bug."""
    return [text for notes in _switched_on for text in notes.take()]

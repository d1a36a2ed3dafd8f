"""The state machine of the controllers: what a committed command does to the metadata, and who may be master.

Pure and deterministic: every controller that applies the same log holds the same metadata. It does not know which nodes
are alive: what a leader believes of that reaches it as an ``ElectMaster`` command, and is checked again here against
the state in which the command was committed.

The rules are those of RocketMQ 5's controller mode (RIP-44), but for one that is Kafka's (KIP-966 describes both): at
an election the living members stay in the SyncStateSet, since each of them holds all that was confirmed, so that the
first acknowledgement of the new epoch does not rest on one copy.
"""

from collections.abc import Collection

import msgspec

from cluster.systems.minimq.protocol.messages import (
    AlterSyncStateSet,
    Command,
    CreateTopic,
    ElectMaster,
    Group,
    Metadata,
    NoOp,
    RefusedReason,
    RegisterBroker,
    Registered,
)

QUEUES_MAX = 1024


def eligible_masters(group: Group, alive: Collection[str], *, unclean: bool) -> tuple[str, ...]:
    """Who may be the next master: living members of the SyncStateSet.

    Before the first master every living broker; with ``unclean`` also when no member lives, which may lose messages.
    """
    registered = tuple(each.broker for each in group.brokers if each.broker in alive)
    if group.epoch == 0:
        return registered
    members = tuple(name for name in group.sync_state_set if name in alive)
    return registered if unclean and not members else members


def may_alter(group: Group, request: AlterSyncStateSet) -> RefusedReason | None:
    """Why the SyncStateSet must not change so; None if it may."""
    if request.master != group.master:
        return "not-master"
    if (request.epoch, request.sss_epoch) != (group.epoch, group.sss_epoch):
        return "stale-epoch"
    registered = {each.broker for each in group.brokers}
    if request.master not in request.new_set or not registered.issuperset(request.new_set):
        return "bad-set"
    return None


def judge(metadata: Metadata, command: Command) -> RefusedReason | None:
    """Why the command must not take effect in this state; None if it may."""
    group = metadata.group
    match command:
        case RegisterBroker(broker=broker, incarnation=incarnation):
            stale = any(each.broker == broker and each.incarnation > incarnation for each in group.brokers)
            return "unknown-broker" if stale else None
        case AlterSyncStateSet():
            return may_alter(group, command)
        case CreateTopic(topic=topic, queues=queues):
            if not topic or not 1 <= queues <= QUEUES_MAX:
                return "bad-topic"
            return "topic-exists" if metadata.topics.get(topic, queues) != queues else None
        case ElectMaster():
            return _judge_election(group, command)
        case NoOp():
            return None


def _judge_election(group: Group, command: ElectMaster) -> RefusedReason | None:
    if command.after_epoch != group.epoch:
        return "stale-epoch"
    # Everybody the leader named counts as alive: whether it still is nobody can say.
    alive = {command.master, *command.sync_state_set}
    if command.master in eligible_masters(group, alive, unclean=False):
        return None
    registered = {each.broker for each in group.brokers}
    return None if command.unclean and command.master in registered else "not-master"


def applied(metadata: Metadata, index: int, command: Command) -> tuple[Metadata, RefusedReason | None]:
    """The metadata after the command committed at ``index``, or why it is unchanged."""
    refused = judge(metadata, command)
    if refused is not None:
        return metadata, refused
    topics, group = metadata.topics, metadata.group
    match command:
        case RegisterBroker():
            group = _registered(group, command)
        case AlterSyncStateSet(new_set=new_set):
            group = _with_members(group, new_set)
        case CreateTopic(topic=topic, queues=queues):
            topics = {**topics, topic: queues} if topic not in topics else topics
        case ElectMaster(master=master, sync_state_set=proposed):
            members = tuple(name for name in group.sync_state_set if name in proposed or name == master)
            # The first master, and an unclean one, is alone: nobody else is known to hold what it holds.
            group = _with_members(group, members if master in members else (master,))
            group = msgspec.structs.replace(group, master=master, epoch=group.epoch + 1)
        case NoOp():
            pass
    if group is metadata.group and topics is metadata.topics:
        return metadata, None
    return Metadata(version=index, topics=topics, group=group), None


def _registered(group: Group, command: RegisterBroker) -> Group:
    new = Registered(broker=command.broker, incarnation=command.incarnation)
    if new in group.brokers:
        return group
    others = tuple(each for each in group.brokers if each.broker != new.broker)
    brokers = tuple(sorted((*others, new), key=lambda each: each.broker))
    # A master's new life may hold less than the former one wrote: only a new epoch can tell the two tails apart.
    master = None if group.master == new.broker else group.master
    return msgspec.structs.replace(group, brokers=brokers, master=master)


def _with_members(group: Group, members: Collection[str]) -> Group:
    return msgspec.structs.replace(group, sync_state_set=tuple(sorted(set(members))), sss_epoch=group.sss_epoch + 1)

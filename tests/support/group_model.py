"""Histories of a consumer group that does nothing wrong, as literals, and the ways to spoil them.

The model: one queue, producers that are always acknowledged, members that take over at random, ask where
the group goes on, poll and commit. Commits take effect inside their time, or much later or never where
nobody answered. A member that lost the queue may still be committing.
"""

import random

import msgspec

from chaos.testing.history_files import DrainLiteral, Expected, HistoryLiteral, OpLiteral, Range

STEPS = 40


class Member:
    def __init__(self, client):
        self.client, self.process, self.cursor, self.ready = client, client * 100, None, 1.0


def _span(rng, member, effect):
    """Times of an operation that takes effect at ``effect``."""
    invoke = max(member.ready, effect - rng.random() * 0.05)
    complete = effect + rng.random() * 0.05
    member.ready = complete
    return (round(invoke, 4), round(complete, 4))


def _sent(log, at):
    log.append(f"9:{len(log)}")
    return OpLiteral(at=(at - 0.04, at - 0.01), send=log[-1], ok=len(log) - 1, p=900, client=9)


def _committing(rng, owner, at):
    """A commit with its outcome, and when it takes effect (None: never)."""
    op = OpLiteral(at=_span(rng, owner, at), commit=owner.cursor, client=owner.client, p=owner.process)
    outcome = rng.choices(["ok", "fail", "info", "open"], [7, 1, 1, 1])[0]
    if outcome == "ok":
        return op, at
    if outcome == "fail":
        return msgspec.structs.replace(op, fail="refused"), None
    owner.process += 1
    lands = rng.choice([None, at, at + rng.random() * 2])
    if outcome == "info":
        return msgspec.structs.replace(op, info="no answer"), lands
    return msgspec.structs.replace(op, at=op.at[:1]), lands


def model(seed):
    """A valid history of one queue."""
    rng = random.Random(seed)
    members = [Member(client) for client in range(1, rng.randint(3, 5))]
    log, ops, late, committed = [], [], [], None
    owner = rng.choice(members)
    for step in range(STEPS):
        at = 1.0 + step * 0.1
        for landing in [one for one in late if one[0] <= at]:
            late.remove(landing)
            committed = landing[1]
        if rng.random() < 0.7:
            ops.append(_sent(log, at))
        if rng.random() < 0.15:
            owner = rng.choice(members)
            owner.cursor = None
        if owner.ready > at:
            continue
        base = {"client": owner.client, "p": owner.process}
        if owner.cursor is None:
            answer = "none" if committed is None else committed
            ops.append(OpLiteral(at=_span(rng, owner, at), committed_read=answer, **base))
            owner.cursor = committed or 0
        elif rng.random() < 0.6:
            end = rng.randint(owner.cursor, len(log))
            got = " ".join(f"{i}={log[i]}" for i in range(owner.cursor, end))
            ops.append(OpLiteral(at=_span(rng, owner, at), poll=Range(begin=owner.cursor, got=got, next=end), **base))
            owner.cursor = end
        else:
            op, lands = _committing(rng, owner, at)
            ops.append(op)
            if lands is not None and lands <= at:
                committed = owner.cursor
            elif lands is not None:
                late.append((lands, owner.cursor))
    final = " ".join(f"{i}={value}" for i, value in enumerate(log))
    return HistoryLiteral(
        name=f"group-{seed}",
        rules=(20,),
        about="made by the model",
        ops=tuple(ops),
        expect=Expected(valid=True),
        drain=DrainLiteral(final={0: final}, max={0: len(log)}, committed={0: committed}, wait_s=12.0),
    )


def _tried(literal, value):
    return [op for op in literal.ops if op.commit == value and op.fail is None and (op.info or len(op.at) == 1)]


def forget_a_commit(rng, literal):
    """After everything a member commits in vain: the group is told what it had been before."""
    before = literal.drain.committed[0]
    last_s = max(op.at[-1] for op in literal.ops)
    value = (before or 0) + 1
    if before is not None and _tried(literal, before):
        return None  # that commit may take effect late, which explains the answer
    ops = (*literal.ops, OpLiteral(at=(last_s + 0.1, last_s + 0.2), commit=value, p=5000, client=5))
    return msgspec.structs.replace(literal, ops=ops), "lost-commit"


def answer_what_nobody_committed(rng, literal):
    """A member that takes over is told an offset of nowhere."""
    last_s = max(op.at[-1] for op in literal.ops)
    ops = (*literal.ops, OpLiteral(at=(last_s + 0.1, last_s + 0.2), committed_read=7777, p=5000, client=5))
    return msgspec.structs.replace(literal, ops=ops), "lost-commit"


def skip_a_delivery(rng, literal):
    """No poll returns one message below the offset at which the group goes on."""
    committed = literal.drain.committed[0]
    if not committed:
        return None
    gone = rng.randrange(committed)

    def without(asked):
        kept = [word for word in asked.got.split() if not word.startswith(f"{gone}=")]
        return msgspec.structs.replace(asked, got=" ".join(kept))

    ops = tuple(msgspec.structs.replace(op, poll=without(op.poll)) if op.poll is not None else op for op in literal.ops)
    return msgspec.structs.replace(literal, ops=ops), "undelivered"


def forget_where_it_goes_on(rng, literal):
    """The final passes do not ask for the group's offset."""
    if not any(op.commit is not None or op.committed_read is not None for op in literal.ops):
        return None
    return msgspec.structs.replace(literal, drain=msgspec.structs.replace(literal.drain, skip_committed=(0,))), ""


MUTATIONS = (forget_a_commit, answer_what_nobody_committed, skip_a_delivery, forget_where_it_goes_on)

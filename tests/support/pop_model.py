"""Histories of popped messages in which nothing goes wrong, as literals, and the ways to spoil them.

The model: one queue, a producer that is always acknowledged, clients that pop, acknowledge, keep longer or let go,
in time or late. Whoever is late is answered ok and changes nothing; who is given a message again has only its new
receipt, as the workload does. What lapses is given again within a second. Of
pops, acks and extends that nobody answered, some took effect. At the end everything is popped and acknowledged.
"""

import random

import msgspec

from chaos.testing.history_files import DrainLiteral, Expected, HistoryLiteral, OpLiteral, RunLiteral

INVISIBLE_S, RETURNS_S = 3.0, 1.0
STEPS = 60


class Message:
    def __init__(self, number, at):
        self.name, self.offset = f"9:{number}", number
        self.visible_s, self.holder, self.times = at, None, 0


def _span(rng, at):
    return (round(at - rng.random() * 0.04, 4), round(at + rng.random() * 0.04, 4))


def _give(rng, messages, at):
    """What a pop at ``at`` takes."""
    taken = [one for one in messages if one.visible_s is not None and one.visible_s <= at]
    return rng.sample(taken, rng.randint(0, len(taken)))


def _popped(taken, at, rng, client):
    words = []
    for one in taken:
        words.append(f"{one.offset if one.times == 0 else -1}={one.name}")
        one.times += 1
        one.visible_s, one.holder = at + INVISIBLE_S + rng.random() * RETURNS_S, (client, at)
    return " ".join(words)


def _outcome(rng, op):
    """The operation with its outcome, and whether it reaches the broker."""
    kind = rng.choices(["ok", "fail", "info", "open"], [8, 1, 1, 1])[0]
    if kind == "ok":
        return op, True
    if kind == "fail":
        return msgspec.structs.replace(op, fail="refused"), False
    reaches = rng.random() < 0.5
    if kind == "info":
        return msgspec.structs.replace(op, info="no answer"), reaches
    return msgspec.structs.replace(op, at=op.at[:1]), reaches


def _pop(rng, messages, at, client):
    op, reaches = _outcome(rng, OpLiteral(at=_span(rng, at), pop="", client=client, invisible_s=INVISIBLE_S))
    got = _popped(_give(rng, messages, at), at, rng, client) if reaches else ""
    heard = op.fail is None and op.info is None and len(op.at) > 1
    return msgspec.structs.replace(op, pop=got) if heard else op


def _say(rng, messages, at, held):
    """An ack or an extend of something that a client was given, perhaps late."""
    client, one, given_s = held
    extend = rng.random() < 0.25
    what = {"extend": one.name, "invisible_s": INVISIBLE_S} if extend else {"ack": one.name}
    op, reaches = _outcome(rng, OpLiteral(at=_span(rng, at), client=client, **what))
    current = one.holder == (client, given_s) and one.visible_s is not None and at < given_s + INVISIBLE_S
    if reaches and current:
        one.visible_s = at + INVISIBLE_S + rng.random() * RETURNS_S if extend else None
        one.holder = (client, at) if extend else None
    return op, extend and reaches and current


def _to_the_end(rng, messages, at):
    """Pops and acks until everything is acknowledged."""
    ops = []
    while any(one.visible_s is not None for one in messages):
        at += 0.3
        got = _popped([one for one in messages if one.visible_s is not None and one.visible_s <= at], at, rng, 7)
        ops.append(OpLiteral(at=(at, at + 0.01), pop=got, client=7, invisible_s=INVISIBLE_S))
        for word in got.split():
            name = word.partition("=")[2]
            ops.append(OpLiteral(at=(at + 0.05, at + 0.06), ack=name, client=7))
            next(one for one in messages if one.name == name).visible_s = None
    return ops


def model(seed):
    """A valid history of one queue."""
    rng = random.Random(seed)
    messages, ops, held = [], [], []
    for step in range(STEPS):
        at = 1.0 + step * 0.1
        draw = rng.random()
        if draw < 0.35:
            messages.append(Message(len(messages), at))
            ops.append(OpLiteral(at=(at - 0.02, at), send=messages[-1].name, ok=messages[-1].offset, client=9))
        elif draw < 0.65:
            client = rng.randint(1, 3)
            ops.append(_pop(rng, messages, at, client))
            got = [messages[int(word.partition(":")[2])] for word in (ops[-1].pop or "").split()]
            held = [(who, one, since) for who, one, since in held if who != client or one not in got]
            held += [(client, one, at) for one in got]
        elif held:
            client, one, given_s = held.pop(rng.randrange(len(held)))
            op, kept = _say(rng, messages, at, (client, one, given_s))
            ops.append(op)
            if kept:
                held.append((client, one, at))
    ops += _to_the_end(rng, messages, 1.0 + STEPS * 0.1)
    content = " ".join(f"{one.offset}={one.name}" for one in messages)
    return HistoryLiteral(
        name=f"pop-{seed}",
        rules=(20,),
        about="made by the model",
        ops=tuple(ops),
        expect=Expected(valid=True),
        run=RunLiteral(redelivered_within_s=2.0),
        drain=DrainLiteral(final={0: content}),
    )


def _names(text):
    return [word.partition("=")[2] for word in (text or "").split()]


def _without(op, name):
    if op.pop is None:
        return op
    kept = [word for word in op.pop.split() if not word.endswith(f"={name}")]
    return msgspec.structs.replace(op, pop=" ".join(kept))


def _sent(literal):
    return [op.send for op in literal.ops if op.send is not None]


def _last_s(literal):
    return max(op.at[-1] for op in literal.ops)


def give_one_to_nobody(rng, literal):
    """No pop returns one message, and nobody says anything of it."""
    sent = _sent(literal)
    if not sent:
        return None
    name = rng.choice(sent)
    ops = tuple(_without(op, name) for op in literal.ops if name not in (op.ack, op.extend))
    return msgspec.structs.replace(literal, ops=ops), "undelivered"


def refuse_the_last_ack(rng, literal):
    """A message's only delivery is acknowledged in vain, and it does not come again."""
    once = [name for name in _sent(literal) if sum(_names(op.pop).count(name) for op in literal.ops) == 1]
    if not once:
        return None
    name = rng.choice(once)
    ops = tuple(
        msgspec.structs.replace(op, fail="refused", info=None, at=(op.at[0], op.at[0] + 0.01)) if op.ack == name else op
        for op in literal.ops
    )
    return msgspec.structs.replace(literal, ops=ops), "never-redelivered"


def give_again_after_the_ack(rng, literal):
    """Whatever was acknowledged at the very end comes once more."""
    acked = [op.ack for op in literal.ops if op.client == 7 and op.ack is not None]
    late = {op.extend for op in literal.ops if op.extend is not None}
    if not set(acked) - late:
        return None
    name = rng.choice(sorted(set(acked) - late))
    at = _last_s(literal) + 1
    more = OpLiteral(at=(at, at + 0.1), pop=f"-1={name}", client=8, invisible_s=INVISIBLE_S)
    ack = OpLiteral(at=(at + 0.2, at + 0.3), ack=name, client=8)
    return msgspec.structs.replace(literal, ops=(*literal.ops, more, ack)), "redelivered-after-ack"


def give_to_two(rng, literal):
    """A message of the last pops is given to somebody else at the same moment."""
    last = [op for op in literal.ops if op.client == 7 and op.pop]
    late = {op.extend for op in literal.ops if op.extend is not None}
    both = [(op, name) for op in last for name in _names(op.pop) if name not in late]
    if not both:
        return None
    op, name = rng.choice(both)
    more = OpLiteral(at=(op.at[0], op.at[0] + 0.02), pop=f"-1={name}", client=8, invisible_s=INVISIBLE_S)
    return msgspec.structs.replace(literal, ops=(*literal.ops, more)), "early-redelivery"


def never_come_back_empty(rng, literal):
    """Nobody pops until nothing is left, and nobody ever got an empty answer."""
    if not any(op.pop for op in literal.ops):
        return None
    ops = tuple(op for op in literal.ops if op.pop != "")
    return msgspec.structs.replace(literal, ops=ops, drain=msgspec.structs.replace(literal.drain, pops_end_s=None)), ""


MUTATIONS = (give_one_to_nobody, refuse_the_last_ack, give_again_after_the_ack, give_to_two, never_come_back_empty)

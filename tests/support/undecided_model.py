"""Histories with delayed and transactional messages that nothing is wrong with, and the ways to spoil them.

The model: one queue; plain sends; delayed ones that come at their time or later; transactions that are
committed or rolled back at once, when they are asked about, or never; answers that get lost, after which
the message is there now, later or never. Polls and strong reads see the log as it is.
"""

import random

import msgspec

from chaos.testing.history_files import DrainLiteral, Expected, HistoryLiteral, OpLiteral, Range, RunLiteral

STEPS = 40
DECISIONS = ("commit", "commit", "commit-when-asked", "rollback", "rollback-when-asked", "never")
COMMITTING = ("commit", "commit-when-asked")
PATIENT_S = 121


def _text(log, begin=0):
    return " ".join(f"{offset}={value}" for offset, value in enumerate(log) if offset >= begin)


def _outcome(rng, base, lands, later):
    """A send with an outcome; ``lands``: when it gets there if it does, None if its producer never wants it to."""
    outcome = rng.choices(["ok", "fail", "info"], [8, 1, 1])[0]
    if outcome == "fail":
        return msgspec.structs.replace(base, fail="refused")
    if outcome == "info" and rng.random() < 0.5:
        lands = None
    if lands is not None:
        later.append((lands, base.schedule or base.transact))
    return base if outcome == "ok" else msgspec.structs.replace(base, info="no answer")


def model(seed):
    """A valid history of one queue."""
    rng = random.Random(seed)
    log, later, ops = [], [], []
    for step in range(STEPS):
        at = round(1.0 + step * 0.1, 3)
        for landing in sorted(one for one in later if one[0] <= at):
            later.remove(landing)
            log.append(landing[1])
        base = OpLiteral(at=(round(at - 0.03, 3), round(at + 0.03, 3)), p=100 + step)
        value = f"9:{step}"
        kind = rng.choice(["send", "schedule", "transact", "poll", "read"])
        if kind == "send" or step == 0:
            ops.append(msgspec.structs.replace(base, send=value, ok=len(log)))
            log.append(value)
        elif kind == "schedule":
            due = round(at + rng.uniform(-0.5, 2), 3)
            op = msgspec.structs.replace(base, schedule=value, deliver=due)
            ops.append(_outcome(rng, op, max(at, due) + rng.choice([0, 0.1, 0.5]), later))
        elif kind == "transact":
            decides = rng.choice(DECISIONS)
            op = msgspec.structs.replace(base, transact=value, decides=decides)
            lands = {"commit": at, "commit-when-asked": at + rng.uniform(0.1, 2)}.get(decides)
            ops.append(_outcome(rng, op, lands, later))
        else:
            begin = rng.randint(0, len(log))
            end = len(log) if kind == "read" else rng.randint(begin, len(log))
            asked = Range(begin=begin, got=_text(log[:end], begin), next=end, max=len(log))
            ops.append(msgspec.structs.replace(base, **{kind: asked}))
    log += [value for _, value in sorted(later)]
    return HistoryLiteral(
        name=f"undecided-{seed}",
        rules=(20,),
        about="made by the model",
        ops=tuple(ops),
        run=RunLiteral(),
        expect=Expected(valid=True),
        drain=DrainLiteral(final={0: _text(log)}, max={0: len(log)}, wait_s=12.0, gap_s=PATIENT_S),
    )


def log_of(literal):
    """The values of the final log."""
    return [word.partition("=")[2] for word in literal.drain.final[0].split()]


def _ending(literal, log, **drain):
    changed = msgspec.structs.replace(literal.drain, final={0: _text(log)}, max={0: len(log)}, **drain)
    return msgspec.structs.replace(literal, drain=changed)


def _owed(literal):
    """Values that were acknowledged without an offset and have to be there."""
    return [
        op.schedule or op.transact
        for op in literal.ops
        if (op.schedule or (op.transact and op.decides in COMMITTING)) and not op.fail and not op.info
    ]


def _promised(rng, literal):
    """One more message is acknowledged without an offset, and does not come."""
    at = max(op.at[-1] for op in literal.ops) + 0.1
    base = OpLiteral(at=(at, at + 0.1), p=5000)
    kinds = [{"schedule": "8:0", "deliver": at + 1}, *({"transact": "8:0", "decides": word} for word in COMMITTING)]
    return msgspec.structs.replace(literal, ops=(*literal.ops, msgspec.structs.replace(base, **rng.choice(kinds))))


def forget_for_good(rng, literal):
    """A message that was promised does not come, however long one waits."""
    return _promised(rng, literal), "lost-write"


def look_too_soon(rng, literal):
    """A message that was promised is not there yet, and nobody waits for it."""
    return _ending(_promised(rng, literal), log_of(literal), gap_s=6.0), "drain-incomplete"


def deliver_early(rng, literal):
    """One delayed message should have waited until after the end."""
    read = {
        word.partition("=")[2]
        for op in literal.ops
        for asked in (op.poll, op.read)
        if asked
        for word in asked.got.split()
    }
    early = [op for op in literal.ops if op.schedule in read]
    if not early:
        return None
    chosen = rng.choice(early)
    ops = tuple(msgspec.structs.replace(op, deliver=9.0) if op is chosen else op for op in literal.ops)
    return msgspec.structs.replace(literal, ops=ops), "early-delivery"


def commit_what_was_not(rng, literal):
    """A transaction that nobody committed is in the log."""
    undue = [op.transact for op in literal.ops if op.transact and (op.decides not in COMMITTING or op.fail)]
    return (_ending(literal, [*log_of(literal), rng.choice(undue)]), "G1a") if undue else None


def put_it_again(rng, literal):
    """A message without an offset is there twice."""
    there = [value for value in _owed(literal) if value in log_of(literal)]
    return (_ending(literal, [*log_of(literal), rng.choice(there)]), "duplicate") if there else None


MUTATIONS = (forget_for_good, look_too_soon, deliver_early, commit_what_was_not, put_it_again)

"""Histories of a log that does nothing wrong, as literals, and the ways to spoil them.

The model: clients with operations in flight side by side, effects one after the other, sends without
an answer that land now, later or never, refused sends, replicas that lag, masters that change without
losing anything. Each mutation changes one thing that a named anomaly must be found for.
"""

import random
from operator import itemgetter

import msgspec

from chaos.testing.history_files import (
    DrainLiteral,
    Expected,
    FaultLiteral,
    HistoryLiteral,
    OpLiteral,
    Range,
    Reign,
    RunLiteral,
)


def _times(rng, ready, client):
    invoke = ready[client] + rng.random() * 0.2
    effect = invoke + rng.random() * 0.2
    complete = effect + rng.random() * 0.2
    ready[client] = complete
    return tuple(round(at, 4) for at in (effect, invoke, complete))


def _read(rng, kind, log, cursor, minimum):
    """A read as a broker answers it; from below its minimum it goes on there, with records or without any."""
    start = max(cursor, minimum)
    there = [record for record in log if record[0] >= start]
    if kind != "read":
        there = there[: rng.randint(0, len(there))]
    end = there[-1][0] + 1 if there else start
    if kind == "read":
        end = max([minimum, *(offset + 1 for offset, _ in log)])
    got = " ".join(f"{offset}={value}" for offset, value in there)
    return Range(begin=cursor, got=got, next=max(end, start), max=end if kind == "read" else None, min=minimum or None)


def model(seed, *, retention=False):
    """A history of one or two queues of a log that does nothing wrong.

    With ``retention`` the log's minimum moves up from time to time. Acknowledged messages that are removed before any
    read returned them are unseen.
    """
    rng = random.Random(seed)
    queues, clients = rng.randint(1, 2), rng.randint(2, 5)
    failover_s = rng.choice([None, 2.0])
    ready, processes = [1.0] * clients, list(range(clients))
    plan = sorted((*_times(rng, ready, client := rng.randrange(clients)), client) for _ in range(rng.randint(8, 50)))
    logs = {key: [] for key in range(queues)}
    ends = dict.fromkeys(range(queues), 0)
    late, ops, sequence = [], [], 0
    minimum = dict.fromkeys(range(queues), 0)
    for effect, invoke, complete, client in plan:
        for landing in [one for one in late if one[0] <= effect]:
            late.remove(landing)
            _append(rng, logs, ends, landing[1], landing[2])
        key = rng.randrange(queues)
        if retention and rng.random() < 0.2:
            minimum[key] = rng.randint(minimum[key], ends[key])
        node = "b2" if failover_s is not None and effect > failover_s else "b1"
        base = OpLiteral(at=(invoke, complete), to=key, p=processes[client], client=client, node=node)
        if rng.random() < 0.6:
            value = f"{client}:{sequence}"
            sequence += 1
            ops.append(_send(rng, base, value, effect, (logs, ends, late)))
            if ops[-1].ok is None and ops[-1].fail is None:
                processes[client] += 100  # a process that does not know never returns
        else:
            kind = rng.choice(["poll", "read", "slave_read"])
            visible = logs[key] if kind == "read" else logs[key][: rng.randint(0, len(logs[key]))]
            asked = _read(rng, kind, visible, rng.randint(0, ends[key]) if kind != "poll" else 0, minimum[key])
            ops.append(msgspec.structs.replace(base, **{kind: asked}))
    for _, key, value in sorted(late, key=itemgetter(0)):
        _append(rng, logs, ends, key, value)
    if not any(op.ok is not None for op in ops):
        offset = _append(rng, logs, ends, 0, "77:0")
        ops.append(OpLiteral(at=(60.0, 60.1), send="77:0", ok=offset, p=9999))
    masters = (Reign(node="b1", epoch=1),)
    if failover_s is not None:
        masters = (Reign(node="b1", epoch=1, end=3.0), Reign(node="b2", epoch=2, start=2.0))
    last = {key: max([minimum[key], *(offset + 1 for offset, _ in log)]) for key, log in logs.items()}
    logs = {key: [one for one in log if one[0] >= minimum[key]] for key, log in logs.items()}
    unseen = _never_read(ops, minimum)
    return HistoryLiteral(
        name=f"model-{seed}",
        rules=(1,),
        about="made by the model",
        ops=tuple(ops),
        masters=masters,
        faults=() if failover_s is None else (FaultLiteral(inject=1.5, heal=3.0),),
        run=RunLiteral(keys=queues, replicas_read=True),
        expect=Expected(valid="unknown", anomalies={"unseen": unseen}) if unseen else Expected(valid=True),
        drain=DrainLiteral(
            min=minimum,
            final={key: _text(log) for key, log in logs.items()},
            max=last,
            node=masters[-1].node,
            wait_s=12.0,
            replicas=_copies(rng, logs),
        ),
    )


def _never_read(ops, minimum):
    """How many acknowledged messages were removed before a read returned them."""
    shown = {
        (op.to, value)
        for op in ops
        for asked in (op.poll, op.read, op.slave_read)
        if asked is not None
        for _, value in records(asked.got)
    }
    return sum(op.ok is not None and op.ok < minimum[op.to] and (op.to, op.send) not in shown for op in ops)


def _copies(rng, logs):
    """Each replica's own copies: the whole log, or one that lags."""
    ends = {
        node: {key: rng.choice([len(log), len(log), rng.randint(0, len(log))]) for key, log in logs.items()}
        for node in ("b1", "b2", "b3")
    }
    return {node: {key: _text(logs[key][:end]) for key, end in own.items()} for node, own in ends.items()}


def _send(rng, base, value, effect, state):
    """A send with its outcome, and what became of it in the log."""
    logs, ends, late = state
    outcome = rng.choices(["ok", "fail", "info", "open"], [8, 1, 1, 1])[0]
    if outcome == "ok":
        return msgspec.structs.replace(base, send=value, ok=_append(rng, logs, ends, base.to, value))
    if outcome == "fail":
        return msgspec.structs.replace(base, send=value, fail="refused")
    fate = rng.choice(["never", "now", "late"])
    if fate == "now":
        _append(rng, logs, ends, base.to, value)
    elif fate == "late":
        late.append((effect + rng.random() * 3, base.to, value))
    if outcome == "open":
        return msgspec.structs.replace(base, send=value, at=base.at[:1])
    return msgspec.structs.replace(base, send=value, info="no answer", hint=rng.choice([None, 0, 99]))


def _append(rng, logs, ends, key, value):
    offset = ends[key] + rng.choice([0, 0, 0, 0, 1])
    logs[key].append((offset, value))
    ends[key] = offset + 1
    return offset


def _text(records):
    return " ".join(f"{offset}={value}" for offset, value in records)


def records(text):
    """The (offset, value) pairs of a literal's text."""
    return [(int(offset), value) for offset, _, value in (word.partition("=") for word in text.split())]


def _with_records(literal, change):
    """Every read's records changed by a function of (key, records)."""
    ops = []
    for op in literal.ops:
        changes = {}
        for kind in ("poll", "read", "slave_read"):
            asked = getattr(op, kind)
            if asked is not None:
                got = _text(change(op.to, records(asked.got)))
                changes[kind] = msgspec.structs.replace(asked, got=got)
        ops.append(msgspec.structs.replace(op, **changes))
    final = {key: _text(change(key, records(text))) for key, text in literal.drain.final.items()}
    drain = msgspec.structs.replace(literal.drain, final=final)
    return msgspec.structs.replace(literal, ops=tuple(ops), drain=drain)


def _acked(literal):
    return [op for op in literal.ops if op.ok is not None]


def _extend(literal, key, value):
    """One more record at the end of a queue's final reads."""
    drain = literal.drain
    end = drain.max[key]
    drain = msgspec.structs.replace(
        drain, final={**drain.final, key: f"{drain.final[key]} {end}={value}"}, max={**drain.max, key: end + 1}
    )
    return msgspec.structs.replace(literal, drain=drain)


def without(literal, send):
    """Remove what one operation sent from every read."""
    return _with_records(literal, lambda key, own: [one for one in own if not (key == send.to and one[1] == send.send)])


def drop_an_acknowledged_message(rng, literal):
    """Remove one acknowledged message from every read."""
    return without(literal, rng.choice(_acked(literal))), "lost-write"


def swap_offsets_against_real_time(rng, literal):
    """Exchange the offsets of two acknowledged messages of which one came after the other."""
    pairs = [(a, b) for a in _acked(literal) for b in _acked(literal) if a.to == b.to and a.at[1] < b.at[0]]
    if not pairs:
        return None
    a, b = rng.choice(pairs)
    other = {a.send: b.send, b.send: a.send}
    offset = {a.send: b.ok, b.send: a.ok}
    swapped = _with_records(literal, lambda _, own: [(at, other.get(value, value)) for at, value in own])
    ops = tuple(
        msgspec.structs.replace(op, ok=offset[op.send]) if op.ok is not None and op.send in offset else op
        for op in swapped.ops
    )
    return msgspec.structs.replace(swapped, ops=ops), "nonlinearizable-offset"


def copy_a_value(rng, literal):
    """Put an acknowledged message at a second offset."""
    op = rng.choice(_acked(literal))
    return _extend(literal, op.to, op.send), "duplicate"


def alter_a_value(rng, literal):
    """Let every read return something else in place of one acknowledged message."""
    op = rng.choice(_acked(literal))
    return _with_records(
        literal, lambda key, own: [(at, "55:5" if key == op.to and value == op.send else value) for at, value in own]
    ), "phantom"


def read_a_failed_send(rng, literal):
    """Put a refused message at the end of the log."""
    failed = [op for op in literal.ops if op.fail is not None]
    if not failed:
        return None
    op = rng.choice(failed)
    return _extend(literal, op.to, op.send), "G1a"


def damage_a_record(rng, literal):
    """Spoil the body of one acknowledged message."""
    op = rng.choice(_acked(literal))
    return _with_records(
        literal, lambda key, own: [(at, "?" if key == op.to and value == op.send else value) for at, value in own]
    ), "corrupt"


def give_an_offset_twice(rng, literal):
    """Acknowledge one more message at an offset that is taken."""
    op = rng.choice(_acked(literal))
    again = msgspec.structs.replace(op, send="88:0", p=8888)
    return msgspec.structs.replace(literal, ops=(*literal.ops, again)), "inconsistent-offsets"


def cut_the_drain(rng, literal):
    """Leave out the second pass."""
    drain = msgspec.structs.replace(literal.drain, passes=1)
    return msgspec.structs.replace(literal, drain=drain), "drain-incomplete"


def lower_an_epoch(rng, literal):
    """Let the last master claim a higher epoch first, early in the run."""
    node = literal.masters[-1].node
    behind = (
        msgspec.structs.replace(one, start=max(one.start, 2.0)) if one.node == node else one for one in literal.masters
    )
    masters = (Reign(node=node, epoch=9, start=0.0, end=1.0), *behind)
    return msgspec.structs.replace(literal, masters=masters), "epoch-regression"


def share_an_epoch(rng, literal):
    """Let another node claim the last epoch."""
    last = literal.masters[-1]
    masters = (Reign(node="b3", epoch=last.epoch, start=last.start, end=last.start), *literal.masters)
    return msgspec.structs.replace(literal, masters=masters), "dual-leader"


def end_a_strong_read_early(rng, literal):
    """A strong read after everything that misses the last acknowledged message of its queue."""
    op = max(_acked(literal), key=lambda op: op.ok)
    last_s = max(one.at[-1] for one in literal.ops)
    log = [one for one in records(literal.drain.final[op.to]) if one[0] < op.ok]
    asked = Range(begin=0, got=_text(log), next=op.ok, max=op.ok)
    read = OpLiteral(at=(last_s + 0.1, last_s + 0.2), read=asked, to=op.to, p=7777)
    return msgspec.structs.replace(literal, ops=(*literal.ops, read)), "stale-tail"


def fork_a_replica(rng, literal):
    """Let one replica hold something else, or nothing, at an offset that another holds and that it covers."""
    copies = literal.drain.replicas
    places = [
        (node, key, i)
        for node, own in copies.items()
        for key, text in own.items()
        for i in range(len(records(text)))
        if sum(len(records(other[key])) > i for other in copies.values()) > 1
    ]
    if not places:
        return None
    node, key, at = rng.choice(places)
    own = records(copies[node][key])
    if rng.random() < 0.3 and at < len(own) - 1:
        del own[at]
    else:
        own[at] = (own[at][0], rng.choice(["?", "66:6", next((op.send for op in literal.ops if op.send), "66:6")]))
        if own == records(copies[node][key]):
            return None
    replicas = {**copies, node: {**copies[node], key: _text(own)}}
    drain = msgspec.structs.replace(literal.drain, replicas=replicas)
    return msgspec.structs.replace(literal, drain=drain), "replica-fork"


def suspend_the_others(rng, literal):
    """Prove that both other replicas stood still while one message was acknowledged, where two are promised."""
    op = rng.choice(_acked(literal))
    others = tuple(node for node in ("b1", "b2", "b3") if node != op.node)
    fault = FaultLiteral(id=7, name="major-suspend", targets=others, inject=op.at[0] - 0.001, heal=op.at[1] + 0.001)
    run = msgspec.structs.replace(literal.run, min_in_sync=2)
    return msgspec.structs.replace(literal, faults=(*literal.faults, fault), run=run), "min-in-sync"


def silence_a_replica(rng, literal):
    """One replica's copies are refused."""
    replicas = {**literal.drain.replicas, rng.choice(["b1", "b2", "b3"]): None}
    return msgspec.structs.replace(literal, drain=msgspec.structs.replace(literal.drain, replicas=replicas))


MUTATIONS = (
    drop_an_acknowledged_message,
    swap_offsets_against_real_time,
    copy_a_value,
    alter_a_value,
    read_a_failed_send,
    damage_a_record,
    give_an_offset_twice,
    cut_the_drain,
    lower_an_epoch,
    share_an_epoch,
    end_a_strong_read_early,
    fork_a_replica,
    suspend_the_others,
)

"""The operations of a history literal: what was asked, what was answered, and the final reads that are added to it."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final, NamedTuple

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.errors import HistoryError
from chaos.core.op import Completion, Invocation, Type
from chaos.models.log.operations import (
    Ack,
    Commit,
    Extend,
    Given,
    GoesOn,
    Placed,
    Pop,
    ReadCopy,
    ReadFrom,
    Schedule,
    Send,
    Transact,
    placed_at,
    records_given,
    value_of,
)
from chaos.models.log.transaction import Decision
from chaos.models.log.words import HOLDS, SENDS, F, Record, Value
from chaos.storage.runinfo import NodeInfo
from chaos.testing.history_literal import DrainLiteral, HistoryLiteral, OpLiteral, Range, Sends

ORIGIN_NS: Final = 1_000 * NS_PER_S
"""Second 0 of a literal."""

NODES: Final = (
    NodeInfo(name="c1", role="controller", address="198.18.0.11"),
    NodeInfo(name="c2", role="controller", address="198.18.0.12"),
    NodeInfo(name="b1", role="broker", address="198.18.0.21"),
    NodeInfo(name="b2", role="broker", address="198.18.0.22"),
    NodeInfo(name="b3", role="broker", address="198.18.0.23"),
)
TIMEOUT_S: Final = 3.0
DRAIN_CLIENT: Final = 900


def ns_of(at_s: float) -> int:
    """A second of the literal on the run's clock."""
    return ORIGIN_NS + round(at_s * NS_PER_S)


def _value(text: str) -> Value:
    writer, sequence = text.split(":")
    return Value(int(writer), int(sequence))


def _records(text: str) -> list[Record]:
    pairs = (word.split("=") for word in text.split())
    return [Record(int(offset), None if value == "?" else _value(value)) for offset, value in pairs]


class Act(NamedTuple):
    """One operation with all its literal facts: what a stream is written from."""

    invocation: Invocation
    completion: Completion | None
    invoke_ns: int
    complete_ns: int
    scheduled_ns: int
    worker: int = 0
    pinned: bool = False


def _row(op: OpLiteral, row: Sends) -> Iterator[OpLiteral]:
    for i in range(row.count):
        at = round(row.start + i * row.every_s, 9)
        offset = None if row.offset is None else row.offset + i
        yield msgspec.structs.replace(
            op,
            sends=None,
            at=(at, round(at + row.took_s, 9)),
            due=at - row.late_s,
            send=f"{op.writer}:{row.first + i}",
            ok=offset if row.outcome == "ok" else None,
            fail="refused" if row.outcome == "fail" else None,
            info="no answer" if row.outcome == "info" else None,
            not_sent=row.outcome == "not-sent",
        )


def _sent(op: OpLiteral, f: F) -> str | None:
    """The value that an operation of this kind sends, or that it is about."""
    names = {F.SEND: op.send, F.SCHEDULE: op.schedule, F.TRANSACT: op.transact, F.ACK: op.ack, F.EXTEND: op.extend}
    return names.get(f)


def _argument(op: OpLiteral, f: F, asked: Range) -> Any:  # noqa: PLR0911 - a line for each kind
    """The struct that the word takes; None if it takes none."""
    text = _sent(op, f)
    value = Value(-1, -1) if text is None else _value(text)
    place = -1 if asked.begin is None else asked.begin
    invisible_ns = round(op.invisible_s * NS_PER_S)
    if f is F.SEND:
        return Send(value=value)
    if f is F.SCHEDULE:
        if op.deliver is None:
            raise HistoryError(f"a schedule without the time to deliver it: {op}")
        return Schedule(value=value, not_before_ns=ns_of(op.deliver))
    if f is F.TRANSACT:
        return Transact(value=value, decision=Decision[op.decides.upper().replace("-", "_")])
    if f is F.ACK:
        return Ack(value=value, offset=place)
    if f is F.EXTEND:
        return Extend(value=value, offset=place, invisible_ns=invisible_ns)
    if f is F.POP:
        return Pop(invisible_ns=invisible_ns)
    if f is F.COMMIT:
        return Commit(offset=place)
    return None if f in (F.DRAIN, F.COMMITTED_READ) else ReadFrom(offset=place)


def _kind(op: OpLiteral) -> tuple[F, Range]:
    for f in SENDS:
        if _sent(op, f) is not None:
            return f, Range()
    for f, asked in ((F.POLL, op.poll), (F.READ, op.read), (F.SLAVE_READ, op.slave_read), (F.DRAIN, op.drain)):
        if asked is not None:
            return f, asked
    for f, said in ((F.POP, op.pop), (F.ACK, op.ack), (F.EXTEND, op.extend)):
        if said is not None:
            return f, Range(got=said if f is F.POP else "")
    if op.commit is not None:
        return F.COMMIT, Range(begin=op.commit)
    if op.committed_read is not None:
        return F.COMMITTED_READ, Range(next=None if op.committed_read == "none" else op.committed_read)
    raise HistoryError(f"an operation that is neither send nor read, pop or commit, nor about a popped message: {op}")


def _result(op: OpLiteral, f: F, asked: Range, kind: Type) -> Any:
    """What the client was given."""
    if f in SENDS:
        return Placed(op.ok if kind is Type.OK else op.hint)
    if f is F.COMMITTED_READ:
        return GoesOn(asked.next)
    if f in (F.COMMIT, *HOLDS):
        return None
    records = _records(asked.got)
    if f is F.POP:
        return Given(records)
    after = max((record.offset + 1 for record in records), default=asked.begin or 0)
    return Given(
        records,
        next_offset=asked.next if asked.next is not None else after,
        min_offset=asked.min,
        max_offset=asked.max if asked.max is not None or f is F.POLL else (asked.next or after),
    )


def _completion(op: OpLiteral, f: F, asked: Range) -> Completion | None:
    if op.not_sent:
        return Completion(type=Type.NOT_SENT, error="bound on operations in flight reached")
    if len(op.at) == 1:
        return None
    kind = Type.FAIL if op.fail is not None else Type.INFO if op.info is not None else Type.OK
    return Completion(type=kind, node=op.node, result=_result(op, f, asked, kind), error=op.fail or op.info)


def _act(op: OpLiteral, process: int) -> Act:
    f, asked = _kind(op)
    invocation = Invocation(
        process=process if op.p is None else op.p,
        client=op.client,
        f=f,
        key=op.to,
        deadline_ns=ns_of(op.at[0] + TIMEOUT_S),
        argument=_argument(op, f, asked),
    )
    due = op.at[0] if op.due is None else op.due
    complete_ns = ns_of(op.at[-1])
    return Act(invocation, _completion(op, f, asked), ns_of(op.at[0]), complete_ns, ns_of(due), op.w, op.pinned)


def acts_of(literal: HistoryLiteral) -> list[Act]:
    """The operations of the load, without the final reads that are added by default."""
    flat = [one for op in literal.ops for one in (_row(op, op.sends) if op.sends is not None else (op,))]
    return [_act(op, 1000 + i) for i, op in enumerate(flat)]


def _known_content(acts: list[Act], key: int) -> dict[int, Value]:
    """What the log of a queue must hold if nothing went wrong; the latest word on an offset wins."""
    content: dict[int, Value] = {}
    for act in sorted(acts, key=lambda act: act.complete_ns):
        done = act.completion
        if done is None or act.invocation.key != key or done.type is not Type.OK:
            continue
        value, offset = value_of(act.invocation), placed_at(done)
        if value is not None and offset is not None:
            content[offset] = value
        content.update(
            {one.offset: one.value for one in records_given(done).records if one.value is not None and one.offset >= 0}
        )
    return content


def final_reads(literal: HistoryLiteral, drain: DrainLiteral, acts: list[Act], begin_s: float) -> list[Act]:
    """The final reads."""
    out = []
    for number in range(drain.passes):
        for key in range(literal.run.keys):
            if key in drain.skip:
                continue
            text = " ".join(f"{offset}={value}" for offset, value in sorted(_known_content(acts, key).items()))
            text = drain.final.get(key, text)
            if number == 0:
                text = drain.first.get(key, text)
            records = _records(text)
            lowest = drain.min.get(key, 0)
            end = max((record.offset + 1 for record in records), default=lowest)
            at = begin_s + number * drain.gap_s
            highest = drain.max.get(key, end)
            asked = Range(got=text, next=drain.next.get(key, highest), min=lowest, max=highest)
            op = OpLiteral(at=(at, at + 0.02), drain=asked, to=key, client=DRAIN_CLIENT, node=drain.node)
            out.append(_act(op, 100_000 + number * 1000 + key))
            if _has_group(literal, acts) and key not in drain.skip_committed:
                answer = drain.committed.get(key, _last_commit(acts, key))
                last = OpLiteral(
                    at=(at + 0.03, at + 0.04),
                    committed_read="none" if answer is None else answer,
                    to=key,
                    client=DRAIN_CLIENT,
                    node=drain.node,
                )
                out.append(_act(last, 200_000 + number * 1000 + key))
    return out


def last_pops(literal: HistoryLiteral, drain: DrainLiteral, acts: list[Act], begin_s: float) -> list[Act]:
    """Where messages are popped: pops that come back empty, one of each queue."""
    if drain.pops_end_s is None or not any(act.invocation.f is F.POP for act in acts):
        return []
    at = begin_s + drain.pops_end_s
    ops = (OpLiteral(at=(at, at + 0.02), pop="", to=key, client=DRAIN_CLIENT) for key in range(literal.run.keys))
    return [_act(op, 300_000 + op.to) for op in ops]


def replica_copies(literal: HistoryLiteral, drain: DrainLiteral, acts: list[Act], begin_s: float) -> list[Act]:
    """The reads of replicas' own copies, behind the final reads."""
    out = []
    for number, (node, contents) in enumerate(drain.replicas.items()):
        position = [one.name for one in NODES].index(node)
        for key in range(literal.run.keys):
            known = " ".join(f"{offset}={value}" for offset, value in sorted(_known_content(acts, key).items()))
            at = begin_s + number * 0.1 + key * 0.01
            base = OpLiteral(at=(at, at + 0.005), to=key, client=DRAIN_CLIENT, node=node, drain=Range())
            if contents is None:
                act = _act(msgspec.structs.replace(base, fail="refused"), 300_000 + number * 1000 + key)
            else:
                asked = Range(got=contents.get(key, known), min=drain.min.get(key, 0))
                op = msgspec.structs.replace(base, drain=asked, fail=drain.replicas_failed.get(node))
                act = _act(op, 300_000 + number * 1000 + key)
            invocation = msgspec.structs.replace(act.invocation, f=F.REPLICA, argument=ReadCopy(node=position))
            out.append(act._replace(invocation=invocation))
    return out


def _has_group(literal: HistoryLiteral, acts: list[Act]) -> bool:
    """Whether the clients are a consumer group."""
    kinds = {act.invocation.f for act in acts}
    return F.COMMIT in kinds or F.COMMITTED_READ in kinds or F.COMMIT.word in literal.run.mix


def _last_commit(acts: list[Act], key: int) -> int | None:
    """Where the group must go on if nothing went wrong and no commit is in doubt."""
    commits = [
        (act.complete_ns, act.invocation.argument.offset)
        for act in acts
        if act.invocation.f is F.COMMIT
        and act.invocation.key == key
        and act.completion is not None
        and act.completion.type is Type.OK
    ]
    return max(commits, key=itemgetter(0))[1] if commits else None

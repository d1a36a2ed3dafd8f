"""The Kafka anomalies once more, slow and plain, from their definitions: what the fast checker is compared with.

Works on records as dicts (``kafka_literals.columns``), never on columns; quadratic loops are meant. Only the choice of
one value where an offset has several is shared with the checker, because any choice is right.
"""

from collections import defaultdict
from itertools import pairwise, product
from typing import Any

from checkers.cycles.hash_order import first_of

NEVER = 10**9


class Op:
    """A client's completed or open operation, with its sends and polls in order: (key, value, offset)."""

    def __init__(self, record: dict[str, Any], *, row: int, invoke: int, still_open: bool) -> None:
        self.index, self.process, self.f = record["index"], record["process"], record["f"]
        self.type = "info" if still_open else record["type"]
        self.end, self.begin, self.open = row, invoke, still_open
        self.sends: list[tuple[Any, int, int | None]] = []
        self.polls: list[tuple[Any, int, int | None]] = []
        self.polled_keys: list[Any] = []
        self.named = list(record["value"]) if self.f in ("assign", "subscribe") else []
        self.rebalanced = {key for event in record.get("rebalance-log", []) for key in event["keys"]}
        self.rewinds = bool(record.get("seek-to-beginning?"))
        self.silent = False
        if self.f not in ("assign", "subscribe"):
            self._take(record["value"] or [])

    def _take(self, value: list[Any]) -> None:
        for what, *rest in value:
            if what == "send" and self.f in ("send", "txn"):
                key, sent = rest
                offset, sent = sent if isinstance(sent, (list, tuple)) else (None, sent)
                self.sends.append((key, sent, offset))
            elif what == "poll" and rest and self.f in ("poll", "txn") and not self.open:
                self.silent = True
                for key, pairs in rest[0].items():
                    self.polled_keys.append(key)
                    self.polls += [(key, v, o) for o, v in pairs]
        self.silent = self.silent and not self.polls

    def sent(self, key: Any) -> list[int]:
        return [v for k, v, _ in self.sends if k == key]

    def polled(self, key: Any) -> list[int]:
        return [v for k, v, _ in self.polls if k == key]


def operations(records: list[dict[str, Any]]) -> list[Op]:
    """Completions, and invocations nobody completed, in order."""
    pending: dict[int, int] = {}
    begun: dict[int, int] = {}
    for row, record in enumerate(records):
        process = record["process"]
        if record["type"] == "invoke":
            pending[process] = row
        elif process in pending:
            begun[row] = pending.pop(process)
    invoked = set(begun.values())
    out = []
    for row, record in enumerate(records):
        if record["type"] != "invoke":
            out.append(Op(record, row=row, invoke=begun.get(row, NEVER), still_open=False))
        elif row not in invoked:
            out.append(Op(record, row=row, invoke=row, still_open=True))
    return out


class Brute:
    """All anomalies of a history: ``found`` maps names to lists of canonical bodies, to counts for cycles."""

    def __init__(self, records: list[dict[str, Any]], *, ww_deps: bool) -> None:
        self.ops = operations(records)
        self.found: dict[str, Any] = defaultdict(list)
        self.keys = list(
            {k: None for op in self.ops for k, *_ in op.sends + op.polls}
            | {k: None for op in self.ops for k in op.polled_keys}
        )
        self.ok_read = {(k, v) for op in self.ops if op.type == "ok" for k, v, _ in op.polls}
        self.writer: dict[tuple[Any, int], Op] = {}
        for op in sorted(self.ops, key=lambda op: (not op.open, op.end)):
            for k, v, _ in op.sends:
                self.writer[k, v] = op
        self.index: dict[Any, dict[int, int]] = {}
        self.picked: dict[Any, list[int]] = {}
        for key in self.keys:
            self._log(key)
        self._values()
        self._within()
        self._across()
        self._real_time()
        self._cycles(ww_deps)

    def committed(self, op: Op) -> bool:
        return op.type == "ok" or (op.type == "info" and any((k, v) in self.ok_read for k, v, _ in op.sends))

    def _log(self, key: Any) -> None:
        log: dict[int, set[int]] = defaultdict(set)
        for op in self.ops:
            for k, v, o in op.polls + (op.sends if self.committed(op) else []):
                if k == key and o is not None:
                    log[o].add(v)
        offsets = sorted(log)
        values = [log[o] for o in offsets]
        self.picked[key] = [first_of(vs) for vs in values]
        self.index[key] = {v: i for i, v in enumerate(self.picked[key])}
        spots: dict[int, list[int]] = defaultdict(list)
        for i, vs in enumerate(values):
            for v in vs:
                spots[v].append(i)
            if len(vs) > 1:
                self.found["inconsistent-offsets"].append([key, offsets[i], i, sorted(vs)])
        for v, where in spots.items():
            if len(where) > 1:
                self.found["duplicate"].append([key, v, len(where), [offsets[i] for i in where]])
        read = {v for k, v in self.ok_read if k == key}
        bound = max((spots[v][0] for v in read if v in spots), default=-1)
        for v, where in spots.items():
            writer = self.writer.get((key, v))
            if where[-1] <= bound and v not in read and writer and self.committed(writer):
                self.found["lost-write"].append([key, v, where[0], bound])
        self._late(key, offsets, spots)
        self._stale(key, offsets, values, spots)

    def shown(self, key: Any, value: int) -> int:
        """The first ok record that sent or polled a value and knew its offset."""
        return min(
            (
                op.end
                for op in self.ops
                if op.type == "ok"
                for k, v, o in op.sends + op.polls
                if (k, v) == (key, value) and o is not None
            ),
            default=NEVER,
        )

    def _late(self, key: Any, offsets: list[int], spots: dict[int, list[int]]) -> None:
        for i, v in enumerate(self.picked[key]):
            writer = self.writer.get((key, v))
            if writer is None or writer.type == "fail" or writer.begin == NEVER or len(spots[v]) > 1:
                continue
            if any(self.shown(key, w) < writer.begin for w in self.picked[key][i + 1 :]):
                self.found["nonlinearizable-offset"].append([key, offsets[i]])

    def _stale(self, key: Any, offsets: list[int], values: list[set[int]], spots: dict[int, list[int]]) -> None:
        for op in self.ops:
            if op.type != "ok" or op.begin == NEVER or op.f not in ("poll", "txn"):
                continue
            named = key in op.polled_keys and not op.polled(key)
            owned, reached = False, -1
            for old in self.ops:
                if old.process != op.process or old.end >= op.end:
                    continue
                if old.f in ("assign", "subscribe") and old.type in ("ok", "info") and not old.open:
                    has = key in old.named
                    if not has or (old.type == "ok" and old.f == "assign" and old.rewinds):
                        reached = -1
                    if not has:
                        owned = False
                    elif old.type == "ok" and old.f == "assign":
                        owned = True
                if old.type == "ok":
                    reached = max([reached, *(spots[v][-1] for v in old.polled(key) if v in spots)])
            if not (named or (op.silent and owned and reached < 0)):
                continue
            if any(self.shown(key, v) < op.begin for v in self.picked[key][reached + 1 :]):
                self.found["stale-tail"].append([key, op.index])

    def _values(self) -> None:
        failed = {(k, v) for op in self.ops if op.type == "fail" for k, v, _ in op.sends}
        phantoms: dict[tuple[Any, int], int] = {}
        for op in self.ops:
            for k, v, _ in op.polls:
                if op.type == "ok" and (k, v) in failed:
                    self.found["G1a"].append([k, v, self.writer[k, v].index, op.index])
                if (k, v) not in self.writer:
                    phantoms.setdefault((k, v), op.index)
            own = [k for k in dict.fromkeys(k for k, *_ in op.sends) if set(op.sent(k)) & set(op.polled(k))]
            if own:
                both = set(op.sent(own[0])) & set(op.polled(own[0]))
                self.found["precommitted-read"].append([own[0], first_of(both), op.index])
        self.found["phantom"] = [[k, v, index] for (k, v), index in phantoms.items()]
        acked = {(k, v) for op in self.ops if op.type == "ok" for k, v, _ in op.sends}
        self.found["unseen"] = [[k, v] for k, v in acked - self.ok_read]

    def _delta(self, key: Any, a: int | None, b: int | None) -> int:
        i, j = self.index[key].get(a), self.index[key].get(b)  # type: ignore[arg-type]
        return 1 if i is None or j is None else j - i

    def _between(self, key: Any, a: int, b: int) -> list[int]:
        return self.picked[key][self.index[key][a] + 1 : self.index[key][b]]

    def _within(self) -> None:
        for op, key in product(self.ops, self.keys):
            for what, values in (("send", op.sent(key)), ("poll", op.polled(key))):
                if what == "poll" and key in op.rebalanced:
                    continue
                for a, b in pairwise(values):
                    delta = self._delta(key, a, b)
                    if delta > 1:
                        self.found[f"int-{what}-skip"].append([key, [a, b], delta, self._between(key, a, b), op.index])
                    elif delta < 1:
                        self.found[f"int-nonmonotonic-{what}"].append([key, [a, b], delta, op.index])

    def _across(self) -> None:
        for process in {op.process for op in self.ops}:
            reads: dict[Any, Op] = {}
            sends: dict[Any, Op] = {}
            for op in (op for op in self.ops if op.process == process):
                if op.f in ("assign", "subscribe"):
                    if op.type in ("ok", "info") and not op.open:
                        reads = {k: v for k, v in reads.items() if k in op.named}
                        sends = {k: v for k, v in sends.items() if k in op.named}
                    continue
                for key in dict.fromkeys(op.polled_keys):
                    self._next_poll(key, reads.get(key), op)
                    if op.type == "ok":
                        reads[key] = op
                for key in dict.fromkeys(k for k, *_ in op.sends):
                    if op.type in ("ok", "info"):
                        self._next_send(key, sends.get(key), op)
                        sends[key] = op

    def _next_poll(self, key: Any, last: Op | None, op: Op) -> None:
        if last is None or not last.polled(key) or not op.polled(key):
            return
        a, b = last.polled(key)[-1], op.polled(key)[0]
        delta, pair = self._delta(key, a, b), [last.index, op.index]
        if delta > 1:
            self.found["poll-skip"].append([key, delta, pair, self._between(key, a, b)])
        elif delta < 1:
            self.found["nonmonotonic-poll"].append([key, [a, b], delta, pair])

    def _next_send(self, key: Any, last: Op | None, op: Op) -> None:
        if last is not None:
            a, b = last.sent(key)[-1], op.sent(key)[0]
            if (delta := self._delta(key, a, b)) < 1:
                self.found["nonmonotonic-send"].append([key, [a, b], delta, [last.index, op.index]])

    def _real_time(self) -> None:
        ops = [op for op in self.ops if op.f in ("send", "poll", "txn")]
        self.rt = {(a, b) for a, b in product(ops, ops) if a.type == "ok" and b.begin != NEVER and a.end < b.begin}

    def _cycles(self, ww_deps: bool) -> None:
        wr = {(self.writer[k, v], op) for op in self.ops for k, v, _ in op.polls if (k, v) in self.writer}
        ww = set()
        if ww_deps:
            for key, order in self.picked.items():
                for v, i in self.index[key].items():
                    before, after = self.writer.get((key, order[i - 1])), self.writer.get((key, v))
                    if i > 0 and before and after:
                        ww.add((before, after))
        wr, ww = ({(a, b) for a, b in edges if a is not b} for edges in (wr, ww))
        if self.ops and not wr and not ww and not {(a, b) for a, b in self.rt if not b.open}:
            self.found["empty-transaction-graph"] = 1
        for part in components(wr | ww | self.rt):
            kinds = []
            if components({e for e in ww if set(e) <= part}):
                kinds = ["G0", "PL-1-cycle-exists"]
            else:
                if components({e for e in ww | wr if set(e) <= part}):
                    kinds += ["G1c", "PL-2-cycle-exists"]
                if components({e for e in ww | self.rt if set(e) <= part}):
                    kinds += ["G0-realtime", "strong-PL-1-cycle-exists"]
                kinds = kinds or ["G1c-realtime", "strong-PL-2-cycle-exists"]
            for kind in kinds:
                self.found[kind] = (self.found[kind] or 0) + 1


def components(edges: set[tuple[Op, Op]]) -> list[set[Op]]:
    """The strongly connected parts with more than one member, by who reaches whom."""
    after: dict[Op, set[Op]] = defaultdict(set)
    for a, b in edges:
        after[a].add(b)
    reach: dict[Op, set[Op]] = {}
    for start in list(after):
        seen, todo = set(), [start]
        while todo:
            for b in after.get(todo.pop(), ()):
                if b not in seen:
                    seen.add(b)
                    todo.append(b)
        reach[start] = seen
    out: list[set[Op]] = []
    for op, seen in reach.items():
        if op in seen and not any(op in part for part in out):
            out.append({other for other in seen if op in reach.get(other, ())} | {op})
    return out


def brute(records: list[dict[str, Any]], *, ww_deps: bool = False) -> dict[str, Any]:
    """Names with their sorted canonical bodies, or the number of cycles."""
    found = Brute(records, ww_deps=ww_deps).found
    return {name: sorted(what, key=repr) if isinstance(what, list) else what for name, what in found.items() if what}

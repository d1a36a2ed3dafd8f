"""Read atomic and causal consistency, each decided by whether an order of commits can exist.

The anomalies of the other models need to know in which order a key took its values. Of registers that is seldom known.
Here the reads themselves force steps of an order (``checkers.txn.forced_order``); a model holds if these, with who saw
whom, go round nowhere.
"""

from collections import deque
from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from chaos.basics.name_lists import join_names
from chaos.core.op import Type
from checkers.cycles.components import Arrows, components, join_arrows
from checkers.cycles.shapes import Budget, Relation, Shape, shortest, steps_of
from checkers.history.columns import Ints, Mask
from checkers.txn.anomaly_cases import EXAMPLES
from checkers.txn.dependencies import Dependencies
from checkers.txn.explain import Explainer, Instance, Step
from checkers.txn.forced_order import (
    NO_FORCED,
    STEPS,
    Forced,
    OutOfStepsError,
    of_causal,
    of_read_atomic,
    order_of,
)
from checkers.txn.models import CAUSAL, COMMIT_ORDER_CYCLE
from checkers.txn.transactions import Transactions
from checkers.txn.visibility import Visibility

SEARCHED: Final = 2_000_000
"""Steps of the searches for smallest cycles and for ways; what is not found by then is only known to exist."""
_MEMBERS: Final = 32
_NAMED: Final = 4
_SHAPE: Final = Shape(Relation.WW | Relation.WR | Relation.RW | Relation.PROCESS)
_DISAGREE: Final = (
    "no one order of transactions explains what all processes read together; causal lets each process have an order of "
    "its own, and whether there are such orders is not decided"
)
_TOO_MUCH: Final = "the search for an order of commits took too many steps and gave up"


class Broken(NamedTuple):
    """What one model shows. ``number``: circles. ``told``: some of them. ``doubt``: why it is undecided, else empty."""

    model: str
    number: int
    told: tuple[Instance, ...]
    doubt: str = ""

    @property
    def name(self) -> str:
        """The name of the anomaly."""
        return COMMIT_ORDER_CYCLE[self.model]


class Group(NamedTuple):
    """Transactions that come before each other by some of the forced steps. ``known``: whether known ww count too."""

    members: Ints
    forced: Forced
    known: bool


def sessions_of(transactions: Transactions, took_part: Mask) -> Arrows:
    """Each process's transactions, one to the next; nothing follows one of which nobody knows when it took effect."""
    t = transactions
    own = np.flatnonzero(took_part)
    own = own[np.argsort(t.process[own], kind="stable")]
    ok = t.type[own] == Type.OK
    place = np.maximum.accumulate(np.where(ok, np.arange(len(own)), -1))
    before = np.concatenate((np.full(1, -1, dtype=np.int64), place[:-1]))[: len(own)]
    at = np.flatnonzero(before >= 0)
    source, target = own[before[at]], own[at]
    same = t.process[source] == t.process[target]
    return Arrows(source[same], target[same])


class WeakModels:
    """The judge of the models that an order of commits decides.

    Args:
        transactions: all.
        seen: what they saw of each other.
        ordered: known orders of writes of a key (ww).
        explainer: of dependencies.
        steps: of one search over all keys.
    """

    def __init__(
        self,
        transactions: Transactions,
        seen: Visibility,
        ordered: Dependencies,
        explainer: Explainer,
        steps: int = STEPS,
    ) -> None:
        self.t, self.seen, self.ordered, self.explainer, self.steps = transactions, seen, ordered, explainer, steps
        self.words = explainer.words
        self.budget = Budget(SEARCHED)

    def look_at(self, model: str) -> Broken:
        """Whether a model holds."""
        try:
            groups, doubt = self.groups(model)
        except OutOfStepsError:
            return Broken(model, 0, (), _TOO_MUCH)
        groups.sort(key=lambda one: len(one.members))
        told = tuple(self._told(one, self._sessions(model)) for one in groups[:EXAMPLES])
        return Broken(model, len(groups), told, doubt)

    def groups(self, model: str) -> tuple[list[Group], str]:
        """The transactions that come before each other under a model, and why it is undecided, else empty.

        Raises:
            OutOfStepsError: there is more to be compared than was asked for.
        """
        saw = join_arrows(self.seen.arrows, self._sessions(model))
        forced = self._forced(model, saw)
        known = Arrows(self.ordered.source, self.ordered.target)
        every = join_arrows(saw, known, forced.arrows(self.seen.writes))
        label, nodes = _cyclic(every, self.seen.size + self.seen.points, self.seen.size)
        if model != CAUSAL:
            return [Group(one, forced, known=True) for one in _by_label(label, nodes)], ""
        groups = list(self._of_one_process(saw, forced, label, nodes))
        return groups, _DISAGREE if len(nodes) and not groups else ""

    def _sessions(self, model: str) -> Arrows:
        """The order of processes where a model knows it."""
        none = np.empty(0, dtype=np.int64)
        return sessions_of(self.t, self.seen.took_part) if model == CAUSAL else Arrows(none, none)

    def _forced(self, model: str, saw: Arrows) -> Forced:
        if model == "read-atomic":
            return of_read_atomic(self.seen)
        order = order_of(self.seen, saw)
        whole = len(order) == self.seen.size + self.seen.points
        return of_causal(self.seen, saw, order, self.steps) if whole else NO_FORCED

    def _of_one_process(self, saw: Arrows, forced: Forced, label: Ints, nodes: Ints) -> Iterator[Group]:
        """Circles that the reads of one process alone force; a component is told of once."""
        left = np.zeros(int(label.max(initial=0)) + 1, dtype=np.bool_)
        left[label[nodes]] = True
        own = np.flatnonzero(left[label])
        place = np.full(len(label), -1, dtype=np.int64)
        place[own] = np.arange(len(own))
        transactions = int(np.searchsorted(own, self.seen.size))
        saw = _within(saw, label, left)
        steps = forced.arrows(self.seen.writes)
        forced = forced.only((label[steps.source] == label[steps.target]) & left[label[steps.source]])
        process, most = self.t.process[forced.reader], max(1, self.steps // max(1, len(own)))
        for one in (None, *np.unique(process)[:most].tolist()):
            some = NO_FORCED if one is None else forced.only(np.flatnonzero(process == one))
            source, target = join_arrows(saw, some.arrows(self.seen.writes))
            finer, members = _cyclic(Arrows(place[source], place[target]), len(own), transactions)
            for group in _by_label(finer, members):
                whole = label[own[group[0]]]
                if left[whole]:
                    left[whole] = False
                    yield Group(own[group], some, known=False)
            if not left.any():
                return

    @cached_property
    def by_reader(self) -> Ints:
        """The pairs, reader after reader."""
        return np.argsort(self.seen.pairs.reader, kind="stable")

    def _told(self, group: Group, sessions: Arrows) -> Instance:
        """A smallest circle of a group, with the reason of each step."""
        steps = _Steps(self, group, sessions)
        graph: dict[int, dict[int, int]] = {}
        for (a, b), (relation, _) in steps.why.items():
            graph.setdefault(a, {})[b] = int(relation)
        nodes = shortest(graph, _SHAPE, self.budget)
        if not nodes:
            return self._some_of(group.members)
        reasons = [steps.reason(a, b) for a, b in steps_of(nodes)]
        told = tuple(
            Step(a, b, steps.why[a, b][0].word, reason)
            for (a, b), (reason, _) in zip(steps_of(nodes), reasons, strict=True)
        )
        count = len(nodes)
        who = "both come before the other" if count == 2 else f"all {count} come before each other"  # noqa: PLR2004 - a pair
        witnesses = dict.fromkeys(one for _, others in reasons for one in others if one not in nodes)
        sentence = "; ".join(step.reason for step in told)
        return Instance(f"{sentence}: so {who}", tuple(nodes), told, tuple(witnesses))

    def _some_of(self, members: Ints) -> Instance:
        named = ", ".join(self.words.name(one) for one in members[:_NAMED].tolist())
        more = f" and {len(members) - _NAMED} more" if len(members) > _NAMED else ""
        return Instance(f"some of {named}{more} come before each other", tuple(members[:_MEMBERS].tolist()))


def _cyclic(arrows: Arrows, size: int, transactions: int) -> tuple[Ints, Ints]:
    """The component of each node, and the transactions that are in one with others.

    Args:
        arrows: between nodes.
        size: how many nodes there are.
        transactions: how many of the first ones are transactions.
    """
    label = components(size, size, arrows).label
    own = label[:transactions]
    several = np.bincount(own, minlength=int(label.max(initial=0)) + 1) > 1
    return label, np.flatnonzero(several[own])


def _by_label(label: Ints, nodes: Ints) -> list[Ints]:
    """Nodes of each label."""
    order = nodes[np.argsort(label[nodes], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return [one for one in groups if len(one)]


def _within(arrows: Arrows, label: Ints, inside: Mask) -> Arrows:
    """The arrows within components, by whether each is one of those that count."""
    kept = (label[arrows.source] == label[arrows.target]) & inside[label[arrows.source]]
    return Arrows(arrows.source[kept], arrows.target[kept])


class _Steps:
    """The steps between the transactions of a group. ``why``: of each pair the relation, and what shows it."""

    def __init__(self, models: WeakModels, group: Group, sessions: Arrows) -> None:
        self._m, self._sessions = models, sessions
        self._words, self._writes = models.words, models.seen.writes
        self._forced = group.forced
        inside = np.zeros(models.seen.size, dtype=np.bool_)
        inside[group.members] = True
        self.why: dict[tuple[int, int], tuple[Relation, int]] = {}
        pairs, ordered = models.seen.pairs, models.ordered
        steps = group.forced.arrows(self._writes)
        self._add(pairs.writer, pairs.reader, inside, Relation.WR)
        self._add(sessions.source, sessions.target, inside, Relation.PROCESS)
        if group.known:
            self._add(ordered.source, ordered.target, inside, Relation.WW)
        self._add(steps.source, steps.target, inside, None)

    def _add(self, source: Ints, target: Ints, inside: Mask, relation: Relation | None) -> None:
        """Steps of a relation; of forced ones (None) the place is given below zero."""
        own = np.flatnonzero(inside[source] & inside[target])
        for at, a, b in zip(own.tolist(), source[own].tolist(), target[own].tolist(), strict=True):
            if relation is not None:
                self.why.setdefault((a, b), (relation, at))
            else:
                by_order = self._forced.shown[at] >= 0
                self.why.setdefault((a, b), (Relation.WW if by_order else Relation.RW, -1 - at))

    def reason(self, a: int, b: int) -> tuple[str, tuple[int, ...]]:
        """Why one comes before another, and other transactions that show it."""
        relation, at = self.why[a, b]
        if at < 0:
            return self._by_hidden(-1 - at)
        if relation is Relation.WW:
            ordered = self._m.ordered
            micros = int(ordered.before[at]), int(ordered.after[at])
            return self._m.explainer.dependency(relation, *micros), self._m.explainer.evidence.witnesses(*micros)
        return self._saw(relation, at), ()

    def _saw(self, relation: Relation, at: int) -> str:
        words = self._words
        if relation is Relation.PROCESS:
            one, other = int(self._sessions.source[at]), int(self._sessions.target[at])
            return f"process {int(words.t.process[one])} ran {words.name(one)} before {words.name(other)}"
        pairs = self._m.seen.pairs
        writer, reader = words.name(int(pairs.writer[at])), words.name(int(pairs.reader[at]))
        write, read = int(pairs.write[at]), int(pairs.read[at])
        if words.lists:
            value = words.value(int(words.t.value[write]))
            return f"{reader} read {words.key(read)} as {words.read(read)}, with {value}, which {writer} had appended"
        return f"{reader} read {words.key(read)} as {words.read(read)}, which {writer} had written"

    def _by_hidden(self, at: int) -> tuple[str, tuple[int, ...]]:
        forced, words, writes = self._forced, self._words, self._writes
        reader, read, row, shown = (int(column[at]) for column in forced)
        hidden = int(writes.writer[row])
        told = f"{words.name(reader)} read {words.key(read)} as {words.read(read)}"
        if shown < 0:
            did = "appended" if words.lists else "written"
            value = words.value(int(words.t.value[writes.micro[row]]))
            return f"{told}, without {value}, which {words.name(hidden)} had {did}", ()
        other = words.name(int(writes.writer[shown]))
        way, between = self._way(hidden, reader)
        also = f"{words.name(hidden)}, which wrote {words.key(read)} as well"
        end = f"so {words.name(hidden)} comes before {other}"
        return f"{told} of {other} and saw {also} ({way}), {end}", (reader, *between)

    def _way(self, start: int, end: int) -> tuple[str, tuple[int, ...]]:
        """How one transaction was seen by another, over as few others as there can be."""
        came = self._backward(start, end)
        if came is None:
            return "over many others", ()
        at, reasons, between = start, [], []
        while at != end:
            at, relation, place = came[at]
            reasons.append(self._saw(relation, place))
            between.append(at)
        return join_names(reasons), tuple(between[:-1])

    def _backward(self, start: int, end: int) -> dict[int, tuple[int, Relation, int]] | None:
        """Of each transaction on a way to the end the next one; None if the search was given up."""
        came: dict[int, tuple[int, Relation, int]] = {}
        todo = deque([end])
        pairs = self._m.seen.pairs
        tables = (
            (Relation.WR, pairs.writer, pairs.reader, self._m.by_reader),
            (Relation.PROCESS, *self._sessions, np.argsort(self._sessions.target, kind="stable")),
        )
        while todo:
            at = todo.popleft()
            for relation, source, target, order in tables:
                lo, hi = (int(np.searchsorted(target, at, side=side, sorter=order)) for side in ("left", "right"))
                if not self._m.budget.take(hi - lo + 1):
                    return None
                for place in order[lo:hi].tolist():
                    other = int(source[place])
                    if other != end and other not in came:
                        came[other] = at, relation, place
                        todo.append(other)
            if start in came:
                return came
        return None

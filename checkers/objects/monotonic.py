"""Keys whose values only grow, and operations that each saw some of them: they have to fit one order.

An operation that saw a lower value of a key comes before one that saw a higher one; one that was over comes before one
that began then. Operations that come before each other have no order. Source: ``elle.core`` (``monotonic-key-graph``
with ``realtime-graph``), as Jepsen's tests of TiDB use it. The orders of keys and of time are chains of points.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from chaos.core.op import Type
from checkers.cycles.components import Arrows, chain, components, join_arrows
from checkers.history.columns import Ints
from checkers.objects.calls import Call, Calls, ends, freeze
from checkers.objects.finding import EXAMPLES, Answer, Found, call_text, show
from checkers.objects.rules import Budget, Rules

NAME = "key-order-cycle"


def _seen(call: Call) -> dict[Any, int] | None:
    """The values that an ok operation saw, by key."""
    if call.outcome is not Type.OK or not isinstance(call.output, Mapping):
        return None
    seen = {freeze(key): value for key, value in call.output.items() if type(value) is int}
    return seen or None


def check(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - there is nothing to search
    """The answer for all keys."""
    own, seen = calls.meant(_seen)
    if not own:
        return Answer(reason="no operation shows the values of keys")
    invoke, complete = ends(own)
    size = len(own)
    by_time, points = chain(invoke, complete, np.ones(size, dtype=np.bool_), size)
    by_key, more = _by_key(seen, size + points)
    arrows = join_arrows(by_time, by_key)
    label, cyclic = components(size + points + more, size, arrows)
    groups = np.unique(label[cyclic])
    after = _following(arrows, size + points + more) if len(groups) else []
    told = []
    for group in groups[:EXAMPLES].tolist():
        circle = _circle(int(np.flatnonzero(label == group)[0]), after, size)
        told.append((_sentence(circle, own, seen), tuple(own[one] for one in circle)))
    found = {NAME: Found(count=len(groups), examples=told)} if len(groups) else {}
    return Answer(found=found, facts={"operations": size})


def _by_key(seen: list[dict[Any, int]], first_point: int) -> tuple[Arrows, int]:
    """The orders of all keys: from an operation to the point of the value it saw, from there to all that saw more."""
    rows: dict[Any, dict[int, list[int]]] = {}
    for one, values in enumerate(seen):
        for key, value in values.items():
            rows.setdefault(key, {}).setdefault(value, []).append(one)
    source: list[int] = []
    target: list[int] = []
    point = first_point
    for by_value in rows.values():
        steps = sorted(by_value)
        for here, value in enumerate(steps):
            source += by_value[value]
            target += [point] * len(by_value[value])
            if here + 1 < len(steps):
                following = by_value[steps[here + 1]]
                source += [point] * (len(following) + 1)
                target += [*following, point + 1]
            point += 1
    return Arrows(np.array(source, dtype=np.int64), np.array(target, dtype=np.int64)), point - first_point


def _following(arrows: Arrows, size: int) -> list[Ints]:
    """Of each node the nodes that follow it."""
    order = np.argsort(arrows.source, kind="stable")
    return np.split(arrows.target[order], np.searchsorted(arrows.source[order], np.arange(1, size)))


def _circle(start: int, after: list[Ints], size: int) -> list[int]:
    """The operations of a shortest way from one back to itself; nodes from ``size`` on are points."""
    came: dict[int, int] = {}
    todo = deque([start])
    while todo:
        at = todo.popleft()
        for node in after[at].tolist():
            if node == start:
                way = [at]
                while way[-1] != start:
                    way.append(came[way[-1]])
                return [one for one in reversed(way) if one < size]
            if node not in came:
                came[node] = at
                todo.append(node)
    return []


def _sentence(circle: list[int], own: list[Call], seen: list[dict[Any, int]]) -> str:
    pairs = zip(circle, [*circle[1:], circle[0]], strict=True)
    told = "; ".join(_reason(own[a], own[b], seen[a], seen[b]) for a, b in pairs)
    return f"{told}: so they come before each other"


def _reason(one: Call, other: Call, seen: dict[Any, int], later: dict[Any, int]) -> str:
    for key, value in seen.items():
        if key in later and value < later[key]:
            return f"{call_text(one)} saw {show(key)} as {value}, {call_text(other)} as {later[key]}"
    return f"{call_text(one)} was over before {call_text(other)} began"

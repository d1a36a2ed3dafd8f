"""Keys that are written once each, and read in groups: reads of a group are of one order in which they were written.

Two reads of which each shows a write that the other misses have no order: a long fork, which parallel snapshot
isolation allows and snapshot isolation does not. Source: ``jepsen.tests.long-fork``. Its checker compares all pairs of
reads; here the states of a group are sorted by how many writes they show, and each has to hold the one before it.
"""

from collections.abc import Iterable
from typing import Any

from chaos.core.op import Type
from checkers.objects.calls import Call, Calls, freeze
from checkers.objects.finding import EXAMPLES, Answer, Found, call_text, show
from checkers.objects.rules import Budget, Rules

NAME = "long-fork"
_MICRO = 3


def _micros(value: Any) -> list[tuple[str, Any, Any]] | None:
    """The micro-operations of a transaction: word, key, value; None if it is none."""
    if not isinstance(value, tuple | list) or not value:
        return None
    found = []
    for micro in value:
        if not isinstance(micro, tuple | list) or len(micro) != _MICRO:
            return None
        found.append((str(micro[0]).removeprefix(":"), freeze(micro[1]), micro[2]))
    return found


def _reads(call: Call) -> list[tuple[str, Any, Any]] | None:
    """What an ok transaction of reads alone shows."""
    micros = _micros(call.output) if call.outcome is Type.OK else None
    return micros if micros and all(word == "r" for word, _, _ in micros) else None


def _written_twice(calls: Iterable[Call]) -> Any:
    """A key that is written more than once; None if there is none."""
    seen = set()
    for call in calls:
        for word, key, _ in _micros(call.argument) or ():
            if word == "w" and key in seen:
                return key
            if word == "w":
                seen.add(key)
    return None


def check(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - there is nothing to search
    """The answer for all groups of keys."""
    twice = _written_twice(calls.all)
    if twice is not None:
        return Answer(
            reason=f"key {show(twice)} is written more than once, so reads of it have no order: write it once"
        )
    reads, shown = calls.meant(_reads)
    if not reads:
        return Answer(reason="no transaction reads a group of keys")
    groups: dict[frozenset[Any], dict[frozenset[Any], Call]] = {}
    for read, micros in zip(reads, shown, strict=True):
        state = frozenset(key for _, key, value in micros if value is not None)
        groups.setdefault(frozenset(key for _, key, _ in micros), {}).setdefault(state, read)
    forks = [fork for states in groups.values() for fork in _forks(states)]
    told: list[tuple[str, tuple[Call, ...]]] = [(_sentence(*fork), fork) for fork in forks[:EXAMPLES]]
    return Answer(found={NAME: Found(count=len(forks), examples=told)} if forks else {}, facts={"reads": len(reads)})


def _forks(states: dict[frozenset[Any], Call]) -> Iterable[tuple[Call, Call]]:
    """Reads of one group that have no order: each state that does not hold the fullest one before it, with that one."""
    before: frozenset[Any] = frozenset()
    for state in sorted(states, key=len):
        if before <= state:
            before = state
        else:
            yield states[state], states[before]


def _sentence(one: Call, other: Call) -> str:
    both = " and ".join(f"{call_text(call)} shows {show(call.output)}" for call in (one, other))
    return f"{both}: each misses a write that the other shows"

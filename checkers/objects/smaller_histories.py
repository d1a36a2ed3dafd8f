"""What may be left out of an object's history without making it worse.

If some order explains a history, then it explains what is left when an operation that only observes is left out, or all
operations of a value. Conversely, what is still wrong then is what was wrong at first. Single writes have no such
right: whoever read their value would have read what nobody wrote.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np

from chaos.core.op import Type
from checkers.objects import fifo, multi_register, register
from checkers.objects.calls import Calls, end_of, ends, freeze
from checkers.objects.rules import Rules
from checkers.objects.specs import BLIND_CAS, CAS, NOT_CAS, READ, WRITE
from checkers.objects.unordered import elements


class Values(NamedTuple):
    """What positions need to be there, what they make, and which of these are plain writes."""

    needs: dict[int, Hashable]
    makes: dict[int, Hashable]
    writes: frozenset[int]


class Parts(NamedTuple):
    """Positions among the calls.

    ``silent``: who says nothing; ``groups``: who can only go together; ``resets``: behind which nobody can tell what
    was before (see ``calls_after_reset``), ascending.
    """

    silent: list[int]
    observers: list[int]
    groups: list[list[int]]
    resets: list[int]
    values: Values = Values({}, {}, frozenset())


PartsOf = Callable[[Calls, Rules], Parts]


def _grouped(values: Iterable[tuple[int, Hashable]]) -> list[list[int]]:
    groups: dict[Hashable, list[int]] = {}
    for i, value in values:
        groups.setdefault(value, []).append(i)
    return list(groups.values())


def _tied(together: Iterable[Iterable[Hashable]]) -> Callable[[Hashable], Hashable]:
    """Of each value one that stands for all that it is tied to, by way of others as well."""
    tied: dict[Hashable, Hashable] = {}

    def root(value: Hashable) -> Hashable:
        while (above := tied.get(value, value)) != value:
            value = above
        return value

    for values in together:
        first, *others = map(root, values)
        tied.update((other, first) for other in others if other != first)
    return root


def of_register(calls: Calls, rules: Rules) -> Parts:
    """Values; those that a compare-and-set ties are one. Who saw that a value was *not* there needs all others."""
    meanings = [register.meaning(call, rules) for call in calls.all]
    root = _tied(said[1:] for said in meanings if said is not None and said[0] in (CAS, BLIND_CAS))
    kinds = [(i, said) for i, said in enumerate(meanings) if said is not None]
    observers = [i for i, (kind, _, _) in kinds if kind not in register.CHANGES]
    bound = any(kind == NOT_CAS for _, (kind, _, _) in kinds)
    groups = [] if bound else _grouped((i, root(value)) for i, (_, value, _) in kinds)
    compared = [i for i, (kind, _, _) in kinds if kind == CAS]
    writes = [i for i, (kind, _, _) in kinds if kind == WRITE and calls.all[i].outcome is Type.OK]
    silent = [i for i, said in enumerate(meanings) if said is None]
    values = Values(
        needs={i: said[1] for i, said in kinds if said[0] in (READ, CAS)},
        makes={i: said[1] if said[0] == WRITE else said[2] for i, said in kinds if said[0] in register.CHANGES},
        writes=frozenset(i for i, said in kinds if said[0] == WRITE),
    )
    return Parts(silent, observers, groups, _apart(calls, writes, compared), values)


def of_multi_register(calls: Calls, rules: Rules) -> Parts:
    """Values of registers; those that one transaction which writes deals with are one."""
    steps = {i: step for i, call in enumerate(calls.all) if (step := multi_register.step_of(call, rules)) is not None}
    pairs = {i: {(one.key, one.value) for one in step.what} for i, step in steps.items()}
    root = _tied(pairs[i] for i, step in steps.items() if step.changes)
    named = [(i, value) for i, some in pairs.items() for value in dict.fromkeys(map(root, some))]
    silent = [i for i in range(len(calls)) if i not in steps]
    return Parts(silent, [i for i, step in steps.items() if not step.changes], _grouped(named), [])


def _apart(calls: Calls, writes: list[int], others: list[int]) -> list[int]:
    """The writes that no other is concurrent with."""
    invoke, complete = ends(calls.all)
    begun = np.searchsorted(np.sort(invoke[others]), complete[writes], side="right")
    ended_before = np.searchsorted(np.sort(complete[others]), invoke[writes], side="left")
    return [i for i, same in zip(writes, (begun == ended_before).tolist(), strict=True) if same]


def calls_after_reset(calls: Calls, parts: Parts, reset: int) -> list[int] | None:
    """All but what completed before a reset was invoked, and the observers beside it.

    Whoever else is beside it can be before it whatever the state, and after it the state is known. A value that is
    still needed keeps its last write, so that nobody seems to have read what was never written; that takes no right
    from anybody, for a write fits everywhere before. None if only a compare-and-set made such a value.
    """
    observers = set(parts.observers)
    at = calls.all[reset]
    kept = [
        i
        for i, call in enumerate(calls.all)
        if end_of(call) >= at.invoke and not (i in observers and call.invoke <= at.complete)
    ]
    needs, makes, writes = parts.values
    lacking = {needs[i] for i in kept if i in needs} - {makes[i] for i in kept if i in makes}
    for i in sorted(makes.keys() - set(kept), reverse=True):
        if makes[i] in lacking and i in writes:
            kept.append(i)
            lacking.remove(makes[i])
    return None if lacking & set(makes.values()) else sorted(kept)


def of_strings(calls: Calls, rules: Rules) -> Parts:  # noqa: ARG001 - all are called alike
    """Gets; and what was before a put. What is behind it holds all that was put and appended since."""
    silent = [i for i, call in enumerate(calls.all) if call.outcome is Type.FAIL]
    puts = [i for i, call in enumerate(calls.all) if call.f == "put" and call.outcome is Type.OK]
    return Parts(silent, [i for i, call in enumerate(calls.all) if call.f == "get"], [], puts)


def of_mutex(calls: Calls, rules: Rules) -> Parts:  # noqa: ARG001 - all are called alike
    """An acquire and its process' next release, if nobody releases what it does not know it has; else ``_rounds``."""
    silent = [i for i, call in enumerate(calls.all) if call.outcome is Type.FAIL]
    own = [i for i, call in enumerate(calls.all) if call.outcome is not Type.FAIL]
    sessions = _sessions(calls, own)
    return Parts(silent, [], _rounds(calls, own) if sessions is None else sessions, [])


def _sessions(calls: Calls, own: list[int]) -> list[list[int]] | None:
    groups: list[list[int]] = []
    held: dict[Hashable, int] = {}
    for i in own:
        call = calls.all[i]
        process = freeze(call.process)
        if (call.f == "acquire") == (process in held):
            return None
        if call.f == "acquire":
            held[process] = i
        elif end_of(calls.all[held[process]]) >= call.invoke:
            return None
        else:
            groups.append([held.pop(process), i])
    return groups


def _rounds(calls: Calls, own: list[int]) -> list[list[int]]:
    """Stretches between moments at which nobody does anything and the lock is free, until nobody knows any more."""
    groups: list[list[int]] = []
    now: list[int] = []
    until = balance = 0
    for i in own:
        call = calls.all[i]
        if now and call.invoke > until and balance == 0:
            groups.append(now)
            now = []
        if call.outcome is Type.INFO:
            break
        now.append(i)
        until = max(until, call.complete)
        balance += 1 if call.f == "acquire" else -1
    return groups


def of_fifo(calls: Calls, rules: Rules) -> Parts:
    """Values; a dequeue of which nobody knows what it took stays."""
    meanings = [fifo.meaning(call, rules) for call in calls.all]
    silent = [i for i, said in enumerate(meanings) if said is None]
    known = ((i, said[1]) for i, said in enumerate(meanings) if said is not None and said[1] is not None)
    return Parts(silent, [], _grouped(known), [])


def of_set(calls: Calls, rules: Rules) -> Parts:
    """Reads, and elements that none of them saw."""
    seen = {i: elements(call, rules) for i, call in enumerate(calls.all) if call.f == "read"}
    there = frozenset().union(*(one for one in seen.values() if one is not None))
    adds = [(i, freeze(call.argument)) for i, call in enumerate(calls.all) if call.f == "add"]
    silent = [i for i, call in enumerate(calls.all) if call.f == "add" and call.outcome is Type.FAIL]
    return Parts(silent, list(seen), _grouped(one for one in adds if one[1] not in there), [])


def of_queue(calls: Calls, rules: Rules) -> Parts:  # noqa: ARG001 - all are called alike
    """Values."""
    silent = [
        i
        for i, call in enumerate(calls.all)
        if call.outcome is Type.FAIL or (call.f == "dequeue" and call.outcome is not Type.OK)
    ]
    left = set(silent)
    known = (
        (i, freeze(call.argument if call.f == "enqueue" else call.output))
        for i, call in enumerate(calls.all)
        if i not in left
    )
    return Parts(silent, [], _grouped(known), [])


PARTS: Final[Mapping[str, PartsOf]] = {
    "register": of_register,
    "cas-register": of_register,
    "multi-register": of_multi_register,
    "kv": of_strings,
    "mutex": of_mutex,
    "fifo-queue": of_fifo,
    "set": of_set,
    "queue": of_queue,
}
"""Of the models that look for an order."""

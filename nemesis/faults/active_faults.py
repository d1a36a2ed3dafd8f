"""Faults that are in force at the same time: what each does to links, so that none spoils another's proof or heal.

A packet filter holds one chain a run, so what it is to hold is the sum of what all faults ask of that host, and changes
under a lock of that host. A link that another fault hits shows nothing of this one, for as long as the other lasts and
from the moment it began to act. Does not touch a host: the caller does.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from chaos.core.clock import now_ns
from cluster.network.packet_filter import Rule
from nemesis.targets.grudge import Link

T = TypeVar("T")
Owner = object
"""A fault, known by its identity."""


class _Spell:
    """The links that one fault hits, from when until when."""

    def __init__(self, owner: Owner, links: frozenset[Link]) -> None:
        self.owner = owner
        self.links = links
        self.ended_ns: int | None = None


class InForce:
    """The faults of one run that have acted and are not healed. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hosts: dict[str, threading.Lock] = {}
        self._rules: dict[str, list[tuple[Owner, tuple[Rule, ...]]]] = {}
        self._spells: list[_Spell] = []

    def disturb(self, owner: Owner, links: Collection[Link]) -> None:
        """``owner`` is about to hit these links."""
        with self._lock:
            self._spells.append(_Spell(owner, frozenset(links)))

    def calm(self, owner: Owner) -> None:
        """``owner`` has let go of all links; fine if it never hit any."""
        with self._lock:
            for spell in self._spells:
                if spell.owner is owner and spell.ended_ns is None:
                    spell.ended_ns = now_ns()

    def disturbed(self, owner: Owner, since_ns: int) -> frozenset[Link]:
        """The links that others hit at any time from ``since_ns`` until now."""
        with self._lock:
            return frozenset[Link]().union(
                *(
                    spell.links
                    for spell in self._spells
                    if spell.owner is not owner and (spell.ended_ns is None or spell.ended_ns >= since_ns)
                )
            )

    def hold(self, owner: Owner, host: str, rules: Sequence[Rule], put: Callable[[tuple[Rule, ...]], T]) -> T:
        """Have ``put`` make the filter of a host hold these rules beside those of the others."""
        with self._of(host):
            kept = [one for one in self._rules.get(host, []) if one[0] is not owner]
            self._rules[host] = [*kept, (owner, tuple(rules))]
            return put(self._sum(host))

    def release(self, owner: Owner, host: str, put: Callable[[tuple[Rule, ...]], T]) -> T:
        """Have ``put`` make the filter of a host hold what the others ask for, which may be nothing."""
        with self._of(host):
            self._rules[host] = [one for one in self._rules.get(host, []) if one[0] is not owner]
            return put(self._sum(host))

    def look_at(self, host: str, look: Callable[[tuple[Rule, ...]], T]) -> T:
        """What ``look`` makes of a host, given the rules that its filter should hold; nobody changes them meanwhile."""
        with self._of(host):
            return look(self._sum(host))

    def _of(self, host: str) -> threading.Lock:
        with self._lock:
            return self._hosts.setdefault(host, threading.Lock())

    def _sum(self, host: str) -> tuple[Rule, ...]:
        """The rules of all, each once: cuts, parts of traffic, shares, queues: what is held is what was not lost."""
        wanted = dict.fromkeys(rule for _, rules in self._rules.get(host, []) for rule in rules)
        return tuple(sorted(wanted, key=_order))


def _order(rule: Rule) -> tuple[bool, bool, bool]:
    return rule.queue is not None, rule.probability is not None, bool(rule.match)

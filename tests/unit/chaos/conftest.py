"""What this machine can do is tried once for all commands that are given inside the process of a test.

Each of them would bring up hosts of its own to look: half a second, hundreds of times. What a run or a fault needs and
was not there is looked for again. The doctor's own tests are elsewhere and look for themselves.
"""

from collections.abc import Mapping

import pytest

from cluster import doctor
from cluster.doctor import NO_TRIES, Fact, Try
from nemesis.plan import capabilities

look = doctor.namespaces
found: dict[frozenset[str], list[Fact]] = {}


def looked_once(tries: Mapping[str, Try] = NO_TRIES) -> list[Fact]:
    """``cluster.doctor.namespaces``, remembered by what is to be tried."""
    key = frozenset(tries)
    facts = found.get(key) or look(tries)
    if all(fact.ok or (fact.optional and not fact.fault) for fact in facts):
        found[key] = facts
    return list(facts)


@pytest.fixture(autouse=True)
def _one_look_at_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (doctor, capabilities):
        monkeypatch.setattr(place, "namespaces", looked_once)

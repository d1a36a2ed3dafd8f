"""What faults have of their own to try is a fact of the machine like any other."""

from cluster.doctor import Fact, _tried
from cluster.host import Capability
from nemesis.faults.registry import faults
from nemesis.plan.capabilities import tries

HOSTS = {"a": object(), "b": object()}


def test_each_fault_is_tried_once_and_its_help_is_told_apart():
    tried = []

    def works(host):
        tried.append(host)

    facts = _tried(HOSTS, {"flood": works, "frost": lambda _: "no; really no water here; open the tap"})
    assert tried == [HOSTS["a"]]
    assert facts == [
        Fact("fault flood", True, "works", optional=True, fault="flood"),
        Fact("fault frost", False, "no; really no water here", "open the tap", optional=True, fault="frost"),
    ]


def test_nothing_to_try_is_no_fact():
    assert _tried(HOSTS, {}) == []


FOUND = frozenset(
    {
        Capability.IPTABLES,
        Capability.STATISTIC,
        Capability.SIGNALS,
        Capability.RESTART,
        Capability.PROGRAMS,
        Capability.LINK,
    }
)
"""What is found by doing on hosts in namespaces, whatever the fault."""


def test_every_mechanism_is_tried():
    own = tries()
    untried = {name: fault.needs - FOUND for name, fault in faults().items() if name not in own}
    assert {name: needs for name, needs in untried.items() if needs} == {}
    assert {"reset", "large-drop", "bit-flip", "cpu-load", "memory-load"} <= own.keys()

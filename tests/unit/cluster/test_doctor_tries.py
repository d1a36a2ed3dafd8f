"""What faults have of their own to try is a fact of the machine like any other."""

from cluster.doctor import Fact, _tried

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

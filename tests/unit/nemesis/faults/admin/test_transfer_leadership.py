"""Handing leadership over: proven by what nodes say, handed back, and refused where a system does not offer it."""

import pytest

from chaos.core.errors import ChaosError, UsageError
from chaos.testing import FakeSystem, run
from chaos.testing.fake_admin import FakeAdmin
from nemesis.faults.admin.transfer_leadership import Named, named_by, successor

VOTERS = ("n1", "n2", "n3")


@pytest.mark.parametrize(
    ("said", "leader"),
    [
        ({"n1": "n2", "n2": "n2", "n3": "n2"}, "n2"),
        ({"n1": "n2", "n2": "n2"}, "n2"),
        ({"n1": "n2"}, None),
        ({"n1": "n2", "n2": "n2", "n3": "n1"}, None),
        ({"n1": None, "n2": "n2", "n3": "n2"}, "n2"),
        ({"n1": None, "n2": None, "n3": "n2"}, None),
        ({}, None),
    ],
)
def test_a_leader_is_whom_a_majority_names_and_nobody_contradicts(said, leader):
    assert named_by(said, VOTERS).leader == leader


def test_what_each_node_says_is_told():
    assert named_by({"n1": "n2", "n2": None}, VOTERS) == Named(None, "n1 names n2, n2 names nobody, n3 is silent")


def test_the_next_one_takes_over():
    assert [successor(VOTERS, leader) for leader in VOTERS] == ["n2", "n3", "n1"]
    with pytest.raises(ChaosError, match="nobody but n1 may lead"):
        successor(("n1",), "n1")


class Deaf(FakeAdmin):
    """Says that it did, and does nothing."""

    def transfer_leadership(self, subject, to):
        pass


BRIEF = {"time_limit_s": 1.0, "fault_duration_s": 0.5, "reports": ()}


class DeafSystem(FakeSystem):
    def admin(self, view, host):
        return Deaf(self, self._homes)


@pytest.mark.broad
def test_it_is_proven_and_handed_back(tmp_path):
    done = run(tmp_path, FakeSystem(leads=True), nemesis="transfer-leadership", **BRIEF)
    fault = done.results.faults[0]
    assert (fault.proven, fault.healed) == (True, True), fault
    assert "is led by f2 instead of f1: f1 names f2, f2 names f2, f3 names f2" in fault.evidence
    assert "is led again: f1 names f1, f2 names f1, f3 names f1" in fault.heal_evidence


@pytest.mark.broad
def test_a_transfer_that_did_not_happen_is_not_proven(tmp_path, monkeypatch):
    monkeypatch.setattr("nemesis.faults.admin.transfer_leadership._SEEN_WITHIN_S", 0.2)
    done = run(tmp_path, DeafSystem(leads=True), nemesis="transfer-leadership", **BRIEF)
    fault = done.results.faults[0]
    assert (fault.proven, fault.healed) == (False, True), fault
    assert "is not led by f2, to whom f1 was to hand it over" in fault.evidence
    assert done.results.valid == "unknown"


def test_a_system_that_does_not_offer_it_is_refused_at_the_start(tmp_path):
    with pytest.raises(UsageError) as refused:
        run(tmp_path, "redis", nemesis="transfer-leadership")
    assert str(refused.value) == (
        "--nemesis transfer-leadership: redis has no admin interface here; name another nemesis or system"
    )
    assert not list(tmp_path.iterdir())

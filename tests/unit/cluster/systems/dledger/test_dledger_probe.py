"""What the probe and the route make of what nodes say of themselves."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from dledger_node import FakeObserver
from system_view import view_of

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.errors import DeployError
from chaos.core.events import Claim
from cluster.systems._shared.routing import Route, Served
from cluster.systems.dledger import probe as probe_module
from cluster.systems.dledger.observers import State, leader_of
from cluster.systems.dledger.probe import DLedgerProbe, claim_of
from cluster.systems.dledger.settings import fields
from cluster.systems.dledger.system import DLedger

NAMES = ("n1", "n2", "n3")
SETTINGS = fields(view_of(DLedger()).settings)


def said(role, leader, term=4, **settings):
    jar = "/lib/dledger-0.4.3.jar"
    return {"role": role, "term": term, "leader": leader, "jar": jar, "settings": {**SETTINGS, **settings}}


ALL = {"n1": said("FOLLOWER", "n2"), "n2": said("LEADER", "n2"), "n3": said("FOLLOWER", "n2")}


def run(shown, act):
    """Let ``act`` have a probe of nodes that say that; None: one that is away."""

    async def scenario():
        async with AsyncExitStack() as stack:
            probe = DLedgerProbe(view_of(DLedger()))
            for name in NAMES:
                tell = None if shown[name] is None else lambda *_, name=name: shown[name]
                fake = await stack.enter_async_context(FakeObserver(tell))
                probe._observers.by_name[name] = fake.observer
            return await act(probe)

    return asyncio.run(scenario())


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer to answer than a probe waits."""
    monkeypatch.setattr(probe_module, "_READY_TIMEOUT_S", 30.0)


@pytest.mark.parametrize(
    ("state", "claim"),
    [
        (State("LEADER", 4, "n2"), Claim(subject="dledger", leader="n2", epoch=4)),
        (State("FOLLOWER", 4, "n1"), Claim(subject="dledger", leader="n1", epoch=4)),
        (State("FOLLOWER", 5), Claim(subject="dledger")),
        (State("CANDIDATE", 5), Claim(subject="dledger")),
    ],
)
def test_what_a_node_claims(state, claim):
    assert claim_of("n2", state) == claim


def test_each_node_is_observed_by_itself():
    async def act(probe):
        return [await probe.observe(node, 30) for node in probe._view.nodes]

    seen = run({**ALL, "n3": None}, act)
    assert [(one.alive, one.role, len(one.led())) for one in seen] == [
        (True, "follower", 0),
        (True, "leader", 1),
        (False, None, 0),
    ]
    assert "refused" in seen[2].error


@pytest.mark.parametrize(
    ("changed", "missing"),
    [
        ({}, None),
        ({"n3": None}, "n3 does not answer"),
        ({"n3": said("CANDIDATE", None)}, "not in sync with dledger: n3"),
        ({"n2": said("CANDIDATE", None)}, "nobody leads dledger"),
        ({"n1": said("LEADER", "n1", 3)}, "2 nodes lead dledger"),
    ],
)
def test_a_cluster_is_ready_once_all_know_one_leader(changed, missing):
    found = run({**ALL, **changed}, lambda probe: probe.readiness())
    assert found is None if missing is None else missing in found


def test_settings_are_proven_to_be_in_effect():
    confirmed = run(ALL, lambda probe: probe.confirm())
    assert confirmed.settings == SETTINGS
    assert confirmed.notes[0].text == f"dledger 0.4.3; {len(SETTINGS)} settings proven to be in effect on 3 nodes"


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (said("FOLLOWER", "n2", maxHeartBeatLeak="9"), "n3: maxHeartBeatLeak is 9 instead of 3"),
        (None, "n3 does not say its settings in effect: connect: refused"),
        ("broken", "n3 does not say its settings in effect: status 500: broken"),
    ],
)
def test_a_setting_that_is_not_in_effect_ends_the_deployment(state, why):
    with pytest.raises(DeployError, match=why):
        run({**ALL, "n3": state}, lambda probe: probe.confirm())


def test_the_route_goes_to_who_leads_in_the_newest_term():
    async def act(probe):
        return await probe._observers.ask(now_ns() + 30 * NS_PER_S)

    assert run({**ALL, "n1": said("LEADER", "n1", 3)}, act) == Route((Served("n2", ("n1", "n3")),))
    assert run(dict.fromkeys(NAMES), act) is None
    assert leader_of({"n1": State("FOLLOWER", 9, "n2")}) is None

"""Settings of a cluster that was there before the run: proven where they were asked for, else learned."""

import msgspec
import pytest
from minimq_view import view_of as minimq_view
from rocketmq_view import SYSTEM as ROCKETMQ
from rocketmq_view import view_of

from chaos.core.errors import DeployError
from chaos.testing.history_files import RunLiteral, run_info
from checkers.engine import headline
from checkers.history.check_input import Context
from checkers.history.timeline import timeline_of
from cluster.systems.minimq import settings as keys
from cluster.systems.minimq import settings_proof as minimq
from cluster.systems.minimq.server import node_config
from cluster.systems.minimq.system import MiniMQ
from cluster.systems.rocketmq import existing, settings_proof
from cluster.systems.rocketmq.protocol import Answer
from cluster.systems.rocketmq.settings_proof import Shown


def stock(view, **changed):
    """What nodes of somebody else's cluster show: NODE__KEY=value in place of what the harness would have set."""
    out = {}
    for node in view.nodes:
        conf = ROCKETMQ.launch(node, f"/nodes/{node.name}", "/artefacts", view).files["node.conf"]
        for question in settings_proof.questions(node, view):
            values = settings_proof.parse_config(Answer(0, 1, True, "", {}, conf)) | {"timerPrecisionMs": "1000"}
            for name, value in changed.items():
                where, _, key = name.partition("__")
                if where in (node.name, question.component):
                    values[key] = value
            shown = {key: value for key, value in values.items() if value is not None}
            out.setdefault(node.name, {})[question.component] = Shown(shown, False)
    return out


def test_a_cluster_as_the_harness_would_set_it_promises_the_same():
    view = view_of(minInSyncReplicas="2")
    text, data, promises = existing.effects_note(stock(view), view, frozenset({"broker.minInSyncReplicas"}))
    assert promises == ROCKETMQ.promises(view.settings)
    assert "promises are made by what the nodes say" in text
    assert not data["warning"]


def test_promises_follow_from_what_the_nodes_say_and_not_from_the_harness_defaults():
    view = view_of(client__slaveReads="off")
    shown = stock(view, broker__minInSyncReplicas="2", broker__allAckInSyncStateSet="false")
    text, _, promises = existing.effects_note(shown, view, frozenset())
    assert promises.min_in_sync == 2
    assert promises.allowed == {}, "where replicas need not agree nothing is by design"
    assert "2 differ from what the harness would set" in text
    assert "broker.allAckInSyncStateSet=false gives safety up" in text
    assert existing.common_settings(shown, view)["broker.minInSyncReplicas"] == "2"


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        ({"b2__minInSyncReplicas": "1", "broker__minInSyncReplicas": "2"}, "min_in_sync", 2),
        ({"broker__minInSyncReplicas": "2", "b2__minInSyncReplicas": "1"}, "min_in_sync", 0),
        ({"b3__slaveReadEnable": "false"}, "replicas_read", False),
        ({"b1__timerPrecisionMs": "5000"}, "early_s", 5.0),
        ({"b1__allAckInSyncStateSet": "false"}, "allowed", {}),
        ({"c2__enableElectUncleanMaster": "true"}, "allowed", {}),
    ],
)
def test_the_node_that_promises_least_decides(changed, field, value):
    view = view_of(client__slaveReads="off", slaveReadEnable="true")
    text, data, promises = existing.effects_note(stock(view, **changed), view, frozenset())
    assert getattr(promises, field) == value
    if "b2__minInSyncReplicas" in changed and value == 0:
        assert "not alike on all nodes: broker.minInSyncReplicas" in text
        assert data["warning"]


@pytest.mark.parametrize(
    ("asked", "changed", "says"),
    [
        ({"broker.minInSyncReplicas"}, {"b2__minInSyncReplicas": "1"}, "b2: minInSyncReplicas was set to 2 and is 1"),
        (set(), {"broker__slaveReadEnable": "false"}, "b1: slaveReadEnable was set to true and is false (and 2 more)"),
        (set(), {"b1__enableControllerMode": "false"}, "b1: enableControllerMode was set to true and is false"),
        (set(), {"b3__allAckInSyncStateSet": None}, "b3: allAckInSyncStateSet is not known to it"),
    ],
)
def test_what_was_asked_for_and_is_not_there_ends_the_deployment(asked, changed, says):
    view = view_of(minInSyncReplicas="2")
    with pytest.raises(DeployError) as caught:
        existing.effects_note(stock(view, **changed), view, asked)
    assert says in str(caught.value)
    assert "with --reuse the harness configures nothing" in str(caught.value)


def test_the_margin_of_progress_belongs_to_the_timers_that_it_was_measured_with():
    view = view_of()
    text, data, promises = existing.effects_note(
        stock(view, b2__syncControllerMetadataPeriod="10000"), view, frozenset()
    )
    why = (
        "progress under faults on controllers (its margin was measured with other timers than "
        "broker.syncControllerMetadataPeriod=10000)"
    )
    assert (promises.progress_margin_s, promises.not_taken) == (0.0, (why,))
    assert promises.recovers_within_s
    assert data["warning"]
    assert text.count(why) == 1
    run = msgspec.structs.replace(run_info(RunLiteral(), "x"), promises=promises)
    context = Context(run=run, streams=(), timeline=timeline_of([], run))
    assert headline.sentence_valid([], {}, context).endswith(f"; the system was not held to {why}.")


def test_jvm_settings_cannot_be_asked_for():
    text, data, _ = existing.effects_note(stock(view_of()), view_of(), frozenset({"jvm.broker.Xmx"}))
    assert "cannot be asked for: jvm.broker.Xmx" in text
    assert data["warning"]


# ---------------------------------------------------------------- minimq


def told_by(view, **changed):
    """What minimq's nodes say: NODE=settings in place of the view's; a text where a node cannot be asked."""
    out = {}
    for node in view.nodes:
        said = changed.get(node.name, {})
        if isinstance(said, str):
            out[node.name] = said
            continue
        own = msgspec.structs.replace(view, settings=view.settings | said)
        launch = MiniMQ().launch(node, "/home", "/artefacts", own)
        config = msgspec.json.decode(launch.files["node.json"], type=node_config.NodeConfig)
        out[node.name] = keys.in_effect(node.role, node_config.reported_settings(config))
    return out


def test_every_setting_of_nodes_can_be_asked_back():
    own = {name for name in keys.SETTINGS if not name.startswith("client.")}
    said = told_by(minimq_view(lagMax="3.50", uncleanElection="true", flush="async"))
    assert {name for settings in said.values() for name in settings} == own
    assert (said["b1"]["broker.lagMax"], said["b1"]["broker.flush"]) == ("3.5", "async")
    assert said["c1"]["controller.uncleanElection"] == "true"


def test_a_minimq_of_the_runs_own():
    view = minimq_view(minInSyncReplicas="1")
    assert minimq.effects_note(told_by(view), view.settings, None) == (
        "45 settings proven to be in effect on 6 nodes",
        None,
    )
    with pytest.raises(DeployError, match=r"b2: broker.minInSyncReplicas was set to 1 and is 2$"):
        minimq.effects_note(told_by(view, b2={"broker.minInSyncReplicas": "2"}), view.settings, None)
    with pytest.raises(DeployError, match="c1 does not say its settings in effect: no answer"):
        minimq.effects_note(told_by(view, c1="no answer"), view.settings, None)


def test_a_minimq_that_was_there():
    view = minimq_view()
    text, promises = minimq.effects_note(told_by(view), view.settings, frozenset())
    assert promises == MiniMQ().promises(view.settings)
    assert text.startswith("0 settings proven")
    lax = told_by(view, b3={"broker.minInSyncReplicas": "1"})
    text, promises = minimq.effects_note(lax, view.settings, frozenset())
    assert promises.min_in_sync == 1
    assert "not alike on all nodes: broker.minInSyncReplicas" in text
    with pytest.raises(DeployError, match=r"b3: broker.minInSyncReplicas was set to 2 and is 1$"):
        minimq.effects_note(lax, view.settings, frozenset({"broker.minInSyncReplicas"}))


def test_a_minimq_that_cannot_be_asked_is_held_to_nothing_that_its_settings_decide():
    view = minimq_view()
    text, promises = minimq.effects_note(told_by(view, b1="no answer"), view.settings, frozenset())
    assert (promises.min_in_sync, promises.progress_margin_s, promises.replicas_read) == (0, 0.0, True)
    assert (promises.recovers_within_s, promises.rejoins_within_s) == (0.0, 0.0)
    assert promises.not_taken == (
        "a minimum of replicas in sync (b1 does not say its settings)",
        "recovery in time (b1 does not say its settings)",
        "progress under faults on controllers (b1 does not say its settings)",
    )
    assert "b1 cannot be asked: no answer" in text


def test_a_minimq_with_other_timers_is_not_held_to_progress():
    view = minimq_view()
    slow = {name: {"controller.electionTimeout": "5"} for name in ("c1", "c2", "c3")}
    _, promises = minimq.effects_note(told_by(view, **slow), view.settings, frozenset())
    assert (promises.min_in_sync, promises.progress_margin_s) == (2, 0.0)
    assert promises.recovers_within_s == MiniMQ().promises(view.settings).recovers_within_s + 2 * 4.5
    assert "controller.electionTimeout=5" in promises.not_taken[0]

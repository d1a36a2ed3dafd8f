"""Settings in effect: what nodes say is held against what they were started with, and what has no effect is said."""

import msgspec
import pytest
from rocketmq_view import SYSTEM, view_of

from chaos.core.client import Definite
from chaos.core.errors import DeployError
from cluster.systems.rocketmq import config, settings_proof
from cluster.systems.rocketmq.protocol import Answer, ProtocolError, Request
from cluster.systems.rocketmq.settings_proof import Shown


def answer(body=b"", code=0):
    return Answer(code, 1, True, "", {}, body)


def started(view, pool=None):
    """What nodes show that took everything, as their files have it."""
    out = {}
    for node in view.nodes:
        conf = SYSTEM.launch(node, f"/nodes/{node.name}", "/artefacts", view).files["node.conf"]
        for question in settings_proof.questions(node, view):
            shown = settings_proof.parse_config(answer(conf))
            out.setdefault(node.name, {})[question.component] = Shown(shown, pool)
    return out


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"cluster__controllerType": "jRaft"},
        {"cluster__controllerIn": "namesrv"},
        {"cluster__brokers": "5"},
        {"cluster__mode": "master-slave"},
        {"cluster__mode": "dledger"},
        {"minInSyncReplicas": "2", "slaveReadEnable": "true", "flushDiskType": "SYNC_FLUSH"},
    ],
)
def test_nodes_that_took_everything(given):
    view = view_of(**given)
    text, data = settings_proof.effects_note(started(view, pool=False), view)
    assert text.endswith(f"on {len(view.nodes)} nodes")
    assert int(text.split()[0]) > 25 * len(view.of_role("broker"))
    assert not data["warning"]
    assert data["without_effect"] == {}
    brokers = {node.name for node in view.of_role("broker")}
    assert set(data["switches"]["flushDiskType"]) == brokers


@pytest.mark.parametrize(
    ("node", "component", "key", "found", "says"),
    [
        ("b2", "broker", "minInSyncReplicas", "1", "b2: minInSyncReplicas was set to 2 and is 1"),
        ("b1", "broker", "slaveReadEnable", None, "b1: slaveReadEnable was set to true and is not known to it"),
        ("b3", "broker", "namesrvAddr", "", "b3: namesrvAddr was set to 198.18.0.10:9876 and is"),
        ("c1", "controller", "enableElectUncleanMaster", "true", "c1: enableElectUncleanMaster was set to false"),
        ("c3", "controller", "controllerType", "jRaft", "c3: controllerType was set to DLedger and is jRaft"),
    ],
)
def test_a_setting_that_is_not_in_effect(node, component, key, found, says):
    view = view_of(minInSyncReplicas="2")
    shown = started(view)
    values = dict(shown[node][component].values)
    values.pop(key)
    shown[node][component] = Shown(values | ({} if found is None else {key: found}), None)
    with pytest.raises(DeployError) as caught:
        settings_proof.effects_note(shown, view)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_several_are_counted():
    view = view_of(minInSyncReplicas="2")
    shown = started(view)
    for name in ("b1", "b2", "b3"):
        shown[name]["broker"] = Shown({**shown[name]["broker"].values, "minInSyncReplicas": "1"}, None)
    with pytest.raises(DeployError, match=r"b1: minInSyncReplicas .* \(and 2 more\)"):
        settings_proof.effects_note(shown, view)


def test_what_a_node_changes_by_itself_is_no_difference():
    view = view_of()
    shown = started(view)
    moved = {"brokerId": "0", "brokerRole": "SYNC_MASTER"}
    shown["b2"]["broker"] = Shown({**shown["b2"]["broker"].values, **moved}, None)
    _, data = settings_proof.effects_note(shown, view)
    assert data["switches"]["brokerRole"] == {"b1": "SLAVE", "b2": "SYNC_MASTER", "b3": "SLAVE"}


@pytest.mark.parametrize(("set_to", "shown"), [("0.50", "0.5"), ("007", "7"), ("true", "true")])
def test_numbers_are_compared_as_numbers(set_to, shown):
    assert settings_proof.differences("b1", {"key": set_to}, {"key": shown}) == []


def test_a_pool_that_is_not_there_is_said():
    view = view_of(transientStorePoolEnable="true")
    text, data = settings_proof.effects_note(started(view, pool=True), view)
    assert (data["without_effect"], data["unsafe"]) == ({}, "broker.transientStorePoolEnable=true")
    assert text.endswith("transientStorePoolEnable=true gives safety up, and no loss is excused by that")
    assert data["warning"]
    text, data = settings_proof.effects_note(started(view, pool=False), view)
    assert "broker.transientStorePoolEnable has no effect: b1, b2, b3" in text
    assert data["warning"]


def test_slaves_of_a_classic_master_have_no_pool():
    view = view_of(cluster__mode="master-slave", transientStorePoolEnable="true")
    shown = started(view, pool=True)
    for name in ("b2", "b3"):
        shown[name]["broker"] = Shown(shown[name]["broker"].values, pool=False)
    assert "b2, b3: a slave has no pool of buffers" in settings_proof.effects_note(shown, view)[0]


def test_a_switch_that_its_mode_ignores_is_said():
    view = view_of(cluster__mode="master-slave", minInSyncReplicas="2")
    text, data = settings_proof.effects_note(started(view), view)
    assert "broker.minInSyncReplicas has no effect: only controller mode" in text
    assert data["warning"]


def test_a_controller_inside_a_name_server_is_asked_twice():
    view = view_of(cluster__controllerIn="namesrv")
    node = view.of_role("controller")[0]
    assert [question.code for question in settings_proof.questions(node, view)] == [
        Request.GET_NAMESRV_CONFIG,
        Request.GET_CONTROLLER_CONFIG,
    ]
    assert config.name_servers(view) == view.of_role("controller")


def test_a_configuration_that_is_refused_or_no_text():
    assert settings_proof.parse_config(answer(b"a=1\nb = x=y \nnothing\n")) == {"a": "1", "b": "x=y"}
    with pytest.raises(Definite):
        settings_proof.parse_config(answer(b"", 1))
    with pytest.raises(ProtocolError):
        settings_proof.parse_config(answer(b"\xff\xfe"))


@pytest.mark.parametrize(("left", "pool"), [("5", True), ("0", True), (str(2**31 - 1), False)])
def test_pool(left, pool):
    body = msgspec.json.encode({"table": {"remainTransientStoreBufferNumbs": left}})
    assert settings_proof.parse_pool(answer(body)) is pool


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"table":{}}'])
def test_runtime_information_that_does_not_parse(body):
    with pytest.raises(ProtocolError):
        settings_proof.parse_pool(answer(body))

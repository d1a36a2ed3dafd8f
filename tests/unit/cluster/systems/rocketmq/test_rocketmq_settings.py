"""Settings: full names, bare names, defaults, and everything that is refused."""

import pytest

from chaos.core.errors import UsageError
from chaos.models.log.words import F
from cluster.systems.rocketmq import defaults, promises, settings, topology
from cluster.systems.rocketmq.system import RocketMQ

SYSTEM = RocketMQ()


def test_the_defaults_are_the_safe_ones():
    resolved = settings.resolve({})
    safe = {
        "broker.allAckInSyncStateSet": "true",
        "broker.minInSyncReplicas": "1",
        "broker.flushDiskType": "ASYNC_FLUSH",
        "broker.autoCreateTopicEnable": "false",
        "controller.enableElectUncleanMaster": "false",
        "client.routing": "mixed",
        "client.routePollInterval": "1",
    }
    assert {name: resolved[name] for name in safe} == safe
    assert promises.unsafe_setting(resolved) is None


def test_an_idle_group_does_not_flap():
    """A slave falls out after haMaxTimeSlaveNotCatchup without a heartbeat, so heartbeats come more often."""
    resolved = settings.resolve({})
    assert int(resolved["broker.haSendHeartbeatInterval"]) < int(resolved["broker.haMaxTimeSlaveNotCatchup"])


@pytest.mark.parametrize("mode", topology.MODES)
def test_every_default_is_a_setting_that_exists(mode):
    ours = defaults.of(topology.of({"cluster.mode": mode}))
    resolved = settings.resolve({"cluster.mode": mode, **ours})
    assert resolved == settings.resolve({"cluster.mode": mode})
    assert set(resolved) - set(ours) <= {*topology.HELP, "client.slaveReads", "broker.slaveReadEnable"}


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"allAckInSyncStateSet": "false"}, "broker.allAckInSyncStateSet", "false"),
        ({"enableElectUncleanMaster": "true"}, "controller.enableElectUncleanMaster", "true"),
        ({"broker.slaveTimeout": "5000"}, "broker.slaveTimeout", "5000"),
        ({"jvm.broker.Xmx": "256m"}, "jvm.broker.Xmx", "256m"),
        ({"client.routing": "follow"}, "client.routing", "follow"),
        ({"client.routePollInterval": "0.25"}, "client.routePollInterval", "0.25"),
        ({"accessMessageInMemoryMaxRatio": "10"}, "broker.accessMessageInMemoryMaxRatio", "10"),
    ],
)
def test_names(given, name, value):
    assert settings.resolve(given)[name] == value


def test_a_bare_key_goes_to_every_component_that_knows_it():
    resolved = settings.resolve({"scanNotActiveBrokerInterval": "2000", "serverWorkerThreads": "3"})
    assert resolved["controller.scanNotActiveBrokerInterval"] == "2000"
    assert resolved["namesrv.scanNotActiveBrokerInterval"] == "2000"
    assert {resolved[f"{component}.serverWorkerThreads"] for component in settings.COMPONENTS} == {"3"}


@pytest.mark.parametrize("order", [1, -1])
def test_the_full_name_wins_over_the_bare_one(order):
    given = [("serverWorkerThreads", "3"), ("broker.serverWorkerThreads", "5")][::order]
    resolved = settings.resolve(dict(given))
    assert (resolved["broker.serverWorkerThreads"], resolved["namesrv.serverWorkerThreads"]) == ("5", "3")


def test_resolving_twice_changes_nothing():
    once = settings.resolve({"minInSyncReplicas": "2"})
    assert settings.resolve(once) == once


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("allAckInSyncStateset", "true", "did you mean allAckInSyncStateSet?"),
        ("broker.minInsyncReplicas", "1", "did you mean broker.minInSyncReplicas?"),
        ("client.routePolInterval", "1", "did you mean client.routePollInterval?"),
        ("client.timeout", "1", "no such setting"),
        ("jvm.proxy.Xmx", "1g", "no such setting"),
        ("zzzzzzzzzzzz", "1", "chaos list settings"),
        ("controller.minInSyncReplicas", "1", "no such setting"),
        ("minInSyncReplicas", "two", "a whole number"),
        ("allAckInSyncStateSet", "yes", "true or false"),
        ("client.routing", "sticky", "follow, pinned, mixed"),
        ("client.routePollInterval", "0", "above 0"),
        ("client.routePollInterval", "inf", "above 0"),
        ("client.routePollInterval", "nan", "above 0"),
        ("jvm.broker.Xmx", "1g -verbose", "without spaces"),
        ("brokerIP1", "198.18.0.1", "set by the harness"),
        ("controllerType", "jRaft", "say cluster.controllerType"),
        ("enableControllerInNamesrv", "true", "say cluster.controllerIn"),
        ("enableDLegerCommitLog", "true", "say cluster.mode"),
        ("jRaftInitConf", "198.18.0.1:9880", "set by the harness"),
        ("brokerRole", "SYNC_MASTER", "but for cluster.mode=master-slave"),
        ("cluster.mod", "dledger", "did you mean cluster.mode?"),
        ("broker.deleteWhen", "04\nlistenPort=1", "one line"),
    ],
)
def test_refused(name, value, says):
    with pytest.raises(UsageError) as caught:
        settings.resolve({name: value})
    message = str(caught.value)
    assert message.startswith("--set ")
    assert name.rpartition(".")[2] in message.split(":", maxsplit=1)[0]
    assert says in message
    assert "\n" not in message.replace(value, "")


@pytest.mark.parametrize(
    ("key", "value", "option"),
    [
        ("Xmx", "96m", "-Xmx96m"),
        ("MaxDirectMemorySize", "64m", "-XX:MaxDirectMemorySize=64m"),
        ("AlwaysPreTouch", "true", "-XX:+AlwaysPreTouch"),
        ("UsePerfData", "false", "-XX:-UsePerfData"),
        ("Dcom.example.key", "1", "-Dcom.example.key=1"),
    ],
)
def test_jvm_options(key, value, option):
    assert settings.jvm_options({f"jvm.broker.{key}": value, "jvm.namesrv.Xmx": "1m"}, "broker") == [option]


def test_a_broker_may_be_early_by_its_timers_precision_and_no_more():
    assert SYSTEM.promises(SYSTEM.resolve({"timerPrecisionMs": "200"})).early_s == 0.2


def test_delayed_and_transactional_messages_bring_their_settings():
    assert SYSTEM.settings_for(frozenset({F.SEND})) == {}
    timed = {"broker.timerWheelEnable": "true", "broker.maxMessageSize": "262144"}
    assert SYSTEM.settings_for(frozenset({F.SCHEDULE})) == timed
    assert SYSTEM.settings_for(frozenset({F.POP, F.SEND})) == timed
    asked = SYSTEM.resolve(SYSTEM.settings_for(frozenset({F.TRANSACT})))
    assert int(asked["broker.transactionCheckInterval"]) > 3000  # transactionOpBatchInterval


def test_without_the_timer_wheel_clients_delay_nothing():
    assert F.SCHEDULE not in SYSTEM.operations("log", SYSTEM.resolve({}))
    assert F.SCHEDULE in SYSTEM.operations("log", SYSTEM.resolve({"timerWheelEnable": "true"}))
    assert F.POP not in SYSTEM.operations("log", SYSTEM.resolve({}))
    assert F.TRANSACT in SYSTEM.operations("log", SYSTEM.resolve({}))

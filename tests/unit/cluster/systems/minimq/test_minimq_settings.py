"""Settings: full and bare names, defaults, what nodes are told of them, and everything that is refused."""

import pytest

from chaos.core.errors import UsageError
from chaos.models.log.words import F
from chaos.storage.runinfo import Promises
from cluster.systems.minimq import settings
from cluster.systems.minimq.consensus.controller import ControllerSettings
from cluster.systems.minimq.replication.replica_state import BrokerSettings
from cluster.systems.minimq.system import MiniMQ


def test_the_defaults_are_the_safe_ones():
    resolved = settings.resolve({})
    assert settings.broker_settings(resolved) == BrokerSettings(request_timeout_ms=2500)
    assert settings.controller_settings(resolved) == ControllerSettings()
    assert (resolved["broker.minInSyncReplicas"], resolved["bug"]) == ("2", "")


def test_every_setting_has_help_and_its_default_is_possible():
    assert list(settings.HELP) == list(settings.SETTINGS)
    assert all(settings.HELP.values())
    assert settings.resolve(settings.resolve({})) == settings.resolve({})


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"minInSyncReplicas": "1"}, "broker.minInSyncReplicas", "1"),
        ({"broker.flush": "async"}, "broker.flush", "async"),
        ({"uncleanElection": "true"}, "controller.uncleanElection", "true"),
        ({"routing": "follow"}, "client.routing", "follow"),
        ({"flush": "async", "broker.flush": "sync"}, "broker.flush", "sync"),
        ({"broker.flush": "sync", "flush": "async"}, "broker.flush", "sync"),
    ],
)
def test_names(given, name, value):
    assert settings.resolve(given)[name] == value


def test_what_nodes_are_told():
    resolved = settings.resolve(
        {
            "minInSyncReplicas": "3",
            "flush": "async",
            "replication": "async",
            "requestTimeout": "1.25",
            "lagMax": "4",
            "brokerTimeout": "0.75",
            "uncleanElection": "true",
            "electionTimeout": "0.3",
        }
    )
    broker, controller = settings.broker_settings(resolved), settings.controller_settings(resolved)
    assert (broker.min_in_sync, broker.sync_flush, broker.sync_replication) == (3, False, False)
    assert (broker.request_timeout_ms, broker.lag_max_ms) == (1250, 4000)
    assert (controller.dead_after_ms, controller.unclean_election, controller.raft.election_ms) == (750, True, 300)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"minInSyncReplica": "1"},
            "--set minInSyncReplica: minimq has no such setting; did you mean minInSyncReplicas?",
        ),
        ({"broker.flsh": "sync"}, "did you mean broker.flush?"),
        ({"MININSYNCREPLICAS": "1"}, "did you mean minInSyncReplicas?"),
        ({"allAckInSyncStateSet": "false"}, "minimq has no such setting"),
        ({"zzz": "1"}, "known: broker.minInSyncReplicas, "),
        ({"minInSyncReplicas": "4"}, "broker.minInSyncReplicas=4: a whole number from 1 to 3"),
        ({"minInSyncReplicas": "two"}, "a whole number from 1 to 3"),
        ({"flush": "never"}, "broker.flush=never: sync or async"),
        ({"replication": ""}, "sync or async"),
        ({"uncleanElection": "yes"}, "false or true"),
        ({"requestTimeout": "0"}, "a number of seconds from 0.2 to 3600"),
        ({"lagMax": "nan"}, "a number of seconds from 0.6 to 3600"),
        ({"brokerTimeout": "0.3"}, "a number of seconds from 0.6 to 3600"),
        ({"electionTimeout": "inf"}, "a number of seconds from 0.2 to 3600"),
        ({"client.routing": "somewhere"}, "one of follow, pinned, mixed"),
        ({"client.slaveReads": "maybe"}, "on or off"),
        ({"client.routePollInterval": "0"}, "above 0"),
        ({"bug": "no-such-bug"}, "--set bug=no-such-bug: no such bug"),
    ],
)
def test_what_is_refused(given, says):
    with pytest.raises(UsageError) as caught:
        settings.resolve(given)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_followers_are_read_on_purpose_unless_told_otherwise():
    system = MiniMQ()
    assert F.SLAVE_READ in system.operations("log", system.resolve({}))
    assert F.SLAVE_READ in system.operations("log", system.resolve({"client.routing": "follow"}))
    assert F.SLAVE_READ not in system.operations("log", system.resolve({"client.slaveReads": "off"}))


@pytest.mark.parametrize("given", [{}, {"replication": "async"}, {"uncleanElection": "true", "flush": "async"}])
def test_nothing_is_by_design_whatever_the_settings(given):
    system = MiniMQ()
    assert system.promises(system.resolve(given)) == Promises(
        min_in_sync=2,
        replicas_read=True,
        progress_margin_s=2.0,
        recovers_within_s=30.0,
        rejoins_within_s=30.0,
        fails_over_after_s=3.5,
        serves_without_minority_s=30.0,
    )


def test_a_master_that_needs_all_replicas_promises_nothing_without_a_minority():
    system = MiniMQ()
    promised = {
        least: system.promises(system.resolve({"minInSyncReplicas": least})).serves_without_minority_s
        for least in ("1", "2", "3")
    }
    assert promised == {"1": 30.0, "2": 30.0, "3": 0.0}


def test_later_notice_makes_the_promised_recovery_longer():
    system = MiniMQ()
    later = system.promises(system.resolve({"brokerTimeout": "5.5", "lagMax": "1", "routePollInterval": "2"}))
    assert (later.recovers_within_s, later.rejoins_within_s) == (40.0, 40.0)

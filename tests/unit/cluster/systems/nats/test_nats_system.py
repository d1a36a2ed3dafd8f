"""NATS as a plugin: settings, nodes, files and commands."""

import re

import pytest
from system_view import view_of

from chaos.core.errors import UsageError
from chaos.models.log.words import F
from chaos.models.objects import register
from cluster.systems.nats.settings import DEFAULTS, HELP
from cluster.systems.nats.system import Nats


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"cluster.replica": "1"},
            "--set cluster.replica: nats has no such setting here; did you mean cluster.replicas?",
        ),
        ({"max_payload": "1"}, "--set max_payload: nats has no such setting here; known: cluster.replicas, "),
        ({"cluster.replicas": "2"}, "--set cluster.replicas=2: one of 1, 3"),
        ({"cluster.buckets": "0"}, "--set cluster.buckets=0: one of 1, 2, 3, 4, 5, 6, 7, 8, 9"),
        ({"client.directGet": "on"}, "--set client.directGet=on: true or false"),
        ({"client.routing": "all"}, "--set client.routing=all: one of follow, pinned, mixed"),
        ({"cluster.maxAge": "soon"}, "--set cluster.maxAge=soon: none, or a time of 100ms or more such as 4s"),
        ({"cluster.maxAge": "10ms"}, "--set cluster.maxAge=10ms: none, or a time of 100ms or more such as 4s"),
        ({"cluster.maxAge": "4s"}, "--set cluster.maxAge=4s: a time, with cluster.streams=expiring and only there"),
        ({"cluster.streams": "expiring"}, "--set cluster.maxAge=none: a time, with cluster.streams=expiring and only"),
        ({"server.syncInterval": "often"}, "--set server.syncInterval=often: always, or a time above 0 such as "),
        ({"server.syncInterval": "0s"}, "--set server.syncInterval=0s: always, or a time above 0 such as "),
        (
            {"server.syncInterval": "always"},
            "--set server.syncInterval=always: NATS 2.9.10 syncs every 2m; from 2.10 on it can be set",
        ),
    ],
)
def test_a_bad_setting_is_refused_in_a_line(settings, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        Nats().resolve(settings)


@pytest.mark.parametrize("version", ["2.9", "x", "2.9.10.1", "v2.9.10"])
def test_what_is_no_version_is_refused(version):
    with pytest.raises(UsageError, match=f"--system-version {version}: write it like 2.9.10"):
        Nats(version)


def test_where_a_version_comes_from(tmp_path):
    assert "2.9.10" in Nats().needs().detail
    assert "NATS 2.12.15" in Nats().at("2.12.15").needs().detail or "go-" in Nats().at("2.12.15").needs().detail
    with pytest.raises(
        UsageError, match=r"2\.8\.4: NATS can be had in 2\.9\.10 \(Debian's package\), and other versions"
    ):
        Nats().at("2.8.4")
    with pytest.raises(UsageError, match="no nats-server in it; name a folder that holds the program nats-server"):
        Nats().built(tmp_path)
    program = tmp_path / "nats-server"
    program.write_text("#!/bin/sh\necho 'nats-server: v2.11.4'\n")
    program.chmod(0o755)
    own = Nats().built(tmp_path)
    assert (own.version, own.fetch(print)) == ("2.11.4", tmp_path)
    assert own.resolve({"server.syncInterval": "always"})["server.syncInterval"] == "always"


def test_each_setting_has_help():
    assert Nats().resolve({}) == DEFAULTS
    assert set(DEFAULTS) == set(HELP)


def test_later_versions_sync_as_they_are_told():
    system = Nats("2.12.1")
    assert system.resolve({"server.syncInterval": "10s"})["server.syncInterval"] == "10s"
    text = file_of(system, server__syncInterval="always")
    assert 'sync_interval: "always"' in text
    assert "sync_interval" not in file_of(system), "what is stock is left to the server"


def file_of(system, **settings):
    view = view_of(system, **settings)
    return system.launch(view.nodes[1], "/home/x", "/art", view).files["nats.conf"].decode()


def test_a_server_and_its_file():
    view = view_of(Nats())
    made = Nats().launch(view.nodes[1], "/home/x", "/art", view)
    assert made.argv == ("/art/nats-server", "-c", "/home/x/nats.conf")
    assert made.data == ("data",)
    lines = file_of(Nats()).splitlines()
    assert {"server_name: n2", "listen: 198.18.0.11:4222", "http: 198.18.0.11:8222"} <= set(lines)
    assert 'server_tags: ["server:n2"]' in lines
    assert '"nats://198.18.0.10:6222", "nats://198.18.0.11:6222", "nats://198.18.0.12:6222"' in lines[-1]


def test_buckets_share_the_keys():
    system = Nats()
    three = system.subjects(system.resolve({}), 8)
    assert [(one.name, one.nodes, one.keys) for one in three] == [
        ("kv1", ("n1", "n2", "n3"), (0, 3, 6)),
        ("kv2", ("n1", "n2", "n3"), (1, 4, 7)),
        ("kv3", ("n1", "n2", "n3"), (2, 5)),
    ]
    alone = system.subjects(system.resolve({"cluster.replicas": "1", "cluster.buckets": "4"}), 8)
    assert [(one.name, one.nodes) for one in alone] == [
        ("kv1", ("n1",)),
        ("kv2", ("n2",)),
        ("kv3", ("n3",)),
        ("kv4", ("n1",)),
    ]
    (one,) = system.subjects(system.resolve({"cluster.buckets": "1"}), 8)
    assert (one.name, one.keys) == ("kv1", None)


def test_nobody_takes_over_a_bucket_with_one_replica():
    system = Nats()
    promised = [system.promises(system.resolve({"cluster.replicas": number})) for number in ("3", "1")]
    assert [(one.fails_over_after_s, one.recovers_within_s) for one in promised] == [(27.0, 57.0), (0.0, 30.0)]
    assert not any(one.allowed for one in promised), "what is lost is told and not excused"


def test_an_unknown_model_is_not_served():
    assert Nats().operations("log", {}) == frozenset()
    assert Nats().operations("register", {"cluster.streams": "log"}) == frozenset()
    assert {word.word for word in Nats().operations("register", {})} == {"read", "write", "cas"}


def test_a_server_that_has_nobody_to_ask_refuses_by_design():
    assert Nats().refusals == ("no responders",)


LOG = {"cluster.streams": "log"}


def test_a_log_is_served_where_streams_are_logs():
    system = Nats()
    assert system.settings_for(frozenset({F.SEND, F.DRAIN})) == LOG
    assert system.settings_for(frozenset(register.F)) == {}
    three, one = (system.resolve({**LOG, "cluster.replicas": number}) for number in ("3", "1"))
    both = {"send", "poll", "read", "drain"}
    assert {word.word for word in system.operations("log", three)} == both | {"slave-read"}
    assert {word.word for word in system.operations("log", one)} == both, "there is no replica to be read"
    assert system.idempotent_sends(three)


def test_each_queue_has_a_leader():
    system = Nats()
    alone = system.subjects(system.resolve({**LOG, "cluster.replicas": "1"}), 4)
    assert [(one.name, one.nodes, one.keys) for one in alone] == [
        ("q0", ("n1",), (0,)),
        ("q1", ("n2",), (1,)),
        ("q2", ("n3",), (2,)),
        ("q3", ("n1",), (3,)),
    ]
    assert [one.nodes for one in system.subjects(system.resolve(LOG), 2)] == [("n1", "n2", "n3")] * 2


def test_only_a_leader_that_was_replaced_may_show_an_old_end_of_a_log():
    system = Nats()
    promised = [system.promises(system.resolve({**LOG, "cluster.replicas": number})) for number in ("3", "1")]
    assert [([*one.allowed], one.replicas_read) for one in promised] == [(["stale-tail"], False), ([], False)]

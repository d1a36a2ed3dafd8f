"""The pure parts of hosts in namespaces."""

import ipaddress
import os

import pytest

from chaos.core.errors import UsageError
from cluster.cleanup import run_records
from cluster.host import NodeSpec
from cluster.hosts.addressing import addresses, hosts_text
from cluster.hosts.agent_host import clean_environment
from cluster.hosts.netns import HELP, NetnsBackend, SandboxError


def test_every_host_gets_an_address_of_its_own_in_the_test_range():
    names = [f"n{number}" for number in range(600)]
    given = addresses(names)
    assert list(given) == names
    assert given["n0"] == "198.18.0.10"
    assert len(set(given.values())) == 600
    assert all(ipaddress.ip_address(address) in ipaddress.ip_network("198.18.0.0/15") for address in given.values())
    with pytest.raises(UsageError, match="200000 hosts do not fit"):
        addresses(["x"] * 200_000)


def test_the_hosts_file_names_everybody():
    assert hosts_text({"b1": "198.18.0.10"}) == "127.0.0.1 localhost\n198.18.0.10 b1\n"


def test_the_environment_of_hosts_is_where_programs_are_and_no_more():
    ambient = {"PATH": "/opt/tool/bin::/usr/bin", "SECRET": "x", "JAVA_HOME": "/opt/java"}
    given = clean_environment(ambient, "/opt/here")
    assert set(given) == {"PATH", "LANG", "JAVA_HOME"}
    path = given["PATH"].split(":")
    assert path[:3] == ["/opt/here", "/opt/tool/bin", "/usr/bin"]
    assert {"/usr/sbin", "/sbin"} <= set(path)
    assert len(path) == len(set(path))


@pytest.mark.parametrize("step", HELP)
def test_a_refusal_is_one_line_that_ends_with_what_helps(step):
    error = SandboxError(step, "Operation not permitted")
    assert str(error) == f"network namespaces: {step}: Operation not permitted; {HELP[step]}"
    assert error.exit_code == 254


@pytest.mark.parametrize("names", [["b1", "b1"], ["client"], ["B1"], ["-b"], ["b_1"], [""], ["b1", "x" * 40]])
def test_impossible_names_are_refused_before_anything_is_made(names, tmp_path):
    with pytest.raises(UsageError, match="cannot name a host"):
        NetnsBackend().up("run", [NodeSpec(name=name, role="x") for name in names], tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("run_id", ["", "a/b", "../x", "a b", "x" * 101])
def test_impossible_run_ids_are_refused(run_id, tmp_path):
    with pytest.raises(UsageError, match="cannot be a run's id"):
        NetnsBackend().up(run_id, [], tmp_path)


def test_a_record_is_of_this_process(tmp_path, monkeypatch):
    monkeypatch.setenv("CHAOS_CACHE", str(tmp_path))
    path = run_records.write("run-1", tmp_path / "work", ("/a", "/b"))
    record = run_records.read(path)
    assert record is not None
    assert (record.run_id, record.pid, record.homes) == ("run-1", os.getpid(), ("/a", "/b"))
    assert run_records.alive(record.pid, record.start_time, record.boot_id)
    assert not run_records.alive(record.pid, record.start_time + 1, record.boot_id)
    assert not run_records.alive(record.pid, record.start_time, "another boot")
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    path.write_text("{torn")
    assert run_records.read(path) is None
    assert run_records.read(tmp_path / "none") is None


def test_the_marker_tells_the_living_from_the_dead():
    marker = run_records.marker("run-1")
    assert not run_records.is_orphaned(marker)
    pid, started, namespace = marker[run_records.OWNER].split(":")
    assert run_records.is_orphaned({**marker, run_records.OWNER: f"{pid}:{int(started) + 1}:{namespace}"})
    assert not run_records.is_orphaned({**marker, run_records.OWNER: f"{pid}:{int(started) + 1}:{namespace}9"})
    assert not run_records.is_orphaned({run_records.OWNER: f"{pid}:1:{namespace}"})
    assert not run_records.is_orphaned({run_records.RUN: "run-1"})
    assert not run_records.is_orphaned({})
    assert not run_records.is_orphaned({**marker, run_records.OWNER: f"x:y:{namespace}"})

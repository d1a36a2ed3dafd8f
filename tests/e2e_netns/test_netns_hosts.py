"""What only hosts in namespaces do: they share the machine's file system."""

import os
from pathlib import Path

import pytest

from cluster import doctor
from cluster.host import NodeSpec, hosts_up
from cluster.hosts.netns import NetnsBackend
from cluster.network import packet_filter, probe_matrix
from cluster.network.packet_filter import Rule

pytestmark = pytest.mark.e2e


def test_the_work_folder_is_common(sandbox):
    up = sandbox("b1", "b2")
    up.hosts["b1"].put(b"shared", str(up.work / "file"))
    assert (up.work / "file").read_bytes() == b"shared"
    assert up.hosts["b2"].run("cat", str(up.work / "file"), timeout_s=5).stdout == b"shared"


def test_provided_folders_are_visible_also_where_hosts_hide_theirs(sandbox, tmp_path):
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    backend = NetnsBackend()
    before = backend.provide(tmp_path / "before")
    work = tmp_path / "w"
    work.mkdir()
    with hosts_up(backend, "provide", [NodeSpec(name="b1", role="x")], work) as hosts:
        for path in (before, backend.provide(tmp_path / "after"), backend.provide(tmp_path / "after")):
            assert hosts["b1"].run("cat", f"{path}/file", timeout_s=5).text == Path(path).name


def test_a_packet_filter_that_does_nothing_is_not_noticed_here_but_by_the_probes(sandbox, tmp_path, monkeypatch):
    """The negative control: `iptables` replaced by `true` on the hosts' PATH."""
    fake = tmp_path / "fake"
    fake.mkdir()
    for name in ("iptables", "iptables-restore"):
        (fake / name).symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{fake}:{os.environ['PATH']}")
    up = sandbox("b1", "b2")
    packet_filter.apply(up.hosts["b1"], up.run_id, [Rule(up.hosts["b2"].address)])
    assert probe_matrix.measure(up.nodes(), 10).silent() == frozenset()
    packet_filter.clear(up.hosts["b1"], up.run_id)


def test_facts_of_this_machine_are_found_by_doing():
    found = {fact.name: fact for fact in doctor.facts()}
    for name in ("python", "network, mount, pid, UTS and IPC namespaces", "mounts in namespaces", "veth and bridge"):
        assert found[name].ok, found[name]
    assert "probes pass on 6 of 6 links" in found["hosts"].detail
    assert found["iptables"].ok
    assert "iptables" in found["iptables"].detail
    assert all(fact.ok or fact.help for fact in found.values())

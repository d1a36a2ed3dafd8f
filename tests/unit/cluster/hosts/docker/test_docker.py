"""The pure parts of hosts in containers."""

import ipaddress

import pytest

from chaos.core.errors import CapabilityError
from cluster.host import NodeSpec
from cluster.hosts.addressing import NETWORK
from cluster.hosts.docker import engine, image, network
from cluster.hosts.docker.backend import memory_bytes, nano_cpus
from cluster.hosts.docker.container import environment

ROUTES = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0
br-1\t000012C6\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
"""


def net(text: str) -> ipaddress.IPv4Network:
    return ipaddress.IPv4Network(text)


def test_routes_are_claims_but_the_default_route_is_none():
    assert network.routes(ROUTES) == [(net("198.18.0.0/16"), "the route by br-1")]


def test_a_free_part_overlaps_with_nothing_and_follows_from_the_run():
    taken = [(net("198.18.0.0/16"), "somebody"), (net("198.19.128.0/17"), "somebody else")]
    parts = list(network.free(7, "run-1", taken))
    assert len(parts) == 128
    assert all(part.prefixlen == 24 and part.subnet_of(net("198.19.0.0/17")) for part in parts)
    assert parts == list(network.free(7, "run-1", taken))
    firsts = {next(network.free(7, f"run-{number}", [])) for number in range(20)}
    assert len(firsts) > 10
    assert all(part.subnet_of(NETWORK) for part in firsts)


def test_many_hosts_get_a_larger_part_and_too_many_none():
    (first, *_) = network.free(300, "run", [])
    assert first.num_addresses > 310
    with pytest.raises(CapabilityError, match="is free for 200000 hosts; taken by nobody"):
        next(network.free(200_000, "run", []))


def test_whoever_takes_the_range_is_named():
    with pytest.raises(CapabilityError, match=r"taken by network corp \(198\.18\.0\.0/15\); `chaos clean`"):
        next(network.free(3, "run", [(NETWORK, "network corp"), (net("203.0.113.0/24"), "far away")]))


def test_an_image_has_what_its_nodes_need_and_its_name_follows_from_that():
    plain = image.packages_for([NodeSpec(name="a", role="x", programs=("python3.11",))])
    java = image.packages_for([NodeSpec(name="a", role="x"), NodeSpec(name="b", role="x", programs=("java",))])
    assert plain == image.BASE
    assert java == (*image.BASE, "openjdk-17-jre-headless")
    assert image.tag_of(plain) != image.tag_of(java)
    assert image.tag_of(plain) == image.tag_of(list(plain))
    assert image.dockerfile(java).startswith("FROM debian:bookworm-slim\nRUN ")
    assert all(package in image.dockerfile(java) for package in java)


def test_limits_as_people_write_them():
    assert [nano_cpus(text) for text in (None, "0.5", "2")] == [0, 500_000_000, 2_000_000_000]
    sizes = [memory_bytes(text) for text in (None, "512m", "1.5G", "64MB", "33554432")]
    assert sizes == [0, 512 << 20, 3 << 29, 64 << 20, 32 << 20]


def test_labels_tell_the_living_from_the_dead():
    marks = engine.labels("run-1")
    assert not engine.is_orphaned(marks)
    assert engine.is_orphaned({**marks, engine.BOOT: "another boot"})
    pid, started, namespace = marks[engine.OWNER].split(":")
    assert engine.is_orphaned({**marks, engine.OWNER: f"{pid}:{int(started) + 1}:{namespace}"})
    assert not engine.is_orphaned({**marks, engine.OWNER: f"{pid}:1:{namespace}9"})
    assert not engine.is_orphaned({engine.RUN: "run-1"})
    assert not engine.is_orphaned({})


def test_the_environment_of_an_image():
    assert environment({"Config": {"Env": ["PATH=/opt/bin", "JAVA_HOME=/opt/java=x"]}}) == {
        "PATH": "/opt/bin",
        "JAVA_HOME": "/opt/java=x",
    }
    assert "/usr/sbin" in environment({"Config": {"Env": None}})["PATH"]

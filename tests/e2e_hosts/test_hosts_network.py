"""Rules by their effect, seen from outside: which datagrams arrive."""

import pytest
from host_support import marked, until

from chaos.core.errors import DeployError, UsageError
from cluster.network import packet_filter, probe_matrix
from cluster.network.packet_filter import Rule

pytestmark = pytest.mark.e2e


def test_a_cut_stops_exactly_its_direction(sandbox):
    up = sandbox("b1", "b2", "b3")
    hosts = up.hosts
    packet_filter.apply(hosts["b1"], up.run_id, [Rule(hosts["b2"].address), Rule(hosts["client"].address)])
    seen = probe_matrix.measure(hosts, 20)
    assert seen.silent() == {("b2", "b1"), ("client", "b1")}
    assert seen.complete() == seen.received.keys() - seen.silent()
    counted = {counter.rule.address: counter.packets for counter in packet_filter.counters(hosts["b1"], up.run_id)}
    assert counted == {hosts["b2"].address: 20, hosts["client"].address: 20}


def test_rules_are_replaced_whole_and_clear_restores(sandbox):
    up = sandbox("b1", "b2", "b3")
    hosts = up.hosts
    empty = packet_filter.own_lines(hosts["b1"])
    for _ in range(2):
        packet_filter.apply(hosts["b1"], up.run_id, [Rule(hosts["b2"].address)])
    packet_filter.apply(hosts["b1"], up.run_id, [Rule(hosts["b3"].address)])
    assert probe_matrix.measure(up.nodes(), 10).silent() == {("b3", "b1")}
    jumps = [line for line in packet_filter.own_lines(hosts["b1"]) if " -j CHAOS-" in line]
    assert len(jumps) == 2
    for _ in range(2):
        packet_filter.clear(hosts["b1"], up.run_id)
    assert packet_filter.own_lines(hosts["b1"]) == empty == ()
    assert packet_filter.counters(hosts["b1"], up.run_id) == ()
    seen = probe_matrix.measure(up.nodes(), 10)
    assert seen.complete() == seen.received.keys()


def test_rules_of_others_and_of_other_runs_stay(sandbox):
    up = sandbox("b1", "b2")
    host = up.hosts["b1"]
    iptables = packet_filter.variant(host)
    host.run(iptables, "-A", "INPUT", "-s", "198.19.0.1", "-j", "DROP", timeout_s=5).check()
    packet_filter.apply(host, up.run_id, [Rule(up.hosts["b2"].address)])
    packet_filter.apply(host, f"{up.run_id}0", [Rule("198.19.0.2")])
    packet_filter.clear(host, up.run_id)
    left = host.run(iptables, "-S", timeout_s=5).text
    assert "-A INPUT -s 198.19.0.1/32 -j DROP" in left
    assert "198.19.0.2" in left
    assert up.hosts["b2"].address not in left
    assert len(packet_filter.own_lines(host)) == 4  # the other run's chain, its rule and its two jumps


def test_loss_is_the_share_that_was_asked_for(sandbox):
    up = sandbox("b1", "b2", "b3")
    rules = {"b1": ["b2"], "b2": ["b1"]}
    for name, sources in rules.items():
        packet_filter.apply(up.hosts[name], up.run_id, [Rule(up.hosts[s].address, "INPUT", 0.8) for s in sources])
    seen = probe_matrix.measure(up.nodes(), 200)
    low, high = probe_matrix.binomial_bounds(200, 0.2)
    for link in (("b1", "b2"), ("b2", "b1")):
        assert low <= seen.received[link] <= high
        assert 0 < seen.received[link] < 200
    assert seen.complete() == seen.received.keys() - {("b1", "b2"), ("b2", "b1")}
    assert [counter.rule.probability for counter in packet_filter.counters(up.hosts["b1"], up.run_id)] == [0.8]


def test_an_output_rule_drops_at_the_sender(sandbox):
    up = sandbox("b1", "b2")
    packet_filter.apply(up.hosts["b1"], up.run_id, [Rule(up.hosts["b2"].address, "OUTPUT")])
    assert probe_matrix.measure(up.nodes(), 10).silent() == {("b1", "b2")}
    (counter,) = packet_filter.counters(up.hosts["b1"], up.run_id)
    assert (counter.rule, counter.packets) == (Rule(up.hosts["b2"].address, "OUTPUT"), 10)


def test_only_the_pairs_that_were_asked_for_are_probed(sandbox):
    up = sandbox("b1", "b2", "b3")
    seen = probe_matrix.measure(up.hosts, 3, [("b1", "b3"), ("client", "b1"), ("b1", "b3")])
    assert seen == probe_matrix.Matrix(3, {("b1", "b3"): 3, ("client", "b1"): 3})
    assert probe_matrix.measure(up.hosts, 3, []) == probe_matrix.Matrix(3, {})
    with pytest.raises(UsageError, match="0 probes per link"):
        probe_matrix.measure(up.hosts, 0)


def test_the_largest_measurement_loses_nothing_by_itself(sandbox):
    up = sandbox(*(f"b{n}" for n in range(1, 7)))
    seen = probe_matrix.measure(up.hosts, probe_matrix.MAX_PROBES)
    assert seen.complete() == seen.received.keys()
    for host in up.hosts.values():
        assert ".echo" not in host.run("ls", "-A", timeout_s=5).text


def test_a_measurement_with_a_dead_host_says_so_and_leaves_no_program(sandbox):
    up = sandbox("b1", "b2")
    hosts = dict(up.hosts)
    other = sandbox("b9")
    other.backend.down()
    hosts["b9"] = other.hosts["b9"]
    with pytest.raises(DeployError, match="host b9 is gone"):
        probe_matrix.measure(hosts, 5)
    until(lambda: not any("python3 -I -S - " in line for line in marked(up.run_id).values()), "the programs to end")
    assert not any(".echo" in path.name for path in up.work.glob("*/*"))


def test_a_packet_filter_that_refuses_is_an_error_with_its_words(sandbox):
    up = sandbox("b1")
    with pytest.raises(DeployError, match=r"^b1: packet filter rules of CHAOS-.*: exit 2: .*not-an-address.*$"):
        packet_filter.apply(up.hosts["b1"], up.run_id, [Rule("not-an-address")])
    assert all("DROP" not in line for line in packet_filter.own_lines(up.hosts["b1"]))

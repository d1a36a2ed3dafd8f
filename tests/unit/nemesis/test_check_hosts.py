"""Hosts that cannot do what is planned are refused before the load begins."""

import pytest
from runner_bench import Bench, Kept, cluster

from chaos.core.errors import CapabilityError
from cluster.host import Capability
from nemesis.check_hosts import check_hosts


class Mine(Kept):
    """Never done."""


def test_a_host_that_cannot_do_it_is_refused_before_the_start(tmp_path):
    bench = Bench(Mine, tmp_path)
    lame = cluster(capabilities=frozenset({Capability.IPTABLES}))
    with pytest.raises(CapabilityError, match="b1: cannot kill here, it lacks signals"):
        check_hosts(bench.plan, lame, {"kill": Mine})


def test_a_fault_may_have_an_obstacle_of_its_own(tmp_path):
    bench = Bench(Mine, tmp_path)
    tried = []

    class Hindered(Mine):
        @classmethod
        def obstacle(cls, host):
            tried.append(host.name)
            return "the moon is wrong; wait a week" if host.name == "b2" else None

    with pytest.raises(CapabilityError, match="b2: cannot kill here: the moon is wrong; wait a week; see: chaos doc"):
        check_hosts(bench.plan, cluster(), {"kill": Hindered})
    assert sorted(tried) == ["b1", "b2", "b3"], "each host that the plan may hit"

"""Loss on hosts, counted by datagrams of the test's own: neither the fault's evidence nor its probes are asked."""

import pytest
from host_support import BACKENDS
from test_hosts_nemesis import cluster_up
from test_hosts_packets import SENT, stream, under

pytestmark = [pytest.mark.e2e, pytest.mark.longer]


@pytest.fixture(scope="module", params=BACKENDS)
def up(request, tmp_path_factory):
    with cluster_up(tmp_path_factory.mktemp("nodes"), request.param) as (cluster, client):
        yield cluster, client


def lost_share(source, target):
    """Of 2,000 numbered datagrams; none may come twice or out of order."""
    heard = stream(source, target)["heard"]
    assert heard == sorted(set(heard))
    return 1 - len(heard) / SENT


@pytest.mark.parametrize(
    ("nemesis", "there", "back"),
    [("leader-loss@broker", 0.8, 0.8), ("leader-loss-in@broker", 0.8, 0.0), ("leader-loss-out@broker", 0.0, 0.8)],
)
def test_80_percent_are_lost_each_way_that_is_hit(up, tmp_path, nemesis, there, back):
    def look(source, target):
        return lost_share(source, target), lost_share(target, source)

    to, fro = under(up, tmp_path, nemesis, look)
    for share, asked in ((to, there), (fro, back)):
        assert share == 0 if not asked else 0.76 <= share <= 0.84

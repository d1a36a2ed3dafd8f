"""Names, plans and descriptions as people meet them."""

import pytest

from chaos.core.errors import HistoryError, UsageError
from cluster.host import NodeSpec
from cluster.system import Leadership
from nemesis.catalog import CATALOG, parse
from nemesis.plan import make_plan, read_plan
from nemesis.targets import aim, choose
from nemesis.topology import Topology

KINDS = {"namesrv": "other", "controller": "controller", "broker": "replica"}
SPECS = [NodeSpec(name=name, role=role) for role, names in {
    "namesrv": ["n1"], "controller": ["c1", "c2", "c3"], "broker": ["b1", "b2", "b3"]
}.items() for name in names]  # fmt: skip
TOPOLOGY = Topology.of(SPECS, KINDS)


def rows(nemesis, specs=SPECS, interval_s=20, duration_s=20, time_limit_s=120, seed=1):
    return make_plan(
        nemesis, KINDS, specs, interval_s=interval_s, duration_s=duration_s, time_limit_s=time_limit_s, seed=seed
    )


def test_the_asked_names_are_there():
    assert {
        "noop", "leader-kill", "random-kill", "random-partition", "leader-partition", "major-suspend", "random-loss"
    } <= set(CATALOG)  # fmt: skip
    assert all(entry.help and entry.name == name for name, entry in CATALOG.items())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("leader-kil", "did you mean leader-kill?"),
        ("all-partition", "no nemesis 'all-partition'"),
        ("leader-kill@brokr", "did you mean broker?"),
        ("leader-kill@namesrv", "roles: broker, controller"),
        ("leader-kill@", "no role ''"),
        ("leader-kill@broker+", "no role ''"),
        ("leader-kill@broker+broker", "named twice"),
        ("noop@broker", "hits nobody"),
        ("", "no nemesis ''"),
    ],
)
def test_wrong_names_are_said_in_one_line(text, said):
    with pytest.raises(UsageError) as error:
        parse(text, TOPOLOGY)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_roles_are_kept_in_one_order():
    assert parse("random-kill@controller+broker", TOPOLOGY).text == "random-kill@broker+controller"


def test_the_plan_alternates_health_and_fault():
    assert [(row.row, row.at_s, row.duration_s) for row in rows("leader-kill")] == [
        (1, 20, 20),
        (2, 60, 20),
        (3, 100, 20),
    ]
    assert rows("noop") == ()
    assert rows("noop", duration_s=0, time_limit_s=1) == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"time_limit_s": 39.9}, "no fault fits"),
        ({"interval_s": 0}, "--fault-interval 0"),
        ({"duration_s": float("nan")}, "--fault-duration nan"),
        ({"duration_s": float("inf")}, "--fault-duration inf"),
        ({"specs": [s for s in SPECS if s.name in ("n1", "b1")]}, "cannot be done to 1 node(s) of broker"),
        ({"specs": [s for s in SPECS if s.name == "n1"]}, "the system has no replicas"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(changes, said):
    with pytest.raises(UsageError, match=r"^--") as error:
        rows("random-kill", **changes)
    assert said in str(error.value)


@pytest.mark.parametrize(
    "nemesis", ["minor-partition@controller", "random-partition@controller", "minor-kill@controller"]
)
def test_too_few_nodes_are_refused(nemesis):
    with pytest.raises(UsageError, match="start more nodes"):
        rows(nemesis, specs=[s for s in SPECS if s.name in ("n1", "c1", "b1")])


@pytest.mark.parametrize(
    ("nemesis", "names", "description"),
    [
        ("leader-kill", ("b2",), "master b2, SIGKILL"),
        ("leader-kill@broker+controller", ("b2", "c1"), "master b2, active controller c1, SIGKILL"),
        ("leader-partition", ("b2",), "master {b2 | b1 b3 c1 c2 c3}"),
        ("leader-partition@broker", ("b2",), "master {b2 | b1 b3}"),
        ("leader-partition@controller", ("c1",), "active controller {c1 | c2 c3}"),
        ("leader-loss", ("b2",), "master b2, 80 % loss each way"),
        ("all-suspend", ("b1", "b2", "b3"), "b1 b2 b3 of 3 brokers, SIGSTOP"),
        ("all-loss@controller", ("c1", "c2", "c3"), "c1 c2 c3, 80 % loss each way"),
    ],
)
def test_targets_are_described_for_people(nemesis, names, description):
    targets = choose(rows(nemesis)[0], TOPOLOGY, Leadership(master="b2", controller="c1"))
    assert targets is not None
    assert (targets.names, targets.description) == (names, description)


def test_recorded_targets_can_be_aimed_at_again():
    row = rows("random-partition")[0]
    drawn = choose(row, TOPOLOGY, Leadership())
    assert drawn is not None
    assert aim(row, TOPOLOGY, drawn.names) == drawn
    assert aim(row, TOPOLOGY, ("c1", "b1")).description == "{b1 c1 | b2 b3 c2 c3}"


def test_a_broken_plan_file_is_named(tmp_path):
    path = tmp_path / "plan.jsonl"
    with pytest.raises(HistoryError, match=r"plan\.jsonl: no such file"):
        read_plan(path)
    path.write_text("{\n")
    with pytest.raises(HistoryError, match=r"plan\.jsonl:1: "):
        read_plan(path)


def test_a_seed_keeps_its_plan_from_version_to_version():
    drawn = [choose(row, TOPOLOGY, Leadership()) for row in rows("random-partition", time_limit_s=240, seed=9133702)]
    assert [targets.description for targets in drawn if targets] == [
        "{b1 | b2 b3 c1 c2 c3}",
        "{c2 | b1 b2 b3 c1 c3}",
        "{b2 c2 | b1 b3 c1 c3}",
        "{b1 | b2 b3 c1 c2 c3}",
        "{b2 b3 c3 | b1 c1 c2}",
        "{c1 c3 | b1 b2 b3 c2}",
    ]

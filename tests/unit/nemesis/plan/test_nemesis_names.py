"""Names, plans and descriptions as people meet them."""

import pytest
from leading import leads, subjects_of
from nemesis_texts import typed

from chaos import plugins
from chaos.core.errors import CapabilityError, HistoryError, UsageError
from chaos.options.experiment import resolve_experiment
from chaos.options.planning import plan_of
from cluster.doctor import Fact
from cluster.host import Capability, NodeSpec
from cluster.systems.minimq.system import MiniMQ
from nemesis.faults.registry import faults, faults_on
from nemesis.plan.capabilities import missing_capabilities, unavailable
from nemesis.plan.choose_targets import choose, targets_at
from nemesis.plan.left_out import left_out
from nemesis.plan.mix import faults_in, parse_mix
from nemesis.plan.nemesis_names import catalog, parse
from nemesis.plan.plan import make_plan
from nemesis.plan.plan_file import read_plan
from nemesis.targets.topology import Topology

KINDS = {"namesrv": "other", "controller": "controller", "broker": "replica"}
SPECS = [
    NodeSpec(name=name, role=role)
    for role, names in {"namesrv": ["n1"], "controller": ["c1", "c2", "c3"], "broker": ["b1", "b2", "b3"]}.items()
    for name in names
]
TOPOLOGY = Topology.of(SPECS, KINDS, subjects_of(SPECS))
OF_ALL = {name for name, fault in faults().items() if fault.in_all}


def rows(nemesis, specs=SPECS, interval_s=20, duration_s=20, time_limit_s=120, seed=1, fault_nodes=(), rhythm="mixed"):
    return make_plan(
        nemesis,
        KINDS,
        specs,
        interval_s=interval_s,
        duration_s=duration_s,
        time_limit_s=time_limit_s,
        seed=seed,
        fault_nodes=fault_nodes,
        rhythm=rhythm,
        subjects=subjects_of(specs),
    )


def test_the_asked_names_are_there():
    assert {
        "noop",
        "leader-kill",
        "random-kill",
        "random-partition",
        "leader-partition",
        "major-suspend",
        "random-loss",
    } <= set(catalog())
    assert all(entry.help and entry.name == name for name, entry in catalog().items())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("leader-kil", "did you mean leader-kill?"),
        ("all-bridge", "no nemesis 'all-bridge'"),
        ("leader-kill@brokr", "did you mean broker?"),
        ("leader-kill@namesrv", "roles: broker, controller"),
        ("leader-kill@", "no role or subject ''"),
        ("leader-kill@broker+", "no role or subject ''"),
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
        ("leader-kill", ("b2",), "leader b2, killed"),
        ("leader-kill@broker+controller", ("b2", "c1"), "leader b2, active controller c1, killed"),
        ("leader-partition", ("b2",), "leader {b2 | b1 b3 c1 c2 c3}"),
        ("leader-partition@broker", ("b2",), "leader {b2 | b1 b3}"),
        ("leader-partition@controller", ("c1",), "active controller {c1 | c2 c3}"),
        ("leader-loss", ("b2",), "leader b2, 80 % loss each way"),
        ("all-suspend", ("b1", "b2", "b3"), "b1 b2 b3 of 3 brokers, suspended"),
        ("all-stop@controller", ("c1", "c2", "c3"), "c1 c2 c3 of 3 controllers, stopped"),
        ("leader-restart", ("b2",), "leader b2, restarted"),
        ("leader-disconnect@controller", ("c1",), "active controller c1, taken off the network"),
        ("all-loss@controller", ("c1", "c2", "c3"), "c1 c2 c3, 80 % loss each way"),
        ("all-partition@broker", ("b1", "b2", "b3"), "{b1 | b2 | b3}"),
        ("leader-partition-in@broker", ("b2",), "leader {b2 <-/- b1 b3}"),
        ("leader-partition-out@broker", ("b2",), "leader {b2 -/-> b1 b3}"),
    ],
)
def test_targets_are_described_for_people(nemesis, names, description):
    targets = choose(rows(nemesis)[0], TOPOLOGY, leads(master="b2", controller="c1"))
    assert targets is not None
    assert (targets.names, targets.description) == (names, description)


def test_recorded_targets_can_be_aimed_at_again():
    row = rows("random-partition")[0]
    drawn = choose(row, TOPOLOGY, leads())
    assert drawn is not None
    assert targets_at(row, TOPOLOGY, drawn.names) == drawn
    assert targets_at(row, TOPOLOGY, ("c1", "b1")).description == "{b1 c1 | b2 b3 c2 c3}"


def test_names_that_are_fixed_are_hit_whoever_leads():
    both = leads(master="b2", controller="c1")
    fixed = rows("fixed-kill,leader-kill", fault_nodes=("c2", "b3"))
    chosen = {row.name: choose(row, TOPOLOGY, both) for row in fixed}
    assert chosen["fixed-kill"].names == ("b3", "c2")
    assert chosen["fixed-kill"].description == "b3 of 3 brokers, c2 of 3 controllers, killed"
    assert chosen["leader-kill"].names == ("b2",)
    (row, *_) = rows("fixed-partition@broker", fault_nodes=("b1",))
    assert choose(row, TOPOLOGY, both).description == "{b1 | b2 b3}"
    (row, *_) = rows("fixed-partition", fault_nodes=("b1", "c1"))
    assert choose(row, TOPOLOGY, both).description == "{b1 c1 | b2 b3 c2 c3}"


@pytest.mark.parametrize(
    ("nemesis", "names", "said"),
    [
        ("fixed-kill", (), "say whom with --fault-nodes"),
        ("leader-kill", ("b1",), "goes with a fixed- nemesis"),
        ("noop", ("b1",), "goes with a fixed- nemesis"),
        ("fixed-kill", ("b4",), "--fault-nodes b4: no such node that a fault may hit: b1, b2, b3, c1, c2, c3"),
        ("fixed-kill", ("n1",), "--fault-nodes n1: no such node"),
        ("fixed-kill@controller", ("b1",), "no such controller node that a fault may hit: c1, c2, c3"),
        ("fixed-kill", ("b1", "b1"), "b1 is named twice"),
        ("fixed-suspend", ("b1", "b2", "b3"), "names every replica; leave one out, or say all-suspend"),
        ("fixed-partition@broker", ("b1", "b2", "b3"), "nobody would be on the other side"),
    ],
)
def test_names_that_cannot_be_hit_are_refused(nemesis, names, said):
    with pytest.raises(UsageError, match=r"^--(fault-nodes|nemesis)") as error:
        rows(nemesis, fault_nodes=names)
    assert said in str(error.value)


@pytest.mark.parametrize(("nemesis", "least"), [("partition-majorities-ring", 4), ("bridge", 3), ("all-partition", 2)])
def test_shapes_of_cuts_need_nodes_enough(nemesis, least):
    controllers = [NodeSpec(name=f"c{number}", role="controller") for number in range(1, 6)]
    for count in range(1, 6):
        if count < least:
            with pytest.raises(UsageError, match="start more nodes"):
                rows(f"{nemesis}@controller", specs=controllers[:count])
        else:
            assert rows(f"{nemesis}@controller", specs=controllers[:count])


def test_a_broken_plan_file_is_named(tmp_path):
    path = tmp_path / "plan.jsonl"
    with pytest.raises(HistoryError, match=r"plan\.jsonl: no such file"):
        read_plan(path)
    path.write_text("{\n")
    with pytest.raises(HistoryError, match=r"plan\.jsonl:1: "):
        read_plan(path)


def test_a_seed_keeps_its_plan_from_version_to_version():
    drawn = [choose(row, TOPOLOGY, leads()) for row in rows("random-partition", time_limit_s=240, seed=9133702)]
    assert [targets.description for targets in drawn if targets] == [
        "{b1 | b2 b3 c1 c2 c3}",
        "{c2 | b1 b2 b3 c1 c3}",
        "{b2 c2 | b1 b3 c1 c3}",
        "{b1 | b2 b3 c1 c2 c3}",
        "{b2 b3 c3 | b1 c1 c2}",
        "{c1 c3 | b1 b2 b3 c2}",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("leader-kill,leader-partitoin", "--nemesis leader-partitoin: no nemesis 'leader-partitoin'; did you mean"),
        ("leader-kill,", "no nemesis ''"),
        ("leader-kill,random-kill@brokr", "did you mean broker?"),
        ("leader-kill, random-kill,leader-kill", "leader-kill is named twice"),
        ("leader-kill@broker+controller,leader-kill@controller+broker", "is named twice"),
        ("noop,leader-kill", "leave it out of the mix"),
        ("leader-kill,all", "name it alone"),
        ("all@broker", "name it alone"),
        ("al", "did you mean all"),
    ],
)
def test_wrong_mixes_are_said_in_one_line(text, said):
    with pytest.raises(UsageError) as error:
        rows(text)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_mix_is_dealt_in_rounds_and_each_row_has_its_own_name():
    names = "leader-kill,random-partition@broker,major-suspend@controller"
    plan = rows(names, time_limit_s=240, rhythm="even")
    assert sorted(row.name for row in plan[:3]) == sorted(names.split(","))
    assert sorted(row.name for row in plan[3:]) == sorted(names.split(","))
    assert {row.name: (row.fault, row.roles) for row in plan} == {
        "leader-kill": ("kill", ("broker",)),
        "random-partition@broker": ("partition", ("broker",)),
        "major-suspend@controller": ("suspend", ("controller",)),
    }


def test_all_is_every_fault_on_every_role():
    plan = rows("all", interval_s=1, duration_s=1, time_limit_s=2 * 150, rhythm="even")
    names = {row.name for row in plan}
    assert len(names) == 93
    often = {name for name in names if sum(row.name == name for row in plan[:93]) > 1}
    assert often == {"leader-kill@broker", "leader-suspend@broker", "leader-partition"}, "these come again and again"
    assert {name.partition("@")[0] for name in names} == {
        name
        for name, entry in catalog().items()
        if entry.fault in OF_ALL
        and name != "partition-majorities-ring"
        and not name.startswith(("fixed-", "follower-"))
    } | {"partition-majorities-ring"}, "the ring fits the six nodes of both roles"
    assert {"leader-kill@broker", "leader-kill@controller", "random-loss", "random-loss@controller"} <= names
    assert "leader-kill" not in names, "on brokers alone it would come twice"
    assert {row.fault for row in plan[: len(OF_ALL)]} == OF_ALL, "a short run sees every mechanism"


def test_all_leaves_out_what_cannot_be_done_and_says_so():
    missing = {"loss": "iptables statistic: no share (modprobe xt_statistic)"}
    plan = make_plan(
        "all",
        KINDS,
        SPECS,
        interval_s=1,
        duration_s=1,
        time_limit_s=300,
        seed=1,
        missing=missing,
        subjects=subjects_of(SPECS),
    )
    assert {row.fault for row in plan} == OF_ALL - {"loss"}
    assert left_out("all", KINDS, SPECS, missing, subjects_of(SPECS)) == (
        "all leaves out every loss here: iptables statistic: no share (modprobe xt_statistic)",
        "all leaves out what needs more nodes: partition-majorities-ring@broker, partition-majorities-ring@controller",
    )
    assert left_out("random-loss,leader-kill", KINDS, SPECS, missing, subjects_of(SPECS)) == ()
    few = [spec for spec in SPECS if spec.name not in {"c2", "c3"}]
    (line,) = left_out("all", KINDS, few, {}, subjects_of(few))
    assert "needs more nodes: " in line
    assert "minor-kill@controller" in line
    assert all("partition@controller" not in row.name for row in rows("all", specs=few, time_limit_s=4000))


def test_what_is_missing_is_found_by_the_needs_of_each_fault():
    there = [Fact("iptables", True, "v1.8", gives=Capability.IPTABLES), Fact("maven", False, "not found")]
    assert missing_capabilities(there) == {}
    gone = Fact("iptables statistic", False, "no share", "modprobe xt_statistic", gives=Capability.STATISTIC)
    why = "iptables statistic: no share (modprobe xt_statistic)"
    assert unavailable(faults(), missing_capabilities([*there, gone])) == dict.fromkeys(
        ("loss", "loss-in", "loss-out"), why
    )


def test_faults_of_whole_containers_need_containers():
    never = {Capability.MACHINE: "no containers", Capability.LINK: "no way back"}
    assert unavailable(faults_on("process"), never) == {"disconnect": "no way back"}
    on_hosts = ("kill", "stop", "restart", "suspend", "disconnect")
    assert unavailable(faults_on("container"), never) == dict.fromkeys(on_hosts, "no containers")


@pytest.mark.parametrize(
    ("nemesis", "kill", "backend", "said"),
    [
        ("leader-disconnect", "process", "ssh", "--nemesis leader-disconnect: commands come by the network"),
        ("random-kill", "container", "netns", "--kill container: hosts in namespaces are no containers"),
    ],
)
def test_what_a_backend_can_never_do_is_refused_before_anything_is_made(nemesis, kill, backend, said):
    system = MiniMQ()
    experiment = resolve_experiment({"nemesis": nemesis, "kill": kill}, system.resolve({}), 1)
    with pytest.raises(CapabilityError, match=said) as told:
        plan_of(experiment, system, plugins.load("backends", backend), print)
    assert told.value.exit_code == 254


def test_all_leaves_out_what_a_backend_can_never_do():
    system, said = MiniMQ(), []
    experiment = resolve_experiment({"nemesis": "all", "time_limit_s": 2000.0}, system.resolve({}), 1)
    plan = plan_of(experiment, system, plugins.load("backends", "ssh"), said.append)
    assert {row.fault for row in plan} == OF_ALL - {"disconnect"}
    assert any("all leaves out every disconnect here: commands come by the network" in line for line in said)


def test_a_seed_keeps_its_mix_from_version_to_version():
    plan = rows("leader-kill,random-partition,minor-suspend@controller", time_limit_s=240, seed=9133702, rhythm="even")
    assert [row.name for row in plan] == [
        "leader-kill",
        "minor-suspend@controller",
        "random-partition",
        "minor-suspend@controller",
        "leader-kill",
        "random-partition",
    ]


@pytest.mark.parametrize(
    "text",
    [
        *map(typed, catalog()),
        "all",
        "leader-kill@broker, random-loss@broker+controller",
        "major-suspend@controller,random-restart",
    ],
)
def test_the_faults_in_a_text_are_those_of_the_mix_that_it_is_read_as(text):
    mix = parse_mix(text, TOPOLOGY)
    assert faults_in(text) == {choice.entry.how for choice in mix.choices}


def test_a_name_that_nobody_knows_is_no_kind():
    assert faults_in("leader-kil, leader-kill") == {faults()["kill"]}

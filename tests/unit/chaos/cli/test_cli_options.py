"""What is typed and what a file says become one run: names, letters, who wins, what is refused, plan and replay."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from leading import leads

from chaos.cli.main import cli
from chaos.cli.plan import replay
from chaos.core.errors import HistoryError, UsageError
from chaos.core.events import EventLog, Fault
from chaos.options.experiment import Experiment, as_yaml
from chaos.options.planning import pin_targets
from chaos.options.resolve import experiment_of
from nemesis.plan.plan import Row, make_plan
from nemesis.plan.plan_file import read_plan, write_plan

QUICK = ["--backend", "netns", "--seed", "7"]


def chaos(*argv: str) -> Any:
    return CliRunner().invoke(cli, list(argv), standalone_mode=False)


def planned(*argv: str) -> list[dict[str, Any]]:
    done = chaos("plan", *QUICK, "--json", *argv)
    assert done.exception is None, done.exception
    rows: list[dict[str, Any]] = json.loads(done.output)
    return rows


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_plan_is_what_a_run_would_do_and_leaves_nothing(tmp_path: Path) -> None:
    mix = ("--nemesis", "random-partition,leader-kill", "--time-limit", "80", "--rhythm", "even")
    rows = planned(*mix)
    assert len(rows) == 4
    assert [(row["at_s"], row["duration_s"]) for row in rows] == [(10, 10), (30, 10), (50, 10), (70, 10)]
    for row in rows:
        assert (row["targets"] is None) == (row["name"] == "leader-kill"), "who leads is not known before"
    table = chaos("plan", *QUICK, *mix).output
    for row in rows:
        said = row["description"] or "the leader of brokers, as observed then"
        assert f"{row['name']:<16}  {said}\n" in table
    assert list(tmp_path.iterdir()) == []
    assert planned("--nemesis", "noop") == []
    assert {row["name"] for row in planned()} == {"random-partition"}, "no fault at all must be asked for"


def test_the_plan_of_a_mix_shows_where_the_load_is_quiet_and_whom_a_row_follows() -> None:
    mix = ("--nemesis", "all", "--time-limit", "150", "--fault-interval", "8", "--seed", "2")
    rows, table = planned(*mix), chaos("plan", *QUICK, *mix).output
    quiet = [row for row in rows if row["quiet_s"]]
    following = [row for row in rows if row["follows"]]
    assert quiet
    assert following
    for row in quiet:
        assert f"{row['at_s'] - row['quiet_s']:g}" in table
    for row in following:
        assert rows[row["follows"] - 1]["name"].startswith("leader-")
        assert f"whom row {row['follows']} hit" in table


def test_the_letters_of_openchaos_mean_what_they_meant() -> None:
    short = planned("-f", "random-partition", "-i", "5", "-t", "60", "-r", "50", "-c", "3", "-m", "queue")
    long = planned(
        "--nemesis",
        "random-partition",
        "--fault-interval",
        "5",
        "--time-limit",
        "60",
        "--rate",
        "50",
        "--concurrency",
        "3",
        "--workload",
        "queue",
    )
    old = planned("--fault", "random-partition", "--fault-interval", "5", "--limit-time", "60", "--model", "queue")
    assert short == long == old
    assert len(short) == 6
    for names in ("b1;b3", "b1,b3"):
        assert planned("-f", "fixed-kill", "-n", names)[0]["targets"] == ["b1", "b3"]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--rto"], "--rto: recovery times are always measured"),
        (["--recovery"], "--recovery-time"),
        (["--order"], "order is always checked"),
        (["--pull"], "--workload"),
        (["--restart"], "--reuse FILE"),
        (["--agent"], "there is no agent"),
        (["-p", "8080"], "--port is that of the machines' sshd"),
        (["--password", "x"], "CHAOS_SSH_PASSWORD"),
        (["-m", "kv"], "minimq has no clients for the model kv"),
        (["-n", "b1"], "goes with a fixed- nemesis"),
        (["--pin"], "--pin needs --plan"),
        (["--plan", "none.jsonl"], "none.jsonl: no such file"),
        (["-d", "none.yaml"], "-d none.yaml: No such file"),
    ],
)
def test_what_means_nothing_here_is_refused_with_what_to_do(argv: list[str], says: str) -> None:
    done = chaos("plan", *QUICK, *argv)
    assert getattr(done.exception, "exit_code", None) == 254
    assert says in str(done.exception)
    assert "\n" not in str(done.exception)


def test_the_command_line_wins_over_the_file_and_the_file_over_the_bug(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(
        "rate: 300\nclients: 5\nnemesis: leader-kill\nbug: unclean-election\nimage: x\n"
        "settings:\n  broker.minInSyncReplicas: 3\n  client.routing: follow\n"
    )
    made = experiment_of({"driver": str(file), "rate": 20.0, "pairs": ("minInSyncReplicas=2",), "cpus": "1"})
    assert (made.rate, made.clients, made.nemesis) == (20.0, 5, "leader-kill")
    assert made.settings["broker.minInSyncReplicas"] == "2"
    assert made.settings["client.routing"] == "follow"
    assert made.settings["bug"] == "unclean-election"
    assert made.backend_options == {"image": "x", "cpus": "1"}
    assert {name: made.origins[name] for name in ("rate", "clients", "nemesis", "keys", "backend_options")} == {
        "rate": "option",
        "clients": f"{file}:2",
        "nemesis": f"{file}:3",
        "keys": "default",
        "backend_options": f"option, {file}:5",
    }
    assert made.origins["time_limit_s"] == "--bug unclean-election"
    assert made.origins["settings.broker.minInSyncReplicas"] == "--set"
    assert made.origins["settings.client.routing"] == f"{file}:8"
    other = experiment_of({"driver": str(file), "bug": "offset-gap"})
    assert other.settings["bug"] == "offset-gap"


def test_a_run_that_was_resolved_is_asked_for_again_by_its_own_file(tmp_path: Path) -> None:
    made = experiment_of({"bug": "unclean-election", "seed": 5, "image": "i", "fault_nodes": None})
    (tmp_path / "config.yaml").write_text(as_yaml(made))
    again = experiment_of({"driver": str(tmp_path / "config.yaml")})
    for field in Experiment.__struct_fields__:
        assert field == "origins" or getattr(again, field) == getattr(made, field), field


def stored(store: Path, made: Experiment, rows: tuple[Row, ...]) -> Path:
    folder = store / "g" / "20261122T070001Z-0001"
    (folder / "history").mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    (folder / "config.yaml").write_text(as_yaml(made))
    write_plan(rows, folder / "plan.jsonl")
    return folder


def rows_of(nemesis: str) -> tuple[Row, ...]:
    from cluster.systems.minimq.system import MiniMQ

    system = MiniMQ()
    settings = system.resolve({})
    return make_plan(
        nemesis,
        system.roles,
        system.topology(settings),
        interval_s=5,
        duration_s=5,
        time_limit_s=30,
        seed=3,
        subjects=system.subjects(settings, 4),
    )


def test_replay_repeats_options_plan_and_seed_and_takes_others(tmp_path: Path) -> None:
    store = tmp_path / "store"
    made = experiment_of({"nemesis": "leader-kill", "seed": 11, "rate": 70.0, "pairs": ("client.routing=follow",)})
    folder = stored(store, made, rows_of("leader-kill"))
    again, argv = replay("-1", {"store": str(store), "rate": 5.0, "pairs": ("minInSyncReplicas=1",), "pin": None})
    assert (again.seed, again.rate, again.nemesis, again.pin) == (11, 5.0, "leader-kill", False)
    assert again.plan == str(folder / "plan.jsonl")
    assert again.settings["client.routing"] == "follow"
    assert again.settings["broker.minInSyncReplicas"] == "1"
    assert again.origins["clients"] == f"{folder / 'config.yaml'}:9"
    assert argv == [
        "chaos",
        "run",
        "-d",
        str(folder / "config.yaml"),
        "--store",
        str(store),
        "--rate",
        "5.0",
        "--set",
        "minInSyncReplicas=1",
        "--plan",
        str(folder / "plan.jsonl"),
    ]
    assert replay("2026", {"store": str(store), "pin": True})[0].pin is True


@pytest.mark.parametrize(
    ("options", "says"),
    [({"nemesis": "noop"}, "--nemesis: replay repeats the plan"), ({"fault_nodes": ("b1",)}, "--fault-nodes: replay")],
)
def test_replay_refuses_what_its_plan_decides(options: dict[str, Any], says: str, tmp_path: Path) -> None:
    stored(tmp_path / "store", experiment_of({}), rows_of("leader-kill"))
    with pytest.raises(UsageError, match=says):
        replay("-1", {"store": str(tmp_path / "store"), **options})


def test_replay_needs_a_plan_and_a_file(tmp_path: Path) -> None:
    folder = stored(tmp_path / "store", experiment_of({}), ())
    (folder / "plan.jsonl").unlink()
    with pytest.raises(UsageError, match=r"it has no plan\.jsonl"):
        replay("-1", {"store": str(tmp_path / "store")})


@pytest.fixture
def etcd_build(tmp_path: Path) -> str:
    """A folder with a program that says it is etcd 3.9.1."""
    program = tmp_path / "mine" / "etcd"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'etcd Version: 3.9.1-dev'\n")
    program.chmod(0o755)
    return str(program.parent)


def test_a_run_keeps_the_version_that_ran_and_replay_takes_it_again(tmp_path: Path, etcd_build: str) -> None:
    store = str(tmp_path / "store")
    default = experiment_of({"system": "etcd", "seed": 1})
    assert (default.system_version, default.origins["system_version"]) == ("3.4.23", "default")
    assert experiment_of({"system": "minimq"}).system_version is None, "it has only one, and is as new as chaos"
    old = experiment_of({"system": "etcd", "system_version": "3.5.4", "nemesis": "leader-kill", "seed": 1})
    stored(Path(store), old, rows_of("leader-kill"))
    again, _ = replay("-1", {"store": store})
    assert (again.system_version, again.artifacts, again.settings["pre-vote"]) == ("3.5.4", None, "true")
    fixed, _ = replay("-1", {"store": store, "system_version": "3.5.5"})
    assert fixed.system_version == "3.5.5"
    mine, argv = replay("-1", {"store": store, "artifacts": "mine"})
    assert (mine.system_version, mine.artifacts) == ("3.9.1-dev", etcd_build)
    assert mine.origins["system_version"] == "--artifacts"
    assert argv[-4:-2] == ["--artifacts", "mine"]
    Path("old.yaml").write_text("system: etcd\nsystem_version: 3.5.4\n")
    assert experiment_of({"driver": "old.yaml", "system": "minimq"}).system_version is None
    assert experiment_of({"driver": "old.yaml", "system": "etcd"}).system_version == "3.5.4"


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--system", "redis", "--system-version", "6.2.1"], "redis can be had in 7.0.15 only; leave it out"),
        (["--system", "minimq", "--system-version", "1"], "minimq can be had in "),
        (["--system", "redis", "--artifacts", "mine"], "redis runs no other build than its own"),
        (["--system", "etcd", "--system-version", "3.4.1"], "3.4.23 (Debian's package), and 3.5.0 and later"),
        (["--system", "etcd", "--system-version", "new"], "--system-version new: write it like 3.5.4"),
        (["--system", "rocketmq", "--system-version", "4.9.4"], "RocketMQ has controllers since 5.0.0"),
        (["--system", "etcd", "--artifacts", "none"], "none: no such folder; name one that holds the program etcd"),
        (["--system", "etcd", "--artifacts", "."], "no etcd in it; name a folder that holds the program etcd"),
        (["--system", "rocketmq", "--artifacts", "mine"], "0 rocketmq-broker-*.jar in "),
        (
            ["--system", "etcd", "--artifacts", "mine", "--system-version", "3.5.4"],
            "mine has etcd 3.9.1-dev; leave --system-version out, or --artifacts",
        ),
    ],
)
@pytest.mark.usefixtures("etcd_build")
def test_a_version_that_cannot_be_had_is_refused_in_a_line(argv: list[str], says: str) -> None:
    done = chaos("plan", *QUICK, *argv)
    assert getattr(done.exception, "exit_code", None) == 254
    assert says in str(done.exception)
    assert "\n" not in str(done.exception)


@pytest.mark.usefixtures("etcd_build")
def test_the_plan_names_the_version() -> None:
    assert (
        "system    etcd 3.6.1: member n1 n2 n3\n"
        in chaos("plan", *QUICK, "--system", "etcd", "--system-version", "3.6.1").output
    )
    assert "system    etcd 3.9.1-dev: " in chaos("plan", *QUICK, "--system", "etcd", "--artifacts", "mine").output


def test_a_pinned_row_hits_whom_it_hit(tmp_path: Path) -> None:
    from cluster.systems.minimq.system import MiniMQ
    from nemesis.plan.choose_targets import choose
    from nemesis.targets.topology import Topology

    system, told = MiniMQ(), []
    topology = Topology.of(system.topology(system.resolve({})), system.roles, system.subjects(system.resolve({}), 4))
    rows = rows_of("leader-kill,random-partition,bridge")
    path = tmp_path / "run.events"
    log = EventLog(path)
    before = {row.row: choose(row, topology, leads(master="b3")) for row in rows}
    for row in rows[:2]:
        targets = before[row.row]
        assert targets is not None
        log.emit(Fault(time_ns=row.row, id=row.row, name=row.name, stage="inject", targets=targets.names))
    log.close()
    again = pin_targets(rows, path, told.append)
    assert [row.row for row in again] == [1, 2]
    assert told == ["nemesis  not begun in that run and left out: row 3"]
    write_plan(again, tmp_path / "plan.jsonl")
    for row in read_plan(tmp_path / "plan.jsonl"):
        hit, was = choose(row, topology, leads(master="b1")), before[row.row]
        assert hit is not None
        assert was is not None
        assert (hit.names, hit.grudge) == (was.names, was.grudge)
    path.write_text("")
    with pytest.raises(HistoryError, match="no fault was done"):
        pin_targets(rows, path, told.append)
    with pytest.raises(HistoryError, match="the history that lies beside the plan"):
        pin_targets(rows, tmp_path / "none", told.append)


def test_a_plan_that_outlasts_the_run_is_refused(tmp_path: Path) -> None:
    write_plan(rows_of("leader-kill"), tmp_path / "plan.jsonl")
    done = chaos("plan", *QUICK, "--plan", "plan.jsonl", "--time-limit", "20")
    assert "--time-limit 20: the plan's last fault ends at 30 s" in str(done.exception)

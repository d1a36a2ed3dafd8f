"""Run folders are found by path, id and word; the resolved experiment says who decided what."""

import threading
from pathlib import Path

import pytest
import yaml

from chaos.core.errors import UsageError
from chaos.core.verdict import Valid, exit_code
from chaos.models.log.words import F
from chaos.options.experiment import as_yaml, resolve_experiment, with_defaults
from chaos.run.store import find_run, make_run_folder, point, runs_in
from chaos.workload.logs.group import GroupWorkload
from cluster.systems.minimq.system import MiniMQ
from cluster.systems.rocketmq.system import RocketMQ


def run_folder(store: Path, group: str = "g") -> Path:
    folder = make_run_folder(store, group)
    (folder / "run.json").write_text("{}")
    return folder


def test_a_run_is_found_by_path_id_and_latest(tmp_path: Path) -> None:
    store = tmp_path / "store"
    folder = run_folder(store)
    point(store / "latest", folder)
    assert find_run(str(folder), store) == folder
    assert find_run(folder.name[:18], store) == folder
    assert find_run("latest", store) == folder
    assert (store / "current").resolve() == folder


def test_a_name_that_fits_none_or_several_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "store"
    first, second = run_folder(store), run_folder(store, "h")
    with pytest.raises(UsageError, match="no such run"):
        find_run("19990101", store)
    if first.name[:8] == second.name[:8]:
        with pytest.raises(UsageError, match="2 runs"):
            find_run(first.name[:8], store)
    with pytest.raises(UsageError, match=r"no run\.json"):
        find_run(str(tmp_path), store)


def test_the_link_moves_in_one_step(tmp_path: Path) -> None:
    store = tmp_path / "store"
    first, second = run_folder(store), run_folder(store)
    point(store / "latest", first)
    point(store / "latest", second)
    assert (store / "latest").resolve() == second
    assert [path.name for path in store.iterdir() if path.name.startswith(".")] == []


def test_a_store_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--store"):
        make_run_folder(tmp_path / "file", "g")


def test_the_resolved_experiment_round_trips_as_yaml_with_origins() -> None:
    it = resolve_experiment({"nemesis": "leader-kill", "fault_interval_s": 15.0}, {"minInSyncReplicas": "1"}, 7)
    text = as_yaml(it)
    values = yaml.safe_load(text)
    assert values["nemesis"] == "leader-kill"
    assert values["fault_duration_s"] == 15.0
    assert values["settings"] == {"minInSyncReplicas": "1"}
    line = {line.split(":")[0]: line.split("# ")[-1] for line in text.splitlines()[1:]}
    assert line["nemesis"] == "option"
    assert line["fault_duration_s"] == "--fault-interval"
    assert line["seed"] == "drawn for this run"
    assert line["keys"] == "default"


@pytest.mark.parametrize(
    ("asked", "wheel"),
    [({}, "true"), ({"timerWheelEnable": "false"}, "false"), ({"broker.timerWheelEnable": "false"}, "false")],
)
def test_what_a_workload_needs_lies_beneath_what_is_asked_for(asked: dict[str, str], wheel: str) -> None:
    system = RocketMQ()
    wanted = with_defaults(system.settings_for(frozenset({F.SEND, F.SCHEDULE})), {"rate": "1", **asked})
    assert wanted.pop("rate") == "1"
    assert system.resolve(wanted)["broker.timerWheelEnable"] == wheel


def test_ordinary_workloads_need_nothing() -> None:
    assert RocketMQ().settings_for(GroupWorkload.needs) == {}
    assert MiniMQ().settings_for(frozenset(F)) == {}


@pytest.mark.parametrize(
    "given", [{"time_limit_s": 0.0}, {"clients": 0}, {"rate": 0.0}, {"op_timeout_s": 0.0}, {"workers": 100}]
)
def test_impossible_values_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="give a"):
        resolve_experiment(given, {}, 1)


def test_an_open_loop_may_hold_a_whole_outage_in_flight() -> None:
    it = resolve_experiment({"rate": 300.0, "op_timeout_s": 3.0}, {}, 1)
    assert it.max_in_flight(1.41) > 300 * 1.41 * 3


@pytest.mark.parametrize(
    ("valid", "interrupted", "broke", "code"),
    [
        (True, False, None, 0),
        (False, False, None, 1),
        ("unknown", False, None, 2),
        (True, True, None, 130),
        (False, True, None, 1),
        ("unknown", True, None, 130),
        (True, False, 255, 255),
        (False, True, 255, 1),
        ("unknown", True, 254, 254),
    ],
)
def test_an_anomaly_beats_what_broke_and_that_the_interrupt(
    valid: Valid, interrupted: bool, broke: int | None, code: int
) -> None:
    assert exit_code(valid, interrupted=interrupted, broke=broke) == code


def test_runs_are_listed_while_links_are_made_and_removed_beside_them(tmp_path: Path) -> None:
    runs = [run_folder(tmp_path) for _ in range(2)]
    (tmp_path / "notes.txt").write_text("a file of somebody's\n")
    (tmp_path / ".latest-00000000").symlink_to("nowhere")
    gone = threading.Event()

    def links() -> None:
        while not gone.is_set():
            point(tmp_path / "latest", runs[0])

    beside = threading.Thread(target=links)
    beside.start()
    try:
        assert all(runs_in(tmp_path) == sorted(runs) for _ in range(2000))
    finally:
        gone.set()
        beside.join()

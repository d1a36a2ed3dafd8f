"""Commands that look at stored runs, on run folders written from literals."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from repository import HISTORIES

from chaos.cli.main import cli
from chaos.core.errors import UsageError
from chaos.testing.history_files import load_history, write_run_folder
from checkers.engine import local_engine


def chaos(*argv: str) -> Result:
    return CliRunner().invoke(cli, list(argv), standalone_mode=False)


def said(*argv: str) -> str:
    """What a command that must go well prints."""
    done = chaos(*argv)
    assert done.exception is None, done.exception
    assert done.return_value == 0
    return done.output


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three runs: a lost message, two masters, and one that was never judged."""
    for number, name in enumerate(("lost-in-the-middle", "rto-of-a-fault", "stale-tail"), 1):
        folder = tmp_path / "store" / f"g{number}" / f"20261122T07000{number}Z-000{number}"
        write_run_folder(load_history(HISTORIES / f"{name}.yaml"), folder)
        if number < 3:
            local_engine.judge(folder)
    return tmp_path / "store"


def test_a_run_that_was_named_by_its_place_has_its_id_in_the_files_of_a_verdict(store: Path, tmp_path: Path) -> None:
    junit, summary = tmp_path / "x.xml", tmp_path / "x.md"
    chaos("check", "-3", "--store", str(store), "--junit", str(junit), "--summary", str(summary))
    assert '<testsuite name="20261122T070001Z-0001"' in junit.read_text()
    assert summary.read_text().startswith("# 20261122T070001Z-0001: FAIL")


def test_show_says_which_options_no_operation_fits(store: Path) -> None:
    where = ("show", "-3", "--store", str(store))
    assert said(*where, "--key", "99", "--from", "0").splitlines()[-1] == "no operation fits --key, --from"
    assert "no operation" not in said(*where, "--key", "0")


def test_ls_shows_the_newest_first_with_verdict_and_sentence(store: Path) -> None:
    rows = [json.loads(line) for line in said("ls", "--store", str(store), "--json").splitlines()]
    assert [(row["back"], row["valid"], row["status"]) for row in rows] == [
        (-1, None, "ran"),
        (-2, rows[1]["valid"], "ran"),
        (-3, False, "ran"),
    ]
    assert rows[0]["sentence"] == ""
    assert "lost, 0:2 at" in rows[2]["sentence"]
    head, *lines = said("ls", "--store", str(store)).splitlines()
    assert head.split() == ["ID", "BEGAN", "(UTC)", "SYSTEM", "WORKLOAD", "NEMESIS", "VERDICT"]
    assert [line.split()[0] for line in lines] == ["-1", "-2", "-3"]
    assert "FAIL" in lines[2]
    assert "  ran" in lines[0]


def test_ls_shows_what_it_cannot_read_beside_the_others(store: Path) -> None:
    broken = store / "g9" / "20261122T070009Z-0009"
    broken.mkdir(parents=True)
    (broken / "run.json").write_text("{")
    (store / "g1" / "20261122T070001Z-0001" / "results.json").write_text("[")
    rows = [json.loads(line) for line in said("ls", "--store", str(store), "--json").splitlines()]
    assert rows[0]["status"] == "unreadable"
    assert "results.json" in rows[3]["sentence"]
    assert len(rows) == 4


def test_an_empty_store_is_said(tmp_path: Path) -> None:
    told = said("ls", "--store", str(tmp_path / "none"))
    assert told == f"no runs in {tmp_path / 'none'}; make one with chaos run, or look elsewhere with --store\n"
    assert said("ls", "--store", str(tmp_path), "--json") == ""


def test_show_is_the_whole_history_in_time_order(store: Path) -> None:
    head, *lines = said("show", "-3", "--store", str(store)).splitlines()
    assert head.split() == ["TIME", "s", "TOOK", "ms", "PROC", "QUEUE", "OPERATION", "WHAT", "OUTCOME", "NODE"]
    times = [float(line.split()[0]) for line in lines]
    assert times == sorted(times)
    sends = [line.split() for line in lines if " send " in line]
    assert [(send[5], send[7], send[8]) for send in sends] == [
        ("0:0", "0", "ok"),
        ("0:1", "1", "ok"),
        ("0:2", "2", "ok"),
        ("0:3", "3", "ok"),
    ]
    assert sum(" drain " in line and " 3 read " in line for line in lines) == 2
    assert any("== drain begins" in line for line in lines)


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (["--f", "send"], {"send"}),
        (["--f", "drain", "--f", "send"], {"drain", "send"}),
        (["--type", "fail"], set()),
        (["--to", "1.9"], {"send"}),
        (["--from", "9"], {"drain"}),
        (["--key", "7"], set()),
    ],
)
def test_show_keeps_what_is_asked_for(store: Path, options: list[str], kept: set[str]) -> None:
    lines = said("show", "-3", "--store", str(store), *options).splitlines()[1:]
    assert {line.split()[4] for line in lines if "==" not in line and "--" not in line} == kept


def test_show_around_a_value_an_offset_and_an_anomaly_agree(store: Path) -> None:
    def marked(*options: str) -> list[str]:
        lines = said("show", "-3", "--store", str(store), *options).splitlines()[1:]
        return [line[2:] for line in lines if line.startswith(">")]

    (send,) = marked("--around", "0:2")
    assert send.split()[4:9] == ["send", "0:2", "->", "2", "ok"]
    assert marked("--around", "lost-write") == [send]
    assert marked("--around", "2", "--key", "0") == [send]
    three = marked("--around", "0:3")
    assert [line.split()[4] for line in three] == ["send", "drain", "drain"], "reads that returned it concern it too"


def test_show_around_cuts_out_its_context(store: Path) -> None:
    whole = said("show", "-3", "--store", str(store), "--f", "send").splitlines()
    cut = said("show", "-3", "--store", str(store), "--f", "send", "--around", "0:2", "--context", "1").splitlines()
    at = next(number for number, line in enumerate(whole) if " 0:2 " in line)
    assert [line[2:] for line in cut[1:]] == whole[at - 1 : at + 2]
    assert said("show", "-3", "--store", str(store), "--around", "5:5").splitlines()[1:] == [
        "--around 5:5: nothing in this history concerns it"
    ]


def test_show_tells_faults_and_who_said_what(store: Path) -> None:
    text = said("show", "-2", "--store", str(store))
    assert "== fault 1 leader-partition: inject" in text
    assert "== fault 1 leader-partition: healed proven:" in text
    said_once = [line for line in text.splitlines() if "-- b1 says: master, leads brokers, epoch 1" in line]
    assert len(said_once) == 1, "only what is new"
    only = said("show", "-2", "--store", str(store), "--node", "b1").splitlines()[1:]
    assert all("b1" in line or "==" in line for line in only)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--around", "lost-writ"], "did you mean lost-write?"),
        (["--around", "lost-write/9"], "lost-write has 1 examples"),
        (["--node", "b7"], "no such node in this run: c1, c2, b1"),
        (["--no-such-option"], "No such option '--no-such-option'"),
    ],
)
def test_show_refuses_in_one_line(store: Path, options: list[str], says: str) -> None:
    done = chaos("show", "-3", "--store", str(store), *options)
    assert done.exception is not None
    assert says in str(done.exception)
    assert "\n" not in str(done.exception)


def test_runs_are_counted_from_the_newest(store: Path) -> None:
    from chaos.run.store import find_run

    assert find_run("-1", store).name.endswith("-0003")
    assert find_run("-3", store).name.endswith("-0001")
    with pytest.raises(UsageError, match="has 3 runs"):
        find_run("-4", store)


def test_show_reads_only_the_shards_it_needs(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    from chaos.models.log.model import LOG
    from chaos.storage import history
    from checkers.history.table import Table
    from reports.history import rows as history_rows

    schema = history.operation_schema(LOG)
    row = dict.fromkeys(schema.names, 0) | {"pinned": False, "error": "x"}
    rows = [
        {**row, "key": key, "op": 10 * key + at_ns, "invoke_ns": at_ns, "process": key}
        for key in (0, 1, 2)
        for at_ns in (1, 2)
    ]
    path = store / "w0.parquet"
    history.write_by_key(pa.Table.from_pylist(rows, schema=schema), path, ())
    read: list[int] = []
    whole = history_rows._rows

    def noted(table: Table, file: object, group: int, wanted: history_rows.Wanted) -> object:
        read.append(group)
        return whole(table, file, group, wanted)

    monkeypatch.setattr(history_rows, "_rows", noted)
    for wanted, groups, ops in [
        (history_rows.Wanted(keys=frozenset({1})), [1], [11, 12]),
        (history_rows.Wanted(processes=frozenset({2})), [2], [21, 22]),
        (history_rows.Wanted(from_ns=2), [0, 1, 2], [2, 12, 22]),
        (history_rows.Wanted(from_ns=3), [], []),
        (history_rows.Wanted(), [0, 1, 2], [1, 11, 21, 2, 12, 22]),
    ]:
        read.clear()
        assert [one.op for one in history_rows.operations([Table(path)], wanted)] == ops
        assert read == groups

"""The paper's page: each claim is decided by its rule, from rows alone."""

import sys

import msgspec
import pytest
from repository import BENCHMARKS

from chaos.core.matrix_results import CellRow, append_row, read_rows
from chaos.matrix.model import jobs_of, plan_of
from chaos.matrix.read import read_matrix

sys.path.insert(0, str(BENCHMARKS))
import rocketmq_raft
import rows as kept_rows

MATRIX = msgspec.structs.replace(read_matrix("rocketmq-raft"), repeats=1)
JOBS = jobs_of(MATRIX, 0.05)
PLAN = plan_of(MATRIX, JOBS, 0.05)
QUIET = (None, None)


def row(job, **changes):
    controllers = job.planned.values["scenario"].startswith("controller-")
    made = CellRow(
        id=job.planned.id,
        cell=job.planned.cell,
        values=job.planned.values,
        repeat=1,
        seed=job.planned.seed,
        fingerprint=job.planned.fingerprint,
        argv=(),
        exit=0,
        verdict="valid",
        sentence="s",
        reason="",
        anomalies={},
        allowed=(),
        rto={"send": QUIET if controllers else (3.5, 2.0)},
        planned=2,
        proven=2,
        healed=2,
        skipped=0,
        lost=0,
        began="",
        took_s=90.0,
        timings_s={},
        run="r",
        earlier=(),
        chaos_version="0",
        system="rocketmq 5.5.0",
    )
    return msgspec.structs.replace(made, **changes)


def answers(rows):
    return [answer for _, _, answer, _ in rocketmq_raft.claims(rows)]


def rows(where="", **changes):
    return [row(job, **(changes if where and where in job.planned.id else {})) for job in JOBS]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (rows(), ["confirmed", "confirmed", "confirmed"]),
        (
            rows("broker-kill.pool.DLedger", anomalies={"lost-write": 3}, verdict="invalid"),
            ["refuted", "confirmed", "confirmed"],
        ),
        (rows("broker-kill.pool.DLedger", verdict="unknown"), ["not decided", "confirmed", "confirmed"]),
        (rows("broker-", rto={"send": (9.0,) * 9}), ["confirmed", "refuted", "confirmed"]),
        (rows("controller-loss.pool.jRaft", rto={"send": (None, 0.5)}), ["confirmed", "confirmed", "refuted"]),
        (rows("controller-loss.pool.jRaft", rto={"send": ("never",)}), ["confirmed", "confirmed", "refuted"]),
        ([], ["not decided"] * 3),
    ],
)
def test_each_claim_follows_its_rule(made, said):
    assert answers(made) == said


def test_the_page_has_every_cell_and_names_every_run_that_was_not_valid():
    page = rocketmq_raft.page(
        PLAN,
        rows("both-loss.pool.jRaft", verdict="invalid", sentence="7 lost", lost=7, anomalies={"lost-write": 7}),
        [],
    )
    table = [line for line in page.splitlines() if line.startswith(("| broker-", "| controller-", "| both-"))]
    assert len(table) == 12
    assert all(line.count("|") == 6 for line in table)
    assert "2.8 s (2 of 2), valid" in table[0]
    assert "no outage (0 of 2), valid" in next(line for line in table if line.startswith("| controller-kill"))
    assert "**7 lost**" in page
    assert "- both-loss.pool.jRaft.1, seed" in page
    assert page.count("7 lost") == 2
    assert "lost in 1 of 48 runs: both-loss.pool.jRaft" in page


def test_an_unfinished_matrix_is_not_kept(tmp_path):
    (tmp_path / "matrix.json").write_bytes(msgspec.json.encode(PLAN))
    append_row(tmp_path, row(JOBS[0]))
    with pytest.raises(SystemExit, match="47 of 48 runs are not done"):
        rocketmq_raft.keep_matrix(tmp_path, "")


def test_a_matrix_that_takes_anothers_place_leaves_its_rows_there(tmp_path, monkeypatch):
    data = tmp_path / "data"
    monkeypatch.setattr(rocketmq_raft, "DATA", data)
    monkeypatch.setattr(rocketmq_raft, "ORIGINS", data / "origin.jsonl")
    monkeypatch.setattr(kept_rows, "clean_commit", lambda: "abc")
    for verdict in ("valid", "unknown"):
        folder = tmp_path / verdict
        folder.mkdir()
        (folder / "matrix.json").write_bytes(msgspec.json.encode(PLAN))
        for one in rows("-", verdict=verdict):
            append_row(folder, one)
        rocketmq_raft.keep_matrix(folder, "the controllers changed")
    assert {one.verdict for one in read_rows(data)} == {"unknown"}
    assert {one.verdict for one in read_rows(data / "until-abc")} == {"valid"}
    stored = kept_rows.stored_rows(data / "origin.jsonl")
    assert len(kept_rows.counted_rows(stored)) == 1
    assert "| the controllers changed |" in rocketmq_raft.page(PLAN, read_rows(data), stored).splitlines()[-1]

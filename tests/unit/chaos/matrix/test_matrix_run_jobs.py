"""A matrix whose runs end at once, as real processes: rows, pages, what is done again and what is removed."""

import fcntl
import json

import msgspec
import pytest

from chaos.core.errors import UsageError
from chaos.core.matrix_results import read_rows
from chaos.core.strict_yaml import parse
from chaos.matrix.model import jobs_of, plan_of, select_jobs
from chaos.matrix.read import matrix_of
from chaos.matrix.run_jobs import clear, conduct, line

TEXT = """\
name: none
base: {system: minimq, engine: local}
axes:
  workload: [no-such-workload, no-other]
"""
MATRIX = matrix_of(parse(TEXT, "none.yaml"))
JOBS = jobs_of(MATRIX)


def conducted(folder, wanted=JOBS):
    said: list[str] = []
    code = conduct(plan_of(MATRIX, JOBS, 1.0), JOBS, wanted, folder, said.append, stop_on_invalid=False)
    return code, said


def test_the_line_of_a_run_says_how_many_of_its_faults_were_skipped(tmp_path):
    conducted(tmp_path / "m", select_jobs(JOBS, "no-such"))
    (row,) = read_rows(tmp_path / "m")
    some = msgspec.structs.replace(row, planned=9, proven=6, skipped=3)
    assert ", 6 of 9 faults (3 skipped), " in line(some, 1, 1, 0.0)
    assert "skipped" not in line(msgspec.structs.replace(row, planned=9, proven=9), 1, 1, 0.0)


def test_a_run_that_cannot_begin_is_a_row_that_says_why_and_the_next_is_done(tmp_path):
    code, said = conducted(tmp_path / "m", select_jobs(JOBS, "no-such"))
    assert code == 255
    (row,) = read_rows(tmp_path / "m")
    assert (row.verdict, row.exit, row.run, row.proven) == ("broke", 254, "", 0)
    assert "no-such-workload" in row.reason
    assert "\n" not in row.reason
    assert said[-1].startswith("1/1  BROKE    no-such-workload.1  ")
    code, said = conducted(tmp_path / "m")
    assert (code, len(read_rows(tmp_path / "m"))) == (255, 3), "what broke is tried again by a new command"
    assert len(said) == 2
    assert {path.name for path in (tmp_path / "m").iterdir() if not path.name.startswith(".")} == {
        "matrix.json",
        "cells.jsonl",
        "cells",
        "index.html",
        "junit.xml",
        "summary.md",
    }
    options = (tmp_path / "m" / "cells" / "no-other.1.yaml").read_text()
    assert "workload: no-other" in options
    assert f"seed: {JOBS[1].planned.seed}" in options


def test_two_do_not_work_in_one_folder(tmp_path):
    with (tmp_path / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another chaos matrix is at work there"):
            conducted(tmp_path)


def test_what_no_row_names_was_cut_off_and_is_removed(tmp_path):
    named, cut_off = (tmp_path / "runs" / "group" / name for name in ("20260101T000000Z-aaaa", "20260101T000000Z-bbbb"))
    for run in (named, cut_off):
        run.mkdir(parents=True)
        (run / "run.json").write_text("{}")
    conducted(tmp_path / "other", select_jobs(JOBS, "no-such"))
    row = json.loads((tmp_path / "other" / "cells.jsonl").read_text())
    (tmp_path / "cells.jsonl").write_text(json.dumps(row | {"run": str(named.relative_to(tmp_path))}) + "\n")
    said: list[str] = []
    clear(tmp_path, said.append)
    assert said == [f"removing {cut_off.relative_to(tmp_path)}, which was cut off"]
    assert named.exists()
    assert not cut_off.exists()

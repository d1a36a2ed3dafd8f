"""The row of a run of any model: what recovery is measured of, and how its line and its page say it."""

import msgspec
import synthetic
from small_matrix import JOBS, PLAN

from chaos.core.strict_yaml import parse
from chaos.core.verdict import Results, Rto
from chaos.matrix.jobs import Attempt, row_of
from chaos.matrix.model import jobs_of
from chaos.matrix.read import matrix_of
from chaos.matrix.run_jobs import line
from chaos.storage.manifest import read_checked
from chaos.storage.runinfo import read_run, write_run
from reports.matrix.pages import page, view

(JOB,) = jobs_of(matrix_of(parse("name: one\nbase: {system: etcd}\naxes: {workload: [register]}\n", "one.yaml")))


def row_of_a_register(folder):
    made = synthetic.write(folder / "runs" / "etcd", "valid", points=50)
    write_run(made, msgspec.structs.replace(read_run(made), model="register", mix={"write": 1.0, "read": 1.0}))
    results = read_checked(made / "results.json", Results)
    rto = (Rto(f="write", seconds=4.0), Rto(f="read", seconds=9.0))
    results = msgspec.structs.replace(results, faults=(msgspec.structs.replace(results.faults[0], id=1, rto=rto),))
    (made / "manifest.json").unlink(missing_ok=True)
    (made / "results.json").write_bytes(msgspec.json.encode(results))
    return row_of(JOB, Attempt(exit=0, folder=made, began="", took_s=50.0, said=""), (), folder)


def test_the_recovery_of_a_run_of_registers_is_that_of_its_writes(tmp_path):
    row = row_of_a_register(tmp_path)
    assert row.changes == ("write",), "reads change nothing, and no recovery is measured of cas"
    assert ", write RTO 4.0 s, " in line(row, 1, 1, 0.0)


def test_the_page_of_a_matrix_of_registers_is_shaded_by_its_writes(tmp_path):
    done = msgspec.structs.replace(row_of_a_register(tmp_path), sentence="", **msgspec.structs.asdict(JOBS[0]))
    made = view(PLAN, [done])
    assert (made.change, made.runs[0].rto, made.scale) == ("write", "4.0 s", "4.0 s")
    (cell, _), _ = (cells for _, cells in made.tables[0].rows)
    assert cell is not None
    assert (cell.heat, cell.words) == (5, "median 4.0 s, 1 fault")
    assert [spread.f for spread in made.spreads] == ["write"] * 2
    assert "median of write RTO" in page(made)
    assert "send" not in page(made).partition("<body>")[2]

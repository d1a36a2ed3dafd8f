"""A store's index: what is found in it, how it fares over nights, and what the page says."""

from pathlib import Path

import msgspec
import pytest
from small_matrix import PLAN, row
from stored_runs import stored, write

from chaos.core.matrix_results import append_row
from chaos.storage.runinfo import read_run, write_run
from reports import reporter
from reports.across.index import page, view, word_of
from reports.across.stores import Store, StoreReader
from reports.across.trend import night_of, trends


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two runs, one that cannot be read, a matrix with two runs, and things that are none."""
    top = tmp_path / "store"
    reporter.write(write(top / "g" / "20261110T020304Z-0001", origin_utc="2026-11-10T02:03:04Z"))
    write(top / "g" / "20261111T020304Z-0002", "invalid", origin_utc="2026-11-11T02:03:04Z")
    (top / "g" / "20261112T020304Z-0003").mkdir()
    (top / "g" / "20261112T020304Z-0003" / "run.json").write_text("{")
    (top / "latest").symlink_to("g/20261111T020304Z-0002")
    matrix = top / "night-1" / "matrix-small"
    write(matrix / "runs" / "g" / "0")
    write(matrix / "runs" / "g" / "being-made")
    (matrix / "matrix.json").write_bytes(msgspec.json.encode(PLAN))
    append_row(matrix, row(0))
    outside = write(tmp_path / "outside")
    (top / "g" / "linked").symlink_to(outside)
    (top / ".hidden").mkdir()
    write(top / ".hidden" / "run")
    return top


def test_every_run_and_matrix_of_a_store_is_found_and_no_link_is_followed(store: Path) -> None:
    made = StoreReader(store).read()
    assert [(run.where, run.cell) for run in made.runs if run.figures is not None] == [
        ("g/20261110T020304Z-0001", ""),
        ("g/20261111T020304Z-0002", ""),
        ("night-1/matrix-small/runs/g/0", "small leader-kill.x"),
        ("night-1/matrix-small/runs/g/being-made", ""),
    ]
    (broken,) = [run for run in made.runs if run.figures is None]
    assert word_of(broken) == "unreadable"
    assert str(store) not in broken.error
    assert [matrix.where for matrix in made.matrices] == ["night-1/matrix-small"]
    assert [run.has_page for run in made.runs if run.where.startswith("g/2026111")] == [False, True, False]


def test_a_matrix_alone_keeps_its_own_folder_in_names(store: Path) -> None:
    made = StoreReader(store / "night-1" / "matrix-small").read()
    assert [matrix.where for matrix in made.matrices] == ["matrix-small"]
    assert made.runs[0].where == "matrix-small/runs/g/0"
    assert made.runs[0].cell == "small leader-kill.x"


def test_what_changed_is_read_again(store: Path) -> None:
    reader = StoreReader(store)
    before = reader.read().runs
    assert reader.read().runs[1].figures is before[1].figures
    folder = store / "g" / "20261110T020304Z-0001"
    write_run(folder, msgspec.structs.replace(read_run(folder), nemesis="noop"))
    again = [run.figures.run.nemesis for run in reader.read().runs if run.figures is not None]
    assert again[0] == "noop"


def test_a_night_is_from_noon_to_noon() -> None:
    assert night_of("2026-11-21T11:59:59Z") == night_of("2026-11-20T12:00:00+00:00") == "2026-11-20"
    assert night_of("2026-11-21T12:00:00Z") == "2026-11-21"
    assert night_of("nonsense") == ""


def test_a_trend_is_of_one_kind_and_a_night_is_as_bad_as_its_worst_run() -> None:
    runs = [
        stored("2026-11-20T22:00:00Z"),
        stored("2026-11-21T02:00:00Z", "invalid"),
        stored("2026-11-21T03:00:00Z", "crashed"),
        stored("2026-11-21T22:00:00Z"),
        stored("2026-11-21T22:00:00Z", cell="small x"),
    ]
    alone, in_a_cell = trends(runs)
    assert [(night.name, night.outcome, night.runs) for night in alone.nights] == [
        ("2026-11-20", False, 3),
        ("2026-11-21", True, 1),
    ]
    assert alone.nights[0].lost == 328
    assert alone.nights[0].worst is runs[1]
    assert in_a_cell.kind.cell == "small x"


def test_a_trend_of_recovery_is_called_so_only_beyond_its_spread() -> None:
    fast, slow = (1.0, 1.1, 1.2, 1.3, 1.4), (9.0, 9.1, 9.2, 9.3, 9.4)
    (rising,) = trends([stored("2026-11-20T22:00:00Z", rto=fast), stored("2026-11-21T22:00:00Z", rto=slow)])
    assert rising.rto is not None
    assert rising.rto.word == "higher"
    (level,) = trends([stored("2026-11-20T22:00:00Z", rto=slow), stored("2026-11-21T22:00:00Z", rto=slow)])
    assert level.rto is not None
    assert level.rto.word == "no clear difference"
    both = (stored("2026-11-20T22:00:00Z", rto=fast), stored("2026-11-21T22:00:00Z", rto=slow))
    (row,) = view(Store(runs=both, matrices=())).trends
    assert (row.rto.last, row.rto_note) == ("9.2 s", "higher than before")
    assert row.rto.words == "RTO median 1.2 s to 9.2 s, between 1.2 s and 9.2 s"
    assert [mark.words for mark in row.marks] == ["2026-11-20: PASS", "2026-11-21: PASS"]


def test_a_night_with_other_settings_says_which() -> None:
    nights = (
        stored("2026-11-20T22:00:00Z"),
        stored("2026-11-21T22:00:00Z", seed=2),
        stored("2026-11-22T22:00:00Z", rate=1.0, keys=1, clients=1, system_version="6", seed=3),
    )
    marks = view(Store(runs=nights, matrices=())).trends[0].marks
    assert [mark.changed for mark in marks] == [False, False, True], "another seed is no other setting"
    assert marks[2].words.endswith("; changed since the night before: system-version, keys, rate and 1 more")


def test_a_fault_without_recovery_is_told_beside_the_median() -> None:
    made = view(Store(runs=(stored("2026-11-20T22:00:00Z", "invalid"),), matrices=()))
    assert (made.runs[0].rto, made.trends[0].rto.last) == ("2.6 s, 1 never", "2.6 s, 1 never")
    calm = stored("2026-11-20T22:00:00Z", "empty")
    assert view(Store(runs=(calm,), matrices=())).runs[0].rto == "—"


def test_a_run_that_is_not_over_has_no_outcome_and_its_sentence_is_not_told() -> None:
    running = stored("2026-11-20T22:00:00Z", "crashed", status="running", error=None)
    assert word_of(running) == "running"
    made = view(Store(runs=(running,), matrices=()))
    assert (made.runs[0].tone, made.trends[0].word) == ("", "not judged")


def test_the_page_says_what_there_is_and_is_inert() -> None:
    hostile = stored("2026-11-20T22:00:00Z", nemesis="<script>alert(1)</script>", system='" onload="x')
    text = page(view(Store(runs=(hostile,), matrices=()), archive=lambda run: f"{run.where}.zip"))
    assert text.count("<script") == 1
    assert 'onload="x' not in text
    assert 'href="g/run-2026-11-20/report.html"' in text
    assert 'href="g/run-2026-11-20.zip"' in text
    assert "1 run in 1 night: 1 PASS." in text
    assert "There are no runs here yet." in page(view(Store(runs=(), matrices=())))

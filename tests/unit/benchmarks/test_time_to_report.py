"""How long it took from the last final read to the report, from a run folder alone."""

import os
from datetime import datetime
from pathlib import Path

import msgspec
import pytest
import synthetic

from benchmarks.time_to_report import read_waits
from chaos.core.clock import NS_PER_S
from chaos.core.events import Phase
from chaos.storage.event_files import read_events
from chaos.storage.runinfo import read_run, write_run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = synthetic.write(tmp_path / "run", "valid")
    (made / "report.html").write_text("")
    return made


def written_after(folder: Path, seconds: float) -> None:
    """Let the report be so many seconds younger than the end of the final reads."""
    run = read_run(folder)
    (end,) = (
        event.time_ns
        for event in read_events(folder / "history" / "run.events")
        if isinstance(event, Phase) and (event.name, event.edge) == ("drain", "end")
    )
    at = datetime.fromisoformat(run.origin_utc).timestamp() + (end - run.origin_ns) / NS_PER_S + seconds
    os.utime(folder / "report.html", (at, at))


def test_the_report_s_time_is_held_against_the_end_of_the_final_reads(folder: Path) -> None:
    written_after(folder, 2.5)
    assert read_waits(folder).whole_s == pytest.approx(2.5, abs=0.001)


def test_simulated_time_is_no_time_and_no_report_none(folder: Path) -> None:
    (folder / "report.html").unlink()
    with pytest.raises(ValueError, match=r"no report\.html"):
        read_waits(folder)
    write_run(folder, msgspec.structs.replace(read_run(folder), backend="sim"))
    with pytest.raises(ValueError, match="simulated"):
        read_waits(folder)


def test_final_reads_that_did_not_end_are_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="did not end"):
        read_waits(synthetic.write(tmp_path / "run", "crashed"))

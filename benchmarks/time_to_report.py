"""How long a run took from its last final read to its report: ``python benchmarks/time_to_report.py RUN...``.

The end of the phase ``drain`` has a time of the control host's monotonic clock; ``run.json`` says which moment of that
clock the load's beginning was in UTC. The report's time is that of its file, so it must be the run's own: ``chaos
report`` and ``chaos check`` write it again. The backend ``sim`` has simulated times, of which none is a clock's.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from chaos.core.clock import NS_PER_S
from chaos.core.events import Phase
from chaos.storage.event_files import read_events
from chaos.storage.runinfo import read_run

REPORT = "report.html"


class Waited(NamedTuple):
    """Seconds. ``collect_s``: comparing replicas and fetching logs, ``check_s``: judging, ``whole_s``: all of it."""

    collect_s: float
    check_s: float
    whole_s: float


def read_waits(folder: Path) -> Waited:
    """What a run folder says.

    Raises:
        ValueError: it does not say it: no final reads that ended, no report, simulated time.
    """
    run = read_run(folder)
    if run.backend == "sim":
        raise ValueError("its times are simulated")
    ends = {
        event.name: event.time_ns
        for event in read_events(folder / "history" / "run.events")
        if isinstance(event, Phase) and event.edge == "end"
    }
    if "drain" not in ends:
        raise ValueError("its final reads did not end")
    if not (folder / REPORT).is_file():
        raise ValueError(f"it has no {REPORT}")
    began = datetime.fromisoformat(run.origin_utc).astimezone(UTC).timestamp()
    read = began + (ends["drain"] - run.origin_ns) / NS_PER_S
    return Waited(
        collect_s=(max(ends.values()) - ends["drain"]) / NS_PER_S,
        check_s=run.timings_s.get("check", 0.0),
        whole_s=(folder / REPORT).stat().st_mtime - read,
    )


def main(folders: list[str]) -> int:
    """Print a line for each run; 1 if one does not say it."""
    code = 0
    for name in folders:
        try:
            one = read_waits(Path(name))
        except ValueError as error:
            print(f"{name}: {error}")
            code = 1
        else:
            print(
                f"{name}: {one.whole_s:.2f} s from the last final read to the report "
                f"(replicas and logs {one.collect_s:.2f} s, check {one.check_s:.2f} s)"
            )
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Synthetic run folders for the report's tests: real files, made-up figures.

``write(folder, kind)`` makes a folder as `chaos run` would leave it. The load of 120 s has three faults,
an election of 2.6 s after each, a drain, and (kind ``invalid``) an old master that acknowledges alone.
"""

import sys
from pathlib import Path

import msgspec
from synthetic_results import fault_results, lost_example, results
from synthetic_run import (
    END_S,
    ERRORS,
    FAULTS,
    GROUP,
    HOW,
    KINDS,
    ORIGIN,
    fault_events,
    ns,
    observations,
    phases,
    run_info,
    series,
)

from chaos.core.clock import NS_PER_S
from chaos.core.events import Note
from chaos.core.series import Points, Series
from chaos.storage.manifest import write_manifest
from chaos.storage.runinfo import write_run

__all__ = [
    "END_S",
    "ERRORS",
    "GROUP",
    "KINDS",
    "ORIGIN",
    "fault_results",
    "lost_example",
    "ns",
    "results",
    "run_info",
    "series",
    "write",
]


def write_logs(folder: Path) -> None:
    """What two nodes logged: b1 by the wall clock, c1 by the monotonic one."""
    for node, lines in (
        ("b1", ("ready", "2026-11-21T07:15:20.500Z WARN Master - cut off <script>alert('log')</script>\x07")),
        ("c1", (f"{ORIGIN / NS_PER_S + 22.6:.3f} c1 b2 is master of epoch 2",)),
    ):
        home = folder / "nodes" / node
        home.mkdir(parents=True)
        (home / "node.log").write_text("".join(f"{line}\n" for line in lines))


def write(folder: Path, kind: str, points: int = 6000) -> Path:
    """Make a run folder of one of ``KINDS``; returns it."""
    history = folder / "history"
    history.mkdir(parents=True)
    write_run(folder, run_info(kind))
    written = (
        {"run": [*phases(kind)], "observer": []}
        if kind == "empty"
        else {
            "run": [
                *phases(kind),
                *fault_events(kind),
                Note(time_ns=ns(33.0), name="pressure", text="cpu some 12 %"),
            ],
            "observer": list(observations(kind)),
        }
    )
    for name, events in written.items():
        lines = [msgspec.json.encode(event) for event in sorted(events, key=lambda event: event.time_ns)]
        (history / f"{name}.events").write_bytes(b"".join(line + b"\n" for line in lines))
    plan = [
        {
            "row": number,
            "at_s": start_s,
            "duration_s": end_s - start_s,
            "name": name,
            "fault": HOW[number][0],
            "colour": HOW[number][1],
        }
        for number, name, _, _, start_s, end_s in FAULTS
    ]
    (folder / "plan.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in plan))
    (folder / "config.yaml").write_text(
        "system: rocketmq                 # --system\nsettings:\n"
        "  broker.note: <script>alert('setting')</script> # --set\n"
        "time_limit_s: 120.0              # default\n"
    )
    write_manifest(folder)
    write_logs(folder)
    if kind == "crashed":
        return folder
    (folder / "results.json").write_bytes(msgspec.json.encode(results(kind)))
    empty = Series(
        origin_ns=ORIGIN, duration_s=0.0, step_s=1.0, rate={}, quantiles={}, points=Points(), operations=0, shown=0
    )
    (folder / "series.json").write_bytes(msgspec.json.encode(empty if kind == "empty" else series(points)))
    return folder


if __name__ == "__main__":
    from reports import reporter

    for each in KINDS:
        print(*reporter.write(write(Path(sys.argv[1]) / each, each)))

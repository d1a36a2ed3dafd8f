"""What a run tells programs while it goes: a JSON object per line, described in docs/guide/terminal.md.

A contract with scripts: keys are added, none is renamed or removed. Pure.
"""

from pathlib import Path
from typing import Any

import msgspec

from chaos.cli.live.news import Board
from chaos.core.clock import NS_PER_S
from chaos.core.events import Event, Fault, Note, Phase
from chaos.core.verdict import Results
from chaos.run.watching import Beat, Opening
from reports.words import verdict


def line_of(one: dict[str, Any], times: dict[str, float | None]) -> str:
    """An object as a line; ``times`` stand behind its type, rounded to milliseconds."""
    rounded = {name: None if value is None else round(value, 3) for name, value in times.items()}
    rest = {name: value for name, value in one.items() if name != "type"}
    return msgspec.json.encode({"type": one["type"], **rounded, **rest}).decode()


def object_of(kind: str, what: Any, board: Board) -> dict[str, Any] | None:
    """The object that a piece of news is, None if it is not worth one; ``board`` knows the piece already."""
    if kind == "line":
        return {"type": "line", "text": what}
    if kind == "opening":
        return _opening(what)
    if kind == "beat":
        return _beat(what, board)
    return _event(what) if kind == "event" else None


def _event(event: Event) -> dict[str, Any] | None:
    if isinstance(event, Phase):
        return {"type": "phase", "phase": event.name, "edge": event.edge, "ok": event.ok, "note": event.note}
    if isinstance(event, Fault):
        return _fault(event)
    if isinstance(event, Note):
        return {"type": "note", "name": event.name, "node": event.node, "text": event.text}
    return None


def end(folder: Path, results: Results | None, code: int) -> dict[str, Any]:
    """The last object: the verdict, None where nothing could be judged, and where everything lies."""
    report = folder / "report.html"
    return {
        "type": "end",
        "verdict": None if results is None else verdict(results.valid),
        "valid": None if results is None else results.valid,
        "exit_code": code,
        "sentence": "" if results is None else results.sentence,
        "folder": str(folder),
        "report": str(report) if report.exists() else None,
    }


def _opening(opening: Opening) -> dict[str, Any]:
    plan = [
        {"id": row.row, "name": row.name, "at": row.at_s, "until": round(row.at_s + row.duration_s, 3)}
        for row in opening.plan
    ]
    return {
        "type": "load",
        "title": opening.title,
        "nodes": opening.nodes,
        "time_limit": opening.time_limit_s,
        "faults": plan,
    }


def _beat(beat: Beat, board: Board) -> dict[str, Any]:
    totals = beat.totals
    since_s = (beat.now_ns - totals.last_ack_ns) / NS_PER_S if totals.last_ack_ns else None
    return {
        "type": "beat",
        "phase": board.phase,
        "changes": totals.changes,
        "rest": totals.rest,
        "ok_per_s": round(board.rates[-1], 1) if board.rates else None,
        "last_ack_s": None if since_s is None else round(max(0.0, since_s), 3),
        "slowest_ack_ms": round(totals.worst_ack_s * 1000, 1),
        "lag_ms": round(totals.worst_lag_s * 1000, 1),
        "in_flight": totals.in_flight,
        "leaders": [
            {"subject": name, "kind": lead.kind, "leader": lead.leader, "epoch": lead.epoch}
            for name, lead in beat.leads.items()
        ],
        "silent": beat.silent,
    }


def _fault(fault: Fault) -> dict[str, Any]:
    seen = fault.evidence
    return {
        "type": "fault",
        "id": fault.id,
        "name": fault.name,
        "stage": fault.stage,
        "targets": fault.targets,
        "description": fault.description,
        "proven": None if seen is None else seen.proven,
        "evidence": "" if seen is None else seen.summary,
        "note": fault.note,
    }

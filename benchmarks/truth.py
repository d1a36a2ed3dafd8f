"""What a bug really did, as its nodes wrote it down, held against what the verdict says of it.

A node with a bug prints a line ``planted bug acted {json}`` for each deviation, of an older chaos ``bent {json}``: the
injected truth. Nothing here looks at the history, so the two can disagree.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

BENT: Final = re.compile(r"(?:\S+ )?(?:planted bug acted|bent) (\{.*\})")
"""A line of a node, behind its time in a simulated run."""


def notes_of(folder: Path) -> list[dict[str, Any]]:
    """Every deviation that the nodes of a run wrote down."""
    lines = (line for log in sorted(folder.glob("nodes/*/logs/stdout.log")) for line in log.read_text().splitlines())
    return [json.loads(found[1]) for line in lines if (found := BENT.fullmatch(line))]


def words_of(value: Any) -> Iterator[str]:
    """All strings inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from words_of(inner)


def names(folder: Path) -> dict[str, bool]:
    """Whether the first sentence of an invalid run names a node that bent a rule, an injected fault, the message.

    ``message`` is true where the strongest anomaly is about none, as two leaders of one epoch are, and where the
    sentence tells the very place in the log at which a rule was bent.
    """
    results = json.loads((folder / "results.json").read_text())
    nodes = {node["name"] for node in json.loads((folder / "run.json").read_text())["nodes"]}
    strongest = next(one for one in results["anomalies"].values() if not one["allowed"])
    values, sentence = [one["value"] for one in strongest["examples"]], results["sentence"]
    notes = notes_of(folder)
    bent = {word for note in notes for word in words_of(note)} & nodes
    at = [note for note in notes if {"offset", "queue"} <= note.keys()]
    places = {f"offset {note['offset']} of queue {note['queue']}" for note in at}
    spoken = sentence.replace(",", " ").replace(";", " ").split()
    injected = [fault for fault in results["faults"] if fault["inject_ns"] is not None]
    return {
        "node": bool(bent & set(spoken)),
        "fault": any(f"fault {fault['id']} ({fault['name']}" in sentence for fault in injected),
        "message": all(value is None for value in values)
        or any(value in sentence for value in values if value)
        or any(f"{place}." in sentence or f"{place} " in sentence for place in places),
    }

"""What is known of a run that goes, from its files alone, as the objects that a page is told.

``Following`` is pure: records and events go in, objects come out. They are those of ``--live json``
(docs/guide/terminal.md): keys are added, none is renamed or removed.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from chaos.core.clock import NS_PER_S
from chaos.core.events import Event, Observation, Phase
from chaos.core.op import Type
from chaos.core.refusals import REFUSED
from chaos.core.verdict import Results
from chaos.serve.tail import Mask, Records
from chaos.storage.runinfo import UNFINISHED, RunInfo
from cluster.leaders import leads_of
from reports import words
from reports.terms import terms_of

Told = Callable[[Event], dict[str, Any] | None]
"""The object that an event is, None if it is not worth one."""

_REFUSED: Final = 1 << 8
"""Stands for a failure that is a refusal by design; record types are smaller."""
_ENDS: Final = {
    **{int(kind): kind.word for kind in (Type.OK, Type.FAIL, Type.INFO, Type.NOT_SENT)},
    _REFUSED: REFUSED,
}
LOAD: Final = "load"
"""The phase from whose beginning times count."""
_RATE_S: Final = 5.0
"""Seconds over which the rate of acknowledgements is told."""


class Following:
    """A run as far as its files tell.

    Args:
        run: as ``run.json`` has it.
        told: what an event is to who looks on.
    """

    def __init__(self, run: RunInfo, told: Told) -> None:
        self._told = told
        self._phase = ""
        self._loaded = False
        self._latest: dict[str, Observation] = {}
        self._last_ns = self._last_ack_ns = 0
        self._acks: dict[int, int] = {}
        self._counts: dict[tuple[int, int], int] = {}
        self._invoked = 0
        self.run = run

    def opening(self, plan: list[dict[str, Any]]) -> dict[str, Any]:
        """What holds for the whole run."""
        run = self.run
        faults = [
            {
                "id": row.get("row"),
                "name": row.get("name", ""),
                "at": row["at_s"],
                "until": row["at_s"] + row["duration_s"],
            }
            for row in plan
            if "at_s" in row and "duration_s" in row
        ]
        return {
            "type": "load",
            "id": run.id,
            "title": f"{run.system} {run.system_version} · {run.workload} · {run.nemesis}",
            "changes": f"{terms_of(run).change}s",
            "nodes": [node.name for node in run.nodes],
            "time_limit": run.time_limit_s,
            "faults": faults,
        }

    def take_event(self, event: Event) -> dict[str, Any] | None:
        """An event, and the object that it is worth; ``t``: seconds of the load, None before it."""
        self._last_ns = max(self._last_ns, event.time_ns)
        if isinstance(event, Phase):
            self._phase = event.name if event.edge == "start" else ""
            self._loaded = self._loaded or event.name == LOAD
        if isinstance(event, Observation):
            self._latest[event.node] = event
            return None
        one = self._told(event)
        return None if one is None else {"type": one["type"], "t": self._t(event.time_ns), **one}

    def take_records(self, records: Records, refused: Mask) -> None:
        """Records of one worker. ``refused``: which of them say that a node refused by design."""
        kinds = np.where(refused, _REFUSED, records["type"].astype(np.int64))
        pairs, numbers = np.unique(kinds << 8 | records["f"], return_counts=True)
        for pair, number in zip(pairs.tolist(), numbers.tolist(), strict=True):
            kind, f = divmod(pair, 1 << 8)
            if kind == Type.INVOKE:
                self._invoked += number
            elif kind in _ENDS:
                self._counts[kind, f] = self._counts.get((kind, f), 0) + number
        self._last_ns = max(self._last_ns, int(records["time_ns"].max()))
        acked = records["time_ns"][(records["type"] == Type.OK) & np.isin(records["f"], self._changing())]
        if len(acked):
            self._last_ack_ns = max(self._last_ack_ns, int(acked.max()))
            seconds, counts = np.unique(acked // NS_PER_S, return_counts=True)
            for second, number in zip(seconds.tolist(), counts.tolist(), strict=True):
                self._acks[second] = self._acks.get(second, 0) + number

    def beat(self, quiet_s: float) -> dict[str, Any]:
        """How it stands; ``quiet_s``: so long nothing was written."""
        run, changing = self.run, self._changing()
        ended = sum(self._counts.values())
        since_s = (self._last_ns - self._last_ack_ns) / NS_PER_S if self._last_ack_ns else None
        return {
            "type": "beat",
            "t": self._t(self._last_ns),
            "status": run.status,
            "phase": self._phase,
            "changes": self._of(lambda f: f in changing),
            "rest": self._of(lambda f: f not in changing),
            "ok_per_s": round(self._rate(), 1),
            "last_ack_s": None if since_s is None else round(since_s, 3),
            "in_flight": max(0, self._invoked - ended),
            "leaders": [
                {"subject": name, "kind": lead.kind, "leader": lead.leader, "epoch": lead.epoch}
                for name, lead in leads_of(self._latest, run.subjects).items()
            ],
            "silent": sorted(name for name, seen in self._latest.items() if not seen.alive),
            "quiet_s": round(quiet_s, 1),
        }

    def end(self, results: Results | None) -> dict[str, Any] | None:
        """The verdict once the run is over, or was judged after it was killed; None before."""
        if results is None and self.run.status in (*UNFINISHED, "ran"):
            return None
        return {
            "type": "end",
            "verdict": None if results is None else words.verdict(results.valid),
            "valid": None if results is None else results.valid,
            "sentence": (self.run.error or "") if results is None else results.sentence,
        }

    def _changing(self) -> list[int]:
        changes = terms_of(self.run).changes
        return [number for word, number in self.run.words.items() if word in changes]

    def _of(self, wanted: Callable[[int], bool]) -> Mapping[str, int]:
        out: dict[str, int] = {}
        for (kind, f), number in self._counts.items():
            if wanted(f):
                out[_ENDS[kind]] = out.get(_ENDS[kind], 0) + number
        return out

    def _rate(self) -> float:
        """Acknowledgements a second over the last whole seconds; older ones are forgotten."""
        now = self._last_ns // NS_PER_S
        self._acks = {second: number for second, number in self._acks.items() if second >= now - _RATE_S}
        return sum(number for second, number in self._acks.items() if second < now) / _RATE_S

    def _t(self, time_ns: int) -> float | None:
        return round((time_ns - self.run.origin_ns) / NS_PER_S, 3) if self._loaded else None

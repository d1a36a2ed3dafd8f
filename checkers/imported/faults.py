"""The faults of an imported history, from the records of its nemesis.

Jepsen's nemesis writes each act twice, when it is asked and when it is done; OpenChaos writes when a fault starts and
when it ends. An act that begins something opens a fault, and the act that undoes it ends all that are open of its kind,
as in Jepsen's plots. Does not guess: acts whose names say neither are told by name and open nothing, and what a nemesis
says it did is not proven.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from chaos.core.fault_nature import of_name
from chaos.formats.records import Event
from checkers.history.timeline import FaultSpan
from checkers.imported.json_values import to_json

NEMESES: Final = frozenset({"nemesis", "fault"})
"""The processes that break things: Jepsen's, and what the reader of OpenChaos' files calls its faults."""

ENDS: Final[Mapping[str, tuple[str, ...]]] = {
    "start": ("stop",),
    "kill": ("start", "restart"),
    "pause": ("resume",),
    "partition": ("heal",),
    "leave": ("join",),
    "bump-clock": ("reset-clock",),
    "strobe-clock": ("reset-clock",),
}
"""What ends a fault, by the act that begins it; beside these ``start-X`` and ``stop-X``."""

_START, _STOP = "start-", "stop-"
_SHOWN: Final = 120


class Faults(NamedTuple):
    """``spans``: in order of time. ``unknown``: acts that are known neither to begin nor to end anything."""

    spans: tuple[FaultSpan, ...]
    unknown: tuple[str, ...]


class _Act(NamedTuple):
    """Something a nemesis did: when it was asked to (ns) and when it was done, None where nobody says."""

    f: str
    value: Any
    asked_ns: int | None
    done_ns: int | None


def _acts(events: Iterable[Event]) -> list[_Act]:
    """Records of a nemesis, two of a kind in a row being one act."""
    acts: list[_Act] = []
    asked: Event | None = None
    for event in events:
        if event.process == "fault":
            word = {"start": _START, "end": _STOP}[event.value]
            acts.append(_Act(f"{word}{event.f}", None, event.time_ns, event.time_ns))
        elif asked is not None and asked.f == event.f:
            acts[-1] = acts[-1]._replace(done_ns=event.time_ns, value=event.value)
            asked = None
        else:
            acts.append(_Act(event.f, event.value, event.time_ns, None))
            asked = event
    return acts


def _begun(act: str, acts: frozenset[str]) -> tuple[str, frozenset[str]] | None:
    """The name of the fault that an act begins, and what ends it; None if it begins none."""
    if act.startswith(_START):
        name = act.removeprefix(_START)
        return name, frozenset({_STOP + name, *ENDS.get(name, ())})
    if act == "start" and "kill" in acts:  # what was killed is started again
        return None
    ends = ENDS.get(act)
    return None if ends is None else (act, frozenset(ends))


def faults_of(events: Sequence[Event]) -> Faults:
    """The faults that a history tells of.

    Args:
        events: the records that no client made, in their order.
    """
    acts = _acts(event for event in events if event.process in NEMESES)
    names = frozenset(act.f for act in acts)
    spans: list[FaultSpan] = []
    open_: list[tuple[int, frozenset[str]]] = []
    unknown: dict[str, None] = {}
    known = {end for ends in ENDS.values() for end in ends}
    for act in acts:
        begun = _begun(act.f, names)
        if begun is None:
            if act.f not in known and not act.f.startswith(_STOP):
                unknown[act.f] = None
            for i, _ in (one for one in open_ if act.f in one[1]):
                spans[i] = msgspec.structs.replace(spans[i], heal_ns=act.asked_ns, healed_ns=act.done_ns)
            open_ = [one for one in open_ if act.f not in one[1]]
        elif act.asked_ns is not None:
            name, ends = begun
            said = "" if act.value is None else msgspec.json.encode(to_json(act.value)).decode()
            said = said if len(said) <= _SHOWN else said[: _SHOWN - 1] + "…"
            open_.append((len(spans), ends))
            spans.append(
                FaultSpan(
                    id=len(spans) + 1,
                    name=name,
                    identity=of_name(name),
                    description=said,
                    inject_ns=act.asked_ns,
                    active_ns=act.done_ns,
                )
            )
    return Faults(tuple(spans), tuple(unknown))

"""How far each replica's copies are behind those of the leaders, from what nodes said of their own offsets.

Messages are counted against the leader's copy and not against acknowledgements: a message whose send had no answer may
be in the log as well, and would make every replica seem ahead for the rest of the run. Pure.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from chaos.core.clock import NS_PER_S
from chaos.core.events import OBSERVE_PERIOD_S, Event, Observation
from chaos.storage.runinfo import RunInfo

BLIND_S: Final = 3.5 * OBSERVE_PERIOD_S
"""Nothing is read off between two observations of a leader that are further apart."""

Lags = dict[str, list[tuple[float, int | None]]]
"""Replica → (seconds since the load began, messages behind), None where it cannot be told; below 0: ahead."""

_Keys = Mapping[str, tuple[str, ...]]


class _Copies(NamedTuple):
    """How many offsets a node had given in all keys of a subject, in order of time."""

    times: npt.NDArray[np.float64]
    totals: npt.NDArray[np.float64]

    def at(self, time: float) -> float | None:
        """The number between two observations; None where there was no second one in time."""
        after = int(np.searchsorted(self.times, time))
        if after < len(self.times) and self.times[after] == time:
            return float(self.totals[after])
        if not 0 < after < len(self.times) or self.times[after] - self.times[after - 1] > BLIND_S:
            return None
        return float(np.interp(time, self.times, self.totals))


class _Led(NamedTuple):
    """Who led a subject: each of ``leaders`` from its time on."""

    times: list[float]
    leaders: list[str]

    def at(self, time: float) -> str | None:
        """The last one that was heard by then to lead in the newest epoch."""
        place = bisect_right(self.times, time)
        return self.leaders[place - 1] if place else None


def lags(events: Iterable[Event], run: RunInfo, origin_ns: int) -> Lags:
    """How far each replica is behind, over all keys that it keeps; nothing of a system that has no leaders."""
    keys: dict[str, list[str]] = {}
    for key in range(run.keys):
        subject = run.subject_of(key)
        if subject is not None:
            keys.setdefault(subject.name, []).append(str(key))
    kept = {name: tuple(own) for name, own in keys.items()}
    seen = sorted(
        (one for one in events if isinstance(one, Observation) and one.time_ns >= origin_ns),
        key=lambda one: one.time_ns,
    )
    observed = {name: [one for one in seen if one.node == name] for name in run.replicas}
    copies = {
        (node, subject): made
        for node, own in observed.items()
        for subject, numbers in kept.items()
        if (made := _copies_over_time(own, numbers, origin_ns)) is not None
    }
    led = {subject: _leaders_over_time(seen, subject, origin_ns) for subject in kept}
    out = {node: [_lag_row(one, kept, copies, led, origin_ns) for one in own] for node, own in observed.items()}
    return {node: rows for node, rows in out.items() if any(value is not None for _, value in rows)}


def _since(time_ns: int, origin_ns: int) -> float:
    return round((time_ns - origin_ns) / NS_PER_S, 3)


def _total(offsets: Mapping[str, int] | None, keys: Sequence[str]) -> int | None:
    """The sum over these keys; None unless the node told all of them."""
    if offsets is None or any(key not in offsets for key in keys):
        return None
    return sum(offsets[key] for key in keys)


def _copies_over_time(observed: Sequence[Observation], keys: Sequence[str], origin_ns: int) -> _Copies | None:
    rows = [
        (_since(one.time_ns, origin_ns), total)
        for one in observed
        if (total := _total(one.max_offsets, keys)) is not None
    ]
    if not rows:
        return None
    return _Copies(np.array([time for time, _ in rows]), np.array([total for _, total in rows], dtype=np.float64))


def _leaders_over_time(observed: Iterable[Observation], subject: str, origin_ns: int) -> _Led:
    out, newest = _Led([], []), -1
    for one in observed:
        for claim in one.led():
            epoch = -1 if claim.epoch is None else claim.epoch
            if claim.subject == subject and epoch >= newest:
                newest = epoch
                out.times.append(_since(one.time_ns, origin_ns))
                out.leaders.append(one.node)
    return out


def _lag_row(
    one: Observation,
    kept: _Keys,
    copies: Mapping[tuple[str, str], _Copies],
    led: Mapping[str, _Led],
    origin_ns: int,
) -> tuple[float, int | None]:
    """One observation's row: behind the leaders of all subjects of which the node keeps copies."""
    time, behind = _since(one.time_ns, origin_ns), 0.0
    own_subjects = [subject for subject in kept if (one.node, subject) in copies]
    for subject in own_subjects:
        own, leader = _total(one.max_offsets, kept[subject]), led[subject].at(time)
        its = None if leader is None else copies.get((leader, subject))
        most = None if its is None else its.at(time)
        if own is None or most is None:
            return time, None
        behind += most - own
    return time, round(behind) if own_subjects else None

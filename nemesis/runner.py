"""Executes the plan: each row at its time, each fault proven while it lasts, healed at the row's end.

Rows that overlap run side by side, in lanes: a lane is a thread, and its rows come one after the other. A node is under
one fault of nodes at a time, and what faults of links do to each other's proofs is ``nemesis.faults.active_faults``'s.
Looking delays the healing of short rows alone, and not for long: proofs run beside the clock, and one that is not ready
when the row ends counts as not given. Healing happens on every path out, in the thread of ``run`` or in ``heal_all``.
A row that says that it does not heal is left in force at its end, until ``end_left`` or ``heal_all``.
Does not choose (``nemesis.plan.choose_targets`` does), and what a fault does is in ``nemesis.faults.fault``.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Literal

import msgspec

from chaos.core import waiting
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.events import EventLog, Evidence, Fault, Note
from cluster.cluster import Cluster
from cluster.host import Host
from cluster.leaders import Leads
from nemesis.faults import act_times
from nemesis.faults.active_faults import InForce
from nemesis.faults.fault import NO_LOAD, READY_TIMEOUT_S, Load, Scene, one_line
from nemesis.faults.fault import Fault as Injectable
from nemesis.faults.registry import faults as every_fault
from nemesis.occasions.awaited import POLL_S, Awaited
from nemesis.plan.choose_targets import choose
from nemesis.plan.plan import Row, lanes
from nemesis.targets.targets import Targets
from nemesis.targets.topology import Topology
from nemesis.timed_verification import LOOK, TimedVerification, verified_now

LAST_LOOK_S: Final = 2.0
"""The last look begins this long before the healing, or a quarter of the fault before it, whichever is less; one that
watches for a while begins earlier by that while, but not in the first half of the fault."""

LEAST_WINDOW_S: Final = 5.0
"""A row whose target is learned late is still begun if this much, or half of its duration, is left. A row shorter than
this keeps its length instead: it may begin so much late, and is healed so much later."""

PATIENCE_S: Final = 3.0
"""The healing of such a short row waits at most this long for a look that is under way."""

LEADER_POLL_S: Final = 0.1
HALT_S: Final = 180.0
"""How long ``heal_all`` waits for the row in progress, which heals itself."""

HEAL_ATTEMPTS: Final = 3
_SLICE_S: Final = 0.05
_LONG_SLICE_S: Final = 0.5
"""Where only ``heal_all`` could end a wait early, which waits for the end itself."""

Stage = Literal["inject", "active", "heal", "healed", "skipped", "broke"]


def lead_s(duration_s: float, watches_s: float) -> float:
    """Pure: how long before the healing of a fault the last look begins; ``watches_s``: see ``Fault.last_look_s``."""
    if watches_s:
        return min(LAST_LOOK_S + watches_s, duration_s / 2)
    return min(LAST_LOOK_S, duration_s / 4)


def _stopped_early(end_ns: int) -> str:
    """The note of a fault that is healed before its row ends."""
    return f"stopped {max(0, end_ns - now_ns()) / NS_PER_S:.1f} s before the row's end"


class _Injection:
    """A row in progress or not yet healed."""

    def __init__(self, row: Row, targets: Targets, fault: Injectable) -> None:
        self.row = row
        self.targets = targets
        self.fault = fault
        self.looks: list[TimedVerification] = []
        self.left = False  # in force although its row is over
        self.healing = threading.RLock()


class Nemesis:
    """Runs a plan against a cluster.

    Args:
        plan: the rows, in order.
        cluster: its nodes; every host must have what the plan's faults need (``check_hosts``).
        leads: who leads, as last observed; called from the nemesis' thread.
        events: where the stages of each fault are written.
        origin_ns: the instant from which ``at_s`` counts.
        client_host: where load runs; its links are probed and never touched.
        faults: the faults by name, by default those that there are.
        serve_within_s: how long a process that is started again may take until it says that it serves.
        acked_ns: when the last change was acknowledged, 0 for never; called from the nemesis' threads.
        load: what clients do.
    """

    def __init__(
        self,
        plan: Sequence[Row],
        cluster: Cluster,
        leads: Callable[[], Leads],
        events: EventLog,
        origin_ns: int,
        client_host: Host,
        faults: Mapping[str, type[Injectable]] | None = None,
        serve_within_s: float = READY_TIMEOUT_S,
        *,
        acked_ns: Callable[[], int] = lambda: 0,
        load: Load = NO_LOAD,
    ) -> None:
        self._acked_ns, self._load = acked_ns, load
        self._plan = tuple(plan)
        self._cluster = cluster
        self._topology = Topology.of((node.info for node in cluster.nodes.values()), cluster.kinds, cluster.subjects)
        self._leads = leads
        self._events = events
        self._origin_ns = origin_ns
        self._client = client_host
        self._faults = every_fault() if faults is None else faults
        self._serve_within_s = serve_within_s
        self._halt = waiting.flag()
        self._idle = waiting.flag()
        self._idle.set()
        self._unhealed: list[_Injection] = []
        self._in_force = InForce()
        self._choosing = threading.Lock()
        self._busy: dict[int, tuple[str, ...]] = {}
        self._hit: dict[int, tuple[str, ...]] = {}
        self._stop = waiting.flag()

    def run(self, stop: waiting.Flag) -> None:
        """Execute every row at its time, in the calling thread, until the last is healed or ``stop`` is set.

        When ``stop`` is set the faults in force are healed at once; rows that have not begun are noted.
        Nothing is raised: what went wrong is in the events.
        """
        self._stop = stop
        self._idle.clear()
        try:
            left = sum(waiting.at_once([partial(self._drive, lane) for lane in lanes(self._plan)], "nemesis-lane"))
            if left:
                self._note(f"stopped: {left} planned fault(s) not begun")
        finally:
            self._idle.set()

    def _drive(self, lane: Sequence[Row]) -> int:
        """Execute rows that do not overlap, each at its time; how many were not begun because somebody said stop."""
        for position, row in enumerate(lane):
            if not self._wait(self._ns(row.at_s)):
                return len(lane) - position
            try:
                if (begun := self._await_occasion(row)) is not None:
                    self._execute(begun)
            except Exception as error:  # noqa: BLE001 - one row that breaks must neither hide nor end the others
                self._emit(row, "broke", now_ns(), note=one_line(error))
            finally:
                self._busy.pop(row.row, None)
        return 0

    def heal_all(self, *, but_left: bool = False) -> None:
        """Begin no further fault and heal what is not healed yet; idempotent, for every path out.

        ``but_left``: faults that were left in force stay so.
        """
        self._halt.set()
        if not self._idle.wait(HALT_S):
            self._note(f"waited {HALT_S:g} s for the fault in progress to heal itself; healing over it")
        for injection in tuple(self._unhealed):
            for _ in range(HEAL_ATTEMPTS):
                if (but_left and injection.left) or self._heal(injection):
                    break

    def left_in_force(self) -> frozenset[str]:
        """The nodes under faults that were left in force."""
        return frozenset(name for one in tuple(self._unhealed) if one.left for name in one.targets.names)

    def end_left(self) -> None:
        """Look whether the faults that were left in force still are, and heal everything."""
        for injection in tuple(self._unhealed):
            if injection.left:
                self._heal(injection, verified_now(injection.fault.verify_still))
        self.heal_all()

    def unhealed(self) -> tuple[int, ...]:
        """The rows that were injected and are not proven healed."""
        return tuple(injection.row.row for injection in self._unhealed)

    def _ns(self, at_s: float) -> int:
        return self._origin_ns + round(at_s * NS_PER_S)

    def _stopped(self) -> bool:
        return self._stop.is_set() or self._halt.is_set()

    def _wait(self, until_ns: int, done: Callable[[], bool] | None = None) -> bool:
        """Wait until an instant or until ``done``; False if stopped before."""
        while not self._stopped():
            left_s = (until_ns - now_ns()) / NS_PER_S
            if left_s <= 0 or (done is not None and done()):
                return True
            self._stop.wait(min(left_s, _LONG_SLICE_S if done is None else _SLICE_S))
        return False

    def _await_occasion(self, row: Row) -> Row | None:
        """The row as it begins now; None if what it waits for did not come, which is said, or somebody said stop."""
        if not row.when:
            return row
        awaited = Awaited(row.when, self._cluster, self._topology, self._leads, self._acked_ns)
        last_ns = self._ns(row.at_s + row.within_s)
        while (why := awaited.came()) is None:
            if now_ns() >= last_ns:
                self._emit(row, "skipped", now_ns(), note=f"waited {row.within_s:g} s in vain for {row.when}")
                return None
            if not self._wait(min(now_ns() + round(POLL_S * NS_PER_S), last_ns)):
                self._note(f"stopped: fault {row.row} ({row.name}) waited for {row.when} and was not begun")
                return None
        began_ns = now_ns()
        self._note(f"fault {row.row} ({row.name}) begins, for {row.when} has come: {why}")
        return msgspec.structs.replace(row, at_s=(began_ns - self._origin_ns) / NS_PER_S)

    def _execute(self, row: Row) -> None:
        end_ns = self._ns(row.at_s + row.duration_s)
        if _is_short(row):
            last_begin_ns = self._ns(row.at_s + LEAST_WINDOW_S)
            targets = self._await_targets(row, last_begin_ns, last_begin_ns)
            end_ns = max(end_ns, now_ns() + round(row.duration_s * NS_PER_S))
        else:
            last_begin_ns = end_ns - round(min(LEAST_WINDOW_S, row.duration_s / 2) * NS_PER_S)
            targets = self._await_targets(row, last_begin_ns, end_ns)
        if targets is None:
            return
        self._hit[row.row] = targets.names
        scene = Scene(
            self._cluster,
            targets,
            self._client,
            self._in_force,
            self._serve_within_s,
            row.read_params(),
            self._load,
        )
        injection = _Injection(row, targets, self._faults[row.fault](scene))
        self._unhealed.append(injection)
        still: Evidence | None = None
        note = ""
        try:
            still, note = self._inflict(injection, end_ns)
        finally:
            if not injection.left:
                self._heal(injection, still, note)

    def _await_targets(self, row: Row, last_begin_ns: int, end_ns: int) -> Targets | None:
        """The row's targets; None once it is skipped (said so in the events) or stopped."""
        while True:
            targets = self._chosen(row)
            if now_ns() > last_begin_ns:
                break
            if targets is not None:
                return targets
            if not self._wait(min(now_ns() + round(LEADER_POLL_S * NS_PER_S), last_begin_ns + 1)):
                self._note(f"stopped: fault {row.row} ({row.name}) found no leader and was not begun")
                return None
        if targets is None:
            if not self._wait(end_ns):
                return None
            why = self._nobody(row)
        elif _is_short(row):
            why = f"could begin only {(now_ns() - self._ns(row.at_s)) / NS_PER_S:.1f} s late"
        else:
            why = f"could begin only {max(0, end_ns - now_ns()) / NS_PER_S:.1f} s before the row's end"
        self._emit(row, "skipped", now_ns(), note=why)
        return None

    def _chosen(self, row: Row) -> Targets | None:
        """Whom the row hits as things stand; a fault of nodes has them to itself until it is healed or given up."""
        leads = self._leads()
        if row.follows and not row.nodes:
            row = msgspec.structs.replace(row, nodes=self._hit.get(row.follows, ()))
        with self._choosing:
            busy = frozenset(name for number, names in self._busy.items() if number != row.row for name in names)
            targets = choose(row, self._topology, leads, busy)
            if targets is not None and row.how.takes_nodes():
                self._busy[row.row] = targets.names
            return targets

    def _nobody(self, row: Row) -> str:
        """Why a row had no target until its end."""
        if row.follows and row.follows not in self._hit:
            return f"fault {row.follows} had hit nobody"
        beside = sorted({name for number, names in dict(self._busy).items() if number != row.row for name in names})
        if not (row.how.takes_nodes() and beside):
            return "no leader was known until the row's end"
        return f"no target was free until the row's end: {' '.join(beside)} under another fault"

    def _inflict(self, injection: _Injection, end_ns: int) -> tuple[Evidence | None, str]:
        """Act and look; returns at the row's end, with the last look, None if there was none, and a note."""
        row, fault = injection.row, injection.fault
        self._emit(row, "inject", now_ns(), injection.targets)
        try:
            with act_times.record() as times:
                fault.act()
        except Exception as error:  # noqa: BLE001 - kept in the events; what was done in part is healed at once
            self._emit(row, "broke", now_ns(), injection.targets, note=one_line(error))
            return None, ""
        active_ns = now_ns()
        latest_ns = end_ns
        if _is_short(row):
            # What takes long to do has still its time, and what is over in a moment its looks.
            end_ns = max(end_ns, active_ns + round(row.duration_s / 2 * NS_PER_S))
            latest_ns = end_ns + round(PATIENCE_S * NS_PER_S)
        first = TimedVerification(fault.verify)
        injection.looks.append(first)
        in_time = self._wait(latest_ns, first.done)
        self._emit(row, "active", active_ns, injection.targets, evidence=_spread(first.evidence(), times))
        if not row.heals:
            injection.left = in_time and self._wait(end_ns)
            return None, _stopped_early(end_ns)
        if not (in_time and self._wait(end_ns - round(lead_s(row.duration_s, fault.last_look_s()) * NS_PER_S))):
            return None, _stopped_early(end_ns)
        if not first.done() or now_ns() >= latest_ns:
            return None, ""
        last = TimedVerification(fault.verify_still)
        injection.looks.append(last)
        if not self._wait(latest_ns, last.done) and not last.done():
            return None, _stopped_early(end_ns)
        still = last.evidence()
        self._wait(end_ns)
        return still, ""

    def _heal(self, injection: _Injection, still: Evidence | None = None, note: str = "") -> bool:
        """Undo one injection and look; True once it is proven healed."""
        row, targets = injection.row, injection.targets
        with injection.healing:
            if injection not in self._unhealed:
                return True
            self._emit(row, "heal", now_ns(), targets, evidence=still, note=note)
            if still is not None and not still.proven:
                word = "not seen to last" if still.kind == LOOK else "did not last"
                self._emit(row, "broke", now_ns(), targets, note=f"{word}: {still.summary}")
            said = ""
            try:
                injection.fault.heal()
            except Exception as error:  # noqa: BLE001 - kept in the events; ``heal_all`` tries again
                said = one_line(error)
            healed_ns = now_ns()
            for look in injection.looks:
                look.leave()
            evidence = verified_now(injection.fault.verify_healed)
            if said:  # in the evidence and not as a note, so that no reader takes it for the note of a fault that broke
                summary = f"{evidence.summary}; healing said: {said}"
                evidence = msgspec.structs.replace(evidence, summary=summary)
            self._emit(row, "healed", healed_ns, targets, evidence=evidence)
            if evidence.proven:
                self._unhealed.remove(injection)
            return evidence.proven

    def _emit(
        self,
        row: Row,
        stage: Stage,
        time_ns: int,
        targets: Targets | None = None,
        *,
        evidence: Evidence | None = None,
        note: str = "",
    ) -> None:
        names, description = (targets.names, targets.description) if targets else ((), "")
        event = Fault(
            time_ns=time_ns,
            id=row.row,
            name=row.name,
            stage=stage,
            targets=names,
            description=description,
            evidence=evidence,
            note=note,
            identity=row.identity,
        )
        with suppress(OSError):  # a log that is closed or full must not keep anybody from healing
            self._events.emit(event)

    def _note(self, text: str) -> None:
        with suppress(OSError):
            self._events.emit(Note(time_ns=now_ns(), name="nemesis", text=text))


def _spread(evidence: Evidence, times: act_times.ActTimes) -> Evidence:
    """Evidence that also says how far apart the nodes were acted on, where there were several."""
    spread_ms = times.spread_ms()
    more = {act_times.SPREAD: spread_ms} if spread_ms else {}
    return msgspec.structs.replace(evidence, details=evidence.details | more)


def _is_short(row: Row) -> bool:
    return row.duration_s < LEAST_WINDOW_S

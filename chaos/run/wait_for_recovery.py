"""After the last heal: wait under load until everything is back or the promised time is over, and look at every node.

What is seen goes into the history, where the checks read it (SEMANTICS 17a); what is returned only decides how long the
rest of the run waits for what cannot come any more. The module does not judge.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.errors import ChaosError
from chaos.core.events import EventLog, Note, Observation
from chaos.core.node_notes import ENDED, NODE_RESTARTED, SILENT, Look, ended_note, look_note
from chaos.run.watching import Totals
from chaos.run.workers import Workers
from chaos.storage.event_files import read_events
from chaos.storage.runinfo import Promises, RunInfo, Subject
from checkers.history.check_input import Context
from checkers.history.timeline import timeline_of
from checkers.recovery.missing_nodes import deadline_ns
from cluster.cluster import Cluster, Node
from cluster.host import Host
from cluster.leaders import Leads
from cluster.network import probe_matrix
from cluster.nodes import process, process_end
from nemesis.faults.fault import on_each

PROBES: Final = 20
LOOKS: Final = 3
"""A look at links is repeated this often before a probe that a busy machine swallowed counts."""
QUIET_S: Final = 3.0
"""A key whose newest change is this much younger than its last acknowledgement is not served."""
SLACK_NS: Final = 2 * NS_PER_S
"""So much longer is waited than promised: observers ask once a second, and a change must leave behind the deadline."""
_TIMEOUT_S: Final = 30.0


class Absent(msgspec.Struct, frozen=True):
    """What is not back: keys without acknowledgements, and nodes that ended, do not answer or are not in sync."""

    keys: tuple[int, ...] = ()
    nodes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.keys or self.nodes)


def silent_keys(totals: Totals, healed_ns: int, quiet_s: float) -> tuple[int, ...]:
    """Pure: the keys that are not served again since the heal, or not any more."""
    return tuple(
        key
        for key, sent_ns in sorted(totals.last_sent.items())
        if sent_ns > max(totals.last_acked.get(key, 0), healed_ns) + quiet_s * NS_PER_S
    )


def missing_now(
    latest: Mapping[str, Observation],
    leads: Leads,
    subjects: Iterable[Subject],
    promises: Promises,
    left: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """Pure: the nodes that do not answer, and the replicas that are not in sync where the system has such a set.

    ``left``: nodes under a fault that is never healed; these are not waited for.
    """
    silent = {name for name, seen in latest.items() if not seen.alive}
    outside: set[str] = set()
    for subject in subjects if promises.rejoins_within_s else ():
        lead = leads.get(subject.name)
        outside |= set(subject.nodes) - set(lead.members if lead is not None else ())
    return tuple(name for name in latest if name in (silent | outside) - left)


class Recovery:
    """The last phase under load, of one run.

    Args:
        run: its promises and nodes.
        cluster: the nodes.
        client: the clients' host, which takes part in the look at links.
        folder: the run folder, whose events tell when what must be back.
        events: where looks are written.
        say: gets a line for people.
        op_timeout_s: how long an operation may take.
        left_in_force: the nodes under faults that are never healed.
    """

    def __init__(
        self,
        run: RunInfo,
        cluster: Cluster,
        client: Host,
        folder: Path,
        events: EventLog,
        say: Callable[[str], None],
        op_timeout_s: float,
        left_in_force: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        self._run = run
        self._nodes: dict[str, Node] = dict(cluster.nodes)
        self._client = client
        self._folder = folder
        self._events = events
        self._say = say
        self._left = left_in_force
        self._quiet_s = max(QUIET_S, op_timeout_s)
        self._ended: set[str] = set()
        self._again: set[tuple[str, int]] = set()
        self._oom_kills = self._count_oom_kills()
        self._times: dict[str, dict[int, process_end.CpuTime]] = {}
        self._since_ns = 0
        self._healed_ns = 0

    def begin(self) -> None:
        """All faults are healed: look which processes have ended, and from where their waits for a CPU count."""
        self._times, self._since_ns = self._measured(), now_ns()
        self.look_for_ended()

    def absent(self, totals: Totals, latest: Mapping[str, Observation], leads: Leads) -> Absent:
        """What is not back now, for a system that promises anything of it."""
        if not self._run.promises.recovers_within_s:
            return Absent()
        nodes = missing_now(latest, leads, self._run.replicated, self._run.promises, self._left())
        return Absent(
            keys=silent_keys(totals, self._healed_ns, self._quiet_s),
            nodes=tuple(sorted({*nodes, *self._ended})),
        )

    def waiting(
        self, workers: Workers, latest: Callable[[], Mapping[str, Observation]], leads: Callable[[], Leads]
    ) -> Callable[[], bool]:
        """Whether something is missing that may still come in time; never once a process has ended for good."""
        self._healed_ns, until_ns = self._deadlines_ns()
        asked_ns, answer = 0, True

        def waits() -> bool:
            nonlocal asked_ns, answer
            if now_ns() - asked_ns >= NS_PER_S:
                asked_ns = now_ns()
                answer = asked_ns < until_ns + SLACK_NS and bool(self.absent(workers.totals(), latest(), leads()))
                if answer:
                    self.look_for_ended()
            return answer and not self._ended

        return waits

    def _deadlines_ns(self) -> tuple[int, int]:
        """When the last fault was healed, and when everything must be back by what the system promises."""
        promises, context = self._run.promises, self._context()
        within_s = max(promises.recovers_within_s, promises.rejoins_within_s)
        healed_ns = context.timeline.last_heal_ns() or self._run.origin_ns
        return healed_ns, deadline_ns(context, round(within_s * NS_PER_S)) if within_s else 0

    def _context(self) -> Context:
        events = sorted(read_events(self._folder / "history" / "run.events"), key=lambda event: event.time_ns)
        return Context(run=self._run, streams=(), timeline=timeline_of(events, self._run))

    def _not_started(self) -> frozenset[str]:
        """The nodes that the harness failed to bring back, as the evidence of heals says."""
        unhealed = (fault for fault in self._context().timeline.faults if not fault.healed)
        return frozenset(name for fault in unhealed for name, why in fault.failed.items() if why not in (ENDED, SILENT))

    def look_for_ended(self) -> None:
        """Say and write down which nodes' processes have ended by themselves; each once."""
        states = on_each(self._nodes, lambda name: process.state(self._nodes[name]), "a look at /proc", _TIMEOUT_S)
        seen = states.good()
        for name in sorted(seen):
            again = seen[name].successor
            if again is not None and (name, again.pid) not in self._again:
                self._again.add((name, again.pid))
                text = f"ended by itself, and something else started it again as pid {again.pid}"
                self._events.emit(Note(time_ns=now_ns(), name=NODE_RESTARTED, node=name, text=text))
                self._say(f"warning  {name} {text}; see nodes/{name}/logs")
        down = {name for name, state in seen.items() if not state.alive and state.successor is None}
        down -= self._ended | self._left()
        for name in sorted(down - self._not_started() if down else down):
            self._ended.add(name)
            words = process_end.last_words(self._nodes[name])
            self._events.emit(ended_note(now_ns(), name, words, self._excuse()))
            self._say(f"warning  {name} has ended by itself: {words or 'no word in its log'}; see nodes/{name}/logs")

    def look(self) -> None:
        """Look at every process and every link, and write down what is seen; a look that fails is left out."""
        self.look_for_ended()
        waits, wall_ns = self._measured(), now_ns() - self._since_ns
        waited = {
            name: round(process_end.starved_share(self._times.get(name, {}), own, wall_ns), 3)
            for name, own in waits.items()
            if own
        }
        everyone = {name: node.host for name, node in self._nodes.items()} | {self._client.name: self._client}
        with suppress(ChaosError):
            cut: tuple[str, ...] = ()
            for _ in range(LOOKS):
                seen = probe_matrix.measure(everyone, PROBES)
                cut = tuple(sorted(f"{a}>{b}" for a, b in seen.received if (a, b) not in seen.complete()))
                if not cut:
                    break
            dead = tuple(sorted(self._ended))
            self._events.emit(
                look_note(Look(time_ns=now_ns(), since_ns=self._since_ns, dead=dead, cut=cut, waited=waited))
            )

    def _measured(self) -> dict[str, dict[int, process_end.CpuTime]]:
        return on_each(
            self._nodes, lambda name: process_end.cpu_times(self._nodes[name]), "a look at waits for a CPU", _TIMEOUT_S
        ).good()

    def _count_oom_kills(self) -> int | None:
        """The most that a node's host says; None if none of them says it."""
        counts = on_each(
            self._nodes, lambda name: process_end.oom_kills(self._nodes[name]), "a look at the memory", _TIMEOUT_S
        ).good()
        return max((count for count in counts.values() if count is not None), default=None)

    def _excuse(self) -> str:
        counted = self._count_oom_kills()
        if counted is None or self._oom_kills is None or counted <= self._oom_kills:
            return ""
        more = counted - self._oom_kills
        return f"the kernel ended {more} {'process' if more == 1 else 'processes'} for want of memory"

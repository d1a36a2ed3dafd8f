"""A history as aligned text: operations, faults, phases and observations in time order, a line each.

Observations are shown where a node says something new. Pure: rows and events in, lines out. Does not read files.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.events import Claim, Event, Fault, Note, Observation, Phase
from chaos.core.model import Model
from chaos.core.op import Type
from chaos.storage.history import NEVER_NS
from chaos.storage.runinfo import RunInfo
from reports.history.rows import Operation

HEAD: Final = "   TIME s   TOOK ms  PROC     QUEUE  OPERATION       WHAT                          OUTCOME   NODE"
_NS_PER_MS: Final = 1_000_000
CLAIMS_SHOWN: Final = 4
_MARK: Final = ">"
_GAP: Final = "    ..."


class Line(msgspec.Struct, frozen=True):
    """A line and whether it is one that was looked for; ``time_ns`` orders lines."""

    time_ns: int
    text: str
    hit: bool = False
    event: bool = False


def operation_line(one: Operation, model: Model, nodes: Sequence[str], origin_ns: int, *, hit: bool = False) -> Line:
    """One operation: when it left, how long it took, who, where, what, and what came of it."""
    row = one.row
    word, kind = model.words(row["f"]).word, Type(row["type"])
    ended = row["complete_ns"] != NEVER_NS
    took = f"{(row['complete_ns'] - row['invoke_ns']) / _NS_PER_MS:.1f}" if ended else "—"
    node = nodes[row["node"]] if 0 <= row["node"] < len(nodes) else ""
    outcome = kind.word if ended or kind is not Type.INFO else "no answer"
    text = (
        f"{(row['invoke_ns'] - origin_ns) / NS_PER_S:9.3f}  {took:>8}  {_process(row):<8} {row['key']:>5}  "
        f"{word:<15} {model.line(row).removeprefix(word).lstrip():<29} {outcome:<9} {node:<5} {row['error'] or ''}"
    )
    return Line(row["invoke_ns"], text.rstrip(), hit)


def _process(row: Mapping[str, Any]) -> str:
    return f"{row['process']}{' pin' if row['pinned'] else ''}"


def event_lines(events: Iterable[Event], run: RunInfo) -> Iterator[Line]:
    """Faults by stage, phases, notes, and what nodes said that they had not said before."""
    last: dict[str, tuple[Any, ...]] = {}
    for event in events:
        if isinstance(event, Observation):
            said = _observed_facts(event)
            if last.get(event.node) == said or not any(said):
                continue
            last[event.node] = said
        at_s = (event.time_ns - run.origin_ns) / NS_PER_S
        yield Line(event.time_ns, f"{at_s:9.3f}  {_event(event, run)}", event=True)


def _observed_facts(event: Observation) -> tuple[Any, ...]:
    return (not event.alive, event.role, event.claims or (), event.error)


def _claim(claim: Claim, node: str, run: RunInfo) -> str:
    """``leads brokers, epoch 3, in sync b1 b2``, or of another ``brokers led by b1, …``."""
    epoch = f", {run.epoch_word(claim.subject)} {claim.epoch}" if claim.epoch is not None else ""
    members = f", in sync {' '.join(claim.members)}" if claim.members is not None else ""
    led = f"{claim.subject} led by {claim.leader or 'nobody'}"
    return f"{f'leads {claim.subject}' if claim.leader == node else led}{epoch}{members}"


def _event(event: Event, run: RunInfo) -> str:
    if isinstance(event, Fault):
        proof = event.evidence
        parts = [event.description, event.note, proof.summary if proof else ""]
        seen = "" if proof is None else " proven:" if proof.proven else " NOT PROVEN:"
        return f"== fault {event.id} {event.name}: {event.stage}{seen} {'; '.join(filter(None, parts))}".rstrip()
    if isinstance(event, Phase):
        how = "begins" if event.edge == "start" else "ends" if event.ok else "BREAKS"
        return f"== {event.name} {how} {event.note}".rstrip()
    if isinstance(event, Note):
        return f"== note {event.name} {event.node or ''} {event.text}".rstrip()
    if not event.alive:
        return f"-- {event.node} is silent: {event.error or ''}".rstrip()
    claims = event.claims or ()
    parts = [event.role or "", *(_claim(claim, event.node, run) for claim in claims[:CLAIMS_SHOWN])]
    parts += [f"and of {len(claims) - CLAIMS_SHOWN} more"] if len(claims) > CLAIMS_SHOWN else []
    return f"-- {event.node} says: {', '.join(filter(None, parts))}"


def concerns_node(event: Event, node: str) -> bool:
    """Whether an event concerns a node; phases concern everybody."""
    if isinstance(event, Fault):
        return node in event.targets
    return isinstance(event, Phase) or event.node in (None, node)


def lines_around(lines: Iterable[Line], context: int, wanted: Callable[[Line], bool]) -> Iterator[str]:
    """The wanted lines, marked, each with ``context`` lines before and after it; gaps are shown."""
    before: deque[Line] = deque(maxlen=context)
    after, gap, any_yet = 0, False, False
    for line in lines:
        if wanted(line):
            if gap and any_yet:
                yield _GAP
            yield from (f"  {old.text}" for old in before)
            yield f"{_MARK} {line.text}"
            before.clear()
            after, gap, any_yet = context, False, True
        elif after:
            yield f"  {line.text}"
            after -= 1
        else:
            gap = gap or len(before) == context
            before.append(line)

"""A history as aligned text: operations, faults, phases and observations in time order, a line each.

On a terminal what does not fit a line goes on below it; nothing is left out. Observations are shown where a node says
something new. Pure: rows and events in, lines out. Does not read files.
"""

import textwrap
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
from reports.summary.text_style import PIPED, TextStyle

_NS_PER_MS: Final = 1_000_000
CLAIMS_SHOWN: Final = 4
_MARK: Final = ">"
_GAP: Final = "    ..."
MARGIN: Final = 2
"""Columns before each line of ``lines_around``."""
_WIDE: Final = 100
"""A terminal of fewer columns has the word and the argument of an operation in one column."""
_ERROR: Final = 24
"""Columns that are kept for what went wrong, where there is room for them."""
_NARROW_REST: Final = 43
_WIDE_REST: Final = 49
"""Columns of all that stands beside the word, the argument and the node."""
_LEAST: Final = 16
_NOUN: Final = 5


class Line(msgspec.Struct, frozen=True):
    """A line and whether it is one that was looked for; ``time_ns`` orders lines. On a terminal it may have breaks."""

    time_ns: int
    text: str
    hit: bool = False
    event: bool = False


class Layout(msgspec.Struct, frozen=True):
    """The columns of a history. ``word``: 0 on a narrow terminal, where ``what`` is the whole operation."""

    style: TextStyle = PIPED
    noun: str = "QUEUE"
    word: int = 15
    what: int = 29
    node: int = 5

    @classmethod
    def of(cls, model: Model, nodes: Sequence[str], style: TextStyle) -> "Layout":
        """The columns that suit a run and the terminal; behind a pipe those of every run."""
        noun = model.key.upper() if len(model.key) <= _NOUN else "KEY"
        if not style.fits:
            return cls(noun=noun)
        node = max(map(len, ("NODE", *nodes)))
        if style.width < _WIDE:
            return cls(style, noun, 0, max(_LEAST, style.width - _NARROW_REST - node), node)
        word = max(len("OPERATION"), *(len(word.word) for word in model.words))
        return cls(style, noun, word, max(cls().what, style.width - _WIDE_REST - word - node - _ERROR), node)

    @property
    def head(self) -> str:
        """The first line."""
        cells = ("TIME s", "TOOK ms", "PROC", self.noun)
        return self.operation(cells, "OPERATION", "WHAT" if self.word else "", "OUTCOME", "NODE", "")

    def operation(self, cells: Sequence[str], word: str, what: str, outcome: str, node: str, error: str) -> str:
        """An operation, or the first line; ``cells`` are the time, how long it took, the process and the key."""
        start, text = self._start(cells, word, what)
        end = f"{outcome:<9} {node:<{self.node}}"
        if not self.style.fits:
            return f"{start}{text:<{self.what}} {end} {error}".rstrip()
        first, *below = _wrapped(text, self.what) or [""]
        line = f"{start}{first:<{self.what}} {end}"
        if len(line) + 1 + len(error) <= self.style.width:
            line = f"{line} {error}"
        else:
            below += _wrapped(error, max(_LEAST, self.style.width - len(start)))
        return "\n".join([line.rstrip(), *(" " * len(start) + more for more in below)])

    def _start(self, cells: Sequence[str], word: str, what: str) -> tuple[str, str]:
        """What stands before the column that may be folded, and the text for that column."""
        time, took, process, key = cells
        if self.word:
            return f"{time:>9}  {took:>8}  {process:<8} {key:>5}  {word:<{self.word}} ", what
        return f"{time:>9} {took:>7} {process:<7} {key:>5} ", f"{word} {what}".rstrip()


PLAIN: Final = Layout()


def operation_line(
    one: Operation, model: Model, nodes: Sequence[str], origin_ns: int, *, hit: bool = False, layout: Layout = PLAIN
) -> Line:
    """One operation: when it left, how long it took, who, where, what, and what came of it."""
    row = one.row
    word, kind = model.words(row["f"]).word, Type(row["type"])
    ended = row["complete_ns"] != NEVER_NS
    took = f"{(row['complete_ns'] - row['invoke_ns']) / _NS_PER_MS:.1f}" if ended else "—"
    node = nodes[row["node"]] if 0 <= row["node"] < len(nodes) else ""
    outcome = kind.word if ended or kind is not Type.INFO else "no answer"
    cells = (f"{(row['invoke_ns'] - origin_ns) / NS_PER_S:.3f}", took, _process(row), str(row["key"]))
    argument = model.line(row).removeprefix(word).lstrip()
    return Line(row["invoke_ns"], layout.operation(cells, word, argument, outcome, node, row["error"] or ""), hit)


def _wrapped(text: str, width: int) -> list[str]:
    """A text as lines; it keeps its wide blanks if it fits one."""
    return [text] if 0 < len(text) <= width else textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


def _process(row: Mapping[str, Any]) -> str:
    return f"{row['process']}{' pin' if row['pinned'] else ''}"


def event_lines(events: Iterable[Event], run: RunInfo, style: TextStyle = PIPED) -> Iterator[Line]:
    """Faults by stage, phases, notes, and what nodes said that they had not said before."""
    last: dict[str, tuple[Any, ...]] = {}
    for event in events:
        if isinstance(event, Observation):
            said = _observed_facts(event)
            if last.get(event.node) == said or not any(said):
                continue
            last[event.node] = said
        at_s = (event.time_ns - run.origin_ns) / NS_PER_S
        lines = style.hang(f"{at_s:9.3f}  ", _event(event, run))
        yield Line(event.time_ns, "\n".join(lines), event=True)


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


def _beside(mark: str, text: str) -> str:
    """A line with its mark in the margin, those below it with none."""
    return f"{mark:<{MARGIN}}" + text.replace("\n", "\n" + " " * MARGIN)


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
            yield from (_beside(" ", old.text) for old in before)
            yield _beside(_MARK, line.text)
            before.clear()
            after, gap, any_yet = context, False, True
        elif after:
            yield _beside(" ", line.text)
            after -= 1
        else:
            gap = gap or len(before) == context
            before.append(line)

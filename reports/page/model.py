"""``ReportData``: everything that the page and the terminal say of a run, typed.

Texts are ready to be shown, unescaped; times are seconds since the load began. Does not compute: ``reports.page.build``
and what it calls do.
"""

import msgspec

from reports.page.latency_points import Packed
from reports.page.log_clues import LogClue
from reports.page.logs import Logs
from reports.page.marks import Shown
from reports.page.panels import Charts
from reports.page.ring import Ring
from reports.page.spread import SpreadRow
from reports.page.trace import Trace
from reports.terms import Terms


class Stamp(msgspec.Struct, frozen=True):
    """The verdict in a word and its tone: good, bad or warn."""

    word: str
    tone: str


class ThresholdRow(msgspec.Struct, frozen=True, kw_only=True):
    """One threshold: what was asked, whether it holds, and what was measured or why nothing was."""

    text: str
    word: str
    tone: str
    said: str


class CheckRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the verdict table; ``link`` is the anchor of its first anomaly.

    ``reason``: why it is so; of a row that a picture on the page seems to contradict, why it does not.
    """

    name: str
    word: str
    tone: str
    found: str
    reason: str
    examined: str
    took: str
    link: str


class Clue(msgspec.Struct, frozen=True, kw_only=True):
    """One example of what the headline tells, in a line: which it is, where on the page, and name and value of facts.

    The facts are the message, its place, whom to look at first, where it was seen, the fault and what should have been,
    as far as they are known.
    """

    example: str
    anchor: str
    facts: tuple[tuple[str, str], ...]


class FaultRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the fault table.

    ``state``: proven, unproven, skipped, not reached. ``heal``: healed, not healed, healing not recorded, or empty
    where nothing was done. ``rto_of``: the kinds of operation that ``rto`` is of. ``folded``: left out until somebody
    asks for all of them. ``shared``: see ``RtoCell``, of the outage that ``rto`` is the length of.
    """

    id: int
    name: str
    colour: str
    targets: str
    state: str
    evidence: str
    heal: str
    heal_evidence: str
    note: str
    start: float | None
    end: float | None
    errors: int
    rto: str
    rto_of: str
    rto_tone: str
    lost: int
    lost_span: str
    steady: str
    folded: bool = False
    shared: str = ""
    whole: float | None = None


class RtoCell(msgspec.Struct, frozen=True, kw_only=True):
    """Recovery of one kind of operation from one fault, in words; ``share`` of the scale for its bar.

    ``length``: of the longest outage. ``where``: its key, when it began and ended, what was ok in it.
    ``elsewhere``: of an outage that is told with another fault, which one; else empty. ``shared``: which other
    faults it belongs to. ``later``: the longest outage that began after the heal, if it is another one.
    """

    f: str
    length: str
    where: str
    when: str
    resolution: str
    share: float
    tone: str
    lagged: bool
    shared: str = ""
    elsewhere: str = ""
    later: str = ""


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """RTO and RPO over all faults: a line each, rows per fault with an outage, and the budget on the bars' scale.

    ``spreads``: the distribution over the faults of each name, for each kind of operation, on a scale of its own.
    ``losses``: likewise of the messages that each fault cost; none where nothing was lost.
    """

    lines: tuple[str, ...]
    rows: tuple[tuple[FaultRow, tuple[RtoCell, ...]], ...]
    budget: str
    budget_share: float | None
    scale: str
    spreads: tuple[SpreadRow, ...]
    spread_scale: str
    losses: tuple[SpreadRow, ...] = ()
    loss_scale: str = ""

    def cells_of(self, fault: int) -> tuple[RtoCell, ...]:
        """The outages of one fault, by kind of operation."""
        return next((cells for row, cells in self.rows if row.id == fault), ())


class ExampleView(msgspec.Struct, frozen=True, kw_only=True):
    """One occurrence: its sentence, its picture, its operations as a table, and where it is on the time axis.

    ``name`` and ``number`` (from 1): as in ``chaos show --around lost-write/2``. ``facts``: what the sentence names, a
    name and a value each, to be copied and searched for. ``mark``: its place among the marks of the time axis.
    ``ring``: the circle of operations that all come before each other, ``edges`` the kind and the reason of each arrow.
    ``unplaced``: the operation without which the others have an order, in words, and ``order`` that order; empty where
    none was looked for. ``command``: prints the history around it. ``about``: what it can be found by, as texts.
    ``log_clues``: the lines of nodes' logs that say most about it.
    """

    anchor: str
    name: str
    number: int
    sentence: str
    command: str
    facts: tuple[tuple[str, str], ...]
    about: dict[str, list[str]]
    ring: Ring | None
    edges: tuple[tuple[str, str], ...]
    unplaced: str
    order: tuple[str, ...]
    trace: Trace | None
    mark: int | None
    log_clues: tuple[LogClue, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class AnomalyView(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of anomaly; ``parts`` are kinds that have the same cause.

    ``weight``: error, undecided (makes a verdict unknown, not false) or allowed. ``rule``: where it is defined.
    ``spread``: see ``chaos.core.verdict.Anomaly``.
    """

    name: str
    anchor: str
    meaning: str
    expected: str
    rule: str
    count: int
    weight: str
    why_allowed: str
    spread: str
    examples: tuple[ExampleView, ...]
    parts: tuple["AnomalyView", ...]


class Assumption(msgspec.Struct, frozen=True, kw_only=True):
    """Something that must hold before a verdict means anything."""

    name: str
    tone: str
    text: str


class Moment(msgspec.Struct, frozen=True):
    """A time of a table, in seconds since the load began; None where there is none. The page's clock shows it.

    ``digits``: three where another time beside it would read alike.
    """

    at_s: float | None
    digits: int = 1


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows under a heading. ``heads``: each column with what it says.

    ``open``: how many rows are shown until somebody asks for the others; None: all.
    """

    title: str
    rows: tuple[tuple[str | Moment, ...], ...]
    open: int | None = None
    columns: tuple[str, ...] = ()
    heads: tuple[tuple[str, str], ...] = ()


class HeadsOfTables(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of the tables that every page has, each with what it says; ``facts``: likewise of an occurrence."""

    verdict: tuple[tuple[str, str], ...]
    faults: tuple[tuple[str, str], ...]
    recovery: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]


class ReportData(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is said of a run.

    ``shown``: how many operations the sample holds; ``not_ok``: how many of them were neither ok nor refused by design,
    and whether that is all of those. ``words``: of what is explained, where on the page, its name and its meaning.
    ``observed``: whose word roles are and how precise; empty if nobody was asked.
    """

    title: str
    heading: str
    stamp: Stamp
    chips: tuple[str, ...]
    sentence: str
    clue: Clue | None
    words: tuple[tuple[str, str, str], ...]
    why: tuple[tuple[str, str], ...]
    facts: tuple[str, ...]
    commands: tuple[tuple[str, str], ...]
    notices: tuple[str, ...]
    thresholds: tuple[ThresholdRow, ...]
    checks: tuple[CheckRow, ...]
    declined: tuple[tuple[str, str], ...]
    engine_note: str
    charts: Charts
    points: Packed
    shown: int
    not_ok: str
    marks: tuple[Shown, ...]
    terms: Terms
    logs: Logs
    observed: str
    faults: tuple[FaultRow, ...]
    recovery: Recovery
    service: tuple[Table, ...]
    errors: Table | None
    columns: HeadsOfTables
    service_lines: tuple[str, ...]
    anomalies: tuple[AnomalyView, ...]
    assumptions: tuple[Assumption, ...]
    counts: Table
    environment: tuple[Table, ...]
    config: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]
    file_count: int

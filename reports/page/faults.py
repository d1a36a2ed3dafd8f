"""The fault table and what follows from it: recovery times and losses per fault and over the run.

Pure. Does not measure: outages and losses come from ``results.json``.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import Any

from msgspec.structs import replace

from chaos.basics.name_lists import join_names
from chaos.core.clock import NS_PER_S
from chaos.core.fault_nature import of_name
from chaos.core.matrix_results import NEVER
from chaos.core.matrix_results import Recovery as Recovered
from chaos.core.verdict import FaultResult, Results, Rto
from checkers.recovery.rpo import RpoKernel
from reports import words
from reports.folder import Parts
from reports.page.availability import steady_line, steady_words
from reports.page.model import FaultRow, Recovery, RtoCell
from reports.page.op_words import SENT
from reports.page.shared_outages import Shared
from reports.page.spread import SpreadRow, scale_of, spread_of, spread_row
from reports.terms import terms_of

_NAMED = re.compile(r"\bfault (\d+)\b")

FAILOVERS = 8
"""Changes of leadership that are named."""

LATER = 4
"""Outages that began after a heal, of which all faults together tell in a line."""

FAULTS = 8
"""Faults that are shown at once."""

QUIET = 8
"""Quiet stretches that are named."""


def rto_words(rto: Rto) -> str:
    """``none``, ``never`` or a duration."""
    if not rto.recovered:
        return "never"
    return "none" if rto.seconds is None else words.seconds(rto.seconds)


def _weight(rto: Rto) -> float:
    return float("inf") if not rto.recovered else -1.0 if rto.seconds is None else rto.seconds


def worst_rto(rtos: Sequence[Rto], changes: Collection[str] = SENT) -> Rto | None:
    """The longest recovery of them, that of changes before anything else; None if none was measured."""
    of_changes = [rto for rto in rtos if rto.f in changes]
    return max(of_changes or rtos, key=_weight, default=None)


def _whose(worst: Rto, rtos: Sequence[Rto], changes: Collection[str]) -> str:
    """The kinds of operation that the worst recovery is of: all that it was chosen from if none had an outage."""
    if _weight(worst) >= 0:
        return worst.f
    kinds = list(dict.fromkeys(rto.f for rto in rtos))
    return join_names([f for f in kinds if f in changes] or kinds)


Outages = Mapping[tuple[int, str], Shared]
"""(fault, kind of operation) → its longest outage, where other faults have the same one."""


def fault_rows(parts: Parts, faults: Sequence[FaultResult], shared: Outages, origin_ns: int) -> tuple[FaultRow, ...]:
    """Faults as they were done, then those planned and never reached."""
    budget, changes = parts.run.rto_budget_s, terms_of(parts.run).changes
    rows = [_row_of(fault, shared, origin_ns, budget, changes) for fault in faults]
    done = {fault.id for fault in faults}
    planned = [(int(row.get("row", number)), row) for number, row in enumerate(parts.plan, 1)]
    rows += [_row_not_reached(number, row) for number, row in planned if number not in done]
    named = named_faults(parts.results) if parts.results is not None else set()
    return _fold_rows(rows, named, shared)


def _row_of(
    fault: FaultResult, shared: Outages, origin_ns: int, budget_s: float | None, changes: Collection[str]
) -> FaultRow:
    """A fault as it was done. ``changes``: the kinds of operation whose recovery counts most."""
    worst = worst_rto(fault.rto, changes)
    over = worst is not None and (not worst.recovered or (budget_s is not None and _weight(worst) > budget_s))
    return FaultRow(
        id=fault.id,
        name=fault.name,
        colour=fault.colour,
        targets=fault.description or " ".join(fault.targets),
        state="skipped" if fault.skipped else "proven" if fault.proven else "unproven",
        evidence=fault.evidence,
        heal=_heal_word(fault),
        heal_evidence=fault.heal_evidence,
        note=fault.note,
        start=words.seconds_since(fault.inject_ns, origin_ns),
        end=words.seconds_since(fault.heal_ns, origin_ns),
        whole=words.seconds_since(fault.healed_ns, origin_ns),
        errors=fault.not_ok,
        rto="—" if worst is None else rto_words(worst),
        rto_of="" if worst is None else _whose(worst, fault.rto, changes),
        rto_tone="bad" if over else "",
        lost=fault.lost,
        lost_span="" if not fault.rpo_span_s else f"over {words.seconds(fault.rpo_span_s)}",
        steady=steady_words(fault.steady),
        shared=shared[fault.id, worst.f].brief(fault.id) if worst and (fault.id, worst.f) in shared else "",
    )


def _row_not_reached(number: int, row: Mapping[str, Any]) -> FaultRow:
    """A row of the plan whose time did not come."""
    name = str(row.get("name", "?"))
    return FaultRow(
        id=number,
        name=name,
        colour=row.get("colour") or of_name(name).nature.colour,
        targets="",
        state="not reached",
        evidence=f"planned at {words.moment(row.get('at_s'))}",
        heal="",
        heal_evidence="",
        note="",
        start=None,
        end=None,
        errors=0,
        rto="—",
        rto_of="",
        rto_tone="",
        lost=0,
        lost_span="",
        steady="—",
    )


def named_faults(results: Results) -> set[int]:
    """The numbers of the faults that the first sentence names, or that it blames."""
    blamed = results.headline.fault if results.headline is not None else None
    return {int(number) for number in _NAMED.findall(results.sentence)} | ({blamed} if blamed is not None else set())


def _fold_rows(rows: Sequence[FaultRow], named: Collection[int], shared: Outages) -> tuple[FaultRow, ...]:
    """Of many faults all but those that say most are folded: unproven, costly, with the longest outages.

    What the first sentence names is shown, and so is the row that another one refers to for its outage.
    """

    def weight(row: FaultRow) -> tuple[bool, bool, int, bool, int]:
        unsure = row.state == "unproven" or row.heal not in ("healed", "")
        return unsure, row.rto_tone == "bad", row.lost, row.rto not in ("none", "—"), row.errors

    shown = {row.id for row in sorted(rows, key=weight, reverse=True)[:FAULTS]} | set(named)
    shown |= {outage.first for (number, _), outage in shared.items() if number in shown}
    return tuple(rows if len(rows) <= FAULTS else (replace(row, folded=row.id not in shown) for row in rows))


def _heal_word(fault: FaultResult) -> str:
    if fault.skipped:
        return ""
    if fault.healed:
        return "healed"
    return "not healed" if fault.healed_ns is not None else "healing not recorded"


def failover_lines(parts: Parts) -> list[str]:
    """The changes of leadership, who led when; nothing where there were none."""
    changes = parts.results.failovers if parts.results is not None else ()
    if not changes:
        return []
    several = len(parts.run.replicated) > 1
    shown = [
        f"{one.node}{f' of {one.subject}' if several else ''} in epoch {one.epoch}"
        f" from {words.moment(words.seconds_since(one.at_ns, parts.run.origin_ns))}"
        for one in changes[:FAILOVERS]
    ]
    more = f" and {words.count(len(changes) - FAILOVERS)} more" if len(changes) > FAILOVERS else ""
    return [f"failovers: {words.count(len(changes))} ({', '.join(shown)}{more})"]


def quiet_lines(parts: Parts, change: str) -> list[str]:
    """When a tenth of the changes was due on purpose; nothing where the load was steady."""
    stretches = parts.run.quiet
    shown = ", ".join(f"{begin:.1f} to {end:.1f} s" for begin, end in stretches[:QUIET])
    more = f" and {words.count(len(stretches) - QUIET)} more" if len(stretches) > QUIET else ""
    return [f"quiet load, a tenth of the {change}s: {shown}{more}"] if stretches else []


def rto_lines(faults: Sequence[FaultResult], budget: float | None) -> list[str]:
    """Recovery times over all faults, a line for the kinds of operation of which the same is to be said."""
    alike: dict[str, list[str]] = {}
    for f in dict.fromkeys(rto.f for fault in faults for rto in fault.rto):
        alike.setdefault(_rto_words(f, faults, budget), []).append(f)
    return [f"RTO of {join_names(kinds)}: {said}" for said, kinds in alike.items()]


def rpo_lines(results: Results, faults: Sequence[FaultResult]) -> list[str]:
    """What faults cost; nothing where no check looks for losses by their fault."""
    if not any(check.name == RpoKernel.name for check in results.checks):
        return []
    lost = sum(fault.lost for fault in faults)
    where = ", ".join(f"{words.count(f.lost)} after fault {f.id}" for f in faults if f.lost)
    return [f"RPO: {words.plural(lost, 'acknowledged message')} lost" + (f", of these {where}" if where else "")]


def recovery(
    parts: Parts, faults: Sequence[FaultResult], rows: Sequence[FaultRow], shared: Outages, origin_ns: int
) -> Recovery:
    """RTO and RPO of the whole run, and per fault and kind of operation."""
    budget, terms = parts.run.rto_budget_s, terms_of(parts.run)
    finite = [rto.seconds for fault in faults for rto in fault.rto if rto.seconds is not None and rto.recovered]
    scale = max([1.0, *finite, *([budget] if budget else [])]) * 1.05
    by_id = {row.id: row for row in rows}
    table = []
    for fault in faults:
        cells = [
            _told_once(
                replace(
                    _rto_cell(f, [rto for rto in fault.rto if rto.f == f], scale, budget, terms.key, origin_ns),
                    later="; ".join(_later_words(one, terms.key, origin_ns) for one in fault.later if one.f == f),
                ),
                fault.id,
                shared.get((fault.id, f)),
            )
            for f in dict.fromkeys(rto.f for rto in fault.rto)
        ]
        if any(cell.tone != "none" for cell in cells):
            table.append((by_id[fault.id], tuple(cell for cell in cells if cell.tone != "none")))
    lines = [*failover_lines(parts), *quiet_lines(parts, terms.any_change), *rto_lines(faults, budget)]
    if faults and parts.results is not None:
        lines += [line for line in (steady_line(faults), later_line(faults, terms.key, origin_ns)) if line]
        lines += rpo_lines(parts.results, faults)
    spreads, spread_scale_s = spread_rows(faults)
    losses, loss_scale = loss_rows(faults)
    return Recovery(
        lines=tuple(lines),
        rows=tuple(table),
        budget="" if budget is None else words.duration(budget),
        budget_share=None if budget is None else round(budget / scale, 4),
        scale=words.seconds(scale),
        spreads=spreads,
        spread_scale=words.seconds(spread_scale_s),
        losses=losses,
        loss_scale=words.count(loss_scale),
    )


def spread_rows(faults: Sequence[FaultResult]) -> tuple[tuple[SpreadRow, ...], float]:
    """The distribution for each nemesis and kind of operation that an outage touched, and where its axis ends in s."""
    found: dict[tuple[str, str], list[Recovered]] = {}
    colours = {fault.name: fault.colour for fault in faults}
    for fault in faults:
        for rto in fault.rto:
            if rto.key < 0:
                found.setdefault((fault.name, rto.f), []).append(rto.seconds if rto.recovered else NEVER)
    made = {key: spread_of(all_of_it) for key, all_of_it in found.items()}
    touched = {key: spread for key, spread in made.items() if spread.dots or spread.never}
    scale_s = scale_of(tuple(touched.values()))
    return tuple(spread_row(name, colours[name], f, one, scale_s) for (name, f), one in touched.items()), scale_s


def loss_rows(faults: Sequence[FaultResult]) -> tuple[tuple[SpreadRow, ...], int]:
    """The distribution of what faults cost, for each nemesis that cost something, and where its axis ends."""
    found: dict[str, list[Recovered]] = {}
    colours = {fault.name: fault.colour for fault in faults}
    for fault in faults:
        found.setdefault(fault.name, []).append(float(fault.lost) if fault.lost else None)
    made = {name: spread for name, all_of_it in found.items() if (spread := spread_of(all_of_it)).dots}
    scale = max((fault.lost for fault in faults), default=0)
    return tuple(spread_row(name, colours[name], "lost", one, scale, _messages) for name, one in made.items()), scale


def _messages(number: float) -> str:
    return words.count(round(number))


def _place_words(rto: Rto, noun: str, origin_ns: int) -> str:
    """``queue 1, 5.0 s to 11.1 s``: of which key an outage was, and when, as far as that is known."""
    said = [f"{noun} {rto.key}"] if rto.key >= 0 else []
    if rto.start_ns is not None:
        start = (rto.start_ns - origin_ns) / NS_PER_S
        ended = rto.recovered and rto.seconds is not None
        said.append(
            f"{words.moment(start)} to {words.moment(start + (rto.seconds or 0.0))}"
            if ended
            else f"from {words.moment(start)} on"
        )
    if rto.ok:
        said.append(f"{rto.ok} in it {'was' if rto.ok == 1 else 'were'} ok, never three in a row")
    return ", ".join(said)


def _later_words(one: Rto, noun: str, origin_ns: int) -> str:
    """An outage that began after the heal, in words."""
    return f"{rto_words(one)} ({_place_words(one, noun, origin_ns)})"


def later_line(faults: Sequence[FaultResult], noun: str, origin_ns: int) -> str:
    """The outages that began after a heal and stand in no row as the longest; empty if there were none."""
    said = [
        f"{one.f} {_later_words(one, noun, origin_ns)} after the heal of fault {fault.id}"
        for fault in faults
        for one in fault.later
    ]
    more = f" and {words.count(len(said) - LATER)} more" if len(said) > LATER else ""
    return f"later outages, begun after a heal: {'; '.join(said[:LATER])}{more}" if said else ""


def _told_once(cell: RtoCell, fault: int, shared: Shared | None) -> RtoCell:
    """A cell of an outage that others share: told whole with the first fault, and named in the rows of the others."""
    if shared is None:
        return cell
    if fault == shared.first:
        return replace(cell, shared=shared.brief(fault))
    return replace(cell, elsewhere=shared.brief(fault), share=0.0)


def _rto_cell(f: str, rtos: Sequence[Rto], scale: float, budget: float | None, noun: str, origin_ns: int) -> RtoCell:
    worst = max(rtos, key=lambda rto: (_weight(rto), rto.key))
    weight = _weight(worst)
    tone = (
        "none" if weight < 0 else "bad" if not worst.recovered or (budget is not None and weight > budget) else "good"
    )
    return RtoCell(
        f=f,
        length=rto_words(worst),
        where=_place_words(worst, noun, origin_ns) if weight >= 0 else "",
        when=worst.when.replace("-", " the ") if worst.when else "",
        resolution=f"± {words.seconds(worst.resolution_s)}",
        share=round(max(0.0, min(1.0, weight / scale)), 4),
        tone=tone,
        lagged=any(rto.lagged for rto in rtos),
    )


def _rto_words(f: str, faults: Sequence[FaultResult], budget: float | None) -> str:
    """``worst 2.9 s (fault 3), median 2.6 s; 1 fault without an outage``."""
    worst = {fault.id: max((rto for rto in fault.rto if rto.f == f), key=_weight, default=None) for fault in faults}
    known = {number: rto for number, rto in worst.items() if rto is not None}
    never = [number for number, rto in known.items() if not rto.recovered]
    ended = {number: rto.seconds for number, rto in known.items() if rto.recovered and rto.seconds is not None}
    said = []
    if never:
        said.append(
            f"never recovered from fault{'s' * (len(never) > 1)} {join_names([str(number) for number in never])}"
        )
    if ended:
        at = max(ended, key=lambda number: ended[number])
        many = len(ended) > 1
        middle = f", median {words.seconds(median(ended.values()))}" if many else ""
        said.append(f"{'worst ' if many else ''}{words.seconds(ended[at])} (fault {at}){middle}")
    begun = [(known[number].key, known[number].start_ns) for number in (*never, *ended)]
    if len(set(begun)) < len(begun) and all(start_ns is not None for _, start_ns in begun):
        said.append(f"{words.plural(len(set(begun)), 'outage')} of {words.plural(len(begun), 'fault')}")
    quiet = len(known) - len(never) - len(ended)
    if quiet:
        said.append(f"{words.plural(quiet, 'fault')} without an outage")
    if budget is not None:
        said.append(f"budget {words.duration(budget)}")
    return "; ".join(said)

"""From what was measured to what may be said: evidence for faults, as pure functions of counts and states.

The words of a fault table's evidence column are made here. Does not measure.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from chaos.core.events import Evidence
from cluster.network.packet_filter import Counter, Held, Rule
from nemesis.targets.grudge import Link

MATRIX: Final = "probe-matrix"
CHAIN: Final = "packet-filter"
PROC: Final = "proc"
_NAMED: Final = 4


def first_few(words: Sequence[str], between: str = ", ", shown: int = _NAMED) -> str:
    """Pure: the first ones, and how many more there are: ``a, b, c, d and 3 more``."""
    return between.join(words[:shown]) + (f" and {len(words) - shown} more" if len(words) > shown else "")


class Judged(msgspec.Struct, frozen=True):
    """Evidence, and whether what is missing could be probes that a busy machine swallowed: worth a second look."""

    evidence: Evidence
    look_again: bool = False


def _cells(links: Sequence[Link], received: Mapping[Link, int], sent: int) -> str:
    """Up to four links with what arrived, for the reader who asks which ones."""
    return first_few([f"{a}→{b} {received.get((a, b), 0)} of {sent}" for a, b in links])


def _details(received: Mapping[Link, int], sent: int, wrong: Sequence[Link]) -> dict[str, Any]:
    return {
        "sent": sent,
        "received": {f"{a}>{b}": count for (a, b), count in sorted(received.items())},
        "wrong": [f"{a}>{b}" for a, b in wrong],
    }


def _passed(links: frozenset[Link], received: Mapping[Link, int], sent: int) -> tuple[int, list[Link]]:
    short = sorted(link for link in links if received.get(link, 0) < sent)
    return len(links) - len(short), short


def cut(
    across: frozenset[Link], inside: frozenset[Link], others: frozenset[Link], received: Mapping[Link, int], sent: int
) -> Judged:
    """Evidence of a partition: nothing passes across it, everything passes elsewhere.

    ``inside``: links among the participants that the cut leaves alone. ``others``: links of nodes and clients
    that are none of its business.
    """
    leaking = sorted(link for link in across if received.get(link, 0) > 0)
    inside_ok, inside_short = _passed(inside, received, sent)
    others_ok, others_short = _passed(others, received, sent)
    parts = [f"{len(across) - len(leaking)} of {len(across)} links across the cut dropped all {sent} probes"]
    parts += [f"{inside_ok} of {len(inside)} inside passed"] if inside else []
    parts += [f"{others_ok} of {len(others)} others passed"] if others else []
    wrong = leaking + inside_short + others_short
    if wrong:
        parts.append(f"wrong: {_cells(wrong, received, sent)}")
    proven = bool(across) and not wrong
    evidence = Evidence(kind=MATRIX, proven=proven, summary=", ".join(parts), details=_details(received, sent, wrong))
    return Judged(evidence, look_again=bool(wrong) and not leaking)


def judge_lossy(
    hit: frozenset[Link], others: frozenset[Link], received: Mapping[Link, int], sent: int, bounds: tuple[int, int]
) -> Judged:
    """Evidence of loss: what arrives on each link that is hit lies within ``bounds``, all arrives elsewhere."""
    least, greatest = bounds
    over = sorted(link for link in hit if received.get(link, 0) > greatest)
    under = sorted(link for link in hit if received.get(link, 0) < least)
    others_ok, short = _passed(others, received, sent)
    arrived, total = sum(received.get(link, 0) for link in hit), max(1, len(hit) * sent)
    parts = [
        f"{total - arrived:,} of {total:,} probes dropped ({(total - arrived) / total:.1%})".replace("%", " %"),
        f"{len(hit) - len(over) - len(under)} of {len(hit)} links within {least}..{greatest} of {sent} arrived",
    ]
    parts += [f"{others_ok} of {len(others)} others passed"] if others else []
    wrong = over + under + short
    if wrong:
        parts.append(f"wrong: {_cells(wrong, received, sent)}")
    evidence = Evidence(
        kind=MATRIX,
        proven=bool(hit) and not wrong,
        summary=", ".join(parts),
        details=_details(received, sent, wrong),
    )
    return Judged(evidence, look_again=bool(wrong) and not over)


def judge_whole(
    links: frozenset[Link], received: Mapping[Link, int], sent: int, left: Mapping[str, Sequence[str]]
) -> Judged:
    """Evidence of a healed network: every probe arrives and no rule of ours is ``left`` on any node."""
    passed, short = _passed(links, received, sent)
    rules = {name: list(lines) for name, lines in left.items() if lines}
    parts = [f"{passed} of {len(links)} links passed all {sent} probes"]
    parts.append(f"rules left on {' '.join(sorted(rules))}" if rules else "no rule left")
    if short:
        parts.append(f"wrong: {_cells(short, received, sent)}")
    proven = bool(links) and not short and not rules
    details = _details(received, sent, short) | {"rules": rules}
    evidence = Evidence(kind=MATRIX, proven=proven, summary=", ".join(parts), details=details)
    return Judged(evidence, look_again=bool(short) and not rules)


def _thousandths(share: float | None) -> float | None:
    return None if share is None else round(share, 3)


def rules_in_force(wanted: Mapping[str, Sequence[Rule]], found: Mapping[str, Held], done: str = "dropped") -> Evidence:
    """Evidence that the rules are still there and that packets still get to them, by node.

    ``done``: what rules do to packets. Shares are compared to a thousandth, because the kernel keeps them as a fraction
    of 2^31.
    """
    total, gone, wrong, dropped = 0, 0, list[str](), dict[str, int]()
    for name, rules in sorted(wanted.items()):
        held = found.get(name, Held())
        total += len(set(rules))
        missing = {_rounded(rule) for rule in rules} - {_rounded(one.rule) for one in held.counters}
        gone += len(missing)
        dropped[name] = sum(one.packets for one in held.counters)
        hooks = sorted({rule.direction for rule in rules} & held.astray.keys())
        if missing:
            wrong.append(f"gone on {name}")
        else:
            wrong += [f"{held.astray[hook]} on {name}" for hook in hooks]
    parts = [f"{total - gone} of {total} rules in place", f"{sum(dropped.values()):,} packets {done}", *wrong]
    proven = total > 0 and not wrong
    return Evidence(kind=CHAIN, proven=proven, summary=", ".join(parts), details={done: dropped})


def _rounded(rule: Rule) -> Rule:
    return msgspec.structs.replace(rule, probability=_thousandths(rule.probability))


def unasked_rules(found: Sequence[Counter], asked: Sequence[Rule]) -> tuple[str, ...]:
    """The rules of a packet filter that nobody asked for, a line each."""
    known = {_rounded(rule) for rule in asked}
    return tuple(
        f"from {one.rule.address}{'' if one.rule.probability is None else f' a share of {one.rule.probability:g}'}"
        f"{one.rule.match and f' {one.rule.match}'}"
        for one in found
        if _rounded(one.rule) not in known
    )


def beside_others(evidence: Evidence, disturbed: frozenset[Link]) -> Evidence:
    """The same evidence, saying how many links told nothing of this fault because another hits them."""
    if not disturbed:
        return evidence
    details = evidence.details | {"beside": [f"{a}>{b}" for a, b in sorted(disturbed)]}
    summary = f"{evidence.summary}, {len(disturbed)} links are hit by another fault too"
    return msgspec.structs.replace(evidence, summary=summary, details=details)


def combine_evidence(first: Evidence, second: Evidence) -> Evidence:
    """Two looks as one: proven if each is."""
    return msgspec.structs.replace(
        first,
        proven=first.proven and second.proven,
        summary=f"{first.summary}, {second.summary}",
        details=first.details | second.details,
    )


def each_node(facts: Mapping[str, tuple[bool, str]], details: dict[str, Any] | None = None) -> Evidence:
    """Evidence put together node by node: whether it is as wanted, and a phrase about it."""
    wrong = [f"{name} {phrase}" for name, (good, phrase) in facts.items() if not good]
    right = [f"{name} {phrase}" for name, (good, phrase) in facts.items() if good]
    return Evidence(
        kind=PROC,
        proven=bool(right) and not wrong,
        summary=", ".join([*(f"NOT: {text}" for text in wrong), *right]),
        details=dict(details or {}),
    )

"""One cause, one headline (SEMANTICS 9), and the sentence that a broker engineer can act on.

Anomalies are brought together by queue and offset range, the strongest first. Does not change a verdict.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from chaos.basics.name_lists import join_names
from chaos.core.verdict import Anomaly, Headline
from chaos.storage.runinfo import Promises
from checkers.anomalies.catalogue import kind_of, rank
from checkers.anomalies.findings import Finding, Range, count_of
from checkers.assumptions import skipped_words
from checkers.cluster.faults_and_failovers import campaign_words
from checkers.history.check import Held, Telling
from checkers.history.check_input import Context

REASONS: Final = 2
ASSUMPTIONS: Final = "12"
"""The rule of the assumptions."""

Teller = Callable[[str, int], Telling | None]
"""How a check tells so many occurrences of one of its anomalies; None: by the first example."""


def _assumed(name: str) -> bool:
    """Whether an anomaly is a breach of an assumption, which has no headline of its own."""
    return kind_of(name).rule == ASSUMPTIONS


def _touches(own: Sequence[Range], other: Sequence[Range]) -> bool:
    """Whether each of the ranges overlaps one of the other's in the same queue."""
    by_key: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for key, first, last in other:
        by_key[key].append((first, last))
    return bool(own) and all(any(first <= b and last >= a for a, b in by_key[key]) for key, first, last in own)


def parts(found: Mapping[str, Finding]) -> dict[str, str]:
    """For each anomaly that has the same cause as a stronger one: that one's name."""
    names = sorted((name for name in found if not _assumed(name)), key=rank)
    out: dict[str, str] = {}
    for i, name in enumerate(names):
        for stronger in names[:i]:
            if stronger not in out and _touches(found[name].ranges, found[stronger].ranges):
                out[name] = stronger
                break
    return out


def _counted(name: str, one: Anomaly) -> str:
    return kind_of(name).counted(one.count)


def _by_example(name: str, one: Anomaly) -> Telling:
    """How an anomaly is told that no check has more words for."""
    if not one.examples:
        return Telling(f"{_counted(name, one)}.")
    first = one.examples[0]
    nodes = (first.node,) if first.node is not None else ()
    return Telling(f"{_counted(name, one)}: {first.sentence}.", nodes, first.fault, first.expected)


def sentence_invalid(anomalies: Mapping[str, Anomaly], told: Teller, context: Context) -> tuple[str, Headline | None]:
    """The first sentence of a run with errors: the strongest headline, and the names of the others; what it tells.

    Args:
        anomalies: all that were found.
        told: how checks tell their own.
        context: faults and failovers.
    """
    heads = sorted(
        (name for name, one in anomalies.items() if not one.allowed and one.part_of is None and not _assumed(name)),
        key=rank,
    )
    if not heads:
        return "Invalid.", None
    first, *others = heads
    text, nodes, fault, expected = told(first, anomalies[first].count) or _by_example(first, anomalies[first])
    also = ", ".join(_counted(name, anomalies[name]) for name in others)
    sentence = f"{text} Also: {also}. {_campaign(context)}" if also else f"{text} {_campaign(context)}"
    return sentence, Headline(anomaly=first, nodes=nodes, fault=fault, expected=expected)


def _campaign(context: Context) -> str:
    """``9 faults, 4 failovers.`` as a sentence."""
    words = campaign_words(context)
    return f"{words[0].upper()}{words[1:]}."


def sentence_valid(held: Sequence[Held], anomalies: Mapping[str, Anomaly], context: Context) -> str:
    """The first sentence of a valid run: what held, what the system may do and did, and what nobody looked at.

    Args:
        held: what the checks say of it.
        anomalies: all that were found; in a valid run promises cover them.
        context: faults and failovers.
    """
    words = campaign_words(context)
    skipped = skipped_words(context)
    under = (f" under {words}" if context.timeline.injected() else "") + (f" ({skipped})" if skipped else "")
    asked = "" if context.timeline.faults or context.run.planned_faults else words
    did = join_names([_counted(name, one) for name, one in sorted(anomalies.items(), key=lambda item: rank(item[0]))])
    first = "; ".join(one.first for one in held if one.first) or "No check found anything wrong"
    clauses = [
        f"{first}{under}",
        *(one.then for one in held),
        f"as the system may: {did}" if did else "",
        *(one.beside for one in held),
        asked,
        not_held_to(context.run.promises),
    ]
    return f"{'; '.join(filter(None, clauses))}."


def not_held_to(promises: Promises) -> str:
    """What the system was not held to, since the settings that it rests on were not proven; empty if there is none."""
    return f"the system was not held to {join_names(promises.not_taken)}" if promises.not_taken else ""


def sentence_unknown(reasons: Sequence[str], context: Context) -> str:
    """The first sentence of a run that nobody can judge: the first reasons, and how many more there are."""
    shown = "; ".join(reasons[:REASONS])
    more = len(reasons) - REASONS
    rest = "" if more <= 0 else f"; and {count_of(more, 'more reason')}"
    return f"Unknown: {shown}{rest}. {_campaign(context)}"

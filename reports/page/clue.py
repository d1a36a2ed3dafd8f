"""What the headline tells in a line, by an example: message, place, whom to look at, fault, what should be.

A reader who knows nothing yet sees what the rest of the page is about. Pure.
"""

from collections.abc import Sequence
from typing import Final

from chaos.basics.name_lists import join_names
from chaos.core.verdict import Headline, Results
from checkers.anomalies.catalogue import kind_of, rank
from reports import words
from reports.page.anomalies import anchor_of, facts_of, weight_of
from reports.page.model import Clue
from reports.page.panels import Band

FACTS: Final = ("message", "place", "look at", "seen at", "fault", "should be")
"""What is told, in this order."""


def clue_of(results: Results | None, faults: Sequence[Band], key: str) -> Clue | None:
    """The clue of a run with errors; None where there is no example of one.

    Args:
        results: the verdict.
        faults: those that began, for the name of the one that is blamed.
        key: what a key names.
    """
    told = _headline(results) if results is not None else None
    if results is None or told is None:
        return None
    example = results.anomalies[told.anomaly].examples[0]
    fault = next((band for band in faults if band.id == told.fault), None)
    known = dict(facts_of(example, key, told))
    known["look at"] = join_names(told.nodes)
    known["fault"] = "" if told.fault is None else str(told.fault)
    if fault is not None:
        known["fault"] = f"{fault.id} {fault.name} at {words.moment(fault.start)}"
    known["should be"] = told.expected or kind_of(told.anomaly).expected
    facts = tuple((fact, known[fact]) for fact in FACTS if known.get(fact))
    return Clue(example=f"{told.anomaly} 1", anchor=anchor_of(told.anomaly, 0), facts=facts)


def _headline(results: Results) -> Headline | None:
    """What the results say that the sentence tells; of older results the first example of the strongest error."""
    told = results.headline
    if told is not None:
        return told if told.anomaly in results.anomalies and results.anomalies[told.anomaly].examples else None
    found = results.anomalies
    errors = [name for name, one in found.items() if weight_of(name, one) == "error" and one.examples]
    if not errors:
        return None
    name = min(errors, key=rank)
    first = found[name].examples[0]
    return Headline(anomaly=name, nodes=(first.node,) if first.node is not None else (), fault=first.fault)

"""One example of what the headline tells, in a line: message, place, who answered, fault, what should have been. Pure.

A reader who knows nothing yet sees what the rest of the page is about.
"""

from collections.abc import Sequence
from typing import Final

from chaos.core.verdict import Example, Results
from checkers.anomalies.catalogue import kind_of, rank
from reports import words
from reports.model import Clue
from reports.page.findings import anchor_of, facts_of, weight_of
from reports.page.panels import Band

FACTS: Final = ("message", "place", "answered by", "fault", "should be")
"""What is told, in this order."""


def clue_of(results: Results | None, faults: Sequence[Band], key: str) -> Clue | None:
    """The clue of a run with errors; None where there is no example of one.

    Args:
        results: the verdict.
        faults: those that began, for the name of the one that is blamed.
        key: what a key names.
    """
    found = results.anomalies if results is not None else {}
    errors = [name for name, one in found.items() if weight_of(name, one) == "error" and one.examples]
    if results is None or not errors:
        return None
    name = min(errors, key=rank)
    examples = found[name].examples
    number = max(range(len(examples)), key=lambda at: _told(examples[at], results.sentence))
    fault = next((band for band in faults if band.id == examples[number].fault), None)
    known = dict(facts_of(examples[number], key))
    known["answered by"] = known.get("node", "")
    if fault is not None:
        known["fault"] = f"{fault.id} {fault.name} at {words.at(fault.start)}"
    known["should be"] = kind_of(name).expected
    facts = tuple((fact, known[fact]) for fact in FACTS if known.get(fact))
    return Clue(example=f"{name} {number + 1}", anchor=anchor_of(name, number), facts=facts)


def _told(example: Example, sentence: str) -> tuple[bool, bool]:
    """Whether the headline tells of this message, and of this fault: of several examples the one that is told."""
    told = sentence.replace(".", " ").split()
    return example.value in told, example.fault is not None and f"fault {example.fault} (" in sentence

"""What is told of one kind of anomaly."""

from typing import Final, Literal

import msgspec

Consequence = Literal["invalid", "unknown"]
Excuse = Literal["promise", "nobody", "format", "models"]

RUNS: Final = ("runs",)
FILES: Final = ("files",)
BOTH: Final = (*RUNS, *FILES)


class AnomalyKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of anomaly.

    Args:
        name: as results, reports and options call it.
        one: how a single occurrence is called in a sentence.
        many: how several are.
        meaning: what was seen.
        expected: what a correct system would have done.
        strength: the higher, the sooner it is told; an anomaly of the same cause is told under a stronger one. Those of
            chaos itself are 100 apart and below 100,000.
        rule: the rule of docs/semantics.md that defines it, or the page under docs/reference.
        consequence: what it makes of the verdict.
        excused_by: who may allow it: a promise of the system, the conventions of an imported file's format, the
            consistency models that are asked for, or nobody.
        where: whether our own runs may show it, imported files, or both.
    """

    name: str
    one: str
    many: str
    meaning: str
    expected: str
    strength: int
    rule: str
    consequence: Consequence = "invalid"
    excused_by: Excuse = "promise"
    where: tuple[str, ...] = BOTH

    def counted(self, number: int) -> str:
        """``1 stale strong read``, ``3 stale strong reads``."""
        return f"{number} {self.one if number == 1 else self.many}"

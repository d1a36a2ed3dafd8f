"""A plan whose one fault is never healed while the run goes on (SEMANTICS 17b). Pure."""

from collections.abc import Sequence
from typing import Final

import msgspec

from chaos.core.errors import UsageError
from nemesis.faults.admin.admin_fault import action_of
from nemesis.plan.nemesis_names import MANY, words
from nemesis.plan.plan import Row
from nemesis.targets.selectors import LED, Selector

MINORITIES: Final = (Selector.MINOR, *LED, Selector.FIXED)
"""The selectors by which a fault may hit a minority whatever is drawn."""


def leave_in_force(rows: Sequence[Row], nemesis: str) -> tuple[Row, ...]:
    """The plan of one fault, which stays in force behind its end; ``nemesis``: the name that was asked for.

    Raises:
        UsageError: there are several faults, or one that cannot be left in force on a minority.
    """
    if len(rows) != 1 or len(words(nemesis)) != 1 or nemesis.strip() in MANY:
        raise UsageError(
            f"--never-heal: one fault is left in force; --nemesis {nemesis} is not one, take e.g. minor-kill"
        )
    (row,) = rows
    if row.selector not in MINORITIES:
        others = ", ".join(f"{one}-{row.fault}" for one in MINORITIES)
        raise UsageError(f"--never-heal: {row.name} may hit more than a minority; take one of {others}")
    if row.how.hits == "client" or action_of(row.how):
        raise UsageError(f"--never-heal: {row.name} is not done to nodes or links; take e.g. minor-kill")
    if row.how.ends_itself:
        raise UsageError(f"--never-heal: {row.name} ends by itself; take e.g. {row.selector}-kill")
    return (msgspec.structs.replace(row, heals=False),)

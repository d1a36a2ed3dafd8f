"""What a file that ends too early may lack: which anomalies stand follows from it.

The module does not know any anomaly; each model says of its own how much may be missing (``stands``).
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final


class Missing(IntEnum):
    """How much may be missing behind the end; each holds what the one before it does.

    Attributes:
        LATER: records that were written later. Operations that are open at the end may end in any way.
        DELIVERIES: also deliveries that began before the end (of OpenChaos, whose requests may have many answers).
        ANY: whole operations of any time, as of a file that is not written in the order of events.
    """

    LATER = 1
    DELIVERIES = 2
    ANY = 3


Stands = Mapping[str, Missing | None]
"""Each anomaly of a model, and the most that may be missing for it to stand; None: any continuation may undo it."""

UNDONE: Final = None
"""For a table of ``Stands``: more of the history may undo it."""


def retractable(found: Iterable[str], stands: Stands, missing: Missing) -> frozenset[str]:
    """The anomalies that more of the history may undo.

    Args:
        found: names of anomalies.
        stands: the model's table.
        missing: what may be missing.
    """
    return frozenset(name for name in found if (most := stands[name]) is None or missing > most)

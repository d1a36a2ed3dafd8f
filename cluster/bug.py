"""A bug that a system carries as a switch, so that the harness can show what it finds.

It says what the bug does wrong, what brings it to light and what the verdict must then name. Does not import anything
of the harness: a node's process reads the same declarations.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

SETTING: Final = "bug"
"""The setting of a system that names the bug; empty for none."""


class Bug(msgspec.Struct, frozen=True, kw_only=True):
    """One deviation that can be switched on.

    ``workload``, ``nemesis`` and ``options`` (fields of ``chaos run``: durations in seconds, rates in sends a second)
    and ``settings`` (of the system) are what ``chaos run --bug`` takes unless told otherwise; ``anomaly`` is the name
    in the results that must come out. ``waits_for``: a fault that is needed and not there yet; empty if none is.
    """

    name: str
    help: str
    workload: str
    nemesis: str
    anomaly: str
    settings: dict[str, str] = {}
    options: Mapping[str, int | float | str] = {}
    waits_for: str = ""

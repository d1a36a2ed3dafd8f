"""What writes made-up histories: a generator for each model, found under the model's name (``chaos.generators``)."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec


class HistorySpec(msgspec.Struct, frozen=True, kw_only=True):
    """A history that is asked for.

    ``ops``: operations in all. ``keys``: objects, or keys in use at a time. ``anomalies``: how often each is planted.
    ``options``: those of the generator's own options that were given. ``argv``: the command, which a run folder keeps.
    ``processes``: how many may work at the same time.
    """

    ops: int
    keys: int
    seed: int
    anomalies: Mapping[str, int]
    options: Mapping[str, Any]
    argv: tuple[str, ...]
    processes: int


class HistoryGenerator(Protocol):
    """Writes histories of one model, in which nothing is wrong but what is planted.

    ``planted``: the anomalies that can be planted, by name. ``options``: which of the options it knows that not all
    generators do: ``txn_length``, ``sub_via``.
    """

    planted: Sequence[str]
    options: Collection[str]

    def write(self, spec: HistorySpec, output: Path) -> str:
        """Write a history to a place where nothing is yet; what it holds, in a few words.

        Raises:
            ChaosError: it could not be written to its end.
            UsageError: the place is taken, or more is wanted than so many operations can hold.
        """
        ...

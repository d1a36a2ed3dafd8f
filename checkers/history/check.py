"""What a check is: pure functions over the columns of one key, so that every engine runs the same.

``examine`` looks at one shard (all rows of one key) and returns a small summary; ``merge`` adds summaries;
``conclude`` turns the whole into one row of the verdict table. ``checkers.engine.local_engine`` runs checks in this
process, ``spark_checkers`` in executors: the same functions on the same columns, so the verdicts agree by construction.

What a check may do beside is a protocol of its own.
"""

from typing import Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from chaos.core.anomaly_kind import AnomalyKind
from chaos.core.verdict import Anomaly, CheckResult
from checkers.history.check_input import Context, QueueShard

Summary = TypeVar("Summary")


class Examiner(Protocol[Summary]):
    """What an engine runs over the shards of a history."""

    name: str

    def examine(self, shard: QueueShard, context: Context) -> Summary:
        """Look at one key. Pure; runs in an executor."""
        ...

    def merge(self, left: Summary, right: Summary) -> Summary:
        """Add two summaries; associative, and independent of order up to the choice of examples."""
        ...


class OfEachKey:
    """A check that examines each key, of any run: what most have in common."""

    partition: Literal["key", "history"] = "key"

    def applies(self, context: Context) -> str | None:  # noqa: ARG002 - some checks look
        """It applies."""
        return None


class Check(Examiner[Summary], Protocol):
    """One row of the verdict table; found by name in the entry-point group ``chaos.checks``, made without arguments.

    ``help``: one line. ``anomalies``: what it may find. ``partition``: ``key``: it examines each key; ``history``: it
    has no need of operations, and concludes from the context alone.
    """

    help: str
    anomalies: tuple[AnomalyKind, ...]
    partition: Literal["key", "history"]

    def applies(self, context: Context) -> str | None:
        """None if it has something to say of this run; else why not, in a clause."""
        ...

    def conclude(self, summary: Summary | None, context: Context) -> CheckResult | None:
        """The row of the verdict table; no summary if no key had any row. None: nothing to judge was recorded."""
        ...


@runtime_checkable
class MayBeAssumption(Protocol):
    """A check that says whether others mean nothing without it; if so it judges whichever checks are asked for."""

    is_assumption: bool


class Held(NamedTuple):
    """What a check says in the first sentence of a valid run.

    ``first``: what was looked at and held, as the beginning of the sentence. ``then``: what follows from it, as a
    clause. ``beside``: what was not looked at, as a clause at the end. Empty: nothing.
    """

    first: str = ""
    then: str = ""
    beside: str = ""


@runtime_checkable
class TellsWhatHeld(Protocol):
    """A check with a part in the first sentence of a valid run."""

    def held(self, summary: Any, anomalies: dict[str, Anomaly], context: Context) -> Held:
        """Its part; ``summary`` is None if no key had any row, ``anomalies`` are all that promises cover."""
        ...


class Telling(NamedTuple):
    """How an anomaly is told in the first sentence of a run with errors.

    ``sentence``: with its full stop. ``nodes``: whom it names first, ``fault``: the number of the fault that it names.
    The occurrence that it gives as an example is the anomaly's first one. ``expected``: what these nodes should have
    done; empty: what is expected of every occurrence of the kind.
    """

    sentence: str
    nodes: tuple[str, ...] = ()
    fault: int | None = None
    expected: str = ""


@runtime_checkable
class HasHeadline(Protocol):
    """A check that tells an anomaly of its own in more words than its first example has."""

    def headline(self, name: str, summary: Any, count: int, context: Context) -> Telling | None:
        """How ``count`` occurrences of the anomaly are told; None: by its first example."""
        ...

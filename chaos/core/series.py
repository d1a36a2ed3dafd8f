"""What the report draws of the operations: counts and points, small whatever the history's size.

Made by a kernel in the executors (``checkers.recovery.series``), stored as ``series.json`` in the run folder, read by
``reports``. Does not hold rows.
"""

from typing import Final

import msgspec

REFUSED: Final = 6
"""A failure that is a refusal by design (SEMANTICS 18, i), where types of operations are told apart."""
REFUSED_WORD: Final = "refused"


class Points(msgspec.Struct, frozen=True, kw_only=True):
    """Operations of the load one by one: all of them up to a bound, else every one that was not ok and some others.

    Equal lengths: ``t_s`` since the load began, ``latency_ms`` from the scheduled instant (-1: never
    answered), ``f`` and ``type`` codes of ``chaos.core.op`` (or ``REFUSED``), ``client``, ``node`` (position, -1
    unknown), ``key``, ``process``, ``error`` (a number of ``errors`` from 1, 0 for none). The last three are empty in
    older files.
    """

    t_s: list[float] = []
    latency_ms: list[float] = []
    f: list[int] = []
    type: list[int] = []
    client: list[int] = []
    node: list[int] = []
    key: list[int] = []
    process: list[int] = []
    error: list[int] = []
    errors: list[str] = []


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Time series over the load and the drain, in steps of ``step_s`` from ``origin_ns``.

    ``rate``: f word → type word (or ``REFUSED_WORD``) → operations completed or due per step. ``latencies``: likewise,
    per step what was answered by bucket of latency (``checkers.recovery.histogram``): bucket, count, bucket, count, …;
    ``bucket_ms``: where each bucket ends. ``quantiles``: "p50", "p99",
    "max" → latency of ok operations per step in ms (null where there were none). ``acked``: per step,
    acknowledged sends so far; ``read``: per step, acknowledged sends that some read had returned so far. ``errors``:
    error → operations per step that ended with it, refusals by design left out. ``nodes``: name of the node that
    answered → type word → operations of the load per step.
    """

    origin_ns: int
    duration_s: float
    step_s: float
    rate: dict[str, dict[str, list[int]]]
    quantiles: dict[str, list[float | None]]
    points: Points
    operations: int
    shown: int
    acked: list[int] = []
    read: list[int] = []
    latencies: dict[str, dict[str, list[list[int]]]] = {}
    bucket_ms: list[float] = []
    errors: dict[str, list[int]] = {}
    nodes: dict[str, dict[str, list[int]]] = {}

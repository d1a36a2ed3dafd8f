"""Which checks judge logs, in the order of the verdict table. One that finds nothing of its own says nothing."""

from typing import Final

CHECKS: Final = (
    "assumptions",
    "final-reads",
    "no-loss",
    "duplicates",
    "phantom",
    "failed-read",
    "offsets",
    "linearizable-offsets",
    "order",
    "shard-order",
    "group",
    "pop",
    "early",
    "replicas",
    "min-in-sync",
    "recovery",
    "progress",
    "roles",
    "rto",
    "rpo",
)

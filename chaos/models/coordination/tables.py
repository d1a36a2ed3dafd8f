"""From the streams of coordination's operations to the columns of their tables (docs/reference/history.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from chaos.core.model import ModelTables
from chaos.models.objects.answers import TOLD
from chaos.models.objects.tables import number_lists

if TYPE_CHECKING:
    from chaos.core.model import Column, Slots
    from chaos.core.op import Word


class UniqueIdsTables(ModelTables):
    """The columns of a source's operations."""

    columns = pa.schema(
        [
            ("number", pa.int64()),  # the id that was given where ``answer`` is 1; else 0
            ("answer", pa.int8()),  # 1 it was given an id; -1 it was told nothing
        ]
    )

    def unpack(self, slots: Slots) -> dict[str, Column]:
        """The columns of ``operations``."""
        answer = slots.second.astype(np.int8)
        return {"number": np.where(answer == TOLD, slots.first, 0), "answer": answer}


class LockTables(ModelTables):
    """The columns of a lock's operations."""

    columns = pa.schema(
        [
            (
                "token",
                pa.int64(),
            ),  # acquire: what came with it, else 0; guarded, unlock: what is shown
            ("lease_ms", pa.int64()),  # acquire: how long the lock is to be held at most; else 0
            ("version", pa.int64()),  # guarded: the version that the resource has by it; else 0
            ("answer", pa.int8()),  # acquire, guarded: 1 it was told a token or a version; -1 it was told nothing
        ]
    )

    def __init__(self, *, acquire: Word, guarded: Word) -> None:
        self._acquire, self._guarded = acquire, guarded

    def unpack(self, slots: Slots) -> dict[str, Column]:
        """The columns of ``operations``."""
        told = np.where(slots.second == TOLD, slots.first, 0)
        return {
            **_holds(slots, self._acquire, "token"),
            "version": np.where(slots.f == self._guarded, told, 0),
        }


class SemaphoreTables(ModelTables):
    """The columns of a semaphore's operations."""

    columns = pa.schema(
        [
            ("permit", pa.int64()),  # acquire: which was granted, else 0; give-back: which
            ("lease_ms", pa.int64()),  # acquire: how long it is to be held at most; else 0
            ("permits", pa.int64()),  # acquire: how many the semaphore has; else 0
            ("answer", pa.int8()),  # acquire: 1 it was granted a permit; -1 it was told nothing; give-back: -1
        ]
    )

    def __init__(self, *, acquire: Word) -> None:
        self._acquire = acquire

    def unpack(self, slots: Slots) -> dict[str, Column]:
        """The columns of ``operations``."""
        return {
            **_holds(slots, self._acquire, "permit"),
            "permits": np.where(slots.f == self._acquire, slots.asked_second, 0),
        }


def _holds(slots: Slots, acquire: Word, name: str) -> dict[str, Column]:
    """What is held for a while: its number under this name, for how long, and whether it was granted."""
    acquires = slots.f == acquire
    return {
        name: np.where(acquires, np.where(slots.second == TOLD, slots.first, 0), slots.asked_first),
        "lease_ms": np.where(acquires, slots.asked_first, 0),
        "answer": slots.second.astype(np.int8),
    }


class LeaseTables(ModelTables):
    """The columns of leases' operations."""

    columns = pa.schema(
        [
            ("lease", pa.int64()),  # grant, renew, revoke: which; else 0
            ("ttl_ms", pa.int64()),  # grant: how long it is to live without a renewal; else 0
            ("told_ms", pa.int64()),  # grant, renew: how long it lives, as the service said; else 0
            ("leases", pa.list_(pa.int64())),  # read: which were seen; else empty
            ("answer", pa.int8()),  # 1 it was told ``told_ms`` or ``leases``; -1 it was told nothing
        ]
    )

    def __init__(self, *, read: Word) -> None:
        self._read = read

    def unpack(self, slots: Slots) -> dict[str, Column]:
        """The columns of ``operations``."""
        answer, reads = slots.second.astype(np.int8), slots.f == self._read
        return {
            "lease": np.where(reads, 0, slots.asked_first),
            "ttl_ms": np.where(reads, 0, slots.asked_second),
            "told_ms": np.where((answer == TOLD) & ~reads, slots.first, 0),
            "leases": number_lists(slots.result_values, len(slots.f)),
            "answer": answer,
        }

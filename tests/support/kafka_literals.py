"""Kafka-style histories for tests, as Python literals."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from chaos.core.op import Type
from chaos.formats.kafka_columns import NO_KEY, NONE, SEEK_TO_BEGINNING, KafkaColumns, KafkaF, Mop, Mops, Ops

TYPES = {"invoke": Type.INVOKE, "ok": Type.OK, "fail": Type.FAIL, "info": Type.INFO}
WORDS = {f.word: f for f in KafkaF}


class Rows:
    """Collects the rows of a history, one record after the other."""

    def __init__(self) -> None:
        self.ops: list[tuple[int, ...]] = []
        self.mops: list[tuple[int, ...]] = []
        self.keys: dict[Hashable, int] = {}

    def record(self, record: dict[str, Any]) -> None:
        process = record.get("process", 0)
        f = WORDS.get(str(record["f"]), KafkaF.OTHER)
        flags = SEEK_TO_BEGINNING if record.get("seek-to-beginning?") else 0
        index, time = record.get("index", len(self.ops)), record.get("time", NONE)
        row = len(self.ops)
        client = isinstance(process, int)
        self.ops.append((index, time, TYPES[record["type"]], process if client else -1, f, flags))
        if client:
            self._values(row, f, record.get("value") or [])
            for key in (key for event in record.get("rebalance-log", []) for key in event["keys"]):
                self._mop(row, Mop.REBALANCED, 0, key)

    def _mop(self, row: int, kind: Mop, mop: int, key: Hashable, value: Any = None, offset: Any = None) -> None:
        at = self.keys.setdefault(key, len(self.keys)) if kind != Mop.NOTHING else NO_KEY
        self.mops.append((row, kind, mop, at, NONE if value is None else value, NONE if offset is None else offset))

    def _values(self, row: int, f: KafkaF, value: Sequence[Any]) -> None:
        if f in (KafkaF.ASSIGN, KafkaF.SUBSCRIBE, KafkaF.DEBUG):
            for key in value:
                self._mop(row, Mop.KEY, 0, key)
            return
        for number, (what, *rest) in enumerate(value):
            if what == "send":
                key, sent = rest
                offset, sent = sent if isinstance(sent, (list, tuple)) else (None, sent)
                self._mop(row, Mop.SEND, number, key, sent, offset)
            elif rest:
                self._polled(row, number, rest[0])

    def _polled(self, row: int, number: int, polled: dict[Hashable, Sequence[Any]]) -> None:
        if not polled:
            self._mop(row, Mop.NOTHING, number, None)
        for key, pairs in polled.items():
            if not pairs:
                self._mop(row, Mop.EMPTY, number, key)
            for offset, value in pairs:
                self._mop(row, Mop.POLLED, number, key, value, offset)

    def columns(self) -> KafkaColumns:
        ops = np.array(self.ops, dtype=np.int64).reshape(-1, 6).T
        mops = np.array(self.mops, dtype=np.int64).reshape(-1, 6).T
        return KafkaColumns(
            Ops(ops[0], ops[1], ops[2].astype(np.int8), ops[3], ops[4].astype(np.int8), ops[5].astype(np.int8)),
            Mops(mops[0], mops[1].astype(np.int8), *mops[2:4].astype(np.int32), *mops[4:]),
            tuple(self.keys),
            (),
        )


def columns(records: Iterable[dict[str, Any]]) -> KafkaColumns:
    """Columns of records as dicts: type, process, f, value as in Jepsen's histories, words as plain strings."""
    rows = Rows()
    for record in records:
        rows.record(record)
    return rows.columns()

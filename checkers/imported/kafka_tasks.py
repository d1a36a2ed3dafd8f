"""A large Kafka-style history judged by many tasks: what each of them does with the parts that were read.

One task pairs the records of all parts (``pair``), one for every group of logs judges these (``look``, ``examine``),
one adds up and tells (``conclude``). What they give each other lies in the folder of the parts: tables as files of
NumPy, which are mapped where they can be. Does not take parts whose order is not that of their index (``is_in_order``).
"""

import pickle
import uuid
from collections.abc import Hashable, Sequence
from functools import reduce
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from chaos.core.verdict import Results
from chaos.formats import kafka as kafka_format
from chaos.formats import kafka_parts
from chaos.formats.kafka import KafkaHistory
from chaos.formats.kafka_columns import NO_KEY, KafkaColumns, Mops, Ops, partners
from chaos.formats.kafka_parts import Part, bucket_of
from checkers.history.columns import Ints
from checkers.imported import kafka
from checkers.imported.options import Question
from checkers.kafka import check, per_log, subset_of_logs
from checkers.kafka.case_counts import Cases
from checkers.kafka.per_log import Options, Summary
from checkers.kafka.report import EXAMPLES
from checkers.kafka.rows import Records
from checkers.kafka.subset_of_logs import LogSubset, Spread, Whole


class ReadPart(msgspec.Struct, frozen=True):
    """A part, and the file of its ``Spread``."""

    part: Part
    spread: Path


class Paired(msgspec.Struct, frozen=True):
    """What is said of all records together. ``tables``: the folder of ``Whole``'s columns.

    ``mixed``: as of ``per_log.has_mixed_records``. ``unsure``: as of ``subset_of_logs.has_unknown_across_groups``: then
    ``look`` comes before ``examine``.
    """

    tables: Path
    mixed: bool
    unsure: bool


class Examined(msgspec.Struct, frozen=True):
    """What was found in a group of logs: the file of its summary. ``future``: as of ``Summary``."""

    summary: Path
    future: bool


def _kept(folder: Path, what: object) -> Path:
    path = folder / f"{uuid.uuid4().hex}.pickle"
    with path.open("wb") as file:
        pickle.dump(what, file, protocol=5)
    return path


def _given(path: Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)  # noqa: S301 - a task of ours wrote it


def keep(history: KafkaHistory, folder: Path) -> ReadPart:
    """Leave a part in the folder."""
    groups = np.array([*map(bucket_of, history.columns.keys), 0], dtype=np.int64)
    return ReadPart(kafka_parts.save(history, folder), _kept(folder, subset_of_logs.spread(history.columns, groups)))


def is_in_order(parts: Sequence[ReadPart]) -> bool:
    """Whether records stand in the order of their index, so that parts need not be put together to number them.

    Values that are no integers have numbers that only all parts together can give them.
    """
    own = [one.part for one in parts if one.part.records or one.part.cut_off is not None]
    if any(not one.plain for one in own) or any(one.cut_off is not None for one in own[:-1]):
        return False
    if not all(one.numbered for one in own):
        return True  # then positions count
    full = [one for one in own if one.records]
    return all(one.ascending for one in full) and all(a.last <= b.first for a, b in pairwise(full))


def _keys(parts: Sequence[ReadPart]) -> tuple[Hashable, ...]:
    """The keys of all parts by first appearance, each kind of number for itself."""
    return tuple({(type(key), key): key for one in parts for key in one.part.keys}.values())


def _ends(counts: Sequence[int]) -> list[int]:
    return [0, *accumulate(counts)]


def pair(parts: Sequence[ReadPart], folder: Path) -> Paired:
    """Find who belongs together among the records of all parts."""
    tables = [kafka_parts.records_of(one.part) for one in parts]
    columns = {name: np.concatenate([getattr(one, name) for one in tables]) for name in Ops.__slots__}
    del tables
    if not all(one.part.numbered for one in parts):
        columns["index"] = np.arange(len(columns["index"]))
    ops = Ops(**columns)
    found: dict[str, list[Ints]] = {"silent": [], "both": [], "wide": []}
    for one, base in zip(parts, _ends([one.part.records for one in parts]), strict=False):
        spread: Spread = _given(one.spread)
        for name, rows in found.items():
            rows.append(getattr(spread, name) + base)
    silent, both, wide = (np.concatenate(rows) for rows in found.values())
    records = _records(ops, partners(ops), ())
    whole = Whole(ops, records.partner, silent, subset_of_logs.common_records(records, silent))
    place = folder / uuid.uuid4().hex
    place.mkdir()
    for name in _COLUMNS:
        np.save(place / f"{name}.npy", getattr(ops if name in columns else whole, name))
    mixed = bool((records.sends | records.polls)[both].any())
    return Paired(place, mixed=mixed, unsure=subset_of_logs.has_unknown_across_groups(records, wide))


_COLUMNS = (*Ops.__slots__, "partner", "silent", "common")


def _records(ops: Ops, partner: Ints, keys: tuple[Hashable, ...]) -> Records:
    """Records without messages."""
    none: list[Any] = [np.empty(0, dtype=kind) for kind in (np.int64, np.int8, np.int32, np.int32, np.int64, np.int64)]
    return Records(KafkaColumns(ops, Mops(*none), keys, ()), partner)


def _whole(paired: Paired) -> Whole:
    tables = {name: _mapped(paired.tables / f"{name}.npy") for name in _COLUMNS}
    return Whole(Ops(*(tables.pop(name) for name in Ops.__slots__)), *tables.values())


def _mapped(path: Path) -> npt.NDArray[Any]:
    """A column of which only what is looked at is read."""
    try:
        return np.asarray(np.load(path, mmap_mode="r"))
    except ValueError:  # nothing of nothing can be mapped
        return np.asarray(np.load(path))


def _apart(parts: Sequence[ReadPart], paired: Paired, group: Sequence[int]) -> LogSubset:
    keys = {at: key for at, key in enumerate(_keys(parts)) if bucket_of(key) in group}
    ids = {(type(key), key): at for at, key in keys.items()}
    of_parts: list[list[Any]] = []
    bases = zip(_ends([one.part.records for one in parts]), _ends([one.part.messages for one in parts]), strict=True)
    for one, (base, base_of_messages) in zip(parts, bases, strict=False):
        row, mops = kafka_parts.messages_of(one.part, group)
        named = mops.key >= 0
        numbers = np.array([*(ids.get((type(key), key), NO_KEY) for key in one.part.keys), NO_KEY], dtype=np.int32)
        told: list[Any] = [
            mops.op + base,
            mops.kind,
            mops.mop,
            numbers[mops.key],  # NO_KEY is -1, the last; a part may have no other
            mops.value,
            mops.offset,
            row + base_of_messages,
        ]
        of_parts.append([column[named] for column in told])
    *columns, place = [np.concatenate(column) for column in zip(*of_parts, strict=True)]
    return LogSubset(_whole(paired), Mops(*columns), place, keys)


MESSAGES: Final = 1_000_000
"""A task's worth: it takes some tenths of a second, as much as it takes to schedule a few."""


def groups(parts: Sequence[ReadPart], messages: int = MESSAGES) -> list[list[int]]:
    """The buckets that there are, in groups of about so many messages or of one bucket."""
    there = {bucket_of(key) for one in parts for key in one.part.keys}
    out: list[list[int]] = []
    left = 0
    for bucket in sorted(there):
        if left <= 0:
            out.append([])
            left = messages
        out[-1].append(bucket)
        left -= sum(one.part.by_bucket[bucket] for one in parts)
    return out


def look(parts: Sequence[ReadPart], paired: Paired, group: Sequence[int], folder: Path) -> Path:
    """The transactions that were proven in a group of buckets, as a file."""
    return _kept(folder, _apart(parts, paired, group).proven())


def examine(
    parts: Sequence[ReadPart],
    paired: Paired,
    group: Sequence[int],
    looks: Sequence[Path],
    options: Options,
    folder: Path,
) -> Examined:
    """Judge a group of buckets. ``looks``: what ``look`` gave of all groups, if it was asked."""
    own = _apart(parts, paired, group)
    proven = own.known(np.unique(np.concatenate([_given(one) for one in looks]))) if looks else None
    summary = own.in_history_rows(check.examine_logs(own.records, own.silent, options, proven))
    return Examined(_kept(folder, summary), summary.future)


def options_of(paired: Paired, question: Question) -> Options:
    """What is looked for at first."""
    return Options(ww_deps=question.ww_deps, edges=question.ww_deps or paired.mixed, keep=EXAMPLES)


def conclude(
    parts: Sequence[ReadPart],
    paired: Paired,
    found: Sequence[Examined],
    edges: Sequence[Examined],
    question: Question,
    engine: str,
) -> Results:
    """The verdict. ``edges``: what groups gave when they were asked again for their dependencies."""
    summary = _merged(found, EXAMPLES)
    if edges:
        again = _merged(edges, 0)
        summary.ww, summary.wr = again.ww, again.wr
    history = kafka_format.join_parts([kafka_parts.load(one.part) for one in parts])  # figures ask for every message
    verdict = check.conclude(
        summary,
        Records(history.columns, _whole(paired).partner),
        sub_via=question.sub_via,
        ww_deps=question.ww_deps,
        strict=question.strict,
        keep=EXAMPLES,
    )
    return kafka.told_of(verdict, history, question, engine)


def _merged(found: Sequence[Examined], keep: int) -> Summary:
    return subset_of_logs.in_key_order(
        reduce(per_log.merge, (_given(one.summary) for one in found), Summary(Cases(keep)))
    )

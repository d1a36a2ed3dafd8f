"""What is timed on Kafka-style histories: the whole analysis, and DuckDB on what of it SQL can express.

Clean histories as for the reference checker's figures (20 logs, 10 processes, half sends, half polls), made by
``made_up_kafka`` as columns and kept as Parquet, so both begin with the same files, and each reads the columns it needs.
"""

import dataclasses
import os
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import made_up_kafka
from benchmarks.measuring import profile, times
from chaos.basics.memory import keep_freed
from chaos.core.op import Type
from chaos.formats.kafka_columns import NONE, KafkaColumns, Mop, Mops, Ops
from checkers.kafka.check import check

WORDS: Final = ("type", "f", "flags", "kind", "mop", "key", "process")
"""Columns of a few different numbers."""
UNREAD: Final = {"time_ns": NONE, "mop": 0}
"""Columns that the analysis never looks at, and what stands for them."""


def write_history(folder: str, kind: str, records: int) -> dict[str, Any]:
    """Write a history's two tables, packed as those of run folders; sends and polls with their record's outcome."""
    columns: KafkaColumns = made_up_kafka.KINDS[kind](records)
    ops, mops = columns.ops, columns.mops
    for name, table in (("ops", ops), ("mops", mops)):
        rows = {field.name: getattr(table, field.name) for field in dataclasses.fields(table)}
        if name == "mops":
            rows |= {"type": ops.type[mops.op], "process": ops.process[mops.op]}
        numbers = {column: "DELTA_BINARY_PACKED" for column in rows if column not in WORDS}
        pq.write_table(
            pa.table(rows),
            Path(folder) / f"{name}.parquet",
            row_group_size=1 << 20,
            compression="lz4",
            use_dictionary=[column for column in rows if column in WORDS],
            column_encoding=numbers,
        )
    return {"records": len(ops.index), "messages": len(mops.op)}


def _read(folder: str) -> KafkaColumns:
    read = {}
    for name, kind in (("ops", Ops), ("mops", Mops)):
        fields = [field.name for field in dataclasses.fields(kind)]
        table = pq.read_table(Path(folder) / f"{name}.parquet", columns=[one for one in fields if one not in UNREAD])
        read[name] = {
            one: np.broadcast_to(UNREAD[one], table.num_rows) if one in UNREAD else table[one].to_numpy()
            for one in fields
        }
    keys = int(read["mops"]["key"].max()) + 1
    return KafkaColumns(Ops(**read["ops"]), Mops(**read["mops"]), tuple(range(keys)), ())


def time_analysis(folder: str, repeats: int, *, ww_deps: bool = False) -> dict[str, Any]:
    """The whole analysis, reading included; ``cpu_s``: of the last one."""
    answers = []
    keep_freed()  # as the judge of files does
    took = times(lambda: answers.append(check(_read(folder), ww_deps=ww_deps)), repeats)
    begun = time.process_time()
    check(_read(folder), ww_deps=ww_deps)
    return {**took, "cpu_s": round(time.process_time() - begun, 3), "valid": answers[-1].valid}


def profile_analysis(folder: str, *, ww_deps: bool = False) -> dict[str, Any]:
    """Where the time of the analysis goes."""
    return {"profile": profile(lambda: check(_read(folder), ww_deps=ww_deps))}


VIEWS = """
create or replace temp view mops as select * from read_parquet('{mops}');
create or replace temp view sends as select * from mops where kind = {send} and type <> {invoke};
create or replace temp view polls as select *, row_number() over () as row from mops
  where kind = {polled} and type <> {invoke};
create or replace temp table log as
  select distinct key, "offset", value from (
    select key, "offset", value from sends where type = {ok} and "offset" <> {none}
    union all select key, "offset", value from polls where "offset" <> {none});
create or replace temp table places as
  select key, value, min(place) as lowest, max(place) as highest from (
    select key, value, dense_rank() over (partition by key order by "offset") as place from log)
  group by key, value;
create or replace temp table seen as select distinct key, value from polls where type = {ok};
"""

PARTS = {
    "duplicate": "select count(*) from places where lowest <> highest",
    "inconsistent-offsets": 'select count(*) from (select 1 from log group by key, "offset" having count(*) > 1)',
    "G1a": "select count(*) from seen semi join (select * from sends where type = {fail}) using (key, value)",
    "unseen": "select count(*) from (select key, value from sends where type = {ok}) anti join seen using (key, value)",
    "lost-write": """
        select count(*) from (select key, value from sends where type = {ok}) own
        join places using (key, value)
        join (select key, max(lowest) as bound from places semi join seen using (key, value) group by key) using (key)
        anti join seen using (key, value) where highest <= bound""",
    "int-poll-skip, int-nonmonotonic-poll": """
        select count(*) from (
          select highest - lag(highest) over (partition by op, key order by row) as step
          from polls join places using (key, value)) where step <> 1""",
    "poll-skip, nonmonotonic-poll": """
        select count(*) from (
          select arg_min(highest, row) - lag(arg_max(highest, row)) over (partition by process, key order by op) as step
          from polls join places using (key, value) group by process, key, op) where step <> 1""",
    "nonmonotonic-send": """
        select count(*) from (
          select highest - lag(highest) over (partition by process, key order by op) as step
          from sends join places using (key, value)) where step < 1""",
}


def time_duckdb(folder: str, repeats: int) -> dict[str, Any]:
    """The parts that SQL can say, one query each after what they share."""
    import duckdb as db

    words = {
        "send": int(Mop.SEND),
        "polled": int(Mop.POLLED),
        "invoke": int(Type.INVOKE),
        "ok": int(Type.OK),
        "fail": int(Type.FAIL),
        "none": NONE,
        "mops": Path(folder) / "mops.parquet",
    }
    connection = db.connect(config={"threads": len(os.sched_getaffinity(0))})
    connection.execute("set enable_progress_bar = false")  # it would be printed among what this process answers
    found: dict[str, int] = {}

    def act() -> None:
        connection.execute(VIEWS.format(**words))
        for name, query in PARTS.items():
            found[name] = connection.execute(query.format(**words)).fetchone()[0]

    return {**times(act, repeats), "found": sum(found.values())}

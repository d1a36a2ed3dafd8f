"""The kernel's parts: summaries travel, and add up in any grouping."""

import pickle
from functools import reduce

import numpy as np
import pytest
from repository import DATA

from chaos.formats import kafka
from checkers.kafka import per_log
from checkers.kafka.check import canonical, check, conclude
from checkers.kafka.per_log import Options
from checkers.kafka.rows import Records, shards

SAMPLES = DATA / "kafka"


@pytest.mark.parametrize("name", ["k0016.edn", "k0021.edn", "k0043.edn", "k0058.edn"])
@pytest.mark.parametrize("ww_deps", [False, True])
def test_logs_judged_apart_give_the_same_verdict(name, ww_deps):
    records = Records(kafka.read(SAMPLES / name).columns)
    logs = list(shards(records))
    proven = np.unique(np.concatenate([per_log.first_look(shard) for shard in logs]))
    silent = per_log.empty_polls(records)
    options = Options(ww_deps=ww_deps)
    travelled = [pickle.dumps(per_log.examine(shard, proven, silent, options)) for shard in logs]
    parts = [pickle.loads(one) for one in travelled]  # noqa: S301 - our own bytes
    left = reduce(per_log.merge, parts)
    right = reduce(lambda a, b: per_log.merge(b, a), parts[::-1])
    asked = {"sub_via": "assign", "ww_deps": ww_deps, "strict": False, "keep": None}
    told = [conclude(summary, records, **asked) for summary in (left, right)]
    whole = check(records.columns, ww_deps=ww_deps, keep=None)
    assert [canonical(one) for one in told] == [canonical(whole)] * 2
    assert [one.valid for one in told] == [whole.valid] * 2
    assert whole.valid is False

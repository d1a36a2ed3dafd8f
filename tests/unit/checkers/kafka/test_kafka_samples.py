"""The 63 histories of the conformance suite: every count, list and verdict as the reference checker has them."""

import json
from functools import cache

import pytest
from repository import DATA

from chaos.formats import kafka
from checkers.kafka.check import canonical, check
from checkers.kafka.names import MISSED

SAMPLES = DATA / "kafka"
VERDICTS = [json.loads(line) for line in (SAMPLES / "verdicts.jsonl").read_text().splitlines()]


@cache
def history(name):
    return kafka.read(SAMPLES / name).columns


def plain(found):
    return json.loads(json.dumps({name: what for name, what in found.items() if name not in MISSED}))


def test_the_suite_is_whole():
    assert len(VERDICTS) == 126
    assert len({name for verdict in VERDICTS for name in verdict["error_types"]}) == 21


@pytest.mark.parametrize("want", VERDICTS, ids=lambda want: f"{want['file']}{'-ww' if want['ww_deps'] else ''}")
def test_agrees_with_the_reference(want):
    columns, ww_deps = history(want["file"]), want["ww_deps"]
    assert len(columns.ops.index) == want["ops"]
    verdict = check(columns, ww_deps=ww_deps, keep=None)
    assert plain(canonical(verdict)) == want["errors"]
    assert sorted(name for name in verdict.anomalies if name not in MISSED) == want["error_types"]
    for via in ("assign", "subscribe"):
        verdict = check(columns, sub_via=via, ww_deps=ww_deps)
        assert [name for name, one in verdict.anomalies.items() if not one.allowed] == want[f"bad_if_{via}"]
        assert verdict.valid is not bool(want[f"bad_if_{via}"])
        assert all(verdict.anomalies[name].allowed for name in MISSED & set(verdict.anomalies))

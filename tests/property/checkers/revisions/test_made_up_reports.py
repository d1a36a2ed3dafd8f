"""Reports of a small etcd: what it did is valid, and what was changed afterwards is found wherever it is wrong."""

import random

import pytest
from support.etcd_brute import linearizable
from support.etcd_mutations import mutated
from support.etcd_report import made_up

from chaos.core.errors import HistoryError
from chaos.formats.etcd_robustness import read_report
from checkers.imported.judge_file import judge
from checkers.imported.options import Question
from checkers.objects.rules import Budget
from checkers.revisions.judge import NOT_EMPTY, judge_operations

QUESTION = Question(format="etcd-robustness", model="kv")


def valid_seeds(seeds, folder):
    for seed in seeds:
        for watched in (True, False):
            report, _ = made_up(seed, operations=45, lost=0.25, watched=watched)
            results = judge(report.write(folder / f"{seed}-{watched}"), QUESTION, "local")
            assert results.valid is True, (seed, watched, results.reason, results.sentence)


def as_brute_force_has_it(seeds, folder):
    """How many were valid, and how many not."""
    told = {True: 0, False: 0}
    for seed in seeds:
        draw = random.Random(seed)
        report, _ = made_up(seed, operations=8, lost=0.35, watched=draw.random() < 0.3)
        what = mutated(report, draw) if seed % 4 else "nothing"
        try:
            read = read_report(report.write(folder / str(seed)))
        except HistoryError:
            continue  # no operation returns before its call
        verdict = judge_operations(read, Budget(30))
        if verdict.reason == NOT_EMPTY:
            continue
        right = linearizable(report.operations)
        if report.watches and right:
            continue  # a watch may show that another change of unknown outcome took place
        assert (not verdict.found) == right, (seed, what, verdict.found)
        assert not verdict.reason
        told[right] += 1
    return told


def test_what_etcd_did_is_valid(tmp_path):
    valid_seeds(range(15), tmp_path)


@pytest.mark.broad
def test_what_etcd_did_is_valid_for_more(tmp_path):
    valid_seeds(range(15, 250), tmp_path)


def test_small_reports_are_judged_as_every_order_says(tmp_path):
    told = as_brute_force_has_it(range(120), tmp_path)
    assert min(told.values()) > 20


@pytest.mark.broad
def test_small_reports_are_judged_as_every_order_says_for_more(tmp_path):
    as_brute_force_has_it(range(120, 2500), tmp_path)

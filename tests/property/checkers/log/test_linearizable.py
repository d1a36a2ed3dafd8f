"""The rank scan against the published cases and against an exhaustive search."""

import json
import random

import pytest
from repository import DATA
from small_logs import linearizable, shard_of, small_history

from chaos.testing.history_files import RunLiteral, run_info
from checkers.history.check_input import Context
from checkers.history.timeline import timeline_of
from checkers.log.duplicates import DuplicatesKernel
from checkers.log.failed_read import FailedReadKernel
from checkers.log.linearizable import LinearizableKernel
from checkers.log.offsets import OffsetsKernel
from checkers.log.order import OrderKernel
from checkers.log.phantom import PhantomKernel

CASES = [json.loads(line) for line in (DATA / "log_cases.jsonl").open()]
CONTENT = (DuplicatesKernel(), FailedReadKernel(), OffsetsKernel(), OrderKernel(), PhantomKernel())


def context():
    run = run_info(RunLiteral(), "small")
    return Context(run=run, streams=(), timeline=timeline_of([], run))


def verdict(ops):
    shard = shard_of(ops)
    found = dict(LinearizableKernel().examine(shard, context()).found)
    for kernel in CONTENT:
        found |= kernel.examine(shard, context()).found
    return found


def test_the_cases_hold_both_answers():
    assert len(CASES) == 200
    assert 0 < sum(case["linearizable"] for case in CASES) < 200


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_published_cases(start):
    for case in CASES[start : start + 50]:
        found = verdict(case["ops"])
        assert (not found) == case["linearizable"], (case["id"], found)


def compare(seed: int, histories: int) -> None:
    """Hold so many histories against the search of all orders; both answers must be common among them."""
    rng = random.Random(seed)
    answers = {True: 0, False: 0}
    by_scan_alone = 0
    for _ in range(histories):
        ops = small_history(rng)
        found = verdict(ops)
        truth = linearizable(ops)
        assert (not found) == truth, (ops, found)
        answers[truth] += 1
        by_scan_alone += bool(found) and set(found) <= {"nonlinearizable-offset", "stale-tail"}
    assert min(answers.values()) > histories // 10  # else the comparison would show nothing
    assert by_scan_alone > histories * 3 // 100


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_exhaustive_search(seed):
    compare(seed, 500)


@pytest.mark.longer
@pytest.mark.parametrize("seed", range(100, 120))
def test_agrees_with_exhaustive_search_on_a_hundred_thousand(seed):
    compare(seed, 5_000)

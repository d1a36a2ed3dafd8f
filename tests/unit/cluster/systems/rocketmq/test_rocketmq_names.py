"""Names that a run gives to things on a cluster: two runs share none, and every system takes them."""

import re

import msgspec
from rocketmq_view import view_of

from cluster.systems.rocketmq.names import names_of

POPPED = range(3)


def every_name(run_id):
    names = names_of(msgspec.structs.replace(view_of(), run_id=run_id))
    return {*names.topics(POPPED), *names.groups(POPPED), names.transactions, names.producer(0)}


def test_two_runs_share_no_name():
    one, other = every_name("20260801-101500-abcd"), every_name("20260801-101500-abce")
    assert len(one) == len(other) == 3 + 2 + 3 + 1 + 1 + 1
    assert not one & other


def test_a_run_always_gives_the_same_names():
    assert every_name("x") == every_name("x")


def test_names_are_legal():
    assert all(re.fullmatch(r"[%a-zA-Z0-9_-]{1,127}", name) for name in every_name("20260801-101500-abcd"))

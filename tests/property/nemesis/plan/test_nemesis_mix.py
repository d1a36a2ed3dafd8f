"""The plans of mixes: who is deposed, how long rows last, which overlap, when the load is quiet (SEMANTICS 21, 24)."""

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from leading import subjects_of
from nemesis_texts import plain_names

from cluster.host import NodeSpec
from nemesis.plan.mix_times import LENGTHS_S, QUIET_S
from nemesis.plan.nemesis_names import catalog
from nemesis.plan.plan import lanes, make_plan, quiet_stretches
from nemesis.plan.plan_file import read_plan, write_plan
from nemesis.targets.selectors import Selector

KINDS = {"broker": "replica", "controller": "controller"}
SPECS = [NodeSpec(name=f"{role[0]}{i}", role=role) for role in KINDS for i in (1, 2, 3)]
DEPOSE = ("leader-kill@broker", "leader-suspend@broker", "leader-partition")
SEEDS = st.integers(0, 2**32)
ENTRIES = [catalog()[name] for name in plain_names()]
FAULTS = sorted(one.name for one in ENTRIES if one.fault is not None and one.selector is not Selector.FIXED)
NAMES = st.lists(st.sampled_from([name for name in FAULTS if "ring" not in name]), min_size=2, max_size=6, unique=True)


def plan(nemesis="all", seed=1, *, interval_s=8.0, duration_s=8.0, time_limit_s=150.0, **more):
    return make_plan(
        nemesis,
        KINDS,
        SPECS,
        interval_s=interval_s,
        duration_s=duration_s,
        time_limit_s=time_limit_s,
        seed=seed,
        subjects=subjects_of(SPECS),
        **more,
    )


def end_s(row):
    return row.at_s + row.duration_s


@given(SEEDS, st.sampled_from(["mixed", "even"]))
def test_all_deposes_the_leader_by_each_means_and_for_long(seed, rhythm):
    lasting = {row.name for row in plan(seed=seed, rhythm=rhythm) if row.duration_s >= 8}
    assert set(DEPOSE) <= lasting


@given(SEEDS)
def test_all_hits_every_replica_and_parts_every_controller_at_the_same_time(seed):
    assert {"all-kill@broker", "all-partition@controller"} <= {row.name for row in plan(seed=seed)}


@given(SEEDS, st.floats(4, 30))
def test_four_long_rows_are_enough_for_that(seed, asked_s):
    rows = plan(seed=seed, duration_s=asked_s, time_limit_s=8 * (8 + max(8.0, asked_s)) + 60)
    long_s = min(8.0, asked_s)
    assert set(DEPOSE) <= {row.name for row in rows if row.duration_s >= long_s}


@given(NAMES, SEEDS)
@example(["leader-kill", "all-disconnect", "random-loss", "random-delay", "leader-disconnect"], 2637647359)
def test_a_list_of_names_deposes_for_long_where_it_can(names, seed):
    own = {"leader-kill", "leader-suspend", "leader-partition"}.intersection(names)
    rows = plan(",".join(names), seed, time_limit_s=400)
    assert own <= {row.name for row in rows if row.duration_s >= 8}


@given(st.one_of(st.just("all"), NAMES.map(",".join)), SEEDS, st.floats(1, 20), st.floats(0.3, 30), st.floats(60, 300))
def test_lengths_are_drawn_and_every_row_is_healed_in_time(nemesis, seed, interval_s, asked_s, limit_s):
    rows = plan(nemesis, seed, interval_s=interval_s, duration_s=asked_s, time_limit_s=limit_s)
    assert rows == plan(nemesis, seed, interval_s=interval_s, duration_s=asked_s, time_limit_s=limit_s)
    assert [row.row for row in rows] == list(range(1, len(rows) + 1))
    assert [row.at_s for row in rows] == sorted(row.at_s for row in rows)
    allowed = {*LENGTHS_S, asked_s, *(row.how.least_s for row in rows)}
    for row in rows:
        assert end_s(row) <= limit_s + 1e-6
        assert row.duration_s in allowed or row.follows
        assert row.duration_s >= row.how.least_s


def test_every_length_comes_up_some_rows_overlap_and_some_are_followed_by_a_restart():
    made = [plan(seed=seed) for seed in range(60)]
    rows = [row for one in made for row in one]
    assert {row.duration_s for row in rows} == {*LENGTHS_S}
    assert 0.2 < sum(len(lanes(one)) > 1 for one in made) / len(made) <= 1
    assert any(row.duration_s == 0.5 and row.fault == "kill" for row in rows), "killed and started again at once"
    assert any(row.duration_s == 0.5 and row.fault == "suspend" for row in rows)
    for one in made:
        for row in one:
            led = one[row.follows - 1] if row.follows else None
            assert (led is None) == (row.name != "fixed-restart@broker")
            if led is not None:
                assert led.selector is Selector.LEADER
                assert led.roles[0] == "broker"
                assert end_s(led) < row.at_s < end_s(led) + 4 + 1e-6
    assert (
        0.3
        < sum(bool(row.follows) for row in rows)
        / sum(row.selector is Selector.LEADER and row.roles[0] == "broker" for row in rows)
        < 0.7
    )


@given(SEEDS)
def test_what_overlaps_leaves_the_other_its_nodes(seed):
    for one, other in itertools.combinations([row for row in plan(seed=seed) if not row.follows], 2):
        if one.at_s < end_s(other) and other.at_s < end_s(one) and not (one.how.on_links() or other.how.on_links()):
            assert set(one.roles).isdisjoint(other.roles)


@given(SEEDS)
def test_nothing_overlaps_where_it_must_not(seed):
    assert len(lanes(plan(seed=seed, overlap=False))) == 1


def test_some_rows_come_when_the_one_before_is_just_healed():
    gaps = []
    for seed in range(40):
        rows = [row for row in plan(seed=seed, overlap=False) if not row.follows]
        gaps += [round(b.at_s - end_s(a), 3) for a, b in itertools.pairwise(rows)]
    close = [gap for gap in gaps if gap != 8]
    assert all(0.19 < gap < 2.01 for gap in close)
    assert 0.15 < len(close) / len(gaps) < 0.35


@given(SEEDS)
def test_the_load_is_quiet_before_some_rows_and_into_their_beginning(seed):
    rows = plan(seed=seed, time_limit_s=600)
    quiet = [row for row in rows if row.quiet_s]
    assert {row.quiet_s for row in quiet} <= {QUIET_S}
    assert 0 < len(quiet) < len(rows)
    stretches = quiet_stretches(rows)
    assert stretches == tuple((row.at_s - QUIET_S, row.at_s + 0.5) for row in quiet)
    assert all(a[1] < b[0] for a, b in itertools.pairwise(stretches))
    assert not any(row.quiet_s for row in plan(seed=seed, interval_s=3.9, time_limit_s=600)), "a healthy load is left"


@given(SEEDS, st.lists(st.sampled_from(["leader-kill", "minor-kill", "random-suspend"]), min_size=1, unique=True))
def test_another_name_moves_no_row_and_no_draw(seed, others):
    names = [*others, "random-stop", "major-kill@controller"]
    few, many = (plan(",".join(own), seed) for own in (names, [*names, "all-kill@controller"]))
    when = [[(row.at_s, row.quiet_s) for row in rows] for rows in (few, many)]
    alone = [
        [row for row in rows if row.at_s in {at_s for at_s, _ in when[0]} & {at_s for at_s, _ in when[1]}]
        for rows in (few, many)
    ]
    assert len(alone[0]) >= 5
    for a, b in zip(*alone, strict=True):
        assert (a.at_s, a.duration_s, a.quiet_s) == (b.at_s, b.duration_s, b.quiet_s)
        assert all(b.draw[name] == value for name, value in a.draw.items() if name in b.draw)


@pytest.mark.parametrize("nemesis", ["leader-kill", "random-partition"])
def test_one_name_alone_keeps_one_length_and_a_steady_load(nemesis):
    rows = plan(nemesis)
    assert {(row.duration_s, row.quiet_s, row.follows) for row in rows} == {(8.0, 0.0, 0)}
    assert len(lanes(rows)) == 1


def test_a_plan_is_read_as_it_was_written(tmp_path):
    rows = plan(seed=5)
    write_plan(rows, tmp_path / "plan.jsonl")
    assert read_plan(tmp_path / "plan.jsonl") == rows


def test_a_seed_keeps_its_mixed_plan_from_version_to_version():
    assert [(row.at_s, row.duration_s, row.name, row.follows, row.quiet_s) for row in plan(seed=2)[:6]] == [
        (8.0, 8.0, "leader-suspend@broker", 0, 2.0),
        (18.553, 2.0, "fixed-restart@broker", 1, 0.0),
        (24.0, 8.0, "leader-loss", 0, 2.0),
        (40.0, 2.0, "leader-restart@broker", 0, 0.0),
        (41.367, 8.0, "leader-disconnect@controller", 0, 0.0),
        (57.367, 0.5, "all-kill@broker", 0, 2.0),
    ]

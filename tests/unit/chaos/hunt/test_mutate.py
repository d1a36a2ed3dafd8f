"""Changes of plans: each does what its name says, and what comes of them can be run."""

import itertools

import pytest

from chaos.basics.rand import stream
from chaos.hunt.candidate import end_s, last_end_s
from chaos.hunt.mutate import CHANGES, LIMIT_MOST_S, ROWS_MOST, Material, mutate
from chaos.hunt.setting import setting_of, topology_of
from nemesis.plan.plan_file import read_plan, write_plan


@pytest.fixture(scope="module")
def material():
    nemeses = ("all-loss", "leader-kill", "random-suspend")
    setting = setting_of(
        {"system": "minimq", "backend": "sim", "workloads": ("queue",), "nemeses": nemeses, "time_limit_s": 60.0}
    )
    (base, one), (_, other), (_, fresh) = (setting.drawn(11, number) for number in range(3))
    return one, Material(other=other, fresh=fresh, topology=topology_of(base))


def changed(name, material):
    one, rest = material
    assert len(one.rows) > 1
    return one.rows, [tuple(CHANGES[name](stream(3, name, n), one.rows, rest)) for n in range(30)]


@pytest.mark.parametrize(("name", "more"), [("add", 1), ("again", 1), ("move", 0), ("stretch", 0), ("retarget", 0)])
def test_a_change_adds_or_leaves_as_many_faults_as_it_says(name, more, material):
    before, after = changed(name, material)
    assert {len(rows) - len(before) for rows in after} == {more}
    assert any(rows != before for rows in after)


def test_a_dropped_fault_is_any_but_the_last(material):
    before, after = changed("drop", material)
    assert len(before) > 1
    assert all(len(rows) == len(before) - 1 and all(row in before for row in rows) for rows in after)
    assert CHANGES["drop"](stream(1), before[:1], material[1]) == [before[0]]


def test_moving_and_stretching_change_when_and_nothing_else(material):
    for name, field in (("move", "at_s"), ("stretch", "duration_s")):
        before, after = changed(name, material)
        for rows in after:
            other = [(old, new) for old, new in zip(before, rows, strict=True) if old != new]
            assert len(other) <= 1
            assert all(getattr(old, field) != getattr(new, field) and old.name == new.name for old, new in other)


def test_a_fault_awaits_what_another_causes(material):
    before, after = changed("await", material)
    seen = set()
    for rows in after:
        (waiting,) = [row for row in rows if row.when]
        assert waiting.within_s > 0
        assert any(waiting.at_s == pytest.approx(row.at_s + 0.1) for row in before if row.row != waiting.row)
        assert [row for row in rows if row is not waiting] == [row for row in before if row.row != waiting.row]
        seen.add(waiting.when)
    assert seen == {"role-change", "first-ack", "out-of-sync"}
    assert CHANGES["await"](stream(1), before[:1], material[1]) == [before[0]]


def test_a_second_hit_comes_while_the_cluster_recovers_from_the_first(material):
    before, after = changed("again", material)
    for rows in after:
        first = next(row for row in before if row.row + 10_000 == rows[-1].row)
        assert 0 < rows[-1].at_s - end_s(first) <= 3
        assert rows[-1].name == first.name


def test_combined_plans_have_the_faults_of_both(material):
    one, rest = material
    rows = CHANGES["combine"](stream(1), one.rows, rest)
    assert sorted(row.name for row in rows) == sorted(row.name for row in (*one.rows, *rest.other.rows))
    assert len({row.row for row in rows}) == len(rows)


def test_whatever_is_changed_can_be_run_and_written_and_is_a_function_of_the_draw(material, tmp_path):
    one, rest = material
    for number in range(40):
        child = mutate(stream(number), one, rest)
        assert child == mutate(stream(number), one, rest)
        assert len(child.rows) <= ROWS_MOST
        assert last_end_s(child.rows) <= child.time_limit_s <= max(LIMIT_MOST_S, one.time_limit_s)
        assert [row.row for row in child.rows] == list(range(1, len(child.rows) + 1))
        assert all(row.at_s >= 0.5 and row.duration_s >= 0.5 for row in child.rows)
        assert all(first.at_s <= second.at_s for first, second in itertools.pairwise(child.rows))
        write_plan(child.rows, tmp_path / "plan.jsonl")
        assert read_plan(tmp_path / "plan.jsonl") == child.rows


def test_a_plan_without_faults_gets_some(material):
    one, rest = material
    empty = one.with_rows(())
    assert {len(mutate(stream(number), empty, rest).rows) > 0 for number in range(40)} == {True, False}

"""How far apart the nodes of a fault were acted on, and that all are looked at before any is."""

import threading

from nemesis.faults import act_times
from nemesis.faults.act_times import Span, spread_of
from nemesis.faults.fault import look_then_act, on_each

MS = 1_000_000


def test_the_spread_of_spans():
    spans = (Span(10 * MS, 12 * MS), Span(11 * MS, 40 * MS), Span(15 * MS, 16 * MS))
    assert spread_of(spans) == {"began": 5.0, "within": 30.0}


def test_only_what_is_done_on_several_nodes_while_somebody_listens_is_noted():
    on_each("ab", str, "before", 5).check("before")
    with act_times.record() as times:
        on_each("abc", str, "many", 5).check("many")
        on_each("a", str, "one", 5).check("one")
        on_each("", str, "none", 5).check("none")
        threading.Thread(target=lambda: on_each("ab", str, "elsewhere", 5)).start()
    on_each("ab", str, "after", 5).check("after")
    assert times.spread_ms().keys() == {"many"}
    assert 0 <= times.spread_ms()["many"]["began"] <= times.spread_ms()["many"]["within"]


def test_nobody_is_acted_on_before_the_slowest_was_looked_at():
    order, slow = [], threading.Event()

    def look(name):
        if name == "c":
            slow.wait(0.2)
        order.append(f"look {name}")
        return name.upper()

    def act(name, seen):
        order.append(f"act {name} {seen}")

    look_then_act("abc", look, act, "it", 5).check("it")
    assert sorted(order[:3]) == ["look a", "look b", "look c"]
    assert sorted(order[3:]) == ["act a A", "act b B", "act c C"]


def test_who_cannot_be_looked_at_is_left_alone_and_the_others_are_hit():
    hit = []

    def look(name):
        if name == "b":
            raise ValueError("gone")

    def act(name, _seen):
        hit.append(name)
        if name == "c":
            raise ValueError("would not")
        return name

    found = look_then_act("abc", look, act, "it", 5)
    assert sorted(hit) == ["a", "c"]
    assert found.good() == {"a": "a"}
    assert found.bad() == {"b": "ValueError: gone", "c": "ValueError: would not"}

"""Which fault an event tells of: by its own members, and of older histories by its name."""

import msgspec
import pytest

from chaos.core.events import Event, Fault
from chaos.core.fault_nature import Identity, Nature, of_name
from checkers.history.timeline import fault_spans


@pytest.mark.parametrize(
    ("name", "kind", "selector", "roles", "verb", "colour"),
    [
        ("leader-kill", "kill", "leader", (), "killed", "red"),
        ("major-suspend@controller", "suspend", "major", ("controller",), "suspended", "yellow"),
        ("random-partition@broker+controller", "partition", "random", ("broker", "controller"), "cut off", "violet"),
        ("partition-majorities-ring", "partition", "", (), "cut off", "violet"),
        ("bridge", "partition", "", (), "cut off", "violet"),
        ("leader-partition-in", "partition-in", "leader", (), "cut off", "violet"),
        ("one-way-partition", "partition-in", "", (), "cut off", "violet"),
        ("fixed-restart@broker", "restart", "fixed", ("broker",), "restarted", "brown"),
        ("all-stop", "stop", "all", (), "stopped", "peach"),
        ("leader-disconnect", "disconnect", "leader", (), "taken off the network", "magenta"),
        ("random-loss", "loss", "random", (), "hit", "green"),
        ("pause", "suspend", "", (), "suspended", "yellow"),
        ("noop", "", "", (), "hit", "grey"),
    ],
)
def test_names_of_older_histories_are_read_in_one_place(name, kind, selector, roles, verb, colour):
    told = of_name(name)
    assert (told.kind, told.selector, told.roles) == (kind, selector, roles)
    assert (told.nature.verb, told.nature.colour) == (verb, colour)


def test_an_event_that_says_what_it_is_is_believed_whatever_its_name():
    nature = Nature(verb="drowned", hits="disk", colour="blue")
    identity = Identity(kind="flood", selector="leader", roles=("broker",), params={"depth_m": 3}, nature=nature)
    event = Fault(time_ns=1, id=1, name="leader-kill", stage="inject", identity=identity)
    again = msgspec.json.decode(msgspec.json.encode(event), type=Event)
    assert again == event
    (span,) = fault_spans([again])
    assert span.identity == identity
    assert span.row().colour == "blue"


def test_an_event_without_that_is_read_by_its_name():
    line = b'{"type":"fault","time_ns":1,"id":1,"name":"leader-kill","stage":"inject","targets":["b1"]}'
    (span,) = fault_spans([msgspec.json.decode(line, type=Event)])
    assert span.identity == of_name("leader-kill")
    assert msgspec.structs.replace(span.row(), identity=None).colour == "red"

"""Weather at 0 does nothing; rules catch what they name, and count it; order is kept unless something overtakes."""

from random import Random

import pytest

from cluster.network.packet_filter import Rule
from cluster.simulation.network import Network, Weather, weather_of
from cluster.simulation.virtual_time import VirtualTime


def world(**weather):
    time = VirtualTime()
    network = Network(time, Weather(**weather), Random(3))
    for number, name in enumerate(("a", "b", "client"), 1):
        network.join(name, f"198.18.0.{number}")
    return time, network


def sent(time, network, count=2000):
    seen = []
    for number in range(count):
        network.send("a", "b", seen.append, number)
    time.sleep(10)
    time.close()
    return seen


def test_without_weather_everything_comes_once_and_in_order():
    assert sent(*world()) == list(range(2000))


def test_messages_are_repeated_as_often_as_asked():
    seen = sent(*world(repeated=0.1))
    assert sorted(set(seen)) == list(range(2000))
    assert 2120 < len(seen) < 2280


def test_messages_are_overtaken_as_often_as_asked():
    seen = sent(*world(overtaken=0.1, latency_ms=(1, 1)))
    assert sorted(seen) == list(range(2000))
    late = sum(value < max(seen[:position], default=-1) for position, value in enumerate(seen))
    assert 120 < late < 280


def test_a_cut_catches_one_direction_and_counts():
    time, network = world()
    network.hold("b", "CHAOS-1", [Rule("198.18.0.1")])
    assert [network.passes("a", "b") for _ in range(3)] == [False] * 3
    assert network.passes("b", "a")
    assert network.passes("client", "b")
    assert [each.packets for each in network.chains("b")["CHAOS-1"]] == [3]
    network.release("b", "CHAOS-1")
    assert network.passes("a", "b")
    time.close()


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_a_share_is_lost(share):
    time, network = world()
    network.hold("b", "CHAOS-1", [Rule("198.18.0.1", "INPUT", share)])
    arrived = sum(network.passes("a", "b") for _ in range(5000))
    assert abs(arrived / 5000 - (1 - share)) < 0.03
    time.close()


def test_an_unplugged_host_is_alone():
    time, network = world()
    network.unplug("b")
    assert not any(network.passes(*link) for link in (("a", "b"), ("b", "a"), ("client", "b")))
    assert network.passes("client", "a")
    network.plug("b")
    assert network.passes("a", "b")
    time.close()


def cut_and_healed(waiting, sent_during_cut, share=None):
    """What arrives of messages that are sent during a cut of five seconds, and of three after it."""
    time, network = world(waiting=waiting)
    seen = []
    network.hold("b", "CHAOS-1", [Rule("198.18.0.1", "INPUT", share)])
    for number in range(sent_during_cut):
        network.send("a", "b", seen.append, number)
        time.sleep(5 / sent_during_cut)
    during = list(seen)
    network.release("b", "CHAOS-1")
    for number in range(sent_during_cut, sent_during_cut + 3):
        network.send("a", "b", seen.append, number)
    time.sleep(1)
    time.close()
    return during, seen


def test_what_a_cut_catches_is_lost_without_waiting():
    assert cut_and_healed(0, 20) == ([], [20, 21, 22])


def test_the_newest_messages_wait_for_the_end_of_a_cut_and_come_in_order():
    assert cut_and_healed(32, 20) == ([], list(range(23)))
    during, seen = cut_and_healed(8, 20)
    assert during == []
    assert seen == list(range(15, 23)), "the oldest make room, for those sent after the cut as well"


def test_a_share_of_loss_delays_what_waits_and_keeps_its_order():
    during, seen = cut_and_healed(32, 50, share=0.5)
    assert during == sorted(during)
    assert 0 < len(during) < 50
    assert seen == list(range(53))


def test_what_waits_at_a_process_ends_with_it():
    time, network = world(waiting=32)
    seen = []
    network.unplug("b")
    network.send("a", "b", seen.append, "from a")
    network.send("client", "b", seen.append, "from another")
    network.forget("a")
    network.send("a", "b", seen.append, "of the next life")
    network.plug("b")
    time.sleep(1)
    time.close()
    assert sorted(seen) == ["from another", "of the next life"]


def test_weather_is_of_the_seed_and_of_every_kind():
    drawn = [weather_of(seed) for seed in range(200)]
    assert drawn == [weather_of(seed) for seed in range(200)]
    for kind in ("repeated", "overtaken", "slow_sync", "drift", "waiting"):
        assert 60 < sum(getattr(weather, kind) > 0 for weather in drawn) < 140, kind
    for share in (0.5, 1.0):
        assert 25 < sum(weather.slow_disks == share for weather in drawn) < 75, share

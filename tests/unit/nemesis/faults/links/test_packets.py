"""What the program makes of packets, and what streams of probes prove of it, without any host."""

import random
import struct

import msgspec
import pytest

from chaos.core.errors import UsageError
from cluster.network.probe_matrix import MAX_PROBES, Stream
from nemesis.faults import params
from nemesis.faults.links.burst_loss import BurstLoss, BurstLossParams
from nemesis.faults.links.corrupt import Corrupt, CorruptParams
from nemesis.faults.links.duplicate import Duplicate, DuplicateParams
from nemesis.faults.links.packet_program import Burst, Rate, Reorder
from nemesis.faults.links.packet_program import Corrupt as Altering
from nemesis.faults.links.reorder import Reorder as Reordering
from nemesis.faults.links.reorder import ReorderParams
from nemesis.faults.links.streams import judge
from nemesis.faults.links.throttle import Throttle, ThrottleParams
from nemesis.targets.grudge import all_links, links, links_touching

SENT = 200
WHOLE = Stream(arrived=SENT, distinct=SENT, late=0, altered=0, gaps=0, took_s=0.2)
DOUBLED = msgspec.structs.replace(WHOLE, arrived=SENT + 41)
HIT = links(links_touching(["b2"], ("b1", "b2", "b3")))
NONE: frozenset = frozenset()


class Verdicts:
    """Stands for a queue: keeps what is said of packets."""

    def __init__(self):
        self.accepted, self.dropped = [], []

    def accept(self, number, data=b""):
        self.accepted.append((number, data))

    def drop(self, number):
        self.dropped.append(number)


def packet(protocol, body, source=1):
    """An IPv4 packet with a header of its protocol in front of the body."""
    head = (
        struct.pack("!HHHH", 7, 8, 8 + len(body), 0)
        if protocol == 17
        else struct.pack("!HHIIHHHH", 7, 8, 1, 1, 0x5010, 9, 0, 0)
    )
    size = 20 + len(head) + len(body)
    return (
        struct.pack("!BBHHHBBH4s4s", 0x45, 0, size, 0, 0, 64, protocol, 0, bytes(3) + bytes([source]), bytes(4))
        + head
        + body
    )


def test_one_bit_of_the_data_is_altered_and_no_header():
    for protocol, head in ((17, 28), (6, 40)):
        before = packet(protocol, bytes(50))
        for _ in range(200):
            after = Altering(1, 0).changed(before)
            other = [place for place in range(len(before)) if before[place] != after[place]]
            assert len(other) == 1
            assert other[0] >= head
            assert (before[other[0]] ^ after[other[0]]).bit_count() == 1
    assert Altering(1, 1).changed(packet(6, b"")) == b"", "a mended packet has other data, or stays as it is"
    assert Altering(1, 0).changed(packet(6, b""))[:20] == packet(6, b"")[:20]


def test_a_mended_checksum_is_right():
    after = Altering(1, 1).changed(packet(6, b"some data"))
    summed = after[12:20] + struct.pack("!HH", 6, len(after) - 20) + after[20:] + bytes(len(after) % 2)
    total = sum(struct.unpack(f"!{len(summed) // 2}H", summed))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    assert total == 0xFFFF


def test_packets_that_are_held_are_passed_by_others():
    random.seed(3)
    queue, treatment = Verdicts(), Reorder(0.3, 40)
    for number in range(1000):
        treatment.due(queue, number / 1e3)
        treatment.come(queue, [(number, b"")], number / 1e3)
    treatment.due(queue, float("inf"))
    order = [number for number, _ in queue.accepted]
    assert sorted(order) == list(range(1000))
    late = [number for place, number in enumerate(order) if number < max(order[:place], default=0)]
    assert 200 < len(late) < 400


def test_a_slow_line_has_a_rate_and_an_end():
    queue, line = Verdicts(), Rate(kbit=80, buffer_ms=500)  # ten packets of 1,000 bytes a second
    line.come(queue, [(number, packet(17, bytes(972))) for number in range(20)], 0.0)
    assert len(queue.dropped) == 14
    line.due(queue, 0.35)
    assert [number for number, _ in queue.accepted] == [0, 1, 2]
    line.come(queue, [(50, packet(17, bytes(972), source=2))], 0.35)
    line.due(queue, 0.46)
    assert [number for number, _ in queue.accepted][3:] == [3, 50], "each sender has a line of its own"


def test_bursts_have_their_share_and_their_length():
    random.seed(5)
    line = Burst(0.3, 10)
    lost = [line.lost(b"a") for _ in range(100_000)]
    bursts = sum(now and not before for before, now in zip([False, *lost], lost, strict=False))
    assert 0.27 < sum(lost) / len(lost) < 0.33
    assert 9 < sum(lost) / bursts < 11


def judged(hit=HIT, disturbed=NONE, alike=True, **changes):
    seen = {link: DOUBLED if link in hit else WHOLE for link in all_links(("b1", "b2", "b3", "client"))}
    seen |= {tuple(link.split("_")): one for link, one in changes.items()}
    return judge(seen, SENT, hit, disturbed, fault(Duplicate, DuplicateParams()).shown, "20 % came twice", alike=alike)


def fault(kind, given):
    made = object.__new__(kind)
    made.params = given
    return made


def test_streams_prove_what_was_done_to_them():
    assert judged().proven
    assert judged().summary == "4 of 4 links: 20 % came twice, 8 of 8 others passed all in order"
    assert judged(hit=NONE).summary == "12 of 12 links passed all in order"
    assert not judged(alike=False).proven
    assert not judged(disturbed=HIT).proven, "nothing is left to tell of it"
    wrong = judged(b1_b2=WHOLE, b1_b3=msgspec.structs.replace(WHOLE, arrived=199, distinct=199, late=2))
    assert not wrong.proven
    assert "wrong: b1→b2 200 of 200, in 200 ms; b1→b3 199 of 200, 2 late, in 200 ms" in wrong.summary


@pytest.mark.parametrize(
    ("made", "good", "bad"),
    [
        (fault(Duplicate, DuplicateParams(0.2)), {"arrived": 240}, {"arrived": 300}),
        (fault(Corrupt, CorruptParams(0.1)), {"arrived": 180, "distinct": 180, "altered": 20}, {"arrived": 180}),
        (fault(Reordering, ReorderParams(0.25)), {"late": 45}, {"late": 0}),
        (fault(Throttle, ThrottleParams(1000)), {"took_s": 2.4}, {"took_s": 1.0}),
        (fault(BurstLoss, BurstLossParams()), {"arrived": 150, "distinct": 150}, {"arrived": 151, "distinct": 150}),
    ],
)
def test_each_fault_knows_its_own_streams(made, good, bad):
    assert made.shown(msgspec.structs.replace(WHOLE, **good))
    assert not made.shown(msgspec.structs.replace(WHOLE, **bad))


def test_bursts_are_told_from_single_losses_by_all_links_together():
    made = fault(BurstLoss, BurstLossParams(0.3, 10))

    def seen(lost, gaps):
        return [Stream(MAX_PROBES - lost, MAX_PROBES - lost, 0, 0, gaps, 0.3)] * 4

    assert made.all_show(seen(75, 8))
    assert not made.all_show(seen(75, 52)), "one by one"
    assert not made.all_show(seen(0, 0))
    assert not made.all_show(seen(200, 4)), "far too many"


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (DuplicateParams, {"probability": "1.1"}, "give a number from 0 and up to 1"),
        (CorruptParams, {"checksum": "rihgt"}, "give wrong or right; did you mean right?"),
        (ThrottleParams, {"kbit": "100"}, "give a number of kbit/s from 200"),
        (ReorderParams, {"delay_ms": "5"}, "give a number of ms from 20"),
        (BurstLossParams, {"length": "2"}, "give a number from 6 and up to 20"),
    ],
)
def test_wrong_parameters_are_one_line(kind, given, said):
    with pytest.raises(UsageError, match=said):
        params.read(kind, given)

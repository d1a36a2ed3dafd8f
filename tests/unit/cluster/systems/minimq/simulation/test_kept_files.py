"""What simulated nodes read back from real files is what the writes say, in batches and segments of any size."""

from random import Random

import pytest

from cluster.systems.minimq.consensus.raft_log import recover as recover_raft
from cluster.systems.minimq.protocol.io import Truncate
from cluster.systems.minimq.protocol.messages import Entry, HardState, NoOp
from cluster.systems.minimq.simulation import kept_files
from cluster.systems.minimq.simulation.kept_files import kept_records, kept_state
from cluster.systems.minimq.storage.commit_log import QueueKey, data_record
from cluster.systems.minimq.storage.commit_log import recover as recover_log
from cluster.systems.minimq.storage.disk import BrokerStore

SEEDS = [f"7/b1/{life}" for life in range(8)]


def writes(seed):
    """Records with cuts among them, as a broker writes that was often deposed."""
    draw, kept, end = Random(seed), [], 0
    for number in range(400):
        if end and draw.random() < 0.05:
            end = draw.randrange(max(0, end - 20), end)
            kept.append(Truncate(token=number, start=end))
        else:
            kept.append(data_record(1, QueueKey("t", 0), end, b"x" * draw.randrange(200), "", -1))
            end += 1
    return kept


@pytest.mark.parametrize("seed", SEEDS)
def test_a_broker_finds_what_it_wrote(seed):
    kept = writes(seed)
    assert kept_records(kept, seed, share=1.0) == kept_records(kept, seed, share=0.0) == recover_log(kept)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_controller_finds_what_it_wrote(seed):
    kept = [HardState(term=1, voted_for="c1")]
    kept += [Entry(index=index, term=1, command=NoOp()) for index in range(1, 90)]
    kept += [Truncate(token=0, start=40), Entry(index=40, term=2, command=NoOp()), HardState(term=3, voted_for=None)]
    found = kept_state(kept, seed, share=1.0)
    assert found == kept_state(kept, seed, share=0.0) == recover_raft(kept)
    assert (found.term, len(found.entries)) == (3, 40)


def test_a_start_without_writes_finds_nothing_and_some_starts_read_files(monkeypatch):
    made = []
    monkeypatch.setattr(kept_files, "BrokerStore", lambda *given: made.append(given) or BrokerStore(*given))
    assert kept_records((), "7/b1/1") == []
    kept = writes("few")[:3]
    for life in range(200):
        assert kept_records(kept, f"7/b1/{life}") == recover_log(kept)
    assert 20 < len(made) < 90, "twice for each that reads files: to write and to read"

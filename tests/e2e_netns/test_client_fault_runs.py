"""Whole runs whose clients are killed, or all connect again at once: the history is whole, and is judged as any."""

from collections import Counter
from pathlib import Path

import pytest
from judged_run import judged_run

from chaos.models.log.model import LOG
from chaos.storage.history import read_stream, workers_of

pytestmark = [pytest.mark.e2e, pytest.mark.longer]

SHORT = ("--seed", "1", "--time-limit", "16", "--fault-interval", "4", "--fault-duration", "8", "--recovery-time", "3")


def proven_run(tmp_path, *options):
    """The history of a valid run whose one fault was proven and healed, and what was said."""
    code, results, said = judged_run(tmp_path, *options, *SHORT)
    assert code == 0, said
    assert [(fault["proven"], fault["healed"]) for fault in results["faults"]] == [(True, True)], said
    return Path(tmp_path / "current").resolve() / "history", said


def test_clients_are_killed_and_nothing_of_their_history_is_missing(tmp_path):
    history, said = proven_run(tmp_path, "--nemesis", "client-crash", "--workers", "2")
    streams = {worker: read_stream(history, worker, LOG) for worker in workers_of(history)}
    assert sorted(streams) == [0, 1, 2, 3], said
    assert all(stream.facts.ended and stream.facts.operations for stream in streams.values())
    processes = Counter(
        process for stream in streams.values() for process in set(stream.operations["process"].to_pylist())
    )
    assert set(processes.values()) == {1}, "no process lives in two streams"
    assert "nobody knows the outcome" in said


def test_all_clients_connect_again_at_once(tmp_path):
    _, said = proven_run(tmp_path, "--system", "etcd", "--nemesis", "reconnect-storm")
    assert "connections are gone" in said

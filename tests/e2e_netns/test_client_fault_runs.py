"""Whole runs whose clients are killed, or all connect again at once: the history is whole, and is judged as any."""

from collections import Counter
from pathlib import Path

import pytest
from judged_run import judged_run

from chaos.core.history import read_stream, workers_of
from chaos.models.registry import model_named

pytestmark = pytest.mark.e2e

SHORT = ("--seed", "1", "--time-limit", "22", "--fault-interval", "5", "--fault-duration", "5", "--workers", "2")


def run_of(tmp_path, *options):
    code, results, said = judged_run(tmp_path, *options, *SHORT)
    assert code == 0, said
    assert [(fault["proven"], fault["healed"]) for fault in results["faults"]] == [(True, True)] * 2, said
    return Path(tmp_path / "current").resolve() / "history", said


@pytest.mark.parametrize("system", ["minimq", "etcd"])
def test_clients_are_killed_and_nothing_of_their_history_is_missing(system, tmp_path):
    history, said = run_of(tmp_path, "--system", system, "--nemesis", "client-crash")
    model = model_named({"minimq": "log", "etcd": "register"}[system])
    streams = {worker: read_stream(history, worker, model) for worker in workers_of(history)}
    assert sorted(streams) == [0, 1, 2, 3, 4, 5], said
    assert all(stream.facts.ended and stream.facts.operations for stream in streams.values())
    processes = Counter(
        process for stream in streams.values() for process in set(stream.operations["process"].to_pylist())
    )
    assert set(processes.values()) == {1}, "no process lives in two streams"
    assert "nobody knows the outcome" in said


@pytest.mark.parametrize("system", ["minimq", "etcd"])
def test_all_clients_connect_again_at_once(system, tmp_path):
    _, said = run_of(tmp_path, "--system", system, "--nemesis", "reconnect-storm")
    assert "connections are gone" in said

"""How many operations a second the harness records of clients that answer at once: two workers, one a core.

    .venv/bin/python benchmarks/null_client.py [--workload queue] [--seconds 5]

Each worker is the real one, with its generator, its recorder and its tasks; only the system is none. Everything is due
at once, so the workers never wait.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import EntryPoint, entry_points
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from chaos import plugins
from chaos.core.client import Client, Received
from chaos.core.clock import NS_PER_S, now_ns
from chaos.core.op import Invocation, Word
from chaos.models.log.operations import Given, Placed
from chaos.models.log.words import SENDS
from chaos.models.objects.answers import Found
from chaos.models.registry import model_named
from chaos.storage.runinfo import NodeInfo, Promises
from chaos.worker.messages import WorkerSpec
from chaos.worker.pipe import Pipe
from chaos.worker.worker import Worker
from cluster.system import ClusterView

WORKERS = 2
DUE_AT_ONCE = 1e9


class NullClient:
    """Answers at once."""

    pinned_to: str | None = None

    def __init__(self, model: str) -> None:
        self._is_log = model == "log"
        self._end = 0

    async def invoke(self, op: Invocation, received: Received) -> None:
        received.node = "n1"
        if not self._is_log:
            received.result = Found(1)
        elif op.f in SENDS:
            self._end += 1
            received.result = Placed(self._end)
        else:
            received.result = Given(next_offset=op.argument.offset, min_offset=0, max_offset=self._end)

    async def refresh(self) -> None: ...

    async def close(self) -> None: ...


class NullSystem:
    """No system at all."""

    roles: Mapping[str, str] = {"null": "other"}

    def pinned(self, _settings: Mapping[str, str], clients: int) -> Sequence[bool]:
        return [False] * clients

    def operations(self, model: str, _settings: Mapping[str, str]) -> frozenset[Word]:
        return frozenset(model_named(model).words)

    def promises(self, _settings: Mapping[str, str]) -> Promises:
        return Promises()

    def client(self, view: ClusterView, _number: int, _clients: int, _seed: int) -> Client:
        return NullClient(view.settings["model"])


class _Nobody(Pipe):
    """Tells a worker nothing, and hears what it says."""

    async def line(self) -> None:
        return None

    pid = 0

    def say(self, _message: Any) -> None: ...


def _entry_points(*, group: str) -> Any:
    own = [EntryPoint("null", "null_client:NullSystem", "chaos.systems")]
    return [*entry_points(group=group), *(own if group == "chaos.systems" else [])]


async def _load(spec: WorkerSpec, seconds: float) -> float:
    worker = Worker(spec, _Nobody())
    began_ns = now_ns()
    load = asyncio.ensure_future(worker.load(began_ns))
    await asyncio.sleep(seconds)
    await worker.stop()
    await load
    took_s = (now_ns() - began_ns) / NS_PER_S
    await worker.close()
    return sum(sum(kinds.values()) for kinds in worker.stats().counts.values()) / took_s


def _one(number: int, workload: str, seconds: float, folder: str) -> float:
    """Operations a second of one worker."""
    sys.path.insert(0, str(Path(__file__).parent))
    plugins.entry_points = _entry_points  # type: ignore[attr-defined]
    model = plugins.load("workloads", workload).model
    node = NodeInfo(name="n1", role="null", address="127.0.0.1")
    spec = WorkerSpec(
        folder=folder,
        worker=number,
        stream=number,
        workers=WORKERS,
        system="null",
        workload=workload,
        view=ClusterView(run_id="null", nodes=(node,), settings={"model": model}, keys=4),
        clients=8,
        rate=DUE_AT_ONCE,
        seed=1,
        op_timeout_s=3.0,
        max_in_flight=256,
        body_bytes=128,
    )
    return asyncio.run(_load(spec, seconds))


def recording_speed(workload: str, seconds: float) -> dict[str, Any]:
    """Operations a second of all workers together, and the bytes that an operation takes."""
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        history = Path(folder) / "history"
        history.mkdir()
        rates = [pool.submit(_one, number, workload, seconds, folder) for number in range(WORKERS)]
        per_s = sum(one.result() for one in rates)
        size = sum(path.stat().st_size for path in history.iterdir())
    return {"per_s": round(per_s), "bytes_per_op": round(size / max(1.0, per_s * seconds))}


def main() -> None:
    """Parse and act."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--workload", default="queue", help="[default: queue]")
    made.add_argument("--seconds", type=float, default=5.0, help="[default: 5]")
    args = made.parse_args()
    print(json.dumps(recording_speed(args.workload, args.seconds)))


if __name__ == "__main__":
    main()

"""``run.json``: what a checker, a report or a person must know of a run beside its history."""

from pathlib import Path
from typing import Any, Literal

import msgspec

from chaos.core.errors import HistoryError
from chaos.core.place import Place

Status = Literal["planned", "running", "ran", "checked", "crashed"]


class NodeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A node by name, role and address. Its position in ``RunInfo.nodes`` is its number in the tables."""

    name: str
    role: str
    address: str


class Promises(msgspec.Struct, frozen=True, kw_only=True):
    """What a system promises under its settings (SEMANTICS 13).

    ``allowed``: anomalies that are by design here, with the reason; everything else is an error.
    ``readable_after_s``: how long after its acknowledgement a message may be missing from strong reads
    at its own master, for systems that build what readers see behind the log; 0 promises nothing.
    ``min_in_sync``: nothing is acknowledged while the SyncStateSet, the master counted, is smaller (SEMANTICS
    16); 0 promises nothing. ``replicas_read``: every replica lets its own copy be read, whatever its role (15).
    ``progress_margin_s``: faults on controllers alone stop no acknowledgements for longer (17); 0 promises nothing.
    ``redelivered_within_s``: how long after its time a popped message that nobody acknowledged may take to be given
    again (SEMANTICS 20).
    ``early_s``: so much before its time a delayed message may be given to somebody (SEMANTICS 20).
    ``twice``: if given, a promise of ``duplicate`` covers only sends of these kinds.
    """

    allowed: dict[str, str] = {}
    readable_after_s: float = 0.0
    min_in_sync: int = 0
    replicas_read: bool = False
    progress_margin_s: float = 0.0
    redelivered_within_s: float = 0.0
    early_s: float = 0.0
    twice: tuple[str, ...] = ()


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A run. Times are CLOCK_MONOTONIC ns of the boot named by ``boot_id``."""

    id: str
    status: Status
    argv: tuple[str, ...]
    chaos_version: str
    schema_version: int
    boot_id: str
    origin_ns: int
    origin_utc: str
    system: str
    system_version: str
    backend: str
    workload: str
    nemesis: str
    seed: int
    settings: dict[str, str]
    nodes: tuple[NodeInfo, ...]
    roles: dict[str, str]  # role → what it is: "replica" (keeps the log), "controller", "other"
    queues: int
    rate: float
    clients: int
    workers: int
    op_timeout_s: float
    time_limit_s: float
    fault_interval_s: float
    fault_duration_s: float
    route_poll_interval_s: float | None
    rto_budget_s: float | None
    promises: Promises
    planned_faults: int
    mix: dict[str, float]
    body_bytes: int
    machine: dict[str, Any] = {}
    timings_s: dict[str, float] = {}
    error: str | None = None
    broke: int | None = None  # the exit code of that error
    interrupted: bool = False


def read_run(folder: Place) -> RunInfo:
    """Read ``run.json`` of a run folder.

    Raises:
        HistoryError: naming the file and the fault.
    """
    path = folder / "run.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=RunInfo)
    except FileNotFoundError:
        raise HistoryError(f"{folder}: no run.json; name a run folder that `chaos run` made") from None
    except msgspec.DecodeError as error:
        raise HistoryError(f"{path}: {error}") from None


def write_run(folder: Path, run: RunInfo) -> None:
    """Write ``run.json`` whole or not at all."""
    partial = folder / "run.json.partial"
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n")
    partial.rename(folder / "run.json")

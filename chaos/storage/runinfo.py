"""``run.json``: what a checker, a report or a person must know of a run beside its history."""

from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from chaos.core.errors import HistoryError
from chaos.core.gate import Gates
from chaos.storage.manifest import check_document, copy_again, write_checked
from chaos.storage.storage_path import Place

SCHEMA_VERSION: Final = 4
"""Of run folders: it changes with any column, type or meaning in docs/reference/history.md."""

Status = Literal["planned", "running", "ran", "checked", "crashed", "foreign"]
UNFINISHED: Final = ("planned", "running")
"""What a run says that was killed before it could say how it ended."""

FOREIGN: Final = "foreign"
"""What a folder says whose tables another tool wrote: it has no checksums and no manifest."""


class NodeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A node by name, role and address. Its position in ``RunInfo.nodes`` is its number in the tables."""

    name: str
    role: str
    address: str


class Subject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that has one leader at a time: a replica group, a partition, a range of slots, the controllers.

    ``kind``: what it leads: "replica" keeps the keys, "controller" decides who leads the others. ``nodes``: who may
    lead it or follow, in order; empty if that is not fixed. ``keys``: the keys that it serves, None for all.
    ``epoch_word``: what the system's own documentation numbers its leaders by, "epoch" or "term"; empty: controllers
    have terms, others epochs.
    """

    name: str
    kind: Literal["replica", "controller", "other"] = "replica"
    nodes: tuple[str, ...] = ()
    keys: tuple[int, ...] | None = None
    epoch_word: str = ""


class Promises(msgspec.Struct, frozen=True, kw_only=True):
    """What a system promises under its settings (SEMANTICS 13).

    ``allowed``: anomalies that are by design here, with the reason; everything else is an error.
    ``readable_after_s``: how long after its acknowledgement a message may be missing from strong reads
    at its own leader, for systems that build what readers see behind the log; 0 promises nothing.
    ``min_in_sync``: nothing is acknowledged while the SyncStateSet, the leader counted, is smaller (SEMANTICS
    16); 0 promises nothing. ``replicas_read``: every replica lets its own copy be read, whatever its role (15).
    ``progress_margin_s``: faults on controllers alone stop no acknowledgements for longer (17); 0 promises nothing.
    ``redelivered_within_s``: how long after its time a popped message that nobody acknowledged may take to be given
    again (SEMANTICS 20).
    ``early_s``: so much before its time a delayed message may be given to somebody (SEMANTICS 20).
    ``recovers_within_s``: so long after the last heal every node serves again and every queue takes sends again (17a);
    0 promises nothing. ``rejoins_within_s``: so long after it every replica is back in the SyncStateSet; 0 likewise.
    ``serves_without_minority_s``: while a fault hits less than half of the replicas of a subject, and less than half
    of the controllers, every key takes changes again so long after it began, and goes on to (17b); 0 promises nothing.
    ``fails_over_after_s``: when a leader of the replicas is away from everybody for so long, another has been made
    leader; 0: none ever is, or nothing is said of it (SEMANTICS 12).
    ``twice``: if given, a promise of ``duplicate`` covers only sends of these kinds.
    ``consistency_models``: the models that transactions hold (SEMANTICS 30), by the names of
    docs/reference/transactions.md; None: strict-serializable; empty: none is promised.
    ``not_taken``: what the system would promise and is not held to here, because the settings that it rests on are not
    proven to be in effect; a phrase each.
    """

    allowed: dict[str, str] = {}
    readable_after_s: float = 0.0
    min_in_sync: int = 0
    replicas_read: bool = False
    progress_margin_s: float = 0.0
    redelivered_within_s: float = 0.0
    early_s: float = 0.0
    recovers_within_s: float = 0.0
    rejoins_within_s: float = 0.0
    fails_over_after_s: float = 0.0
    serves_without_minority_s: float = 0.0
    twice: tuple[str, ...] = ()
    consistency_models: tuple[str, ...] | None = None
    not_taken: tuple[str, ...] = ()


class RunInfo(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A run. Times are CLOCK_MONOTONIC ns of the boot named by ``boot_id``.

    ``subjects``: what has a leader; empty where each node stands alone.
    """

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
    artifacts: str = ""  # the folder of the user's own build that ran; empty: it was none
    backend: str
    workload: str
    model: str
    words: dict[str, int]  # word of the model → its number in streams and tables
    checks: tuple[str, ...] = ()  # who judges it: the workload's, then --check's; empty: every check of logs
    consistency_models: tuple[str, ...] = ()  # that somebody holds transactions to, instead of what is promised
    required_phases: tuple[str, ...] | None = None  # after the load, each must end well; None: it did not come so far
    nemesis: str
    seed: int
    settings: dict[str, str]
    nodes: tuple[NodeInfo, ...]
    roles: dict[str, str]  # role → what it is: "replica" (keeps the log), "controller", "other"
    keys: int
    rate: float
    clients: int
    workers: int
    op_timeout_s: float
    time_limit_s: float
    fault_interval_s: float
    fault_duration_s: float
    route_poll_interval_s: float | None
    rto_budget_s: float | None
    refusals: tuple[str, ...] = ()  # errors by which a node that must not serve refuses clients that stay on it
    promises: Promises
    planned_faults: int
    mix: dict[str, float]
    body_bytes: int
    quiet: tuple[tuple[float, float], ...] = ()  # when the load was a tenth: from, until; seconds since origin_ns
    send_deadline_s: float = 0.0  # of sends that are attempted for longer than op_timeout_s; 0: there are none
    machine: dict[str, Any] = {}
    timings_s: dict[str, float] = {}
    error: str | None = None
    broke: int | None = None  # the exit code of that error
    interrupted: bool = False
    subjects: tuple[Subject, ...] = ()
    gates: Gates = Gates()  # thresholds, what fails a build, and what is allowed

    @cached_property
    def _subject_of_key(self) -> dict[int | None, Subject]:
        out: dict[int | None, Subject] = {}
        for subject in self.subjects:
            if subject.kind == "replica":
                for key in (None,) if subject.keys is None else subject.keys:
                    out.setdefault(key, subject)
        return out

    @cached_property
    def _of_name(self) -> dict[str, Subject]:
        return {subject.name: subject for subject in self.subjects}

    @cached_property
    def replicated(self) -> tuple[Subject, ...]:
        """The subjects that keep keys, in order."""
        return tuple(subject for subject in self.subjects if subject.kind == "replica")

    @cached_property
    def replicas(self) -> tuple[str, ...]:
        """The nodes that keep keys, in order."""
        return tuple(node.name for node in self.nodes if self.roles.get(node.role) == "replica")

    def subject_of(self, key: int) -> Subject | None:
        """The subject that serves a key; None where nobody leads."""
        return self._subject_of_key.get(key) or self._subject_of_key.get(None)

    def kind_of(self, subject: str) -> str:
        """What a subject leads; one that nobody named before leads replicas."""
        found = self._of_name.get(subject)
        return "replica" if found is None else found.kind

    def epoch_word(self, subject: str) -> str:
        """What the leaders of a subject are numbered by: "epoch", "term"."""
        found = self._of_name.get(subject)
        default = "term" if self.kind_of(subject) == "controller" else "epoch"
        return default if found is None else found.epoch_word or default

    def replicas_of(self, key: int) -> tuple[str, ...]:
        """The nodes that may keep a key, in order."""
        subject = self.subject_of(key)
        return subject.nodes if subject is not None and subject.nodes else self.replicas


class _Written(msgspec.Struct, frozen=True):
    """Which chaos wrote a run, whatever else is in ``run.json``."""

    schema_version: int
    chaos_version: str
    model: str | None = None


_BEGINNING: Final = b'{\n "id":'
"""With what each ``run.json`` of ours begins."""


def read_run(folder: Place) -> RunInfo:
    """Read ``run.json`` of a run folder.

    Raises:
        HistoryError: naming the file and the fault; or it is of another version, which is named.
    """
    path = folder / "run.json"
    try:
        data = path.read_bytes()
        written = msgspec.json.decode(data, type=_Written)
        if written.schema_version != SCHEMA_VERSION or written.model is None:
            without = " without a model" if written.schema_version == SCHEMA_VERSION else ""
            raise HistoryError(
                f"{folder}: its history has schema version {written.schema_version}{without}, and this chaos reads "
                f"{SCHEMA_VERSION}; check it with the chaos that wrote it, {written.chaos_version}"
            )
        run = msgspec.json.decode(data, type=RunInfo)
    except FileNotFoundError:
        raise HistoryError(f"{folder}: no run.json; name a run folder that `chaos run` made") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HistoryError(_unreadable(path, data, error)) from None
    check_document(path, data, must=run.status != FOREIGN)
    return run


def _unreadable(path: Place, data: bytes, error: Exception) -> str:
    """Why a ``run.json`` cannot be read, and what to do: it is damaged, or another program wrote it."""
    name_another = "name a run folder that `chaos run` made"
    if data.startswith(_BEGINNING):
        return f"{path} is damaged: {error}; {copy_again(path)}"
    if isinstance(error, msgspec.ValidationError):
        return f"{path} was not written by chaos: {error}; {name_another}"
    return f"{path} is no JSON: {error}; {copy_again(path)}, or {name_another}"


def write_run(folder: Path, run: RunInfo) -> None:
    """Write ``run.json`` whole or not at all."""
    write_checked(folder / "run.json", msgspec.json.format(msgspec.json.encode(run), indent=1))

"""Run folders of every workload, the ways to damage them, and what a judging may then say.

A folder is kept in one of four states: as a run left it; with the tables and the verdict of an earlier judging; with
these tables alone; and as a run leaves it that was killed, without a manifest and with streams that did not end.
"""

import os
import shutil

import msgspec
from group_model import MUTATIONS as GROUP
from group_model import model as group_model
from log_model import MUTATIONS as LOG
from log_model import model as log_model
from pop_model import MUTATIONS as POP
from pop_model import model as pop_model
from repository import HISTORIES
from undecided_model import MUTATIONS as UNDECIDED
from undecided_model import model as undecided_model

from chaos.core.errors import ChaosError
from chaos.core.verdict import UNKNOWN
from chaos.storage.manifest import write_manifest
from chaos.storage.recorder import OP_SIZE
from chaos.storage.runinfo import read_run, write_run
from chaos.testing.history_files import load_history, write_run_folder
from checkers.anomalies.catalogue import kind_of
from checkers.engine import local_engine


def _of(model, mutations):
    """A literal of a model, spoilt every other time: then there is an anomaly that damage may hide or double."""

    def literal(rng):
        made = model(rng.randrange(1 << 32))
        spoilt = rng.choice(mutations)(rng, made) if rng.random() < 0.5 else None
        return made if spoilt is None else spoilt[0] if isinstance(spoilt, tuple) else spoilt

    return literal


def _named(*names):
    return lambda rng: load_history(HISTORIES / f"{rng.choice(names)}.yaml")


WORKLOADS = {
    "queue": _of(log_model, LOG),
    "group": _of(group_model, GROUP),
    "pop": _of(pop_model, POP),
    "delayed and transactional": _of(undecided_model, UNDECIDED),
    "ordered": _named("shards-in-order", "a-shard-out-of-order"),
    "idempotent": _named("an-idempotent-send-waited-for-its-turn", "an-idempotent-send-was-taken-twice"),
}
STATES = ("left", "judged", "tables", "killed")


def _spread(rng, literal, workers):
    """The same operations by several workers: each client, and what it writes, stays with one."""
    spread = {}

    def worker(op):
        sent = op.send or op.schedule or op.transact
        return spread.setdefault(int(sent.split(":")[0]) if sent else op.client, rng.randrange(workers))

    return msgspec.structs.replace(literal, ops=tuple(msgspec.structs.replace(op, w=worker(op)) for op in literal.ops))


def _killed(rng, folder):
    """Let a folder be one of a run that was killed."""
    history = folder / "history"
    for path in sorted(history.glob("w*.ops")):
        if rng.random() < 0.7:  # as a mapped file is left: zeros behind the last record
            data = path.read_bytes()[:-OP_SIZE]
            cut = len(data) - OP_SIZE * rng.randint(0, 2)
            path.write_bytes(data[: max(0, cut)] + bytes(OP_SIZE * rng.randint(0, 3)))
            reads = path.with_suffix(".reads")
            reads.write_bytes(reads.read_bytes() + bytes(32 * rng.randint(0, 3)))
    (folder / "manifest.json").unlink()
    write_run(folder, msgspec.structs.replace(read_run(folder), status="running"))


def make(rng, workload, state, folder):
    """Write a run folder that is not damaged; returns its verdict."""
    literal = WORKLOADS[workload](rng)
    if workload in ("queue", "group", "pop"):
        literal = _spread(rng, literal, rng.randint(1, 3))
    write_run_folder(literal, folder)
    (folder / "plan.jsonl").write_text('{"id": 1, "name": "leader-kill"}\n')
    write_manifest(folder)
    if state == "killed":
        _killed(rng, folder)
    verdict = verdict_of(folder)
    shutil.rmtree(folder / "history" / "operations")
    shutil.rmtree(folder / "history" / "reads")
    for path in [*folder.glob("history/*.facts.json"), folder / "history" / "events.parquet"]:
        path.unlink()
    if state in ("judged", "tables"):
        local_engine.judge(folder)
    if state == "tables":
        for suffix in ("ops", "reads", "errors", "events"):
            for path in (folder / "history").glob(f"*.{suffix}"):
                path.unlink()
    return verdict


def _range(rng, size, step):
    """A stretch of a file, at multiples of ``step``."""
    start = rng.randrange(0, max(1, size // step)) * step
    return start, min(size, start + step * rng.choice([1, 1, 2, rng.randint(1, 40)]))


def flip(rng, data):
    """One bit, or a few."""
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def cut_out(rng, data):
    """Leave a stretch out."""
    start, end = _range(rng, len(data), rng.choice([1, 32, OP_SIZE]))
    del data[start:end]


def truncate(rng, data):
    """Leave the end out, as a copy that was cut off."""
    del data[rng.randrange(len(data)) // rng.choice([1, 1, 32, OP_SIZE]) :]


def repeat(rng, data):
    """Insert a stretch again, somewhere."""
    start, end = _range(rng, len(data), rng.choice([1, 32, OP_SIZE]))
    at = rng.choice([start, end, rng.randrange(len(data) + 1)])
    data[at:at] = data[start:end]


def overwrite(rng, data):
    """Put a stretch over another."""
    step = rng.choice([1, 32, OP_SIZE, 512])
    start, end = _range(rng, len(data), step)
    at = rng.randrange(max(1, len(data) // step)) * step
    data[at : at + end - start] = data[start:end]


def blank(rng, data):
    """Zeros in the place of a stretch, as of a page that was never written."""
    start, end = _range(rng, len(data), rng.choice([1, OP_SIZE, 512, 4096]))
    data[start:end] = bytes(end - start)


CHANGES = (flip, flip, flip, flip, cut_out, truncate, truncate, repeat, overwrite, blank)


def damage(rng, folder):
    """Damage one file of a folder, or take it away; returns what was done, in words."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = rng.choice([one for one in files if rng.random() < 0.3 or "history" in one.parts] or files)
    name = path.relative_to(folder).as_posix()
    what = rng.random()
    if what < 0.1:
        path.unlink()
        return f"removed {name}"
    if what < 0.14:
        other = rng.choice([one for one in files if one.suffix == path.suffix])
        shutil.copyfile(other, path) if other != path else None
        return f"{other.relative_to(folder).as_posix()} copied over {name}"
    data, stat = bytearray(path.read_bytes()), path.stat()
    if not data:
        return "nothing"
    change = rng.choice(CHANGES)
    change(rng, data)
    path.write_bytes(data)
    if rng.random() < 0.5:
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    return f"{change.__name__} in {name}"


def verdict_of(folder):
    """The verdict, and every anomaly with its count and whether it is allowed; the words of an error in their place."""
    try:
        results = local_engine.judge_folder(folder).results
    except ChaosError as error:
        return f"{error.exit_code}: {error}"
    return results.valid, {name: (one.count, one.allowed) for name, one in results.anomalies.items()}


def is_sound(before, after, state):
    """Whether a verdict of a damaged folder claims nothing that the whole one does not show."""
    if isinstance(after, str):
        return after.startswith("254: ") and "\n" not in after
    if after == before or after[0] == UNKNOWN:
        return True
    # What was killed may also have been killed a little earlier: less is known then, and no more.
    claimed = {name for name in after[1] if kind_of(name).consequence == "invalid"}
    return state == "killed" and before[0] is False and after[0] is False and claimed <= set(before[1])

"""Transactions as literals, recorded as a run of ours records them, and written as Jepsen writes them."""

import msgspec

from chaos import plugins
from chaos.core.clock import NS_PER_S
from chaos.core.model import word_table
from chaos.core.op import Completion, Invocation, Type
from chaos.models.registry import model_named
from chaos.models.transactions import words
from chaos.models.transactions.words import Do, F, Reads
from chaos.storage.manifest import write_manifest
from chaos.storage.recorder import Recorder
from chaos.storage.runinfo import read_run, write_run
from chaos.testing.history_files import run_info, write_run_folder
from chaos.testing.history_literal import Expected, FaultLiteral, HistoryLiteral, RunLiteral
from chaos.testing.literal_operations import ns_of
from checkers.engine.installed_checks import check_named
from checkers.history.check_input import Context
from checkers.history.shards import load_shard, materialise, tables_of
from checkers.history.timeline import timeline_of
from checkers.txn.transactions import NEVER, Kind

NODE = "m1"
START_NS = 1_000_000_000
STEP_NS = 1_000


def key_numbers(rows):
    """Names of keys → numbers."""
    return {key: i for i, key in enumerate(dict.fromkeys(micro.key for row in rows for micro in row.micros))}


def _argument(row, keys):
    return words.Transaction(
        tuple(
            words.Micro(Do(micro.kind), keys[micro.key], 0 if micro.kind is Kind.READ else micro.value)
            for micro in row.micros
        )
    )


def _seen(micro):
    if micro.kind is not Kind.READ or not micro.known:
        return None
    if isinstance(micro.value, list | tuple):
        return list(micro.value)
    return [] if micro.value is None else [micro.value]


def recorded(folder, rows, *, lists, space=0, start_ns=START_NS, step_ns=STEP_NS):
    """Record literals as worker 0 of a run; returns nothing."""
    keys = key_numbers(rows)
    recorder = Recorder(folder, 0, (NODE,), model_named(words.MODEL))
    change, read = (F.LIST_TXN, F.LIST_READ) if lists else (F.REGISTER_TXN, F.REGISTER_READ)
    events = [(row.invoke, 0, i) for i, row in enumerate(rows)]
    events += [(row.complete, 1, i) for i, row in enumerate(rows) if row.complete != NEVER]
    open_ops = {}
    for at, ends, i in sorted(events):
        row, at_ns = rows[i], start_ns + at * step_ns
        if not ends:
            writes = any(micro.kind is not Kind.READ for micro in row.micros)
            op = Invocation(
                process=row.process,
                client=0,
                f=change if writes else read,
                key=space,
                deadline_ns=0,
                argument=_argument(row, keys),
            )
            open_ops[i] = op, recorder.invoke(op, at_ns, pinned=False, at_ns=at_ns)[0]
        else:
            op, number = open_ops[i]
            result = Reads([_seen(micro) for micro in row.micros])
            recorder.complete(number, op, Completion(type=row.type, node=NODE, result=result), at_ns=at_ns)
    recorder.close()


def run_folder(folder, rows, *, lists, workload):
    """A whole run folder of literals, with a fault in the middle of its eight seconds; it is not judged yet."""
    fault = FaultLiteral(inject=2, active=2.1, heal=5, healed=5.2)
    told = HistoryLiteral(name=folder.name, rules=(), about="", ops=(), expect=Expected(valid=True), faults=(fault,))
    write_run_folder(told, folder)
    for path in (folder / "history").glob("w*"):
        path.unlink()
    step_ns = 8 * NS_PER_S // max(row.invoke for row in rows)
    recorded(folder / "history", rows, lists=lists, start_ns=ns_of(0), step_ns=step_ns)
    change, read = (F.LIST_TXN, F.LIST_READ) if lists else (F.REGISTER_TXN, F.REGISTER_READ)
    run = msgspec.structs.replace(
        read_run(folder),
        model=words.MODEL,
        words=word_table(model_named(words.MODEL)),
        workload=workload,
        mix={change.word: 0.0, read.word: 0.0},
        keys=1,
        required_phases=(),
        checks=plugins.load("workloads", workload)().checks,
    )
    write_run(folder, run)
    write_manifest(folder)


def context_of(history, **changes):
    """What checks know beside the columns: a run that promises what is said, and no faults."""
    made = materialise(history, 0, words.MODEL)
    run = msgspec.structs.replace(
        run_info(RunLiteral(), "run"), model=words.MODEL, words=word_table(model_named(words.MODEL)), origin_ns=0
    )
    run = msgspec.structs.replace(run, **changes)
    return Context(run=run, streams=(made.facts,), timeline=timeline_of([], run)), made.keys


def shard_of(history, context, space=0):
    """The columns of a space."""
    return load_shard(tables_of(history, words.MODEL, context.streams), space)


def verdict(folder, rows, *, lists, **changes):
    """The row of the check ``transactions`` on literals that were recorded."""
    recorded(folder, rows, lists=lists)
    context, keys = context_of(folder, **changes)
    check = check_named("transactions")
    assert check.applies(context) is None
    (summary,) = (check.examine(shard_of(folder, context, key), context) for key in keys)
    return check.conclude(summary, context)


def as_edn(rows):
    """The same history as Jepsen writes it."""
    keys = key_numbers(rows)

    def micros(row, *, told):
        return " ".join(_edn(micro, keys[micro.key], told=told) for micro in row.micros)

    events = [(row.invoke, 0, "invoke", row) for row in rows]
    events += [(row.complete, 1, row.type.word, row) for row in rows if row.complete != NEVER]
    events += [(1 << 62, 2, "info", row) for row in rows if row.complete == NEVER]
    lines = []
    for index, (at, _, kind, row) in enumerate(sorted(events, key=lambda one: one[:2])):
        value = micros(row, told=kind in (Type.OK.word, Type.FAIL.word))
        lines.append(
            f"{{:index {index}, :time {min(at, 1 << 40)}, :type :{kind}, :process {row.process}, :f :txn, "
            f":value [{value}]}}"
        )
    return "\n".join(lines) + "\n"


def _edn(micro, key, *, told):
    if micro.kind is not Kind.READ:
        return f"[:{Do(micro.kind).word} {key} {micro.value}]"
    if not told or not micro.known or micro.value is None:
        return f"[:r {key} nil]"
    shown = f"[{' '.join(map(str, micro.value))}]" if isinstance(micro.value, list | tuple) else micro.value
    return f"[:r {key} {shown}]"

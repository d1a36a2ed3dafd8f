"""The judge of transactions: from their columns to a verdict, wherever they come from.

``judge`` looks at the whole history: what one read, transaction or key shows (scans), and what the order of
transactions shows (cycles). Everything that is found has Elle's name; what the models asked for forbid decides.
"""

from typing import Final

import msgspec
import numpy as np

from chaos.core.op import Type
from chaos.core.verdict import UNKNOWN, Valid
from checkers.cycles.shapes import Relation
from checkers.txn import kinds
from checkers.txn.anomaly_cases import EXAMPLES, Cases
from checkers.txn.cycle_names import Cycle
from checkers.txn.dependencies import by_process, join_dependencies
from checkers.txn.explain import Explainer, Instance
from checkers.txn.list_scans import ListScans
from checkers.txn.lists import Lists
from checkers.txn.models import (
    CAUSAL,
    COMMIT_ORDER_CYCLE,
    CONTRADICT_CAUSAL,
    CYCLE_EXISTS,
    STRONGEST,
    Boundary,
    boundary,
    forbidden_anomalies,
    ruled_out,
    why_never_broken,
)
from checkers.txn.names import EMPTY, LIST_APPEND, RW_REGISTER, Model
from checkers.txn.registers import Registers
from checkers.txn.transactions import Kind, Transactions
from checkers.txn.visibility import of_lists, of_registers
from checkers.txn.weak_models import WeakModels
from checkers.txn.words import Words

_EXPLAINS: Final = {
    LIST_APPEND: (Relation.WW, Relation.WR, Relation.RW, Relation.PROCESS, Relation.REALTIME),
    RW_REGISTER: (Relation.WR, Relation.WW, Relation.RW, Relation.PROCESS, Relation.REALTIME),
}


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What transactions are held against.

    ``models``: consistency models that are promised, by their usual names. ``wfr_keys``, ``sequential_keys``,
    ``linearizable_keys``: what the order of a register's versions may be inferred from; see ``checkers.txn.versions``.
    ``strict``: an INFO transaction takes part in dependencies of registers if somebody read what it wrote.
    """

    models: tuple[str, ...] = (STRONGEST,)
    wfr_keys: bool = False
    sequential_keys: bool = False
    linearizable_keys: bool = False
    strict: bool = False


class Anomalous(msgspec.Struct, frozen=True):
    """All occurrences of one anomaly. ``told``: some of them."""

    count: int
    told: tuple[Instance, ...]


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The answer.

    ``anomalies``: what was found that the models forbid. ``beside``: what was found and is allowed. ``ruled_out``: the
    models that cannot hold after all of it. ``reason``: why unknown, else empty.
    """

    valid: Valid
    reason: str
    anomalies: dict[str, Anomalous]
    beside: dict[str, Anomalous]
    ruled_out: Boundary


def judge(transactions: Transactions, model: Model, options: Options) -> Judgement:
    """The verdict on transactions.

    Args:
        transactions: all of a history.
        model: what their keys are.
        options: what they are held against.
    """
    repeated = _repeated(transactions)
    if repeated:
        return Judgement(valid=UNKNOWN, reason=repeated, anomalies={}, beside={}, ruled_out=Boundary((), ()))
    bad = _forbidden(options.models)
    keys: Lists | Registers
    if model == LIST_APPEND:
        keys = Lists(transactions)
        scans = ListScans(keys).all()
    else:
        keys = Registers(
            transactions,
            wfr=options.wfr_keys,
            sequential=options.sequential_keys,
            linearizable=options.linearizable_keys,
            strict=options.strict,
        )
        scans = keys.scans()
    history = _history(transactions, keys, model, bad)
    found = kinds.find_cycles(history)
    everything = {one.name: _told(one) for one in scans}
    words = Words(transactions, lists=model == LIST_APPEND)
    explainer = Explainer(words, transactions.owner(), found.pairs, keys)
    everything |= _cycles(found, explainer)
    by_order, doubts = _by_commit_order(transactions, keys, explainer, options.models)
    everything |= by_order
    if CAUSAL in options.models and "incompatible-order" in everything:
        doubts += (
            "causal lets processes see appends in different orders, so reads of a list that disagree decide nothing",
        )
    return _judged(everything, bad, history, found, (why_never_broken(options.models), *doubts))


def _forbidden(models: tuple[str, ...]) -> set[str]:
    """What makes a history invalid under some models."""
    return forbidden_anomalies(models) | (CONTRADICT_CAUSAL if CAUSAL in models else frozenset())


def _by_commit_order(
    transactions: Transactions, keys: Lists | Registers, explainer: Explainer, models: tuple[str, ...]
) -> tuple[dict[str, Anomalous], tuple[str, ...]]:
    """What models show that are decided by an order of commits, where they are asked for by name; and doubts."""
    asked = [one for one in COMMIT_ORDER_CYCLE if one in models]
    if not asked:
        return {}, ()
    seen = of_lists(keys) if isinstance(keys, Lists) else of_registers(keys)
    ordered = keys.dependencies().of(Relation.WW)
    weak = WeakModels(transactions, seen, ordered, explainer)
    told = [weak.look_at(one) for one in asked]
    return (
        {one.name: Anomalous(one.number, one.told) for one in told if one.number},
        tuple(one.doubt for one in told if one.doubt),
    )


def _repeated(transactions: Transactions) -> str:
    """Why values cannot tell who wrote them; empty if they can."""
    writes = np.flatnonzero(transactions.kind != Kind.READ)
    key, value = transactions.key[writes], transactions.value[writes]
    order = np.lexsort((value, key))
    again = np.flatnonzero((key[order[1:]] == key[order[:-1]]) & (value[order[1:]] == value[order[:-1]]))
    if not len(again):
        return ""
    words = Words(transactions, lists=False)
    micro = int(writes[order[1:][again[0]]])
    value_word = words.value(int(transactions.value[micro]))
    return (
        f"value {value_word} of {words.key(micro)} was written more than once, so nobody can tell who read whose: "
        "let every write of a key have a value of its own"
    )


def _history(transactions: Transactions, keys: Lists | Registers, model: Model, bad: set[str]) -> kinds.History:
    """Dependencies, and the orders of whole transactions that the models are about."""
    pairs, bundles = keys.dependencies(), keys.bundles()
    is_ok = transactions.type == Type.OK
    explains = _EXPLAINS[model]
    if any(name in bad for name in kinds.KINDS if name.endswith("-realtime")):
        spans = kinds.Spans(transactions.invoke, transactions.complete, is_ok)
        return kinds.History(len(transactions), pairs, explains, transactions.completion, bundles, spans)
    if any(name in bad for name in kinds.KINDS if name.endswith("-process")):
        pairs = join_dependencies(pairs, by_process(transactions.process, is_ok))
    return kinds.History(len(transactions), pairs, explains, transactions.completion, bundles)


def _told(one: Cases) -> Anomalous:
    return Anomalous(one.number, tuple(Instance(case.sentence, case.transactions) for case in one.told))


def _cycles(found: kinds.Cycles, explainer: Explainer) -> dict[str, Anomalous]:
    """Cycles by kind, and by model where only that there is one is known."""
    by_kind: dict[str, list[Cycle]] = {}
    exist: dict[str, list[tuple[kinds.Found, Cycle | None]]] = {}
    for component in found.components:
        for cycle in component.cycles:
            by_kind.setdefault(cycle.kind, []).append(cycle)
        for level, shown in component.levels.items():
            exist.setdefault(CYCLE_EXISTS[level], []).append((component, shown))
    told: dict[str, Anomalous] = {}
    for kind, cycles in by_kind.items():
        first = sorted(cycles, key=lambda one: len(one.nodes))[:EXAMPLES]
        told[kind] = Anomalous(len(cycles), tuple(map(explainer.cycle, first)))
    for name, components in exist.items():
        first_few = components[:EXAMPLES]
        instances = (explainer.component(one) if cycle is None else explainer.cycle(cycle) for one, cycle in first_few)
        told[name] = Anomalous(len(components), tuple(instances))
    return told


def _judged(
    everything: dict[str, Anomalous],
    bad: set[str],
    history: kinds.History,
    found: kinds.Cycles,
    doubts: tuple[str, ...],
) -> Judgement:
    anomalies = _needed({name: one for name, one in everything.items() if name in bad})
    beside = {name: one for name, one in _needed(everything).items() if name not in bad}
    valid: Valid = not anomalies
    reason = ""
    if not history.has_pairs():
        reason = "no transaction depends on another, so the history shows nothing of the database"
        anomalies |= {EMPTY: Anomalous(1, (Instance(reason, ()),))}
    elif not all(one.whole for one in found.components):
        reason = "there are more dependencies than were to be looked at"
    else:
        reason = "; ".join(filter(None, doubts))
    return Judgement(
        valid=UNKNOWN if valid and reason else valid,
        reason=reason if valid else "",
        anomalies=anomalies,
        beside=beside,
        ruled_out=boundary(list(everything)),
    )


def _needed(found: dict[str, Anomalous]) -> dict[str, Anomalous]:
    """Without cycles that are only known to exist where something of a narrower name rules out the same model."""
    out = ruled_out(found.keys() - set(CYCLE_EXISTS.values()))
    needless = {name for model, name in CYCLE_EXISTS.items() if model in out}
    return {name: one for name, one in found.items() if name not in needless}

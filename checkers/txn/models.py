"""Consistency models: which there are, which is stronger than which, and what each forbids.

The lattice is that of the reference checker (Elle 0.2.8), which names its sources: Adya, "Weak Consistency" (1999);
Adya, Liskov and O'Neil (2000); Bailis et al., "Highly Available Transactions" (2013); Cerone, Bernardi and Gotsman
(2015); Daudjee and Salem (2004, 2006); Zuikeviciute and Pedone (2008).
"""

import difflib
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from chaos.basics.name_lists import join_names
from chaos.core.errors import UsageError

STRONGEST: Final = "strict-serializable"

_IMPLIES: Final[Mapping[str, tuple[str, ...]]] = {
    "PRAM": ("monotonic-reads", "monotonic-writes", "read-your-writes"),
    "causal": ("writes-follow-reads", "PRAM"),
    "causal-cerone": ("read-atomic",),
    "consistent-view": ("cursor-stability", "monotonic-view"),
    "cursor-stability": ("read-committed",),
    "forward-consistent-view": ("consistent-view",),
    "linearizable": ("sequential",),
    "monotonic-atomic-view": ("read-committed",),
    "monotonic-snapshot-read": ("read-committed",),
    "monotonic-view": ("read-committed",),
    "parallel-snapshot-isolation": ("causal-cerone", "update-atomic"),
    "prefix": ("causal-cerone",),
    "read-atomic": ("monotonic-atomic-view",),
    "read-committed": ("read-uncommitted",),
    "repeatable-read": ("cursor-stability", "monotonic-atomic-view"),
    "sequential": ("causal",),
    "serializable": ("repeatable-read", "snapshot-isolation", "update-serializable", "view-serializable"),
    "session-serializable": ("1SR",),
    "snapshot-isolation": (
        "forward-consistent-view",
        "monotonic-atomic-view",
        "monotonic-snapshot-read",
        "parallel-snapshot-isolation",
        "prefix",
    ),
    "strict-serializable": (
        "linearizable",
        "serializable",
        "session-serializable",
        "strong-session-serializable",
        "strong-snapshot-isolation",
    ),
    "strong-read-committed": ("strong-session-read-committed", "strong-read-uncommitted"),
    "strong-read-uncommitted": ("strong-session-read-uncommitted",),
    "strong-session-read-committed": ("read-committed", "strong-session-read-uncommitted"),
    "strong-session-read-uncommitted": ("read-uncommitted",),
    "strong-session-serializable": ("serializable", "strong-session-snapshot-isolation"),
    "strong-session-snapshot-isolation": ("snapshot-isolation", "strong-session-read-committed"),
    "strong-snapshot-isolation": ("strong-session-snapshot-isolation", "strong-read-committed"),
    "update-atomic": ("read-atomic",),
    "update-serializable": ("forward-consistent-view",),
}
"""What else holds wherever a model holds."""

MODELS: Final = tuple(sorted({*_IMPLIES, *(one for implied in _IMPLIES.values() for one in implied)}))
"""All models, by the names that people use."""

ALIASES: Final[Mapping[str, str]] = {
    "PL-1": "read-uncommitted",
    "PL-2": "read-committed",
    "PL-2+": "consistent-view",
    "PL-2L": "monotonic-view",
    "PL-2.99": "repeatable-read",
    "PL-3": "serializable",
    "PL-3U": "update-serializable",
    "PL-CS": "cursor-stability",
    "PL-FCV": "forward-consistent-view",
    "PL-MSR": "monotonic-snapshot-read",
    "PL-SI": "snapshot-isolation",
    "PL-SS": "strict-serializable",
    "conflict-serializable": "serializable",
    "strong-PL-1": "strong-read-uncommitted",
    "strong-PL-2": "strong-read-committed",
    "strong-serializable": "strict-serializable",
    "strong-session-PL-1": "strong-session-read-uncommitted",
    "strong-session-PL-2": "strong-session-read-committed",
}
"""Other names of models: Adya's levels, and synonyms."""

CYCLE_EXISTS: Final[Mapping[str, str]] = {
    "read-uncommitted": "PL-1-cycle-exists",
    "read-committed": "PL-2-cycle-exists",
    "snapshot-isolation": "PL-SI-cycle-exists",
    "repeatable-read": "PL-2.99-cycle-exists",
    "serializable": "PL-3-cycle-exists",
    "strong-session-read-uncommitted": "strong-session-PL-1-cycle-exists",
    "strong-session-read-committed": "strong-session-PL-2-cycle-exists",
    "strong-session-snapshot-isolation": "strong-session-snapshot-isolation-cycle-exists",
    "strong-session-serializable": "strong-session-serializable-cycle-exists",
    "strong-read-uncommitted": "strong-PL-1-cycle-exists",
    "strong-read-committed": "strong-PL-2-cycle-exists",
    "strong-snapshot-isolation": "strong-snapshot-isolation-cycle-exists",
    "strict-serializable": "PL-SS-cycle-exists",
}
"""What a model's forbidden cycle is called where no cycle of a narrower name was found; weaker models first."""

CAUSAL: Final = "causal"

COMMIT_ORDER_CYCLE: Final[Mapping[str, str]] = {
    "read-atomic": "read-atomic-cycle",
    "causal-cerone": "causal-cerone-cycle",
    CAUSAL: "causal-cycle",
}
"""What shows that no order of commits explains a history; looked for where the model is asked for by name."""

CONTRADICT_CAUSAL: Final = frozenset(
    {"G1a", "G1b", "phantom", "internal", "future-read", "duplicate-elements", "dirty-update"}
)
"""What also breaks causal consistency where that is asked for by name; the reference's lattice has none of it."""

_FORBIDS: Final[Mapping[str, tuple[str, ...]]] = {
    CAUSAL: (COMMIT_ORDER_CYCLE[CAUSAL],),
    "causal-cerone": ("internal", "G1a", COMMIT_ORDER_CYCLE["causal-cerone"]),
    "consistent-view": ("G1", "G-single"),
    "cursor-stability": ("G1", "lost-update"),
    "forward-consistent-view": ("G1",),
    "monotonic-snapshot-read": ("G1",),
    "monotonic-view": ("G1",),
    "parallel-snapshot-isolation": ("internal", "G1a"),
    "prefix": ("internal", "G1a"),
    "read-atomic": ("internal", "G1a", "future-read", COMMIT_ORDER_CYCLE["read-atomic"]),
    "read-committed": ("G1",),
    "read-uncommitted": ("G0", "duplicate-elements", "cyclic-versions", "phantom"),
    "repeatable-read": ("G1", "G2-item", "lost-update"),
    "serializable": ("G1", "G2", "internal"),
    "snapshot-isolation": ("internal", "G1", "G-nonadjacent"),
    "strict-serializable": ("G1", "G1c-realtime", "G2-realtime"),
    "strong-read-committed": ("G1c-realtime",),
    "strong-read-uncommitted": ("G0-realtime",),
    "strong-session-read-committed": ("G1c-process",),
    "strong-session-read-uncommitted": ("G0-process",),
    "strong-session-serializable": ("G1-process", "G2-process"),
    "strong-session-snapshot-isolation": ("internal", "G1-process", "G-nonadjacent-process"),
    "strong-snapshot-isolation": ("internal", "G1-realtime", "G-nonadjacent-realtime"),
    "update-atomic": ("lost-update",),
    "update-serializable": ("G1",),
}
"""What a model forbids beyond what the models that it implies do."""

_SPECIAL_CASES: Final[Mapping[str, tuple[str, ...]]] = {
    "G0": ("G1c",),
    "G1c": ("G1",),
    "G-single-item": ("G-single", "G-nonadjacent-item"),
    "G-single": ("G-nonadjacent",),
    "G-nonadjacent-item": ("G-nonadjacent", "G2-item"),
    "G-nonadjacent": ("G2",),
    "G2-item": ("G2",),
}
"""Cycles that are cycles of another name as well; with the order of processes and with real time likewise."""

_MEANS: Final[Mapping[str, tuple[str, ...]]] = {
    "G1a": ("G1",),
    "G1b": ("G1",),
    "dirty-update": ("G1a",),
    "future-read": ("G1c",),
    "phantom": ("G1a",),
    "incompatible-order": ("G1a",),
    "lost-update": ("write-skew", "G2-item"),
    "write-skew": ("G2",),
}


def _anomalies() -> dict[str, tuple[str, ...]]:
    """What else each anomaly is."""
    found = dict(_MEANS)
    for name in {*_SPECIAL_CASES, *(one for several in _SPECIAL_CASES.values() for one in several)}:
        for suffix, wider in (("", "-process"), ("-process", "-realtime"), ("-realtime", None)):
            also = [one + suffix for one in _SPECIAL_CASES.get(name, ())]
            found[name + suffix] = (*also, *([name + wider] if wider else []))
    return found


_ALSO: Final = _anomalies()
_FORBIDDEN: Final = {
    model: (*_FORBIDS.get(model, ()), *([CYCLE_EXISTS[model]] if model in CYCLE_EXISTS else ())) for model in MODELS
}


def _reached(graph: Mapping[str, Iterable[str]], start: Iterable[str]) -> set[str]:
    """All that is reached, the start included."""
    found, todo = set(start), list(start)
    while todo:
        new = [one for one in graph.get(todo.pop(), ()) if one not in found]
        found.update(new)
        todo += new
    return found


def _turned(graph: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for source, targets in graph.items():
        for target in targets:
            found.setdefault(target, []).append(source)
    return found


_STRONGER: Final = _turned(_IMPLIES)
_SPECIAL: Final = _turned(_ALSO)
_FORBIDDEN_BY: Final = _turned(_FORBIDDEN)


def model_named(name: str) -> str:
    """The model of that name, by its usual name.

    Raises:
        UsageError: there is none.
    """
    name = name.lstrip(":")
    known = {one.lower(): one for one in (*ALIASES, *MODELS)}
    found = known.get(name.lower())
    if found is None:
        near = difflib.get_close_matches(name.lower(), known, n=1)
        guess = f"did you mean {known[near[0]]}?" if near else f"there are {', '.join(MODELS)}"
        raise UsageError(f"--consistency-model {name}: no such model; {guess}")
    return ALIASES.get(found, found)


def weaker_models(models: Collection[str]) -> set[str]:
    """These models and all that they imply. ``models``: by their usual names."""
    return _reached(_IMPLIES, models)


def with_special_cases(anomalies: Collection[str]) -> set[str]:
    """These anomalies and all that they are special cases of."""
    return _reached(_ALSO, anomalies)


def forbidden_anomalies(models: Collection[str]) -> set[str]:
    """The anomalies that cannot be if all of these models hold. ``models``: by their usual names."""
    return _reached(_SPECIAL, {anomaly for model in weaker_models(models) for anomaly in _FORBIDDEN[model]})


def why_never_broken(models: Collection[str]) -> str:
    """Why nothing can be said of some of these models, since no anomaly that is looked for breaks them; else empty.

    Args:
        models: by their usual names.
    """
    by_name = {*COMMIT_ORDER_CYCLE.values()}
    unbroken = [one for one in models if one not in COMMIT_ORDER_CYCLE and not forbidden_anomalies((one,)) - by_name]
    return f"no anomaly that is looked for breaks {join_names(unbroken)}" if unbroken else ""


def ruled_out(anomalies: Collection[str]) -> set[str]:
    """The models that cannot hold if these anomalies are there."""
    return stronger_models(
        {model for anomaly in with_special_cases(anomalies) for model in _FORBIDDEN_BY.get(anomaly, ())}
    )


def stronger_models(models: Collection[str]) -> set[str]:
    """These models and all that imply one of them."""
    return _reached(_STRONGER, models)


class Boundary(NamedTuple):
    """The models that anomalies rule out. ``weakest``: those that imply no other of them. ``others``: the rest."""

    weakest: tuple[str, ...]
    others: tuple[str, ...]


def boundary(anomalies: Collection[str]) -> Boundary:
    """Where the models that are ruled out begin."""
    out = ruled_out(anomalies)
    weakest = {model for model in out if not (_reached(_IMPLIES, [model]) - {model}) & out}
    return Boundary(tuple(sorted(weakest)), tuple(sorted(out - weakest)))

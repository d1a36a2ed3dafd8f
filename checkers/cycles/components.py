"""Strongly connected components of large graphs, and real time as a chain of points.

Real time has up to n^2 pairs. A chain stands for them: one point per operation that is over, in the order of their
ends; an operation leads to its point, a point to the next one and to what begins before that. A path over the chain is
real time, and the graph with the chain has a cycle iff the graph with all pairs has one.
"""

from typing import NamedTuple

import numpy as np

from chaos.basics.variable_lengths import spread
from checkers.history.columns import Ints, Mask


class Arrows(NamedTuple):
    """Pairs of nodes."""

    source: Ints
    target: Ints


def join_arrows(*several: Arrows) -> Arrows:
    """All arrows of several."""
    return Arrows(*(np.concatenate(columns) for columns in zip(*several, strict=True)))


class Components(NamedTuple):
    """``label`` of each node: its component. ``cyclic``: whether that has several nodes."""

    label: Ints
    cyclic: Mask


def components(size: int, nodes: int, arrows: Arrows) -> Components:
    """The strongly connected components of a graph without loops, told of its first nodes.

    Args:
        size: of the whole graph.
        nodes: how many of the first nodes are told of; only they make a component a cyclic one.
        arrows: between nodes.
    """
    from scipy.sparse import coo_array  # takes as long to load as all the rest, and few histories need it
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(len(arrows.source), dtype=np.int8)
    matrix = coo_array((ones, (arrows.source, arrows.target)), shape=(size, size)).tocsr()
    count, found = connected_components(matrix, directed=True, connection="strong")
    label = found[:nodes].astype(np.int64)
    return Components(label, (np.bincount(label, minlength=count) > 1)[label])


def chain(invoke: Ints, complete: Ints, over: Mask, first_point: int) -> tuple[Arrows, int]:
    """Real time between operations as arrows over points.

    Args:
        invoke: when each operation began.
        complete: when each was over.
        over: which were.
        first_point: the node that the first point is.

    Returns:
        The arrows, and how many points there are. Operation a leads to b iff a is over and complete[a] < invoke[b].
    """
    ends = np.flatnonzero(over)
    ends = ends[np.argsort(complete[ends], kind="stable")]
    points = np.arange(first_point, first_point + len(ends))
    before = np.searchsorted(complete[ends], invoke, side="left") - 1
    begun = np.flatnonzero(before >= 0)
    return (
        Arrows(
            np.concatenate((ends, points[:-1], points[before[begun]])),
            np.concatenate((points, points[1:], begun)),
        ),
        len(ends),
    )


def closest(invoke: Ints, complete: Ints, over: Mask, among: Ints) -> Arrows:
    """Real time without what follows from it: a to b, where nothing began and was over between the two.

    Args:
        invoke: when each operation began.
        complete: when each was over.
        over: which were.
        among: the operations to tell of, ascending.
    """
    ends, lo, counts = _closest_ends(invoke, complete, over, among)
    target, source = np.repeat(among, counts), ends[spread(lo, counts)]
    inside = np.zeros(len(invoke), dtype=np.bool_)
    inside[among] = True
    kept = inside[source]
    return Arrows(source[kept], target[kept])


def closest_count(invoke: Ints, complete: Ints, over: Mask, among: Ints) -> int:
    """How many pairs ``closest`` looks at."""
    return int(_closest_ends(invoke, complete, over, among)[2].sum())


def _closest_ends(invoke: Ints, complete: Ints, over: Mask, among: Ints) -> tuple[Ints, Ints, Ints]:
    """Who was over, by their ends; of each of ``among`` where those begin that come closest before it; their number."""
    ends = np.flatnonzero(over)
    ends = ends[np.argsort(complete[ends], kind="stable")]
    when = complete[ends]
    hi = np.searchsorted(when, invoke[among], side="left")
    latest = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(invoke[ends])))
    lo = np.minimum(np.searchsorted(when, latest[hi], side="left"), hi)
    return ends, lo, hi - lo

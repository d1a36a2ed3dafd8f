"""Whom one fault hits, once that is decided."""

import msgspec


class Targets(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a fault hits.

    ``names``: the nodes it is done to, in the order of the topology, or of the ring or bridge that they make.
    ``participants``: for faults of links all nodes whose links are in its scope. ``grudge``: node → nodes whose packets
    the fault catches where they arrive. ``description``: for people ("{b1 c1 | b2 b3 c2 c3}").
    """

    names: tuple[str, ...]
    participants: tuple[str, ...]
    grudge: dict[str, frozenset[str]]
    description: str

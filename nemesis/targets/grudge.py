"""Who drops whose packets: the only model of a cut.

A grudge maps a node to the nodes whose packets it drops on arrival, so that every direction of every link is named once
(SEMANTICS 23). All functions are pure and work on names, not on addresses.
"""

from collections.abc import Collection, Mapping, Sequence

Grudge = Mapping[str, frozenset[str]]
Link = tuple[str, str]
"""(source, destination): one direction of a link."""


def components(*groups: Collection[str]) -> dict[str, frozenset[str]]:
    """Cut groups of nodes off from each other; inside a group everything passes."""
    everyone = frozenset[str]().union(*groups)
    return {node: everyone - frozenset(group) for group in groups for node in group if len(group) < len(everyone)}


def one_way(senders: Collection[str], receivers: Collection[str]) -> dict[str, frozenset[str]]:
    """The receivers drop what the senders send; what they answer arrives."""
    return {node: frozenset(senders) - {node} for node in receivers if senders}


def bridge(order: Sequence[str]) -> dict[str, frozenset[str]]:
    """Two halves of ``order`` that cannot reach each other; the node between them reaches everybody."""
    middle = len(order) // 2
    return {
        **dict.fromkeys(order[:middle], frozenset(order[middle + 1 :])),
        **dict.fromkeys(order[middle + 1 :], frozenset(order[:middle])),
    }


def majorities_ring(order: Sequence[str]) -> dict[str, frozenset[str]]:
    """Each node reaches as many neighbours on either side of the ring as make a majority with it, and nobody else.

    With 4 nodes or more no two of them reach the same nodes, and nobody reaches all.
    """
    nodes = len(order)
    reach = (nodes // 2 + 1) // 2
    grudges = {}
    for place, node in enumerate(order):
        near = {order[(place + step) % nodes] for step in range(-reach, reach + 1)}
        grudges[node] = frozenset(order) - near
    return {node: dropped for node, dropped in grudges.items() if dropped}


def links_touching(nodes: Collection[str], participants: Collection[str]) -> dict[str, frozenset[str]]:
    """Both directions of every link among participants that has an end in ``nodes``."""
    everyone = frozenset(participants)
    hit = frozenset(nodes) & everyone
    grudges = {node: (everyone if node in hit else hit) - {node} for node in participants}
    return {node: dropped for node, dropped in grudges.items() if dropped}


def links(grudge: Mapping[str, Collection[str]]) -> frozenset[Link]:
    """The directed links that a grudge drops."""
    return frozenset((source, node) for node, dropped in grudge.items() for source in dropped)


def complement(grudge: Mapping[str, Collection[str]], participants: Collection[str]) -> frozenset[Link]:
    """The directed links among participants that a grudge leaves alone."""
    return all_links(participants) - links(grudge)


def all_links(nodes: Collection[str]) -> frozenset[Link]:
    """Every directed link between two different nodes."""
    return frozenset((source, target) for source in nodes for target in nodes if source != target)


def reachable(grudge: Mapping[str, Collection[str]], participants: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The groups that can still speak with each other, directly or through others, in both directions.

    Nodes keep the order of ``participants``.
    """
    open_links = complement(grudge, participants)
    groups: list[tuple[str, ...]] = []
    seen: set[str] = set()
    for start in participants:
        if start in seen:
            continue
        group, frontier = {start}, [start]
        while frontier:
            node = frontier.pop()
            near = {n for n in participants if (node, n) in open_links and (n, node) in open_links} - group
            group |= near
            frontier.extend(near)
        seen |= group
        groups.append(tuple(node for node in participants if node in group))
    return tuple(groups)

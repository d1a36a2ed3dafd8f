"""The run's queues: one a key, their names, what they are made with, and which nodes keep them. Pure."""

from collections.abc import Mapping
from typing import Final

from chaos.storage.runinfo import Subject

CLASSIC: Final = "classic"
MIRRORED: Final = "mirrored"
QUORUM: Final = "quorum"
TYPES: Final = (QUORUM, CLASSIC, MIRRORED)
SIZES: Final = ("3", "5")


def nodes_of(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the nodes."""
    return tuple(f"n{number}" for number in range(1, int(settings["cluster.nodes"]) + 1))


def name_of(mark: str, key: int) -> str:
    """The queue of a key."""
    return f"{mark}-{key}"


def subject_of(key: int) -> str:
    """What a queue is called in observations."""
    return f"queue{key}"


def declared_at(key: int, nodes: tuple[str, ...]) -> str:
    """The node at which a queue is made: that is where it begins to be led."""
    return nodes[key % len(nodes)]


def keepers(key: int, settings: Mapping[str, str]) -> tuple[str, ...]:
    """The nodes that keep a queue: all, or that at which it was made."""
    nodes = nodes_of(settings)
    return (declared_at(key, nodes),) if settings["cluster.queueType"] == CLASSIC else nodes


def subjects(settings: Mapping[str, str], keys: int) -> tuple[Subject, ...]:
    """What has a leader: each queue."""
    return tuple(
        Subject(name=subject_of(key), nodes=keepers(key, settings), keys=(key,), epoch_word="term")
        for key in range(keys)
    )


def arguments(settings: Mapping[str, str]) -> dict[str, str | int]:
    """What a queue is made with."""
    if settings["cluster.queueType"] != QUORUM:
        return {"x-queue-type": "classic"}
    return {"x-queue-type": "quorum", "x-quorum-initial-group-size": len(nodes_of(settings))}

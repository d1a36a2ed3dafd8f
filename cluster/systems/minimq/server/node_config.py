"""What one node is told at its start: who it is, where everybody listens, where its data lies, how it behaves.

The file is JSON and is read once. Everything a node needs is in it, so that a node depends on no environment and a run
can show what each node was told. Does not take unknown settings: a misspelt one is an error, not a default.
"""

from pathlib import Path
from typing import Literal

import msgspec

from cluster.systems.minimq.consensus.controller import ControllerSettings
from cluster.systems.minimq.protocol.groups import ONE
from cluster.systems.minimq.protocol.messages import Settings
from cluster.systems.minimq.protocol.wire import PORT
from cluster.systems.minimq.replication.replica_state import BrokerSettings
from cluster.systems.minimq.storage.segments import SEGMENT_BYTES

Role = Literal["controller", "broker"]


class ConfigError(Exception):
    """A node cannot be what its file says: one line with the file, the place in it and what is wrong."""


class NodeConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One node's file.

    ``listen``: the address it accepts on, at ``port`` as all the others. ``controllers`` and ``brokers`` name all
    nodes, this one included, and ``addresses`` says where each is. ``data``: a folder that is this node's alone.
    ``group``: a broker's replica group. ``segment_bytes``: a broker's segment that has reached it is followed by
    another. ``bug``: the deviation switched on in this process, in ``bug_share`` of its decisions. ``seed`` decides
    what is drawn.
    """

    name: str
    role: Role
    listen: str
    port: int = PORT
    controllers: tuple[str, ...]
    brokers: tuple[str, ...]
    addresses: dict[str, str]
    data: str
    broker: BrokerSettings = msgspec.field(default_factory=BrokerSettings)
    controller: ControllerSettings = msgspec.field(default_factory=ControllerSettings)
    group: str = ONE
    segment_bytes: int = SEGMENT_BYTES
    bug: str | None = None
    bug_share: float = 1.0
    seed: int = 0

    @property
    def peers(self) -> dict[str, str]:
        """Name and address of every other node."""
        return {name: address for name, address in self.addresses.items() if name != self.name}


def reported_settings(config: NodeConfig) -> Settings:
    """What a node answers when it is asked for its settings: those that its core was made with."""
    values = msgspec.to_builtins(config.controller if config.role == "controller" else config.broker)
    if config.role == "broker":
        values["segment_bytes"] = config.segment_bytes
    return Settings(values=values, bug=config.bug or "", bug_share=config.bug_share)


def load(path: Path) -> NodeConfig:
    """Read and check a node's file.

    Raises:
        ConfigError: it cannot be read, is not of this form, or names nodes that it does not place.
    """
    try:
        config = msgspec.json.decode(path.read_bytes(), type=NodeConfig)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; give the path of a node's configuration") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}; correct the file") from None
    same = config.controllers if config.role == "controller" else config.brokers
    if config.name not in same:
        raise ConfigError(f"{path}: name: {config.name!r} is not one of the {config.role}s {', '.join(same)}; add it")
    missing = {*config.controllers, *config.brokers} - set(config.addresses)
    if missing:
        raise ConfigError(f"{path}: addresses: {', '.join(sorted(missing))} missing; give each node an address")
    return config

"""A node's core with what its folder kept: of a process and of a simulated node alike."""

from pathlib import Path
from random import Random

from cluster.systems.minimq.consensus import raft_log
from cluster.systems.minimq.consensus.controller import Controller
from cluster.systems.minimq.replication.broker import Broker
from cluster.systems.minimq.server.node_config import NodeConfig
from cluster.systems.minimq.storage.disk import BrokerStore, ControllerStore, DiskError, Store, next_incarnation
from cluster.systems.minimq.storage.files import KERNEL, Files


def build(config: NodeConfig, folder: Path, seed: str, files: Files = KERNEL) -> tuple[Broker | Controller, Store]:
    """The core with what its folder kept, and where it will write; ``seed``: of what it draws.

    Raises:
        DiskError: the folder holds what the node cannot begin with.
    """
    if config.role == "controller":
        journal = ControllerStore(folder / "journal", files)
        try:
            kept = list(journal.recovered())
            stored = raft_log.recover(kept)
        except ValueError as error:
            raise DiskError(f"{folder}: {error}; restore the folder") from None
        # Every life draws anew: two controllers that draw alike would split the votes after each start.
        rng = Random(f"{seed}/{len(kept)}")
        controller = Controller(
            name=config.name, controllers=config.controllers, stored=stored, rng=rng, settings=config.controller
        )
        return controller, journal
    log = BrokerStore(folder / "log", config.segment_bytes, files)
    records = log.recovered()
    incarnation = next_incarnation(folder, files)
    return Broker(config.name, config.controllers, incarnation, config.broker, records, config.group), log

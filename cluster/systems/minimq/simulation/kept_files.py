"""What a simulated node finds of its writes when it starts: at some starts read back from real files.

Else no simulated run would meet the code that stores: segments, frames and what cuts them. Only some starts do, since
it costs more than the rest of a start. How the writes fall into batches and segments is drawn; nothing is lost or
damaged.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

from cluster.systems.minimq.consensus.raft_log import Stored
from cluster.systems.minimq.consensus.raft_log import recover as recover_raft
from cluster.systems.minimq.protocol.broker_messages import Record
from cluster.systems.minimq.protocol.io import Truncate, Write
from cluster.systems.minimq.storage.commit_log import recover as recover_log
from cluster.systems.minimq.storage.disk import BrokerStore, ControllerStore, Store

SHARE: Final = 1 / 8
"""So many starts read real files."""
SEGMENT_BYTES: Final = (2048, 16384, 1 << 20)
BATCH_MOST: Final = 64
_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - folders in it are made by tempfile
"""Files here are never synchronised with a disk, which would take most of the time."""


def kept_records(kept: Sequence[Any], seed: str, share: float = SHARE) -> list[Record]:
    """A broker's log after these writes and truncations."""
    draw = Random(f"{seed}/files")
    if not kept or draw.random() >= share:
        return recover_log(kept)
    segment_bytes = draw.choice(SEGMENT_BYTES)
    with _folder() as folder:
        with closing(BrokerStore(folder, segment_bytes)) as store:
            _write(store, kept, draw)
        with closing(BrokerStore(folder, segment_bytes)) as store:
            return store.recovered()


def kept_state(kept: Sequence[Any], seed: str, share: float = SHARE) -> Stored:
    """What a controller finds after these writes and truncations."""
    draw = Random(f"{seed}/files")
    if not kept or draw.random() >= share:
        return recover_raft(kept)
    with _folder() as folder:
        with closing(ControllerStore(folder)) as store:
            _write(store, kept, draw)
        with closing(ControllerStore(folder)) as store:
            return recover_raft(store.recovered())


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="chaos-sim-", dir=_MEMORY if _MEMORY.is_dir() else None) as name:
        yield Path(name) / "log"


def _write(store: Store, kept: Sequence[Any], draw: Random) -> None:
    """Give the store everything, a batch at a time."""
    effects = [one if isinstance(one, Truncate) else Write(token=at, record=one) for at, one in enumerate(kept, 1)]
    at = 0
    while at < len(effects):
        count = draw.randint(1, BATCH_MOST)
        store.keep(effects[at : at + count])
        at += count

"""The one door to histories that other tools wrote: ``read``, ``read_kafka`` and ``read_transactions``.

Does not look into a file to find out its format.
"""

from collections.abc import Callable
from typing import Final

from chaos.core.errors import HistoryError, UsageError
from chaos.core.storage_path import Place
from chaos.formats import etcd_robustness, jepsen, jsonl, kafka, openchaos, porcupine, txn
from chaos.formats.kafka import KafkaHistory
from chaos.formats.operations import Operations
from chaos.formats.txn import TxnHistory

_OBJECTS: Final[dict[str, Callable[[Place], Operations]]] = {
    etcd_robustness.FORMAT: etcd_robustness.read,
    "jepsen": jepsen.read,
    "jsonl": jsonl.read,
    "openchaos": openchaos.read,
    "porcupine": porcupine.read,
}
FORMATS: Final = tuple(_OBJECTS)
"""The names of all formats."""

FOLDERS: Final = frozenset({etcd_robustness.FORMAT})
"""The formats of which a history is a folder; their readers say what is wrong with one."""


def read(path: Place, format: str, *, independent: bool = False) -> Operations:  # noqa: A002 - the option's name
    """A history as paired operations.

    ``independent``: values are ``[key value]``, which only Jepsen's histories have.

    Raises:
        HistoryError: naming file, line and fault.
        UsageError: no such format, or one that has no independent keys.
    """
    _known(path, format)
    if not independent:
        return _OBJECTS[format](path)
    if format != "jepsen":
        raise UsageError(f"--independent is for --format jepsen; {format} names the key of each operation itself")
    return jepsen.read(path, independent=True)


def read_kafka(path: Place, format: str) -> KafkaHistory:  # noqa: A002
    """A Kafka-style history as columns.

    Raises:
        HistoryError: naming file, line and fault.
        UsageError: no such format, or one in which nobody writes such histories.
    """
    _known(path, format)
    if format != "jepsen":
        raise UsageError(f"a Kafka-style history is read with --format jepsen, not {format}")
    return kafka.read(path)


def read_transactions(path: Place, *, lists: bool) -> TxnHistory:
    """A history of transactions of Jepsen's as columns; other formats have paired operations.

    ``lists``: whether keys are lists; else they are registers.

    Raises:
        HistoryError: naming file, line and fault.
    """
    return txn.read(path, lists=lists)


def _known(path: Place, format: str) -> None:  # noqa: A002
    if format not in _OBJECTS:
        raise UsageError(f"no format {format!r}: use one of {', '.join(FORMATS)}")
    if format not in FOLDERS and not path.is_file():
        raise HistoryError(f"{path}: there is no such file")

"""The one door to histories that other tools wrote: ``read``, ``read_kafka`` and ``read_transactions``.

A format is a plugin (``chaos.formats.format``). Does not look into a file to find out its format.
"""

from chaos import plugins
from chaos.core.errors import HistoryError, UsageError
from chaos.formats import kafka, txn
from chaos.formats.format import Format
from chaos.formats.kafka import KafkaHistory
from chaos.formats.operations import Operations
from chaos.formats.txn import TxnHistory
from chaos.storage.storage_path import Place


def format_named(name: str) -> Format:
    """The format of this name.

    Raises:
        UsageError: there is none, with a guess at what was meant.
    """
    found: Format = plugins.load(plugins.FORMATS, name)
    return found


def read(path: Place, format: str, *, independent: bool = False) -> Operations:  # noqa: A002 - the option's name
    """A history as paired operations.

    ``independent``: values are ``[key value]``, which only Jepsen's histories have.

    Raises:
        HistoryError: naming file, line and fault.
        UsageError: no such format, or one that has no independent keys.
    """
    known = _format_of(path, format)
    if not independent:
        return known.read(path)
    if known.read_independent is None:
        raise UsageError(f"--independent is for --format jepsen; {format} names the key of each operation itself")
    return known.read_independent(path)


def read_kafka(path: Place, format: str) -> KafkaHistory:  # noqa: A002
    """A Kafka-style history as columns.

    Raises:
        HistoryError: naming file, line and fault.
        UsageError: no such format, or one in which nobody writes such histories.
    """
    _format_of(path, format)
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


def _format_of(path: Place, name: str) -> Format:
    """The format of this name, of which there is something at a path."""
    known = format_named(name)
    if not known.is_folder and not path.is_file():
        raise HistoryError(f"{path}: there is no such file")
    return known

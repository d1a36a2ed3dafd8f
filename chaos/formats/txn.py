"""Reads histories of transactions into columns: the fast reader where it can, the general one where it must."""

from collections.abc import Sequence
from dataclasses import dataclass

from chaos.formats import columnar, txn_columns, txn_text
from chaos.formats.columnar import Taken
from chaos.formats.kafka_columns import Ints
from chaos.formats.txn_columns import TxnColumns
from chaos.formats.txn_rows import Rows
from chaos.storage.storage_path import Place

TxnHistory = columnar.History[TxnColumns]


@dataclass(frozen=True, slots=True)
class Kind:
    """Transactions as columns (``columnar.Kind``). ``lists``: whether keys are lists; else they are registers."""

    lists: bool

    def take(self, data: bytes, *, json: bool) -> Taken[TxnColumns]:
        """As of ``txn_text``."""
        return txn_text.take(data, lists=self.lists, json=json)

    def rows(self, *, json: bool) -> Rows:  # noqa: ARG002 - values have no maps, whose keys JSON spells otherwise
        """As of ``txn_rows``."""
        return Rows(lists=self.lists)

    def concatenate(self, parts: Sequence[TxnColumns]) -> TxnColumns:
        """As of ``txn_columns``."""
        return txn_columns.concatenate(parts)

    def reordered(self, columns: TxnColumns, order: Ints) -> TxnColumns:
        """As of ``txn_columns``."""
        return txn_columns.reorder(columns, order)

    def numbered(self, columns: TxnColumns) -> TxnColumns:
        """As of ``txn_columns``."""
        return txn_columns.number_by_appearance(columns)


def read(path: Place, *, lists: bool, processes: int | None = None) -> TxnHistory:
    """A whole history; as of ``columnar.read``."""
    return columnar.read(Kind(lists), path, processes=processes)

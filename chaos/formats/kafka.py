"""Reads Kafka-style histories into columns: the fast reader where it can, the general one where it must."""

from collections.abc import Sequence

from chaos.formats import columnar, kafka_columns, kafka_text
from chaos.formats.columnar import Taken
from chaos.formats.kafka_columns import Ints, KafkaColumns
from chaos.formats.kafka_rows import Rows
from chaos.storage.storage_path import Place

KafkaHistory = columnar.History[KafkaColumns]


class Kind:
    """Kafka-style histories as columns (``columnar.Kind``)."""

    def take(self, data: bytes, *, json: bool) -> Taken[KafkaColumns]:
        """As of ``kafka_text``."""
        return kafka_text.take(data, json=json)

    def rows(self, *, json: bool) -> Rows:
        """As of ``kafka_rows``."""
        return Rows(json=json)

    def concatenate(self, parts: Sequence[KafkaColumns]) -> KafkaColumns:
        """As of ``kafka_columns``."""
        return kafka_columns.concatenate(parts)

    def reordered(self, columns: KafkaColumns, order: Ints) -> KafkaColumns:
        """As of ``kafka_columns``."""
        return kafka_columns.reorder(columns, order)

    def numbered(self, columns: KafkaColumns) -> KafkaColumns:
        """As of ``kafka_columns``."""
        return kafka_columns.number_by_appearance(columns)


def read(path: Place, *, processes: int | None = None) -> KafkaHistory:
    """A whole history; as of ``columnar.read``."""
    return columnar.read(Kind(), path, processes=processes)


def join_parts(parts: Sequence[KafkaHistory]) -> KafkaHistory:
    """The parts of one file as one history; as of ``columnar.join_parts``."""
    return columnar.join_parts(Kind(), parts)


def read_range(path: Place, lo: int = 0, hi: int | None = None) -> KafkaHistory:
    """The records of a byte range; as of ``columnar.read_range``."""
    return columnar.read_range(Kind(), path, lo, hi)

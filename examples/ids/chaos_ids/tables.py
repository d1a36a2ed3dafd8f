"""From what a stream stored to the columns that checks read."""

from typing import Any

import pyarrow as pa

from chaos.core.model import ModelTables, Slots


class IdsTables(ModelTables):
    """One column beside those that every model has."""

    columns = pa.schema([("number", pa.int64())])

    def unpack(self, slots: Slots) -> dict[str, Any]:
        """The number that each operation was given; -1 for none."""
        return {"number": slots.first}

"""``plan.jsonl``: the rows of a plan, a row a line."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from chaos.core.errors import HistoryError, UsageError
from nemesis.plan.older_plans import in_words
from nemesis.plan.plan import Row


def write_plan(rows: Sequence[Row], path: Path) -> None:
    """Write ``plan.jsonl``, a row a line, whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    partial.rename(path)


def read_plan(path: Path) -> tuple[Row, ...]:
    """Read ``plan.jsonl``.

    Raises:
        HistoryError: naming the file, the line and the fault.
    """
    decoder = msgspec.json.Decoder(Row)
    rows = []
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        raise HistoryError(f"{path}: no such file; name a run folder that `chaos run` made") from None
    except IsADirectoryError:
        raise HistoryError(f"{path}: a folder; name the file plan.jsonl in it") from None
    for number, line in enumerate(lines, 1):
        try:
            row = decoder.decode(line)
            rows.append(msgspec.structs.replace(row, params=in_words(row.fault, row.params)))
            rows[-1].read_params()
        except (msgspec.DecodeError, UsageError) as error:
            raise HistoryError(f"{path}:{number}: {error}; name the plan.jsonl of a run folder") from None
    return tuple(rows)

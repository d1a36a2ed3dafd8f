"""Operations of an example, as their formats have them, in one shape for drawing. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from chaos.core.verdict import Example
from reports import words

LABEL: Final = 34
"""Characters of a label; the whole is in the title, and in the list below a picture."""
SHOWN: Final = 12
"""So many operations before one are named in its title."""


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """One operation. ``begin`` and ``end`` order what happened; ``end`` None: nobody knows when or whether it ended.

    ``text``: what it did, of which ``label`` is the beginning. ``outcome``: ok, fail or info. ``guilty``: the one that
    fits nowhere. ``place``: which it is in the order that explains the others, from 1; None where it is in none.
    ``before``: a line for each operation that is before it in that order, and for how many more there are.
    """

    number: int
    process: str
    label: str
    text: str
    said: str
    begin: float
    end: float | None
    outcome: str
    guilty: bool = False
    place: int | None = None
    before: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """All that is known of it, a line each."""
        return "\n".join([self.said, *self.before])


def bar_of(
    text: str, number: int, process: Any, outcome: str, begin: float, end: float | None, *, guilty: bool = False
) -> Bar:
    """The bar of an operation; ``text``: what it did."""
    return Bar(
        number=number,
        process="" if process is None else text_of(process),
        label=text if len(text) <= LABEL else f"{text[: LABEL - 1]}…",
        text=text,
        said=f"{text} ({outcome}, process {text_of(process)}, number {number})",
        begin=begin,
        end=end,
        outcome=outcome if outcome in ("ok", "fail") else "info",
        guilty=guilty,
    )


def bars_of(example: Example) -> tuple[Bar, ...]:
    """The operations of an example that say when they were; none if they do not say it."""
    paired = any("index" in row for row in example.ops)
    found = tuple(_bars_of_ends(example.ops) if paired else _bars_of_operations(example.ops))
    if not example.order:
        return found
    places = {number: place for place, number in enumerate(example.order, 1)}
    guilty = example.ops[0].get("op")
    marked = [msgspec.structs.replace(bar, guilty=bar.number == guilty, place=places.get(bar.number)) for bar in found]
    ordered = in_order(marked)
    return tuple(msgspec.structs.replace(bar, before=_order_before(bar, ordered)) for bar in marked)


def in_order(bars: Iterable[Bar]) -> list[Bar]:
    """Those that have a place in the order, in it."""
    return sorted((bar for bar in bars if bar.place is not None), key=lambda bar: bar.place or 0)


def _order_before(bar: Bar, ordered: Sequence[Bar]) -> tuple[str, ...]:
    """The order up to an operation, a line each; of the one that fits nowhere all that the order holds."""
    if bar.place is None and not bar.guilty:
        return ("not in the order",)
    before = [one for one in ordered if bar.place is None or (one.place or 0) < bar.place]
    left = len(before) - SHOWN
    head = "fits nowhere in this order:" if bar.guilty else "in the order after:" if before else "first in the order"
    more = (f"({words.plural(left, 'operation')} before these)",) if left > 0 else ()
    return (head, *more, *(f"{one.place}. {one.text} ({one.number})" for one in before[-SHOWN:]))


def _bars_of_operations(rows: Sequence[Mapping[str, Any]]) -> Iterator[Bar]:
    """Rows of which each is an operation with the moments of its ends."""
    for row in rows:
        end = row.get("complete")
        begin = row.get("invoke", end)
        if "op" in row and begin is not None:
            yield _bar(row, int(row["op"]), float(begin), None if end is None else float(end), argument_and_answer(row))


def _bars_of_ends(rows: Sequence[Mapping[str, Any]]) -> Iterator[Bar]:
    """Rows of which each is an end of an operation, ordered by their numbers."""
    open_rows: dict[Any, Mapping[str, Any]] = {}
    for row in sorted(rows, key=lambda row: int(row["index"])):
        if row.get("type") == "invoke":
            open_rows[row.get("process")] = row
            continue
        number = int(row["index"])
        begun = open_rows.pop(row.get("process"), row)
        end = None if row.get("type") == "info" else float(number)
        yield _bar(row, number, float(begun["index"]), end, _steps(row.get("value") or begun.get("value") or []))
    for row in open_rows.values():
        yield _bar(row, int(row["index"]), float(row["index"]), None, _steps(row.get("value") or []))


def _bar(row: Mapping[str, Any], number: int, begin: float, end: float | None, said: str) -> Bar:
    outcome = str(row.get("type", "info"))
    steps = "index" in row and said  # each names what it does
    label = said if steps else f"{row.get('f', '')} {said}".strip()
    return bar_of(label, number, row.get("process"), outcome, begin, end)


_OF_LOGS: Final = ("records", "to_end")
"""Members that have words of their own: what a read of a log returned, and whether it went to the end."""
_NOT_SAID: Final = frozenset(
    {"op", "f", "type", "process", "invoke", "complete", "argument", "output", "value", *_OF_LOGS}
)


def argument_and_answer(row: Mapping[str, Any]) -> str:
    """What went in and what came out, of a row with ``f``, ``type``, what it was asked and what it got."""
    given = row.get("argument", row.get("value"))
    got = row.get("output")
    more = [
        f"{name} {text_of(value)}"
        for name, value in row.items()
        if name not in _NOT_SAID and value not in (None, [], ())
    ]
    if row.get("records") is not None:
        more.append(f"→ {text_of(row['records'])}" if row["records"] else "→ nothing")
    more += ["to the end"] if row.get("to_end") is True else []
    parts = [text_of(given)] if given is not None else []
    parts += [f"→ {text_of(got)}"] if got is not None and got != given else []
    empty = row.get("f") in ("read", "get") and got is None and row.get("type") == "ok" and not more
    return " ".join([*parts, *more, *(["→ nothing"] if empty else [])])


def text_of(value: Any) -> str:
    """A value of a history on one line, lists and maps as EDN has them."""
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(text_of, value))}]"
    if isinstance(value, set | frozenset):
        return f"#{{{' '.join(sorted(map(text_of, value), key=lambda text: (len(text), text)))}}}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{text_of(key)} {text_of(one)}' for key, one in value.items())}}}"
    return "nil" if value is None else words.cell_text(value)


def _steps(value: Any) -> str:
    """The steps of a transaction, without the brackets around all of them."""
    return " ".join(map(text_of, value)) if isinstance(value, list | tuple) else text_of(value)

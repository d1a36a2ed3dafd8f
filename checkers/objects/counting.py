"""What the models that count have in common: their operations, and anomalies as values with the calls that show them.

Does not count.
"""

from collections.abc import Callable, Iterable
from typing import Any

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from checkers.objects.calls import Call, Calls
from checkers.objects.finding import EXAMPLES, Found, call_text, show

Told = list[tuple[str, tuple[Call, ...]]]


def kinds(calls: Calls, what: str, *fs: str) -> None:
    """Other kinds of operation are passed over, as the reference does; a history of nothing else is a mistake."""
    if calls.all and not any(call.f in fs for call in calls.all):
        call = calls.all[0]
        raise HistoryError(f"op {call.number}: a {what} has no {call.f}, and no operation of the history is one of it")


def ok_calls(calls: Iterable[Call]) -> list[Call]:
    """The ok ones in order of their completion."""
    return sorted((call for call in calls if call.outcome is Type.OK), key=lambda call: call.complete)


def elements(call: Call) -> list[Any]:
    """What a read or a drain returned.

    Raises:
        HistoryError: something else than elements.
    """
    if not isinstance(call.output, list | tuple | set | frozenset):
        raise HistoryError(f"op {call.number}: a {call.f} must return elements, not {show(call.output)}")
    return list(call.output)


def by_call(
    name: str,
    who: list[Call],
    text: str,
    *,
    allowed: bool = False,
    beside: Callable[[Call], Iterable[Call]] = lambda _: (),
    shown_whole: int = 1,
) -> dict[str, Found]:
    """An anomaly with one operation and one sentence per occurrence; nothing if there is none.

    ``beside``: who shows it together with an operation; asked for the first ``shown_whole`` only.
    """
    return by_value(
        name,
        [(None, call) for call in who],
        text,
        allowed=allowed,
        beside=lambda _, call: beside(call),
        shown_whole=shown_whole,
    )


def by_value(
    name: str,
    values: list[tuple[Any, Call]],
    text: str,
    *,
    allowed: bool = False,
    beside: Callable[[Any, Call], Iterable[Call]] = lambda *_: (),
    shown_whole: int = 1,
) -> dict[str, Found]:
    """Values with the operation that showed them."""
    if not values:
        return {}
    shown: Told = []
    for place, (value, first) in enumerate(values[:EXAMPLES]):
        own = beside(value, first) if place < shown_whole else ()
        others = {id(call): call for call in own if call is not first}
        shown.append((f"{call_text(first)} {text.format(show(value))}", (first, *others.values())))
    return {name: Found(count=len(values), allowed=allowed, examples=shown)}

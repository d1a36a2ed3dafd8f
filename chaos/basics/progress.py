"""How far a long piece of work got: engines tell, whoever wants to show it listens.

A listener belongs to the context that set it, so that no engine hands one through its calls. Does not print.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

T = TypeVar("T")
Listener = Callable[[str, int, int], None]
"""What is being done, in a word or two; how many pieces of it are done; of how many."""

_listener: Final[ContextVar[Listener | None]] = ContextVar("listener", default=None)


def current_listener() -> Listener:
    """What to call at each step; nothing happens if nobody listens. For threads, which have no context of ours."""
    return _listener.get() or (lambda _what, _done, _of: None)


def track(what: str, pieces: Sequence[T]) -> Iterator[T]:
    """The pieces one after the other, telling how many are done."""
    for done, piece in enumerate(pieces):
        current_listener()(what, done, len(pieces))
        yield piece


def as_made(what: str, pieces: Iterable[T], of: int) -> Iterator[T]:
    """So many pieces one after the other as they are made, telling how many are made."""
    current_listener()(what, 0, of)
    for done, piece in enumerate(pieces, 1):
        current_listener()(what, done, of)
        yield piece


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have a listener hear everything that is told inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)

"""Sequential objects for the search: register, compare-and-set register, string store and first-in-first-out queue.

The semantics of registers and queues are those of Knossos' models; of strings, Porcupine's. Each spec is made for one
list of steps, because it knows who still needs which state. Does not search.
"""

import itertools
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from operator import itemgetter
from typing import Any, Final

from chaos.formats.operations import NEVER
from checkers.objects.linearization_search import Left, Step

WRITE: Final = 0
READ: Final = 1
CAS: Final = 2
NOT_CAS: Final = 3  # saw that the register held something else
BLIND_CAS: Final = 4  # nobody knows whether it matched


class RegisterSpec:
    """A register with writes, reads and compare-and-set. A step is (kind, value, new value).

    Args:
        steps: of the search.
        init: the first state.
    """

    def __init__(self, steps: Sequence[Step], init: Hashable) -> None:
        self.lacking = -1
        self._init = init
        self._makers: dict[Hashable, list[int]] = {}
        self._seekers: dict[Hashable, list[int]] = {}
        for i in range(len(steps) - 1, -1, -1):  # from the back: what is left is mostly there
            kind, value, new = steps[i].what
            if kind == WRITE or (kind in (CAS, BLIND_CAS)):
                self._makers.setdefault(value if kind == WRITE else new, []).append(i)
            if kind in (READ, CAS) and steps[i].complete != NEVER:
                self._seekers.setdefault(value, []).append(i)

    def initial(self) -> Hashable:
        """What the register holds at first."""
        return self._init

    def apply(self, state: Any, what: tuple[Any, ...]) -> Any:
        """The value behind the operation."""
        kind, value, new = what
        if kind == WRITE:
            return value
        if kind == READ:
            return state if state == value else None
        if kind == CAS:
            return new if state == value else None
        if kind == NOT_CAS:
            return state if state != value else None
        return new if state == value else state

    def onward(self, before: Any, after: Any, left: Left) -> Any:
        """A value that somebody still needs must not be left if nobody brings it back."""
        if before == after:
            return after
        seeker = next((i for i in self._seekers.get(before, ()) if not left.taken(i)), -1)
        if seeker < 0 or not all(left.taken(i) for i in self._makers.get(before, ())):
            return after
        self.lacking = seeker
        return None


PUT: Final = 0
GET: Final = 1
APPEND: Final = 2
LOST: Final = ("lost",)
"""Some text that nobody will ever read: all such texts are one state."""


class StringSpec:
    """A string with put, get and append. A step is (kind, text)."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.lacking = -1
        puts: dict[str, list[int]] = {}
        for i, step in enumerate(steps):
            if step.what[0] == PUT:
                puts.setdefault(step.what[1], []).append(i)
        lengths = sorted({len(text) for text in puts})
        self._gets = sorted((step.what[1], i) for i, step in enumerate(steps) if step.what[0] == GET)
        self._puts_of = {
            text: sorted(
                (i for length in lengths if length <= len(text) for i in puts.get(text[:length], ())), reverse=True
            )
            for text in {text for text, _ in self._gets}
        }
        self._beginning_with: dict[str, list[tuple[str, int]]] = {}

    def initial(self) -> Hashable:
        """Nothing."""
        return ""

    def apply(self, state: Any, what: tuple[Any, ...]) -> Any:
        """The text behind the operation."""
        kind, text = what
        if kind == GET:
            return state if state == text else None
        if kind == PUT:
            return text
        return LOST if state is LOST else f"{state}{text}"

    def _readers(self, text: Any) -> list[tuple[str, int]]:
        """The gets that return something that begins with a text, the last first."""
        if text is LOST:
            return []
        found = self._beginning_with.get(text)
        if found is None:
            behind = range(bisect_left(self._gets, (text, -1)), len(self._gets))
            own = itertools.takewhile(lambda one: one[0].startswith(text), (self._gets[i] for i in behind))
            found = self._beginning_with[text] = sorted(own, key=itemgetter(1), reverse=True)
        return found

    def onward(self, before: Any, after: Any, left: Left) -> Any:
        """Who needs a text that began as the one that is left must find another put that begins so."""
        taken = left.taken
        for text, i in self._readers(before):
            if taken(i) or (after is not LOST and text.startswith(after)):
                continue
            for put in self._puts_of[text]:
                if not taken(put):
                    break
            else:
                self.lacking = i
                return None
        for _, i in self._readers(after):
            if not taken(i):
                return after
        return LOST


ENQUEUE: Final = 0
DEQUEUE: Final = 1
BLIND_DEQUEUE: Final = 2  # took the head, whatever that was


class FifoSpec:
    """A first-in-first-out queue. A step is (kind, value)."""

    lacking = -1

    def initial(self) -> Hashable:
        """The empty queue."""
        return ()

    def apply(self, state: Any, what: tuple[Any, ...]) -> Any:
        """The queue behind the operation."""
        kind, value = what
        if kind == ENQUEUE:
            return (*state, value)
        if not state or (kind == DEQUEUE and state[0] != value):
            return None
        return state[1:]

    def onward(self, before: Any, after: Any, left: Left) -> Any:  # noqa: ARG002 - the protocol's
        """Nothing is known of what is left."""
        return after

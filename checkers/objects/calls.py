"""One object's operations as lists of equal length, in order of invocation.

Times are any integers whose order is the order of events (positions in a history serve best); an operation without a
completion, or an indeterminate one, is complete at ``NEVER``. Equal times count as concurrent.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from chaos.core.op import Type
from chaos.formats.operations import NEVER

Ints = npt.NDArray[np.int64]
Meaning = TypeVar("Meaning")


class Call(msgspec.Struct, frozen=True, gc=False):
    """One operation. ``number``: where it stands in its file, for people. ``outcome``: OK, FAIL or INFO.

    ``argument`` is what was invoked with, ``output`` what an ok (or failed) completion carried. ``invoke`` and
    ``complete`` order events; ``began_ns`` and ``ended_ns`` are times, -1 where the history has none. There are
    millions of them and none refers back to itself, so Python's collector need not look at them.
    """

    number: int
    process: Any
    f: str
    argument: Any
    output: Any
    outcome: Type
    invoke: int
    complete: int
    began_ns: int = -1
    ended_ns: int = -1


class Calls:
    """Operations of one object.

    Args:
        calls: in any order; they are sorted by invocation.
    """

    def __init__(self, calls: Iterable[Call]) -> None:
        self.all: list[Call] = sorted(calls, key=attrgetter("invoke"))

    def __len__(self) -> int:
        return len(self.all)

    def of(self, *fs: str) -> list[Call]:
        """The operations of these kinds."""
        return [call for call in self.all if call.f in fs]

    def meant(self, meaning: Callable[[Call], Meaning | None]) -> tuple[list[Call], list[Meaning]]:
        """The operations that say something, and what each says."""
        own, said = [], []
        for call in self.all:
            one = meaning(call)
            if one is not None:
                own.append(call)
                said.append(one)
        return own, said

    def only(self, chosen: Sequence[int]) -> "Calls":
        """A sub-history: the operations at these positions."""
        return Calls([self.all[i] for i in chosen])


def end_of(call: Call) -> int:
    """When an operation was over: ``NEVER`` for an indeterminate one, whatever it says."""
    return call.complete if call.outcome is not Type.INFO else NEVER


def ends(calls: Sequence[Call]) -> tuple[Ints, Ints]:
    """Invocations and ends of operations, as columns."""
    invoke = np.fromiter((call.invoke for call in calls), dtype=np.int64, count=len(calls))
    return invoke, np.fromiter((end_of(call) for call in calls), dtype=np.int64, count=len(calls))


def freeze(value: Any) -> Hashable:  # noqa: PLR0911 - a line per kind of value
    """A value as a dictionary's key, equal to another's only if the values are the same; never None.

    1, 1.0 and true differ, and so do a keyword and the string that is spelled like it.
    """
    if type(value) is int or type(value) is str:  # nearly all of them
        return value
    if value is None:
        return ("nil",)
    if isinstance(value, bool | float):
        return (type(value).__name__, value)
    if isinstance(value, list | tuple):
        return ("list", tuple(freeze(one) for one in value))
    if isinstance(value, set | frozenset):
        return ("set", frozenset(freeze(one) for one in value))
    if isinstance(value, dict):
        return ("map", frozenset((freeze(key), freeze(one)) for key, one in value.items()))
    return (type(value).__name__, value)


def thaw(key: Any) -> Any:
    """The value that ``freeze`` made a key of, for people."""
    if not isinstance(key, tuple):
        return key
    kind, *own = key
    if kind == "nil":
        return None
    if kind == "list":
        return tuple(map(thaw, own[0]))
    if kind == "set":
        return frozenset(map(thaw, own[0]))
    return {thaw(name): thaw(one) for name, one in own[0]} if kind == "map" else own[0]

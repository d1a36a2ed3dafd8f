"""Operations: what a client asked for and what it was told.

An operation has an invocation and at most one completion: ``ok`` (took effect), ``fail`` (certainly
did not), ``info`` (nobody knows). No completion is ``info``. ``not-sent`` is the harness' own word:
the operation was due, the bound on operations in flight was reached, and it never left.

What an operation does is a word of a model (``chaos.core.model``). Its argument and its result are structs of that
model; nothing outside the model, its workloads, clients and checks reads them.
"""

from enum import IntEnum
from typing import Any, Final

import msgspec


class Type(IntEnum):
    """The record types of a stream. The numbers are part of the on-disk format."""

    INVOKE = 1
    OK = 2
    FAIL = 3
    INFO = 4
    NOT_SENT = 5
    END = 6  # the stream's writer ended properly; carries nothing else

    @property
    def word(self) -> str:
        """The word used in tables and reports."""
        return self.name.lower().replace("_", "-")


class Word(IntEnum):
    """What an operation does: a model has a subclass. ``run.json`` says which number means which word in a run."""

    @property
    def word(self) -> str:
        """The word used in tables and reports."""
        return self.name.lower().replace("_", "-")


NO_KEY: Final = -1
"""The key of an operation on the only object that there is."""


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """What a client is asked to do, once, before ``deadline_ns``.

    ``key``: which object. ``argument``: the model's struct for ``f``; None if ``f`` has none.
    """

    process: int
    client: int
    f: Word
    key: int
    deadline_ns: int
    argument: Any = None


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """What the client was told.

    ``result``: the model's struct for the invocation's ``f``. A completion of any type may have one: what a client
    was given, it was given. ``node``: who served it, by name.
    ``error``: one short line, stable enough to group by (no numbers that vary).
    """

    type: Type
    node: str | None = None
    result: Any = None
    error: str | None = None

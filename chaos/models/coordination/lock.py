"""The model ``lock``: by key a lock with a lease and a fencing token, and a resource that its holder writes.

Whoever acquires the lock is given a token. A guarded write carries it; the resource gives each write a version. A
client that holds the lock longer than its lease does not notice: it is what a paused process is to others.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from chaos.core.model import Function, Model, ModelTables, PackedArgument, PackedResult
from chaos.core.op import Word
from chaos.models.objects.answers import NO_ARGUMENT, NO_RESULT, TOLD

MODEL: Final = "lock"
"""The model's name."""


class F(Word):
    """What an operation on a lock does. The numbers are part of the on-disk format."""

    ACQUIRE = 1  # take the lock if nobody has it; a definite failure says that somebody had it
    GUARDED = 2  # write the resource under a token
    UNLOCK = 3  # give the lock back if it is still held under this token


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """How long the lock is to be held at most, counted by the service from when it grants it."""

    lease_ms: int


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """The token under which a client acts."""

    token: int


class Granted(msgspec.Struct):
    """The fencing token that came with the lock."""

    token: int


class Written(msgspec.Struct):
    """The version that the resource has by a write: a later write has a higher one."""

    version: int


class LockModel(Model):
    """Locks by key."""

    name = MODEL
    help = "locks that one client holds at a time"
    key = "lock"
    change = "change"
    words: type[Word] = F
    functions: Mapping[Word, Function] = {
        F.ACQUIRE: Function(argument=Lease, result=Granted, mutates=True),  # not timed: that it is held is an answer
        F.GUARDED: Function(argument=Token, result=Written, mutates=True, timed=True),
        F.UNLOCK: Function(argument=Token, mutates=True),
    }

    @property
    def tables(self) -> ModelTables:
        """See ``chaos.models.coordination.tables``."""
        from chaos.models.coordination.tables import LockTables

        return LockTables(acquire=F.ACQUIRE, guarded=F.GUARDED)

    def pack_argument(self, f: Word, argument: Any) -> PackedArgument:
        """The length of the lease, or the token."""
        if argument is None:
            return NO_ARGUMENT
        return PackedArgument(0, argument.lease_ms if f is F.ACQUIRE else argument.token, 0)

    def pack_result(self, f: Word, result: Any) -> PackedResult:
        """The token or the version, and whether there is one."""
        if result is None:
            return NO_RESULT
        return PackedResult(result.token if f is F.ACQUIRE else result.version, TOLD, 0)

    def line(self, row: Mapping[str, Any]) -> str:
        """``acquire k4 2000 ms -> token 17``, ``guarded k4 under 17 -> version 9``, ``unlock k4 under 17``."""
        f = F(row["f"])
        told = row["answer"] == TOLD
        if f is F.ACQUIRE:
            given = f" -> token {row['token']}" if told else ""
            return f"{f.word} k{row['key']} {row['lease_ms']} ms{given}"
        given = f" -> version {row['version']}" if told else ""
        return f"{f.word} k{row['key']} under {row['token']}{given}"


LOCK: Final = LockModel()

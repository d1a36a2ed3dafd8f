"""The model ``lease``: by key a place under which leases are taken, each with an entry that lives as long as its lease.

A client takes a lease under a new number, renews it to keep it alive, and gives it back or stops renewing it. A look at
a place shows the numbers of all leases that live there.
"""

from array import array
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from chaos.core.model import Function, Model, ModelTables, PackedArgument, PackedResult
from chaos.core.op import Word
from chaos.models.objects.answers import NO_ARGUMENT, NO_RESULT, TOLD, UNTOLD

MODEL: Final = "lease"
"""The model's name."""


class F(Word):
    """What an operation on leases does. The numbers are part of the on-disk format."""

    GRANT = 1  # take a new lease and attach its entry
    RENEW = 2  # keep a lease alive; a definite failure also where there is no such lease
    REVOKE = 3  # end a lease
    READ = 4  # look which leases live here; always strong


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """A number that no other lease of the run has, and how long the lease is to live without a renewal."""

    lease: int
    ttl_ms: int


class Which(msgspec.Struct, frozen=True, kw_only=True):
    """The lease that is meant."""

    lease: int


class Alive(msgspec.Struct):
    """How long the lease lives from now on, as the service said."""

    ttl_ms: int


class Living(msgspec.Struct):
    """The leases whose entries were seen, all at one instant."""

    leases: list[int] = []


class LeaseModel(Model):
    """Leases by place."""

    name = MODEL
    help = "leases that are granted for a time, renewed and revoked"
    key = "place"
    change = "change"
    words: type[Word] = F
    functions: Mapping[Word, Function] = {
        F.GRANT: Function(argument=Term, result=Alive, mutates=True, timed=True),
        F.RENEW: Function(argument=Which, result=Alive, mutates=True),  # not timed: that it ended is an answer too
        F.REVOKE: Function(argument=Which, mutates=True),
        F.READ: Function(result=Living, timed=True),
    }
    stores_values = True

    @property
    def tables(self) -> ModelTables:
        """See ``chaos.models.coordination.tables``."""
        from chaos.models.coordination.tables import LeaseTables

        return LeaseTables(read=F.READ)

    def pack_argument(self, f: Word, argument: Any) -> PackedArgument:
        """The number of the lease, and how long it is to live."""
        if argument is None:
            return NO_ARGUMENT
        return PackedArgument(0, argument.lease, argument.ttl_ms if f is F.GRANT else 0)

    def pack_result(self, f: Word, result: Any) -> PackedResult:
        """How long the lease lives; of a look the numbers, of 64 bits each, little-endian, one behind the other."""
        if result is None:
            return NO_RESULT
        if f is F.READ:
            return PackedResult(0, TOLD, 0, values=array("q", result.leases).tobytes())
        return PackedResult(result.ttl_ms, TOLD, 0)

    def line(self, row: Mapping[str, Any]) -> str:
        """``grant k4 17 for 4000 ms -> 4000 ms``, ``renew k4 17 -> 4000 ms``, ``revoke k4 17``, ``read k4 -> [17]``."""
        f = F(row["f"])
        told = row["answer"] != UNTOLD
        if f is F.READ:
            return f"{f.word} k{row['key']}" + (f" -> [{' '.join(map(str, row['leases']))}]" if told else "")
        asked = f" for {row['ttl_ms']} ms" if f is F.GRANT else ""
        return f"{f.word} k{row['key']} {row['lease']}{asked}" + (f" -> {row['told_ms']} ms" if told else "")


LEASE: Final = LeaseModel()

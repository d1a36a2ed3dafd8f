"""What enters and leaves a core: events in, effects out, and nothing else.

Controllers and brokers are decided by pure cores: ``handle(event, now_ms) -> list[Effect]``. A core owns no clock,
socket, file or randomness (a seeded ``random.Random`` is injected), so the same code runs as a process under asyncio
shells and step by step under a simulator. This module holds the vocabulary, no behaviour.

What a shell must keep:

* Effects are carried out in the order of the list. A ``Send`` may go out before an earlier ``Write`` is durable:
  a core that needs durability first holds the ``Send`` back until ``Written`` comes.
* ``Write`` and ``Truncate`` become durable in the order of their tokens, and a crash keeps a prefix of that order.
  ``Written(token)`` says that everything up to and including ``token`` is durable.
* After a restart the core is built anew from what its store kept, never from what memory held; its tokens start
  again, and no ``Written`` of the former life may reach it.
* Messages may be lost, repeated, reordered and delayed without bound, but not altered.
"""

from typing import Protocol

import msgspec


class Message(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A message from another node has arrived. ``sender`` is a node's name."""

    sender: str
    body: msgspec.Struct


class Timer(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The timer of this name ran out; it is no longer set. One that was replaced or cancelled never arrives."""

    name: str


class Written(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Every ``Write`` and ``Truncate`` with a token up to this one is durable."""

    token: int


class ClientRequest(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A client asks; exactly one ``Reply`` with this ``id`` follows unless the core ends first.

    ``id`` is the shell's: unique within the core's life.
    """

    id: str
    body: msgspec.Struct


Event = Message | Timer | Written | ClientRequest


class Send(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Send ``body`` to the node named ``to``; it may be lost."""

    to: str
    body: msgspec.Struct


class Write(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Make ``record`` durable. Tokens of a core ascend from 1 over its writes and truncations."""

    token: int
    record: msgspec.Struct


class Truncate(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Durably remove the log's records at index ``start`` and above."""

    token: int
    start: int


class SetTimer(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Let ``Timer(name)`` come ``delay_ms`` from now. A timer of the same name is replaced."""

    name: str
    delay_ms: int


class CancelTimer(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The timer of this name, if it is set, never arrives."""

    name: str


class Reply(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The answer to the ``ClientRequest`` of this ``id``."""

    id: str
    body: msgspec.Struct


Effect = Send | Write | Truncate | SetTimer | CancelTimer | Reply


class Core(Protocol):
    """A node's decisions."""

    def start(self, now_ms: int) -> list[Effect]:
        """The effects of coming up: timers, first messages. Called once, before any event."""
        ...

    def handle(self, event: Event, now_ms: int) -> list[Effect]:
        """The effects of one event. ``now_ms`` is monotonic and never steps back."""
        ...

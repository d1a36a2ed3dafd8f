"""The bodies of messages in queues without offsets: a value in decimal digits."""

from typing import Final

from chaos.models.queues.total_queue import STRANGE

_DIGITS: Final = 18


def value_in(body: bytes) -> int:
    """The value of a message; ``STRANGE`` for a body that no client sends. Pure."""
    return int(body) if body.isdigit() and len(body) <= _DIGITS else STRANGE

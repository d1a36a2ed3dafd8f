"""Named seeded streams of random numbers, and the number of a run.

Each decision draws from a stream of its own name, so that adding a draw in one place never
shifts the draws of another and a plan is the same plan wherever it is computed.
"""

import hashlib
import random
from typing import Final

SEEDS: Final = 2**31
"""A seed of a run that is drawn lies below."""


def stream(seed: int, *names: str | int) -> random.Random:
    """A generator that depends on nothing but ``seed`` and ``names``."""
    text = "\x1f".join([str(seed), *map(str, names)])
    return random.Random(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big"))


def draw_below(draws: random.Random, end: int) -> int:
    """What ``draws.randrange(end)`` would be, by the same draws in half of the time: loads draw for each operation.

    Args:
        draws: where the bits come from.
        end: at least 1.
    """
    bits = end.bit_length()
    drawn = draws.getrandbits(bits)
    while drawn >= end:
        drawn = draws.getrandbits(bits)
    return drawn


def run_hash(run_id: str) -> int:
    """A run's identity in eight bytes."""
    return int.from_bytes(hashlib.blake2b(run_id.encode(), digest_size=8).digest(), "big")

"""The check ``lock``: one holder at a time, tokens that rise, and no write of a holder after a later one's.

Only what is certain counts (semantics.md, 32). A client holds a lock for certain from when it received the answer until
it asks to give it back, or until the lease may have ended at the earliest. Each question is decided in n log n.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from chaos.core.op import Type
from chaos.models.coordination.lock import MODEL, F
from chaos.models.objects.answers import TOLD
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import Findings
from checkers.anomalies.findings_check import OfOneModel
from checkers.coordination.distinct_ids import given_twice, out_of_order
from checkers.coordination.holds import SURE_NS_PER_MS, Pairs, held_until, too_many
from checkers.coordination.violations import Wrong, findings_of, place_of
from checkers.history.check_input import Context, QueueShard
from checkers.history.columns import Ints

KINDS: Final = ("lock-held-twice", "write-after-loss", "token-not-rising")


class LockCheck(OfOneModel):
    """Looks at each lock."""

    name = "lock"
    help = "a lock has one holder, tokens rise, and who lost the lock writes no more"
    anomalies = kinds_named(*KINDS)
    model = MODEL
    noun = "grant"
    clean = "one holder at a time, and no write of an earlier one"
    kept = "of locks, never two at once"

    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one lock."""
        ops, columns = shard.ops, shard.operations
        known = (ops.type == Type.OK) & (columns["answer"] == TOLD)
        granted = np.flatnonzero(known & (ops.f == F.ACQUIRE))
        written = np.flatnonzero(known & (ops.f == F.GUARDED))
        back = np.flatnonzero((ops.f == F.UNLOCK) & (ops.type != Type.NOT_SENT))
        token, asked, answered = columns["token"][granted], ops.invoke[granted], ops.complete[granted]
        ends = held_until(
            token, asked + columns["lease_ms"][granted] * SURE_NS_PER_MS, columns["token"][back], ops.invoke[back]
        )
        version = columns["version"][written]
        lost = out_of_order(columns["token"][written], version, version)
        rising = sorted(
            {late: early for early, late in (*given_twice(token), *out_of_order(token, asked, answered))}.items()
        )

        place = place_of(shard, context)

        def wrong(kind: str, which: Ints, pairs: Pairs, said: str, then: str = "") -> Iterator[Wrong]:
            for pair in pairs:
                early, late = which[list(pair)].tolist()
                tokens = {"early": columns["token"][early], "late": columns["token"][late], "place": place}
                yield Wrong(kind, said.format(**tokens), (early, late), then)

        held_twice = "granted {place} under token {late} while it was still held under token {early}, granted by"
        after_loss = "took a write guarded by {place} under the old token {late} after one under token {early},"
        not_rising = "granted {place} under token {late}, which is not above token {early}, granted by"
        found = [
            *wrong("lock-held-twice", granted, overlaps(answered, ends), held_twice),
            *wrong("write-after-loss", written, lost, f"{after_loss} taken by"),
            *wrong("token-not-rising", granted, [(early, late) for late, early in rising], not_rising),
        ]
        return findings_of(shard, context, KINDS, found, len(granted))


def overlaps(begins: Ints, ends: Ints) -> Pairs:
    """Grants that began for certain while another one held for certain: (that one, the grant)."""
    return [(early, late) for early, late in too_many(begins, ends, 1)]

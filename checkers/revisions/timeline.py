"""What became of one key as far as it is known for certain: stretches of revisions without a change that is known."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping

import msgspec

from chaos.formats.etcd_robustness import Did
from chaos.formats.etcd_words import Content
from checkers.revisions.pinned import NEVER


class Seen(msgspec.Struct, frozen=True):
    """That an answer says of a key at a revision that it is there, or is not.

    ``kind``: the anomaly if it is wrong. ``earliest``: of an answer that names no revision, which is of one from that
    to ``revision``; None: of any other.
    """

    did: Did
    revision: int
    kind: str
    earliest: int | None = None

    @property
    def first(self) -> int:
        """The first revision of which it may be."""
        return self.revision if self.earliest is None else self.earliest


class Stretch(msgspec.Struct):
    """From a change of a key to before the next one.

    ``value``: what the key holds since, None: it is not there. ``seen_until``: up to which revision answers show that.
    ``absent``: who says that the key is not there. ``present``: who says just before the end that it is, with whatever.
    """

    start: int
    end: int
    value: Content | None
    seen_until: int
    absent: list[Seen] = []
    present: Seen | None = None


class Timeline:
    """The stretches of one key, from an empty store on.

    Args:
        changes: by revision what the key holds since, None: it is not there.
    """

    def __init__(self, changes: Mapping[int, Content | None]) -> None:
        revisions = sorted(changes)
        starts, ends = [0, *revisions], [*revisions, NEVER]
        values = [None, *(changes[revision] for revision in revisions)]
        self._starts = starts
        self.stretches = [
            Stretch(start, end, value, start) for start, end, value in zip(starts, ends, values, strict=True)
        ]

    def at(self, revision: int) -> Stretch:
        """The stretch in which a revision is."""
        return self.stretches[bisect_right(self._starts, revision) - 1]

    def between(self, first: int, last: int) -> Iterator[Stretch]:
        """The stretches of some revisions, in order."""
        for place in range(bisect_right(self._starts, first) - 1, len(self.stretches)):
            if self.stretches[place].start > last:
                return
            yield self.stretches[place]

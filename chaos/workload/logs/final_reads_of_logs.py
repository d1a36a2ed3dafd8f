"""The final reads of a log: each queue is read whole until two passes agree and nothing acknowledged is missing.

The passes are at least 5 s apart, each on a fresh connection (SEMANTICS 10). Where there is a consumer group, each pass
ends with the offset at which it goes on. Whether the reads are complete the checks decide from the history; here is
only decided when to stop.
"""

import hashlib
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final

import msgspec

from chaos.core.clock import NS_PER_S
from chaos.core.op import Completion, Type
from chaos.models.log.operations import records_given
from chaos.models.log.words import F
from chaos.workload.final import GIVE_UP_S, Ask, Asks, FinalSpec, Heard, Limits, Part, Steps, Wait, keys_of
from chaos.workload.logs.unread_values import LogNote, count_missing

BETWEEN_PASSES_S: Final = 5.5
LOST_AFTER_S: Final = 120.0
"""Equal final reads that end below an acknowledged offset for so long prove its loss (SEMANTICS 10)."""

PASS_TIMEOUT_S: Final = 60.0


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    """One pass over a queue.

    ``digest`` is over offsets and values; ``missing`` counts what was acknowledged and is not there.
    """

    ok: bool
    error: str | None
    next_offset: int | None
    max_offset: int | None
    digest: str
    missing: int

    def differs(self, before: "Pass") -> str | None:
        """None if both read the queue to its maximum alike; else the first thing that is not so."""
        if not (self.ok and before.ok):
            return (self if not self.ok else before).error or "not read"
        if self.digest != before.digest:
            return "two passes read different content"
        if self.next_offset != self.max_offset:
            return f"read to {self.next_offset} of {self.max_offset}"
        return None

    def lacks(self, acked: int) -> str | None:
        """What it lacks of what was acknowledged, ``acked`` the highest offset; None if nothing."""
        if (self.next_offset or 0) <= acked:
            return f"it ends at {self.next_offset}, acknowledged up to {acked}"
        return f"{self.missing} acknowledged without an offset and not there" if self.missing else None


def _digest(done: Completion) -> str:
    state = hashlib.blake2b(digest_size=16)
    for record in records_given(done).records:
        state.update(f"{record.offset}={record.value};".encode())
    return state.hexdigest()


class FinalReads:
    """Passes over every queue. ``has_group``: the clients are a consumer group; ``after_s``: as in ``FinalPhase``."""

    name = "drain"
    what = "queues read whole, twice alike"
    required = True
    at_once = False

    def __init__(self, spec: FinalSpec, *, has_group: bool = False, after_s: float = 0.0) -> None:
        self._spec = spec
        self._has_group = has_group
        self.after_s = after_s

    def parts(self) -> Sequence[Part]:
        """A part for each queue."""
        return keys_of(self._spec)

    def steps(self, part: Part, notes: Sequence[Any], limits: Limits, now_ns: int) -> Steps:  # noqa: ARG002
        """Read the queue again and again. Where queues did not come back, one that cannot be read is given up early."""
        note = LogNote.of_all(notes)
        hopeless_ns = now_ns + int(GIVE_UP_S * NS_PER_S) if limits.keys_missing else limits.until_ns
        timeout_s = GIVE_UP_S / 3 if limits.keys_missing else PASS_TIMEOUT_S
        before, heard = yield from self._pass(note, timeout_s)
        equal_since_ns, pause_s = heard.now_ns, BETWEEN_PASSES_S
        while True:
            began_ns = (yield Wait(pause_s)).now_ns
            after, heard = yield from self._pass(note, timeout_s)
            why = after.differs(before)
            until_ns = limits.until_ns if why is None else min(limits.until_ns, hopeless_ns)
            if why is None:
                why = after.lacks(note.highest)
                if why is None or began_ns - equal_since_ns > LOST_AFTER_S * NS_PER_S:
                    return ""
                pause_s = LOST_AFTER_S / 4  # the whole queue is read each time; the tail has time to come back
            else:
                equal_since_ns, pause_s = heard.now_ns, BETWEEN_PASSES_S
            if heard.now_ns > until_ns:
                return why
            before = after

    def _pass(self, note: LogNote, timeout_s: float) -> Generator[Asks | Wait, Heard, tuple[Pass, Heard]]:
        heard = yield Asks((Ask(F.DRAIN, None, timeout_s),), fresh=True)
        (done,) = heard.answers
        last = done
        read = records_given(done)
        if done.type is Type.OK and self._has_group:
            heard = yield Asks((Ask(F.COMMITTED_READ, None, timeout_s),))
            (last,) = heard.answers
        seen = Pass(
            ok=last.type is Type.OK,
            error=last.error,
            next_offset=read.next_offset,
            max_offset=read.max_offset,
            digest=_digest(done),
            missing=count_missing(note.owed, read.records),
        )
        return seen, heard


def read_whole(spec: FinalSpec, mix: Mapping[F, float], after_s: float = 0.0) -> FinalReads:
    """The final reads of a workload with this mix."""
    return FinalReads(spec, has_group=F.COMMITTED_READ in mix, after_s=after_s)

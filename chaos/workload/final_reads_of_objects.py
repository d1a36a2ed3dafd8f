"""The final phase of objects: every key is read once more, until each was answered."""

from collections.abc import Sequence
from typing import Any, Final

from chaos.core.clock import NS_PER_S
from chaos.core.op import Type, Word
from chaos.workload.final import GIVE_UP_S, Ask, Asks, FinalSpec, Limits, Part, Steps, Wait, keys_of

PAUSE_S: Final = 1.0
"""After a read that was not answered."""


class LastReads:
    """A read of every key.

    Args:
        spec: the keys, and how long an operation may take.
        read: the word that reads.
    """

    name = "drain"
    what = "keys read once more"
    required = True
    after_s = 0.0
    at_once = True

    def __init__(self, spec: FinalSpec, read: Word) -> None:
        self._spec = spec
        self._read = read

    def parts(self) -> Sequence[Part]:
        """A part for each key."""
        return keys_of(self._spec)

    def steps(self, part: Part, notes: Sequence[Any], limits: Limits, now_ns: int) -> Steps:  # noqa: ARG002
        """Read until it is ok."""
        early_ns = now_ns + int(GIVE_UP_S * NS_PER_S)
        until_ns = min(limits.until_ns, early_ns) if limits.keys_missing else limits.until_ns
        while True:
            heard = yield Asks((Ask(self._read, None, self._spec.op_timeout_s),), fresh=True)
            (done,) = heard.answers
            if done.type is Type.OK:
                return ""
            if heard.now_ns >= until_ns:
                return done.error or "not read"
            yield Wait(PAUSE_S)

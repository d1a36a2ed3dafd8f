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
        argument: what it takes, if it takes anything.
    """

    name = "drain"
    what = "keys read once more"
    required = True
    after_s = 0.0
    at_once = True

    def __init__(self, spec: FinalSpec, read: Word, argument: Any = None) -> None:
        self._spec = spec
        self._read = read
        self._argument = argument

    def parts(self) -> Sequence[Part]:
        """A part for each key."""
        return keys_of(self._spec)

    def steps(self, part: Part, notes: Sequence[Any], limits: Limits, now_ns: int) -> Steps:  # noqa: ARG002
        """Read until it is ok."""
        return asked_until_ok(self._read, self._argument, self._spec.op_timeout_s, given_up_at(limits, now_ns))


def given_up_at(limits: Limits, now_ns: int) -> int:
    """When a part that is asked until it is answered ends anyway."""
    early_ns = now_ns + int(GIVE_UP_S * NS_PER_S)
    return min(limits.until_ns, early_ns) if limits.keys_missing else limits.until_ns


def asked_until_ok(f: Word, argument: Any, timeout_s: float, until_ns: int) -> Steps:
    """Ask one thing until it is ok, each time through a client that knows nothing yet."""
    while True:
        heard = yield Asks((Ask(f, argument, timeout_s),), fresh=True)
        (done,) = heard.answers
        if done.type is Type.OK:
            return ""
        if heard.now_ns >= until_ns:
            return done.error or "not read"
        yield Wait(PAUSE_S)

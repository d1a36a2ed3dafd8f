"""The last look of a run at a log: every replica's own copy of every queue, whole (SEMANTICS 15).

What could not be read is in the history, and the checks' business.
"""

from collections.abc import Sequence
from typing import Any, Final

from chaos.core.op import Type
from chaos.models.log.operations import ReadCopy
from chaos.models.log.words import F
from chaos.workload.final import GIVE_UP_S, Ask, Asks, FinalSpec, Limits, Part, Steps

TIMEOUT_S: Final = 30.0
"""For one replica's copy of one queue."""


class ReplicaCopies:
    """Each replica's copy of each queue is asked for once."""

    name = "replicas"
    what = "replicas' copies read"
    required = False
    after_s = 0.0
    at_once = False

    def __init__(self, spec: FinalSpec) -> None:
        self._spec = spec

    def parts(self) -> Sequence[Part]:
        """Each queue at each of its replicas; none where clients cannot ask for a copy, or there is only one."""
        if F.REPLICA not in self._spec.operations:
            return ()
        return tuple(Part(key, node) for key, own in enumerate(self._spec.copies) for node in own if len(own) > 1)

    def steps(self, part: Part, notes: Sequence[Any], limits: Limits, now_ns: int) -> Steps:  # noqa: ARG002
        """Ask for the copy."""
        timeout_s = GIVE_UP_S / 3 if limits.nodes_missing else TIMEOUT_S
        heard = yield Asks((Ask(F.REPLICA, ReadCopy(node=part.node), timeout_s),), fresh=True)
        (done,) = heard.answers
        return "" if done.type is Type.OK else done.error or "not read"

"""The base of checks whose summary is ``Findings``: what they share is here, so each says only what it looks for.

A check of findings has an ``examine`` of its own, and words for its row. Summaries add up, and the row follows from the
sum. ``OfOneModel`` is for checks that judge all runs of one model.
"""

from abc import ABC, abstractmethod

import msgspec

from chaos.core.verdict import UNKNOWN, Anomaly, CheckResult
from checkers.anomalies.findings import Findings, conclude_findings, count_of, merge_findings
from checkers.history.check import Held, OfEachKey
from checkers.history.check_input import Context, QueueShard


class FindingsCheck(OfEachKey, ABC):
    """A check of each key that finds anomalies and counts what it looked at.

    ``noun``: what it looks at, in the singular. ``counted``: the plural, where that is more than the noun with an s.
    ``clean``: what its row says when nothing was found. ``unseen``: why the answer is unknown if nothing was looked at;
    empty: the row is valid then.
    """

    name: str
    noun: str
    counted: str = ""
    clean: str
    unseen: str = ""

    @abstractmethod
    def examine(self, shard: QueueShard, context: Context) -> Findings:
        """Look at one key. Pure; runs in an executor."""

    def merge(self, left: Findings, right: Findings) -> Findings:
        """Add what two keys showed."""
        return merge_findings(left, right)

    def conclude(self, summary: Findings | None, context: Context) -> CheckResult:
        """The row of the verdict table."""
        row = conclude_findings(self.name, summary, context, noun=self.noun, clean=self.clean_in(context))
        if self.counted:
            row = msgspec.structs.replace(row, examined=f"{summary.examined if summary else 0} {self.counted}")
        if self.unseen and row.valid is True and not (summary and summary.examined):
            return msgspec.structs.replace(row, valid=UNKNOWN, found=self.unseen, reason=self.unseen)
        return row

    def clean_in(self, context: Context) -> str:  # noqa: ARG002 - for checks that name what was promised
        """What the row says of this run when nothing was found."""
        return self.clean


class OfOneModel(FindingsCheck):
    """A check of findings that judges runs of one model, and has a part in the first sentence of a valid run.

    ``model``: the model. ``kept``: what follows the count of what was looked at in that sentence.
    """

    model: str
    kept: str

    def applies(self, context: Context) -> str | None:
        """To runs of its model."""
        return None if context.run.model == self.model else f"it is a run of the model {context.run.model}"

    def held(
        self,
        summary: Findings | None,
        anomalies: dict[str, Anomaly],
        context: Context,  # noqa: ARG002 - every run is told alike
    ) -> Held:
        """How much was looked at, and what held of it."""
        looked_at = count_of(summary.examined if summary else 0, self.noun)
        return Held(first=f"{looked_at} {self.kept_beside(anomalies)}")

    def kept_beside(self, anomalies: dict[str, Anomaly]) -> str:  # noqa: ARG002 - for checks of which a part may be allowed
        """What held, beside these anomalies, which promises cover."""
        return self.kept

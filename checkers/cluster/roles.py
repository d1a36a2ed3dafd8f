"""At most one leader of a subject in an epoch, and no leader that goes back in epochs (SEMANTICS 15).

Judged over the claims that observers heard. A cut-off leader that still thinks it leads, in its old epoch, is not an
anomaly: it cannot know. Nor are the leaders of two subjects. Does not judge what followers repeat of others.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, Literal

from chaos.basics.name_lists import join_names
from chaos.core.verdict import CheckResult, Example
from checkers.anomalies.attribution import actor, fault_words, find_blame, hit_words
from checkers.anomalies.catalogue import kinds_named
from checkers.anomalies.findings import Finding, conclude_findings, examples, findings, seconds_text
from checkers.history.check_input import Context, QueueShard
from checkers.history.leadership import Reign


def _doubles(context: Context) -> list[Example]:
    by_epoch: dict[tuple[str, int], list[Reign]] = defaultdict(list)
    for reign in context.timeline.reigns:
        by_epoch[reign.subject, reign.epoch].append(reign)
    out = []
    for (subject, epoch), reigns in sorted(by_epoch.items()):
        nodes = sorted({reign.node for reign in reigns})
        if len(nodes) > 1:
            heard = ", ".join(
                f"{reign.node} from {seconds_text(context, reign.first_ns)} to {seconds_text(context, reign.last_ns)}"
                for reign in reigns
            )
            second = next(reign for reign in reigns if reign.node != reigns[0].node)
            who = actor(context, second.node, second.first_ns, subject=subject)
            out.append(
                who.example(
                    f"{_named(context, subject, epoch)} was led by {join_names(nodes)}, "
                    f"{'at the same time' if _overlap(reigns) else 'one after the other'}: "
                    f"{heard}{_fault(context, second.node, second.first_ns)}"
                )
            )
    return out


def _named(context: Context, subject: str, epoch: int) -> str:
    """``term 1``; ``epoch 5 of brokers`` where others count in the same word."""
    word = context.run.epoch_word(subject)
    alike = [one for one in context.run.subjects if context.run.epoch_word(one.name) == word]
    return f"{word} {epoch}{f' of {subject}' if len(alike) > 1 else ''}"


def _overlap(reigns: Sequence[Reign]) -> bool:
    """Whether two nodes were heard to lead at one time."""
    return any(
        one.node != other.node and one.first_ns <= other.last_ns and other.first_ns <= one.last_ns
        for one in reigns
        for other in reigns
    )


def _fault(context: Context, node: str, at_ns: int) -> str:
    """The fault to be named for a claim, as the end of a sentence."""
    blame = find_blame(context, node, at_ns, at_ns)
    if blame is None or blame.hit:
        return hit_words(context, node, blame)
    return f"; {node} was heard to lead {fault_words(context, blame)}"


def _steps_back(context: Context) -> list[Example]:
    highest: dict[tuple[str, str], Reign] = {}
    several = len(context.run.replicated) > 1
    out = []
    for reign in context.timeline.reigns:
        before = highest.get((reign.node, reign.subject))
        if before is not None and reign.epoch < before.epoch:
            who = actor(context, reign.node, reign.first_ns, subject=reign.subject)
            what, word = f" {reign.subject}" if several else "", context.run.epoch_word(reign.subject)
            out.append(
                who.example(
                    f"{reign.node} led{what} in {word} {before.epoch} until "
                    f"{seconds_text(context, before.last_ns)} "
                    f"and again, in {word} {reign.epoch}, from {seconds_text(context, reign.first_ns)}"
                    f"{_fault(context, reign.node, reign.first_ns)}"
                )
            )
        else:
            highest[reign.node, reign.subject] = reign
    return out


NONE_TO_COMPARE: Final = "no claim to lead named an epoch or term, so none can contradict another"


class RolesCheck:
    """Who claimed to lead which subject, and in which epoch."""

    name = "roles"
    help = "one leader per subject and epoch or term, epochs never step back"
    anomalies = kinds_named("dual-leader", "epoch-regression")
    partition: Literal["key", "history"] = "history"

    def applies(self, context: Context) -> str | None:
        """Where something has a leader."""
        return None if context.run.subjects or context.timeline.reigns else "nothing has a leader"

    def examine(self, shard: QueueShard, context: Context) -> None:
        """Claims are no operations."""

    def merge(self, left: None, right: None) -> None:
        """There is nothing to add."""

    def conclude(self, summary: None, context: Context) -> CheckResult:  # noqa: ARG002 - the timeline has it all
        """The row of the verdict table, from the timeline alone."""
        doubles, steps = _doubles(context), _steps_back(context)
        found = findings(
            len(context.timeline.reigns),
            dual_leader=Finding(count=len(doubles), examples=examples(doubles)),
            epoch_regression=Finding(count=len(steps), examples=examples(steps)),
        )
        clean = "one leader per epoch, epochs ascend" if context.timeline.reigns else NONE_TO_COMPARE
        return conclude_findings(self.name, found, context, noun="claim", clean=clean)

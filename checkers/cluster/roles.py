"""At most one leader per epoch, and no leader that goes back in epochs (SEMANTICS 15).

Judged over the claims that observers heard. A cut-off master that still thinks it leads, in its old
epoch, is not an anomaly: it cannot know. The module refuses to judge what followers repeat of others.
"""

from collections import defaultdict
from typing import Literal

from chaos.core.verdict import CheckResult, Example
from checkers.anomalies.attribution import actor, blamed, fault_words
from checkers.anomalies.catalogue import named
from checkers.anomalies.findings import Finding, concluded, examples, findings, listed, seconds_text
from checkers.history.kernel import Context, QueueShard
from checkers.history.timeline import Claim


def _word(claim: Claim) -> str:
    return "term" if claim.kind == "controller" else "epoch"


def _doubles(context: Context) -> list[Example]:
    by_epoch: dict[tuple[str, str, int], list[Claim]] = defaultdict(list)
    for claim in context.timeline.claims:
        by_epoch[claim.role, claim.subject or "", claim.epoch].append(claim)
    out = []
    for (role, _, epoch), claims in sorted(by_epoch.items()):
        nodes = sorted({claim.node for claim in claims})
        if len(nodes) > 1:
            heard = ", ".join(
                f"{claim.node} from {seconds_text(context, claim.first_ns)} to {seconds_text(context, claim.last_ns)}"
                for claim in claims
            )
            second = next(claim for claim in claims if claim.node != claims[0].node)
            who = actor(context, second.node, second.first_ns)
            out.append(
                who.example(
                    f"{listed(nodes)} {'both' if len(nodes) == 2 else 'all'} led in {_word(claims[0])} {epoch} of role "  # noqa: PLR2004
                    f"{role}: {heard}{_fault(context, second.node, second.first_ns)}"
                )
            )
    return out


def _fault(context: Context, node: str, at_ns: int) -> str:
    """The fault to be named for a claim, as the end of a sentence."""
    blame = blamed(context, node, at_ns, at_ns)
    if blame is None:
        return ""
    words = fault_words(context, blame)
    return f"; {node} had been {words}" if blame.hit else f"; {words}"


def _steps_back(context: Context) -> list[Example]:
    highest: dict[str, Claim] = {}
    out = []
    for claim in context.timeline.claims:
        before = highest.get(claim.node)
        if before is not None and claim.epoch < before.epoch:
            who = actor(context, claim.node, claim.first_ns)
            out.append(
                who.example(
                    f"{claim.node} led in {_word(claim)} {before.epoch} until {seconds_text(context, before.last_ns)} "
                    f"and again, in {_word(claim)} {claim.epoch}, from {seconds_text(context, claim.first_ns)}"
                    f"{_fault(context, claim.node, claim.first_ns)}"
                )
            )
        else:
            highest[claim.node] = claim
    return out


class RolesCheck:
    """Who claimed to lead, and in which epoch."""

    name = "roles"
    help = "one master per epoch, one active controller per term, epochs never step back"
    anomalies = named("dual-master", "epoch-regression")
    partition: Literal["key", "history"] = "history"

    def applies(self, context: Context) -> str | None:  # noqa: ARG002 - a run without claims has none that clash
        """It applies."""
        return None

    def examine(self, shard: QueueShard, context: Context) -> None:
        """Claims are no operations."""

    def merge(self, left: None, right: None) -> None:
        """There is nothing to add."""

    def conclude(self, summary: None, context: Context) -> CheckResult:  # noqa: ARG002 - the timeline has it all
        """The row of the verdict table, from the timeline alone."""
        doubles, steps = _doubles(context), _steps_back(context)
        found = findings(
            len(context.timeline.claims),
            dual_master=Finding(count=len(doubles), examples=examples(doubles)),
            epoch_regression=Finding(count=len(steps), examples=examples(steps)),
        )
        return concluded(self.name, found, context, noun="claim", clean="one leader per epoch, epochs ascend")

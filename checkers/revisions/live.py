"""The check ``kv``: the keys of each space of a run are what one sequence of changes makes of them (semantics.md, 67).

Groups of keys whose answers name revisions are judged as report folders of etcd's suite are. Where no answer of a group
names one, an order of its operations is searched for, as for any object.
"""

from collections.abc import Iterable
from typing import Final

from chaos.formats.etcd_robustness import EtcdReport
from chaos.formats.missing import Missing
from chaos.models.coordination.kv import MODEL
from checkers.anomalies.catalogue import kinds_named
from checkers.history.check_input import Context, QueueShard
from checkers.objects import minimise, registry
from checkers.objects.calls import Call, Calls
from checkers.objects.finding import EXAMPLES, Answer, Found
from checkers.objects.linearization_answer import NAME
from checkers.objects.live import BUDGET_S, RULES, ObjectAnswers, ObjectCheck
from checkers.objects.rules import Budget
from checkers.revisions.judge import KINDS, STANDS, Shown, judge_operations
from checkers.revisions.operations_of_run import call_of, did_of, group_at, is_sent, names_revisions

_SEARCH: Final = "multi-register"


class KvCheck(ObjectCheck):
    """Looks at the operations on each space."""

    name = "kv"
    help = "the keys of a space are what one sequence of changes makes of them, each at its revision where it has one"
    anomalies = kinds_named(*KINDS, NAME)
    model = MODEL
    judge = _SEARCH
    clean = "all answers fit one sequence of changes"

    def examine(self, shard: QueueShard, context: Context) -> ObjectAnswers:
        """Look at one space."""
        rows = [row for row in range(len(shard.ops.f)) if is_sent(shard, row)]
        groups = {row: group_at(shard, row) for row in rows}
        known = {groups[row] for row in rows if names_revisions(shard, row)}
        budget = Budget(BUDGET_S)
        others: dict[int, list[Call]] = {}
        for row in rows:
            if groups[row] not in known:
                others.setdefault(groups[row], []).append(call_of(shard, row))
        answers = [self._by_revision(shard, context, [row for row in rows if groups[row] in known])]
        answers += [self._searched(Calls(own), budget) for own in others.values()]
        answer = registry.merge_answers((None, one) for one in answers)
        return self.told(shard, context, answer, len(rows))

    def _by_revision(self, shard: QueueShard, context: Context, rows: list[int]) -> Answer:
        """What is wrong with the operations on groups whose answers name revisions.

        Of a history that may have been cut off nothing is told that an operation could explain which is missing.
        """
        report = EtcdReport(operations=[did_of(shard, row) for row in rows], watches=[])
        found = judge_operations(report, Budget(BUDGET_S), shared=True).found
        return Answer(found=_found((one for one in found if context.whole or STANDS[one.kind] is Missing.ANY), shard))

    def _searched(self, calls: Calls, budget: Budget) -> Answer:
        """Whether there is an order of the operations on a group, shown by as few as are wrong."""
        check = registry.MODELS[_SEARCH].check
        answer = check(calls, RULES, budget)
        return minimise.explain(_SEARCH, check, calls, RULES, answer, budget) if NAME in answer.found else answer


def _found(shown: Iterable[Shown], shard: QueueShard) -> dict[str, Found]:
    """What was found by its kind; operations' numbers are their rows."""
    out: dict[str, Found] = {}
    for one in shown:
        found = out.setdefault(one.kind, Found(count=0))
        found.count += 1
        if len(found.examples) < EXAMPLES:
            found.examples.append((one.sentence, tuple(call_of(shard, did.number) for did in one.did)))
    return out

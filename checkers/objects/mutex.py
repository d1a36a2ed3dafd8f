"""A mutex: acquire and release in turn.

All acquires are alike and so are all releases, so the order is a schedule of two kinds of jobs that alternate, each
with a release time and a deadline. Doing nothing until a completion forces it, and then taking the most urgent, finds a
schedule if there is one: what completes later, or never, can always wait. A sort decides it. Does not know who held the
lock: as in Knossos' model, any process may release it.
"""

import heapq

from chaos.core.errors import HistoryError
from chaos.core.op import Type
from chaos.formats.operations import NEVER
from checkers.objects.calls import Call, Calls
from checkers.objects.finding import Answer, Found, call_text
from checkers.objects.linearization_answer import NAME
from checkers.objects.rules import Budget, Rules


def check(calls: Calls, rules: Rules, budget: Budget) -> Answer:  # noqa: ARG001 - every model is called alike
    """Whether acquires and releases can have alternated, an acquire first.

    Raises:
        HistoryError: an operation that a mutex does not have.
    """
    own: list[tuple[int, int, Call]] = []
    for i, call in enumerate(calls.all):
        if call.f not in ("acquire", "release"):
            raise HistoryError(f"op {call.number}: a mutex has no {call.f}")
        if call.outcome is not Type.FAIL:
            own.append((call.complete if call.outcome is Type.OK else NEVER, i, call))
    events = [(call.invoke, 0, i, done) for done, i, call in own]
    events += [(done, 1, i, done) for done, i, _ in own if done != NEVER]
    events.sort()
    waiting: dict[str, list[tuple[int, int]]] = {"acquire": [], "release": []}
    taken: set[int] = set()
    locked = False
    for _, is_end, i, done in events:
        f = calls.all[i].f
        if not is_end:
            heapq.heappush(waiting[f], (done, i))
            continue
        if i in taken:
            continue
        if (f == "acquire") == locked:
            other = waiting["release" if locked else "acquire"]
            if not other:
                call = calls.all[i]
                why = "while the lock was held and nobody can have released it" if locked else "of a lock that is free"
                sentence = f"{call_text(call)} completed {why}"
                return Answer(found={NAME: Found(count=1, examples=[(sentence, (call,))])})
            taken.add(heapq.heappop(other)[1])
        taken.add(heapq.heappop(waiting[f])[1])  # the most urgent of its kind is this one: it completes now
        locked = f == "acquire"
    return Answer()

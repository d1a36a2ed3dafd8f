"""From a search to an answer: which operation can find no place, and in which smallest history.

Linearizability is closed under prefixes, so the first completion at which no order is left is found by halving what is
behind the furthest that the search got to. Does not name a culprit where the budget ran out.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from chaos.formats.operations import NEVER
from checkers.objects.calls import Call
from checkers.objects.finding import Answer, Found, call_text, show
from checkers.objects.linearization_search import Outcome, Search, Spec, Step
from checkers.objects.rules import Budget

NAME: Final = "nonlinearizable"
LEAP: Final = 16
"""How many times as far the next guess at the end lies, where the last one was too near."""

Told = tuple[Call, Step]
SpecOf = Callable[[Sequence[Step]], Spec]


def _search(told: Sequence[Told], spec_of: SpecOf, budget: Budget) -> Outcome:
    steps = [step for _, step in told]
    return Search(steps, spec_of(steps), budget).run()


def _until(told: Sequence[Told], moment: int) -> list[Told]:
    """What was known at a moment: later invocations are gone, and what was not complete is still open."""
    out = []
    for call, step in told:
        if step.invoke > moment:
            break
        if step.complete <= moment:
            out.append((call, step))
        elif step.changes:
            out.append((call, step._replace(complete=NEVER)))
    return out


def _guesses(moments: Sequence[int], told: Sequence[Told], lacking: int) -> Iterator[int]:
    """Moments at which the last order may be gone: when the step completed that stood in the way, and just before."""
    if lacking >= 0 and told[lacking][1].complete != NEVER:
        at = bisect_left(moments, told[lacking][1].complete)
        yield from (at, at - 1)


def linearization_answer(told: Sequence[Told], spec_of: SpecOf, budget: Budget) -> Answer:
    """Search, and if there is no order say where it ends.

    Args:
        told: operations with their steps, sorted by invocation.
        spec_of: makes the object for a list of steps.
        budget: of all searches together.
    """
    whole = _search(told, spec_of, budget)
    musts = sum(step.complete != NEVER for _, step in told)
    if whole.ok is None:
        return Answer(reason=f"the search was given up: {whole.why}; {whole.most} of {musts} operations were placed")
    if whole.ok:
        return Answer()
    moments = sorted(step.complete for _, step in told if step.complete != NEVER)
    low, high = bisect_left(moments, whole.sure), len(moments) - 1
    step = 1  # the end is near where the search got to, most often
    guesses = _guesses(moments, told, whole.lacking)
    while low < high:
        middle = next((guess for guess in guesses if low <= guess < high), -1)
        if middle < 0:
            middle, step = min(low + step - 1, (low + high) // 2), step * LEAP
        found = _search(_until(told, moments[middle]), spec_of, budget)
        if found.ok is None:
            break
        low, high = (middle + 1, high) if found.ok else (low, middle)
    return _ended_at(told, moments[high])


def end_of_order(told: Sequence[Told], has_order: Callable[[int], bool]) -> Answer:
    """Say where the order of operations ends that have none, by asking whether there was one at a moment.

    Args:
        told: operations with their steps, sorted by invocation.
        has_order: whether what was known at a moment has an order.
    """
    moments = sorted(step.complete for _, step in told if step.complete != NEVER)
    return _ended_at(told, moments[bisect_left(moments, True, key=lambda moment: not has_order(moment))])


def _ended_at(told: Sequence[Told], moment: int) -> Answer:
    """The operation that completed then can find no place."""
    culprit = next(call for call, step in told if step.complete == moment)
    output = f" with the answer {show(culprit.output)}" if culprit.output is not None else ""
    sentence = f"{call_text(culprit)} completed{output}, and no order of the operations until then explains it"
    return Answer(found={NAME: Found(count=1, examples=[(sentence, (culprit,))])})

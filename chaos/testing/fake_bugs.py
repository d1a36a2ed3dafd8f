"""Bugs for a fake system, so that the author of a check sees whether it finds them.

A bug stands between an operation and the object. It is called with the object's own function, what the object holds,
and the operation, and returns what the object holds then and the answer. So a bug of one's own is a few lines::

    def forgets_key_1(step, held, op):
        after, answer = step(held, op)
        return (held, answer) if op.key == 1 else (after, answer)

    run(tmp_path, FakeSystem(bug=forgets_key_1))
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from chaos import plugins
from chaos.core.client import Definite, Indefinite
from chaos.core.op import Invocation, Word
from chaos.models.registry import model_named
from chaos.testing.fake_objects import Step

FakeBug: TypeAlias = Callable[[Step, Any, Invocation], tuple[Any, Any]]
"""(the object's function, what it holds, operation) → (what it holds then, answer)."""


def changes(op: Invocation) -> bool:
    """Whether an operation changes its object, as its model says."""
    return op.f in changing_words(type(op.f))


@plugins.cache_by_plugins
def changing_words(words: type[Word]) -> frozenset[Word]:
    """The words of a model that change its objects."""
    models = (model_named(name) for name in plugins.names("models"))
    functions = next(model.functions for model in models if model.words is words)
    return frozenset(word for word, function in functions.items() if function.mutates)


def _turns(every: int) -> Iterator[bool]:
    """True each ``every``-th time."""
    return (number % every == 0 for number in itertools.count(1))


def lose_acknowledged(every: int = 10) -> FakeBug:
    """Acknowledge each ``every``-th change and forget it."""
    turns = _turns(every)

    def bug(step: Step, held: Any, op: Invocation) -> tuple[Any, Any]:
        after, answer = step(held, op)
        return (held if changes(op) and next(turns) else after), answer

    return bug


def answer_from_the_past(every: int = 10) -> FakeBug:
    """Answer each ``every``-th operation that changes nothing by what the object held before its last change."""
    turns = _turns(every)
    before: dict[tuple[type[Word], int], Any] = {}

    def bug(step: Step, held: Any, op: Invocation) -> tuple[Any, Any]:
        key = (type(op.f), op.key)
        if changes(op):
            after, answer = step(held, op)
            before[key] = held
            return after, answer
        return held, step(before.get(key) if next(turns) else held, op)[1]

    return bug


def do_twice(every: int = 10) -> FakeBug:
    """Make each ``every``-th change twice."""
    turns = _turns(every)

    def bug(step: Step, held: Any, op: Invocation) -> tuple[Any, Any]:
        after, answer = step(held, op)
        return (step(after, op)[0] if changes(op) and next(turns) else after), answer

    return bug


def refuse_and_do(every: int = 10) -> FakeBug:
    """Say of each ``every``-th change that it was refused, and make it."""
    turns = _turns(every)

    def bug(step: Step, held: Any, op: Invocation) -> tuple[Any, Any]:
        after, answer = step(held, op)
        return after, Definite("refused") if changes(op) and next(turns) else answer

    return bug


def lose_answers(every: int = 10) -> FakeBug:
    """Leave each ``every``-th change without an answer; half of those are made. This is no bug: networks do it."""
    turns, made = _turns(every), _turns(2)

    def bug(step: Step, held: Any, op: Invocation) -> tuple[Any, Any]:
        after, answer = step(held, op)
        if changes(op) and next(turns):
            return (after if next(made) else held), Indefinite("connection reset")
        return after, answer

    return bug

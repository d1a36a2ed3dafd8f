"""Linearizability of one object by search: Wing and Gong with Lowe's memory of dead ends, on compact states.

Source of the algorithm: Wing and Gong, Testing and verifying concurrent objects (1993); Lowe, Testing for
linearizability (2017), for remembering (operations taken, state). Three things keep it short, and each keeps every
answer:

- An operation that cannot change the state is taken as soon as it fits: moving it forward breaks nothing.
- A state is left only if nobody who still needs it is left behind, and states that nobody can tell apart any more are
  one (``Spec.onward``).
- Of operations that are equal and never complete, the earliest is taken first.

A search that runs out of its budget says so.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from chaos.formats.operations import NEVER
from checkers.objects.rules import Budget

LOOK_AT_CLOCK_EVERY: Final = 4096


class Step(NamedTuple):
    """One operation for the search. ``what`` is the model's own; ``changes``: it may leave another state."""

    what: tuple[Any, ...]
    changes: bool
    invoke: int
    complete: int


class Left(Protocol):
    """What an order that is being tried has not taken yet."""

    def taken(self, position: int) -> bool:
        """Whether the step at this position of the search's steps has been taken."""
        ...


class Spec(Protocol):
    """A sequential object. States are hashable. ``lacking``: for whom ``onward`` said None last; -1: for nobody yet."""

    lacking: int

    def initial(self) -> Hashable:
        """The state before anything happened."""
        ...

    def apply(self, state: Any, what: Any) -> Hashable | None:
        """The state after the operation; None if the object would not have answered so."""
        ...

    def onward(self, before: Any, after: Any, left: Left) -> Any:
        """The state to go on with when ``before`` has become ``after``; None if what is left cannot all fit any more.

        ``after`` is always right. Another state may stand for it if nothing that is left can tell the two apart.
        """
        ...


class Outcome(NamedTuple):
    """``ok`` None: the budget ran out, for ``why``. ``most``: the most completed steps that an order was found for.

    ``sure``: what had been invoked before this moment has an order. ``lacking``: the step that stood in the way where
    the search got furthest, by its position, as far as the object knows; -1 if it does not.
    """

    ok: bool | None
    most: int
    sure: int
    why: str = ""
    lacking: int = -1


class _Frame(NamedTuple):
    """A prefix of an order: completed steps below ``base`` and those of ``mask`` behind it, open ones of ``loose``."""

    base: int
    mask: int
    loose: int
    state: Hashable
    must: int


class Search:
    """A search for an order of steps.

    Args:
        steps: sorted by invocation; those that complete must all be taken, the others may be.
        spec: the object; its positions are those of ``steps``.
        budget: when to give up.
    """

    def __init__(self, steps: Sequence[Step], spec: Spec, budget: Budget) -> None:
        self._spec = spec
        self._budget = budget
        self._must = [step for step in steps if step.complete != NEVER]
        self._open = [step for step in steps if step.complete == NEVER and step.changes]
        self._twin = _twins(self._open)
        self._place: list[tuple[bool, int]] = []
        musts = opens = 0
        for step in steps:
            is_must = step.complete != NEVER
            self._place.append((is_must, musts if is_must else opens))
            musts, opens = musts + is_must, opens + (not is_must and step.changes)
        self._now = _Frame(0, 0, 0, None, 0)

    def taken(self, position: int) -> bool:
        """Whether the step at this position has been taken in the order tried now."""
        is_must, at = self._place[position]
        if not is_must:
            return bool(self._now.loose >> at & 1)
        return at < self._now.base or bool(self._now.mask >> (at - self._now.base) & 1)

    def _settled(self, frame: _Frame) -> _Frame:
        """The frame with every observer taken that can be taken and fits."""
        base, mask, loose, state, must = frame
        steps, apply = self._must, self._spec.apply
        changed = True
        while changed:
            changed = False
            while mask & 1:
                mask >>= 1
                base += 1
            horizon, i = NEVER, base
            while i < len(steps) and steps[i].invoke <= horizon:
                step, bit = steps[i], 1 << (i - base)
                if not mask & bit:
                    if not step.changes and apply(state, step.what) is not None:
                        mask |= bit
                        must -= 1
                        changed = True
                    elif step.complete < horizon:
                        horizon = step.complete
                i += 1
        return _Frame(base, mask, loose, state, must)

    def _choices(self, frame: _Frame) -> list[_Frame]:
        """Where to go from here, the most promising last: open steps first, then those that complete last."""
        base, mask, loose, state, must = frame
        steps, horizon, i = self._must, NEVER, base
        at_hand: list[int] = []
        while i < len(steps) and steps[i].invoke <= horizon:
            if not mask >> (i - base) & 1:
                at_hand.append(i)
                horizon = min(horizon, steps[i].complete)
            i += 1
        ways: list[tuple[Step, int, int, int]] = []
        for i, step in enumerate(self._open):
            if step.invoke > horizon:
                break
            twin = self._twin[i]
            if not loose >> i & 1 and (twin < 0 or loose >> twin & 1):
                ways.append((step, mask, loose | 1 << i, must))
        chosen = [i for i in at_hand if steps[i].changes and steps[i].invoke <= horizon]
        if len(chosen) > 1:
            chosen.sort(key=lambda i: -steps[i].complete)
        ways += [(steps[i], mask | 1 << (i - base), loose, must - 1) for i in chosen]
        out = []
        for step, mask_then, loose_then, must_then in ways:
            after = self._spec.apply(state, step.what)
            if after is None:
                continue
            self._now = _Frame(base, mask_then, loose_then, after, must_then)
            onward = self._spec.onward(state, after, self)
            if onward is not None:
                out.append(_Frame(base, mask_then, loose_then, onward, must_then))
        return out

    def run(self) -> Outcome:
        """Look for an order."""
        total = least = len(self._must)
        seen: set[tuple[int, int, int, Hashable]] = set()
        stack = [_Frame(0, 0, 0, self._spec.initial(), total)]
        rounds = reached = 0
        lacking = -1
        while stack:
            frame = self._settled(stack.pop())
            least = min(least, frame.must)
            if frame.must == 0:
                return Outcome(ok=True, most=total, sure=NEVER)
            reached = max(reached, frame.base)
            key = frame[:4]
            if key in seen:
                continue
            seen.add(key)
            rounds += 1
            if rounds % LOOK_AT_CLOCK_EVERY == 0 and (why := self._budget.spent(len(seen))):
                return Outcome(ok=None, most=total - least, sure=self._must[reached].invoke, why=why)
            self._spec.lacking = -1
            stack += self._choices(frame)
            if frame.base == reached and self._spec.lacking >= 0:
                lacking = self._spec.lacking
        return Outcome(ok=False, most=total - least, sure=self._must[reached].invoke, lacking=lacking)


def _twins(steps: Sequence[Step]) -> list[int]:
    """Per step that never completes: the one before it that is equal to it, -1 if there is none."""
    last: dict[Hashable, int] = {}
    out = []
    for i, step in enumerate(steps):
        out.append(last.get(step.what, -1))
        last[step.what] = i
    return out
